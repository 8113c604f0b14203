// What may be done to a job's output, and how the bundle gets there. `overwrite` replaces an
// earlier bundle, never anything else: a wrong path must not cost anybody their data.
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

// OK when nothing is there, or an empty directory or a bundle that may be overwritten.
// kAlreadyExists: something is there and overwrite is not set. kInvalidArgument: overwrite is set,
// but the path holds other files than a bundle; the message names one. Or jobs use this name for
// their own files next to an output, and another job would remove it.
Status CheckOutput(const storage::FileSystem& files, const spec::OutputSpec& output);

// Whether a bundle can be put there, before anything is trained: the directory that the output will
// stand in is made when it is not there; beside the output a hidden directory is made whose name is
// the output's with as many bytes more as any that a job makes there (kNameBytesAdded), a file is
// written in it, and both are removed. `who` tells this caller from others. Errors name the output:
// kInvalidArgument when its file system takes no such name.
Status ProbeOutput(const storage::FileSystem& files, const spec::OutputSpec& output,
                   const std::string& who);

inline constexpr size_t kNameBytesAdded = 64;

// Name of the file in a bundle that records its writer. It is hidden and no part of the model: two
// runs of a job differ in it.
inline constexpr const char* kWriterFile = ".writer.json";

// Writer of a bundle, as its file records it.
struct OutputWriter {
  WriterName name;
  Incarnation incarnation = {};  // of the coordinator that gave the order
  std::string submission = {};  // client request id: tells the job from those of other coordinators
};

// How a commit is stopped.
struct CommitStop {
  std::function<bool()> stopped;  // true ends the commit before its next step; may be empty
  const storage::FileSystem* cleaning =
      nullptr;  // cleans up if the commit's files cancel; null: these do
};

// Gives a writer the right to commit (output_commit.h). Call it before the member that would write
// the output reports that it is ready. If the output is missing, moves an old bundle back that the
// writer of an earlier job has set aside. kFailedPrecondition if the output holds the model of a
// job that was submitted later (writer_name.h).
Status ReserveOutput(const storage::FileSystem& files, const std::string& output,
                     const WriterName& writer);

// Puts a finished job's bundle in place, by the steps of output_commit.h: the output is never half
// a bundle, and this writer never replaces the bundle of a later one.
//   - Another call for a bundle that is in place already succeeds (a root may die before it reports
//     that it is done).
// REQUIRES: ReserveOutput(files, output.path, writer.name) succeeded before.
// Errors: kAborted if the writer was fenced; kAlreadyExists or kInvalidArgument (CheckOutput) if
// the output exists and may not be replaced; kCancelled if stopped; or storage's own. Nothing
// temporary is left, or the message says where.
Status PutBundle(const storage::FileSystem& files, const Bundle& bundle,
                 const spec::OutputSpec& output, const OutputWriter& writer,
                 const CommitStop& stop = {});

// Fences the writers that `stale` selects: none of them changes the output from now on. Removes
// what they left, and moves an old bundle that one had set aside back.
Status FenceOutput(const storage::FileSystem& files, const std::string& output,
                   const std::function<bool(const WriterName&)>& stale);

// Whether the bundle at `output` is the one with these weights that a writer of this submission has
// put there, or that of a later job. Lists the directory first: then NFS looks again.
Result<bool> HoldsModel(const storage::FileSystem& files, const std::string& output,
                        const WriterName& writer, const std::string& submission,
                        const std::string& weights_sha256);

// Returns the generation that wrote the bundle at `output`, if it is of this submission.
Result<std::optional<Generation>> WrittenBy(const storage::FileSystem& files,
                                            const std::string& output,
                                            const std::string& submission);

}  // namespace espalier::bundle
