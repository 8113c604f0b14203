// Checks of a job's output, and the commit of its bundle. `overwrite` replaces only an earlier
// bundle, so that a wrong path never destroys other data.
//
// Thread rule: safe from any thread.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "src/base/ids.h"
#include "src/base/status.h"
#include "src/bundle/bundle.h"
#include "src/bundle/writer_name.h"
#include "src/spec/job_spec.h"
#include "src/storage/file_system.h"

namespace espalier::bundle {

// Returns OK if the output does not exist, is an empty directory, or is a bundle that may be
// overwritten. kAlreadyExists: the output exists and overwrite is not set. kInvalidArgument:
// overwrite is set, but the path contains other files than a bundle; the message names one. Also
// kInvalidArgument if jobs use this name for their own files next to an output, because another job
// would remove it.
Status CheckOutput(const storage::FileSystem& files, const spec::OutputSpec& output);

// Tests, before training, that a bundle can be written. Creates the parent directory of the output
// if it is missing. Then creates a hidden directory next to the output, writes a file in it, and
// removes both. Its name is as long as the longest name that a job creates there (kNameBytesAdded).
// `who` distinguishes this caller from others. Errors name the output. kInvalidArgument: the file
// system rejects this name.
Status ProbeOutput(const storage::FileSystem& files, const spec::OutputSpec& output,
                   const std::string& who);

inline constexpr size_t kNameBytesAdded = 64;

// Name of the file in a bundle that records its writer. It is hidden and not part of the model: two
// runs of a job differ in it.
inline constexpr const char* kWriterFile = ".writer.json";

// Writer of a bundle, as its file records it.
struct OutputWriter {
  WriterName name;
  Incarnation incarnation = {};  // incarnation of the coordinator that gave the command
  std::string submission = {};   // client request id; distinguishes jobs of different coordinators
};

// Ways to stop a commit.
struct CommitStop {
  std::function<bool()> stopped;  // true ends the commit before its next step; may be empty
  const storage::FileSystem* cleaning =
      nullptr;  // cleans up if calls of `files` are cancelled; null: `files`
};

// Gives a writer the right to commit (output_commit.h). Call it before the member that would write
// the output reports that it is ready. If the output is missing, restores an old bundle that the
// writer of an earlier job has set aside. kFailedPrecondition: the output contains the model of a
// job that was submitted later (writer_name.h).
Status ReserveOutput(const storage::FileSystem& files, const std::string& output,
                     const WriterName& writer);

// Puts a finished job's bundle in place, by the steps of output_commit.h. The output is never a
// partial bundle, and this writer never replaces the bundle of a later one.
// - A repeated call for a bundle that is already in place succeeds, because a root may die before
//   it reports completion.
// REQUIRES: ReserveOutput(files, output.path, writer.name) succeeded before. Errors: kAborted if
// the writer was fenced; kAlreadyExists or kInvalidArgument (CheckOutput) if the output exists and
// may not be replaced; kCancelled if stopped; or storage's own. Temporary files are removed, or the
// message contains their location.
Status PutBundle(const storage::FileSystem& files, const Bundle& bundle,
                 const spec::OutputSpec& output, const OutputWriter& writer,
                 const CommitStop& stop = {});

// Fences the writers that `stale` selects: none of them can change the output afterwards. Removes
// their leftovers, and restores an old bundle that one of them had set aside.
Status FenceOutput(const storage::FileSystem& files, const std::string& output,
                   const std::function<bool(const WriterName&)>& stale);

// Returns true if the bundle at `output` contains these weights and a writer of this submission put
// it there. Also returns true if it belongs to a later job. Lists the directory first, which makes
// NFS refresh its cache.
Result<bool> HoldsModel(const storage::FileSystem& files, const std::string& output,
                        const WriterName& writer, const std::string& submission,
                        const std::string& weights_sha256);

// Returns the generation that wrote the bundle at `output`, if it is of this submission.
Result<std::optional<Generation>> WrittenBy(const storage::FileSystem& files,
                                            const std::string& output,
                                            const std::string& submission);

}  // namespace espalier::bundle
