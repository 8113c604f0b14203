// Creates the bundle of a finished job from its weights and metadata, and puts it in place
// (bundle/output.h).
//
// Thread rule: re-entrant function.
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

// Creates the bundle of `document`, fills in the hash of its weights, and writes it to
// document.job.output. Returns the SHA-256 of the weights. Errors and `stop` are those of
// PutBundle.
template <typename T>
Result<std::string> WriteBundle(const storage::FileSystem& files, bundle::ModelDocument document,
                                const model::NetworkShape& shape,
                                const AlignedVector<T>& parameters,
                                const std::vector<spec::HistoryRow>& history,
                                const bundle::OutputWriter& writer, const bundle::CommitStop& stop);

}  // namespace espalier::worker
