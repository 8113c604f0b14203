// What may be done to a job's output, and how the bundle gets there. `overwrite` replaces an
// earlier bundle, never anything else: a wrong path must not cost anybody their data.
//
// Thread rule: safe from any thread.
#pragma once

#include "src/base/status.h"
#include "src/bundle/bundle.h"
#include "src/bundle/writer_name.h"
#include "src/spec/job_spec.h"
#include "src/storage/file_system.h"

namespace espalier {

// OK when nothing is there, or an empty directory or a bundle that may be overwritten.
// kAlreadyExists: something is there and overwrite is not set. kInvalidArgument: overwrite is set,
// but what is there is no bundle; the message names what it found.
Status CheckOutput(const FileSystem& files, const OutputSpec& output);

// Whether a bundle can be put there, before anything is trained: the directory that the output will
// stand in is made when it is not there; beside the output a hidden directory is made whose name is
// the output's with as many bytes more as any that a job makes there (kNameBytesAdded), a file is
// written in it, and both are removed. `who` tells this caller from others. Errors name the output:
// kInvalidArgument when its file system takes no such name.
Status ProbeOutput(const FileSystem& files, const OutputSpec& output, const std::string& who);

inline constexpr size_t kNameBytesAdded = 48;

// Puts a finished job's bundle in place: all files under OUTPUT.writing-WRITER, then one rename, so
// that the output is never half a bundle. A bundle that it replaces stands aside as
// OUTPUT.replaced-WRITER until then.
//   - Again for a bundle that is in place already (a root may die before it can tell) is success.
//   - What writers of older generations have begun is removed first: their renames then fail.
// Errors: the output exists and may not be replaced, or storage's own; nothing temporary is left,
// or the message says where.
Status PutBundle(const FileSystem& files, const Bundle& bundle, const OutputSpec& output,
                 const WriterName& writer);

}  // namespace espalier
