// Puts a finished job's bundle in place: all files under a temporary directory beside the output,
// then one rename. Never leaves a half-written output; doing it again for the same weights is fine.
#pragma once

#include <string>
#include <vector>

#include "src/base/aligned.h"
#include "src/base/status.h"
#include "src/bundle/bundle.h"
#include "src/model/network.h"
#include "src/storage/file_system.h"

namespace espalier {

// Makes the bundle of `document` (but for its weights' hash) and writes it to document.job.output.
// `writer` names generation, member and job and becomes part of the temporary name. Returns the
// weights' SHA-256. Errors: the output exists and may not be overwritten, or storage's own.
template <typename T>
Result<std::string> WriteBundle(const FileSystem& files, ModelDocument document,
                                const NetworkShape& shape, const AlignedVector<T>& parameters,
                                const std::vector<HistoryRow>& history, const std::string& writer);

}  // namespace espalier
