// A job's checkpoints on a file system: OUTPUT.checkpoints/step-000001200.ckpt, in the same
// directory as the output. The output itself appears only when the job has succeeded.
//
// A file is written under a hidden temporary name and renamed. A file with a checkpoint's name is
// therefore complete, unless the disk changed it later, which the checksums detect. A job's steps
// have the same bits on any worker. Every checkpoint whose header matches a job is therefore a
// state of that job, and the latest step is the best.
//
// Thread rule: safe from any thread. A directory has one writer at a time (the job's root).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/bundle/checkpoint.h"
#include "src/bundle/writer_name.h"
#include "src/spec/job_spec.h"
#include "src/storage/file_system.h"

namespace espalier::bundle {

inline constexpr const char* kCheckpointsSuffix = ".checkpoints";

// Returns the directory: "/models/m" or "/models/m.checkpoints" (with or without a trailing "/") ->
// "/models/m.checkpoints".
std::string CheckpointDirectory(std::string run);
// Returns, for example, "step-000001200.ckpt".
std::string CheckpointFileName(int64_t step);
// Returns whether a file with this name is a checkpoint, which its job removes.
bool IsCheckpointFileName(std::string_view name);

struct FoundCheckpoint {
  std::string path;
  Checkpoint checkpoint;              // without its state for CheckpointPart::kHeader
  std::vector<std::string> accepted;  // all differences accepted so far, including now
  std::vector<std::string> skipped;   // newer checkpoints: "PATH is not used: WHY"
};

enum class CheckpointPart { kHeader, kAll };

// Returns the newest checkpoint in `directory` that is complete and meets the demand. Newer ones
// that are damaged or do not match are skipped and listed in `skipped`. kNotFound: no checkpoint
// exists. kFailedPrecondition: none meets the demand (with the message of the newest). kDataLoss:
// all are damaged. Other errors are storage's own. An unreachable file system does not cause a
// fallback to an older checkpoint.
Result<FoundCheckpoint> FindCheckpoint(const storage::FileSystem& files,
                                       const std::string& directory, const CheckpointDemand& demand,
                                       CheckpointPart part);

// Writes the checkpoint, then removes the leftovers of dead writers and all checkpoints except the
// `keep` newest. The order is: this one, then those of the same job, data and arithmetic by step,
// then the others. Checkpoints of a later job stay and are not replaced: this writer may have been
// paused until that job began. Directories stay, because they may be the outputs of other jobs.
// Returns its path. If the write fails, no older checkpoint has been removed.
Result<std::string> WriteCheckpoint(const storage::FileSystem& files, const std::string& directory,
                                    const CheckpointHeader& header, std::string_view state,
                                    int64_t keep, const WriterName& writer);

// Removes the checkpoints with uncompared states. Call it after members found different states,
// because these checkpoints may be wrong.
Status RemoveUncompared(const storage::FileSystem& files, const std::string& directory);

// Removes all checkpoints except those of a later job, and the directory if nothing remains in it.
Status RemoveCheckpoints(const storage::FileSystem& files, const std::string& directory,
                         const WriterName& writer);

// Returns whether the job can begin as specified. With `resume`, a checkpoint of this job must
// exist (workers compare data and arithmetic later, when they are known). Without `resume`,
// checkpoints of an unfinished run at the output are an error (kAlreadyExists) unless `overwrite`
// is set.
Status CheckBeginning(const storage::FileSystem& files, const spec::JobSpec& job);

}  // namespace espalier::bundle
