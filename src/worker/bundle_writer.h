// A finished job's bundle: made of the weights and what is known of them, and put in place
// (bundle/output.h).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "src/base/aligned.h"
#include "src/base/status.h"
#include "src/bundle/bundle.h"
#include "src/bundle/output.h"
#include "src/model/network.h"
#include "src/storage/file_system.h"

namespace espalier::worker {

// Makes the bundle of `document` (but for its weights' hash) and writes it to document.job.output.
// Returns the weights' SHA-256. Errors and `stop`: as PutBundle's.
template <typename T>
Result<std::string> WriteBundle(const storage::FileSystem& files, bundle::ModelDocument document,
                                const model::NetworkShape& shape,
                                const AlignedVector<T>& parameters,
                                const std::vector<spec::HistoryRow>& history,
                                const bundle::OutputWriter& writer, const bundle::CommitStop& stop);

}  // namespace espalier::worker
