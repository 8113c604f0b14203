// One job on one simulated worker: worker/job_runner.cc as events. It performs one order at a time.
// A new order interrupts the current one.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "src/bundle/output_commit.h"
#include "src/cluster/message_filter.h"
#include "src/cluster/messages.h"
#include "tests/sim/member.h"
#include "tests/sim/outputs.h"

namespace espalier::sim {

// Returns the names of the actions of a commit and of the writing of a checkpoint. A worker may
// pause before each of them.
const std::vector<std::string>& PausableActions();

class SimRunner {
 public:
  SimRunner(World& world, SimWorker& worker, cluster::StartProfiling order);

  JobId job() const { return job_; }
  void Profile(cluster::StartProfiling order) { GiveOrder(std::move(order)); }
  void Train(member::TrainingOrder order) { GiveOrder(std::move(order)); }
  void Proceed(const espalier::cluster::Proceed& order);
  // Prepares the generation that follows the running one. Without a running one, joins it.
  void Prepare(member::TrainingOrder order);
  void SwitchTo(Generation next);
  // Writes the state of a job that waits.
  void Keep(cluster::JobPoint at, bool reverts);
  // Ends the job soon. Sends no more reports.
  void Abort();
  int64_t step() const { return step_; }
  bool over() const { return over_; }
  SimMember* member() { return member_.get(); }

  // Calls of the member.
  void Report(cluster::FromWorker message);
  void ReportHistory(const member::ReportHistory& action);
  // The member applied an update. Returns `next`, its next action.
  training::Action Stepped(training::Action next);
  // Finds the state of a member before a generation that all members begin together.
  void FindState(const cluster::StartTraining& order);
  // Reserves the output if the rows of a root are loaded. Returns `loaded`.
  Status Reserve(Status loaded, const member::Place& place);
  // At the root: returns whether to write the state after `step` steps soon.
  bool CheckpointDue(int64_t step);
  // All members have this state.
  void Agreed(const training::TrainingState<Real>& state);
  void Ended(const member::EndRun& end);

  // Closes the member's links and drops all events.
  void Destroy();

 private:
  using Order = std::variant<cluster::StartProfiling, member::TrainingOrder>;

  void GiveOrder(Order order);
  void WakeLater();
  void Wake();
  void ProfileShard(size_t index);
  void RunTraining();
  void BeforeWrite(size_t action, std::function<void()> f);
  void OnEnd(const member::EndRun& end);
  bundle::WriterName WriterOf(const member::TrainingOrder& order) const;
  void Commit();
  void BeginCommit();
  void CommitStep();
  void Committed();
  void Idle();
  void After(int64_t us, std::function<void()> f);

  World& world_;
  SimWorker& worker_;
  const JobId job_;
  const std::string job_text_, output_;
  ToyJob& toy_;
  std::optional<Order> next_;
  std::optional<Order> present_;
  std::optional<espalier::cluster::Proceed> proceed_;
  bool busy_ = false, interrupted_ = false, aborted_ = false, over_ = false, destroyed_ = false;
  bool found_ = false;  // the member has looked for a checkpoint
  int64_t step_ = 0;
  member::EndRun end_;  // end of the newest run
  Generation checkpoints_of_;
  int64_t checkpoint_step_ = 0;
  bool writing_ = false;  // writes a checkpoint
  std::optional<bundle::OutputCommit> commit_;
  bundle::OutputResult committed_;  // result of the last action
  SimBundle bundle_;                // the bundle to commit
  std::unique_ptr<SimMember> member_;
};

}  // namespace espalier::sim
