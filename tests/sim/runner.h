// One job on one simulated worker: worker/job_runner.cc as events. Orders are performed one after
// another; one that comes meanwhile interrupts the one underway.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "src/bundle/output_commit.h"
#include "src/cluster/fate.h"
#include "src/cluster/messages.h"
#include "tests/sim/member.h"
#include "tests/sim/outputs.h"

namespace espalier::sim {

class SimRunner {
 public:
  SimRunner(World& world, SimWorker& worker, cluster::StartProfiling order);

  JobId job() const { return job_; }
  void Profile(cluster::StartProfiling order) { GiveOrder(std::move(order)); }
  void Train(MemberOrder order) { GiveOrder(std::move(order)); }
  void Proceed(const espalier::cluster::Proceed& order);
  // A generation that is to follow the one underway; or, when there is none here, one to join.
  void Prepare(MemberOrder order);
  void SwitchTo(Generation next);
  // Writes the state of a job that stands still.
  void Keep(cluster::JobPoint at, bool reverts);
  // Everything ends soon; nothing is told any more.
  void Abort();
  int64_t step() const { return step_; }
  bool over() const { return over_; }
  SimMember* member() { return member_.get(); }
  // The member's links close; nothing happens any more.
  void Destroy();

 private:
  using Order = std::variant<cluster::StartProfiling, MemberOrder>;

  void GiveOrder(Order order);
  void WakeLater();
  void Wake();
  void ProfileShard(size_t index);
  void RunTraining();
  void MakeMember(const cluster::StartTraining& order);
  void LoadCheckpoint(bool reverts);
  void Agreed(int64_t step, std::string bytes);
  void OnEnd(const SimMember::End& end);
  bundle::WriterName WriterOf(const MemberOrder& order) const;
  void Commit();
  void BeginCommit();
  void CommitStep();
  void Committed();
  void Idle();
  void Tell(cluster::FromWorker message);
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
  int64_t step_ = 0;
  SimMember::End end_;  // of the newest run
  Generation checkpoints_of_;
  int64_t checkpoint_step_ = 0;
  bool writing_ = false;  // a checkpoint
  std::optional<bundle::OutputCommit> commit_;
  bundle::OutputResult committed_;  // of its last action
  SimBundle bundle_;                // that it puts in place
  std::unique_ptr<SimMember> member_;
};

}  // namespace espalier::sim
