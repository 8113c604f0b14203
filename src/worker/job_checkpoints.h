// One worker's handling of a job's checkpoints. It writes the ones that are due while the worker is
// the root, and the state at which the job stops. It removes the ones that may be wrong, and after
// success the ones that are no longer needed.
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
  // `files` and `spec` must outlive this object.
  JobCheckpoints(const storage::FileSystem& files, const spec::JobSpec& spec,
                 std::string arithmetic_id);

  // Returns whether this root should write the state before the step. Always false if the job wants
  // no checkpoints.
  bool Due(const RootState& state);
  // Writes the state if it is due. REQUIRES: all members have this state.
  void WriteIfDue(const RootState& state);
  // Waits for a write in progress and frees its memory. Call it before the state for Keep, or the
  // bundle, is encoded.
  void FinishWriting();
  // Writes the state at which the job stops, unless a checkpoint of the same or a later step
  // exists. Returns the directory that has it. `compared`: all members had agreed on the state. A
  // checkpoint that only one member wrote may then contain the wrong state, and is removed.
  Result<std::string> Keep(const member::TrainingOrder& order, const HeldState& held,
                           bool compared);
  // Removes the checkpoints that no other member had compared with its own state.
  void DropUncompared();
  // After success, waits for the last write and removes the checkpoints, unless the user asked for
  // them.
  void End(const bundle::WriterName& writer);

 private:
  bundle::CheckpointHeader HeaderOf(const cluster::StartTraining& order, int64_t step,
                                    const std::vector<std::string>& accepted) const;

  const storage::FileSystem& files_;
  const spec::JobSpec& spec_;
  const std::string arithmetic_id_;
  const std::string directory_;
  std::unique_ptr<Checkpointer> checkpointer_;  // exists once this worker has been the root
  Generation of_;                               // generation that it began last
};

}  // namespace espalier::worker
