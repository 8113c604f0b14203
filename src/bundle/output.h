// What may be done to a job's output. `overwrite` replaces an earlier bundle, never anything else:
// a wrong path must not cost anybody their data.
//
// Thread rule: reads only; safe from any thread.
#pragma once

#include "src/base/status.h"
#include "src/spec/job_spec.h"
#include "src/storage/file_system.h"

namespace espalier {

// OK when nothing is there, or an empty directory or a bundle that may be overwritten.
// kAlreadyExists: something is there and overwrite is not set. kInvalidArgument: overwrite is set,
// but what is there is no bundle; the message names what it found.
Status CheckOutput(const FileSystem& files, const OutputSpec& output);

}  // namespace espalier
