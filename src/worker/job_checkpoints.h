// What one worker does about a job's checkpoints: it writes those that are due while it is the
// root, and the state at which the job stands still; it removes those that may be wrong, and, after
// success, those that have served.
//
// Thread rule: all calls from the job's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "src/base/ids.h"
#include "src/base/status.h"
#include "src/bundle/checkpoint.h"
#include "src/bundle/writer_name.h"
#include "src/spec/job_spec.h"
#include "src/storage/file_system.h"
#include "src/worker/checkpointer.h"
#include "src/worker/job_member.h"

namespace espalier::worker {

class JobCheckpoints {
 public:
  // `files` and `spec` must outlive this.
  JobCheckpoints(const storage::FileSystem& files, const spec::JobSpec& spec,
                 std::string arithmetic_id);

  // Whether this root should write the state before the step; never where the job wants none.
  bool Due(const RootState& state);
  // All members hold this state: writes it if it is due.
  void WriteIfDue(const RootState& state);
  // The state at which the job stands still, unless a checkpoint that is as far is there.
  // `compared`: all members had agreed on it; what one member wrote alone may be what was wrong,
  // and goes. Returns the directory that has it.
  Result<std::string> Keep(const TrainingOrder& order, const HeldState& held, bool compared);
  // Removes those that no other member had compared with its own.
  void DropUncompared();
  // After success: waits for the last one; those that nobody asked for have served and go.
  void End(const bundle::WriterName& writer);

 private:
  bundle::CheckpointHeader HeaderOf(const cluster::StartTraining& order, int64_t step,
                                    const std::vector<std::string>& accepted) const;

  const storage::FileSystem& files_;
  const spec::JobSpec& spec_;
  const std::string arithmetic_id_;
  const std::string directory_;
  std::unique_ptr<Checkpointer> checkpointer_;  // once this worker has been the root
  Generation of_;                               // the generation it has begun with
};

}  // namespace espalier::worker
