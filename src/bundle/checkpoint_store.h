// A job's checkpoints on a file system: OUTPUT.checkpoints/step-000001200.ckpt, beside the output,
// which itself appears only when the job has succeeded.
//
// A file is written under a hidden temporary name and renamed: what has the name is whole, unless
// the disk changed it later, which the checksums tell. Because a job's steps are the same bits
// whoever computes them, any checkpoint whose header fits a job is a state of that job, and the
// furthest is the best.
//
// Thread rule: safe from any thread; one writer of a directory at a time (the job's root).
#pragma once

#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/bundle/checkpoint.h"
#include "src/bundle/writer_name.h"
#include "src/spec/job_spec.h"
#include "src/storage/file_system.h"

namespace espalier::bundle {

inline constexpr const char* kCheckpointsSuffix = ".checkpoints";

// "/models/m" or "/models/m.checkpoints" (each also with "/" behind) -> "/models/m.checkpoints".
std::string CheckpointDirectory(std::string run);
// "step-000001200.ckpt".
std::string CheckpointFileName(int64_t step);

struct FoundCheckpoint {
  std::string path;
  Checkpoint checkpoint;              // without its state when only the header was asked for
  std::vector<std::string> accepted;  // all differences accepted so far, this time's included
  std::vector<std::string> skipped;   // the newer ones: "PATH is not used: WHY"
};

enum class CheckpointPart { kHeader, kAll };

// The newest checkpoint in `directory` that is whole and meets the demand. Newer ones that are
// damaged or belong to something else are passed over, and named in `skipped`.
// Errors: kNotFound, there is none at all; kFailedPrecondition, none meets the demand (the message
// is the newest's); kDataLoss, all are damaged; storage's own (a file system that is away is no
// reason to go back further).
Result<FoundCheckpoint> FindCheckpoint(const storage::FileSystem& files,
                                       const std::string& directory, const CheckpointDemand& demand,
                                       CheckpointPart part);

// Writes the checkpoint, then removes what dead writers left and all but the `keep` newest: this
// one, then those of the same job, data and arithmetic by step, then the others. Returns its path.
// On error the older ones are all still there.
Result<std::string> WriteCheckpoint(const storage::FileSystem& files, const std::string& directory,
                                    const CheckpointHeader& header, std::string_view state,
                                    int64_t keep, const WriterName& writer);

// Removes the checkpoints whose states nobody had compared: some were found to differ, so these may
// be wrong.
Status RemoveUncompared(const storage::FileSystem& files, const std::string& directory);

// Removes all checkpoints, and the directory when nothing else is in it.
Status RemoveCheckpoints(const storage::FileSystem& files, const std::string& directory,
                         const WriterName& writer);

// Whether the job can begin as it asks to. With `resume`: there is a checkpoint of this job (its
// data and arithmetic are compared when they are known, on the workers). Without: no unfinished run
// has left checkpoints at the output, unless `overwrite` allows to begin anew (kAlreadyExists).
Status CheckBeginning(const storage::FileSystem& files, const spec::JobSpec& job);

}  // namespace espalier::bundle
