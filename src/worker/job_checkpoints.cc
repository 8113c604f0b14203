#include "src/worker/job_checkpoints.h"

#include <utility>

#include "src/base/log.h"
#include "src/bundle/checkpoint_store.h"
#include "src/bundle/model_json.h"
#include "src/worker/clock.h"
#include "src/worker/training_order.h"

namespace espalier::worker {

JobCheckpoints::JobCheckpoints(const storage::FileSystem& files, const spec::JobSpec& spec,
                               std::string arithmetic_id)
    : files_(files),
      spec_(spec),
      arithmetic_id_(std::move(arithmetic_id)),
      directory_(bundle::CheckpointDirectory(spec.output.path)) {}

bundle::CheckpointHeader JobCheckpoints::HeaderOf(const cluster::StartTraining& order, int64_t step,
                                                  const std::vector<std::string>& accepted) const {
  bundle::CheckpointHeader header;
  header.step = step;
  header.job = spec::CanonicalText(spec_);
  header.data_fingerprint = order.profile->data_fingerprint;
  header.arithmetic_id = arithmetic_id_;
  header.accepted = accepted;
  header.preprocessing = bundle::EncodePreprocessing(order.profile->preprocessing);
  return header;
}

bool JobCheckpoints::Due(const RootState& state) {
  if (!spec_.checkpoint) return false;
  const cluster::StartTraining& order = state.order;
  if (!checkpointer_) {
    checkpointer_ = std::make_unique<Checkpointer>(files_, directory_, *spec_.checkpoint, NowMs);
  }
  if (of_ != order.generation) {
    of_ = order.generation;
    checkpointer_->Begin(HeaderOf(order, state.step, state.accepted), WriterOf(order, state.self));
  }
  return checkpointer_->Due(state.step);
}

void JobCheckpoints::WriteIfDue(const RootState& state) {
  if (Due(state)) checkpointer_->Write(state.step, state.encode());
}

void JobCheckpoints::DropUncompared() {
  const Status dropped = bundle::RemoveUncompared(files_, directory_);
  if (!dropped.ok()) {
    LogWarning(dropped.Wrap("checkpoints that may be wrong could not be removed").ToString());
  }
}

void JobCheckpoints::FinishWriting() {
  checkpointer_.reset();
  of_ = {};
}

Result<std::string> JobCheckpoints::Keep(const member::TrainingOrder& order, const HeldState& held,
                                         bool compared) {
  FinishWriting();
  if (compared) DropUncompared();
  bundle::CheckpointHeader header = HeaderOf(order.order, held.step, held.accepted);
  header.compared = compared;
  bundle::CheckpointDemand demand;
  demand.job = header.job;
  demand.data_fingerprint = header.data_fingerprint;
  demand.arithmetic_id = header.arithmetic_id;
  demand.accept_history = true;
  demand.compared_only = compared;
  const auto found =
      bundle::FindCheckpoint(files_, directory_, demand, bundle::CheckpointPart::kHeader);
  if (found.ok() && found->checkpoint.header.step >= held.step) return directory_;
  const int64_t keep = (spec_.checkpoint ? *spec_.checkpoint : spec::CheckpointSpec{}).keep;
  ESPALIER_ASSIGN_OR_RETURN(const std::string path,
                            bundle::WriteCheckpoint(files_, directory_, header, held.bytes, keep,
                                                    WriterOf(order.order, order.self)));
  LogInfo("the job is paused; checkpoint " + path);
  return directory_;
}

void JobCheckpoints::End(const bundle::WriterName& writer) {
  checkpointer_.reset();
  if (spec_.checkpoint && spec_.checkpoint->asked_for) return;
  const Status removed = bundle::RemoveCheckpoints(files_, directory_, writer);
  if (!removed.ok()) LogWarning(removed.Wrap("old checkpoints stay in " + directory_).ToString());
}

}  // namespace espalier::worker
