// One simulated worker's part in the training of a job: what worker/job_member.cc and
// worker/trainer.cc do on threads, as events. The step machine, the reducer and the sums are real.
//
// An interruption takes effect between rounds or while the member waits, never between the total
// and the update: totals that are complete are committed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/cluster/messages.h"
#include "src/collective/link.h"
#include "src/collective/tree_reducer.h"
#include "src/training/step_machine.h"
#include "tests/sim/peers.h"
#include "tests/sim/toy_job.h"

namespace espalier::sim {

class SimWorker;
class World;

class SimMember final : public LinkListener {
 public:
  struct Hooks {
    std::function<void(FromWorker)> tell;
    std::function<void(int64_t step)> on_step;
    // A generation ended here: OK when the job is trained.
    std::function<void(Status status, bool broken, bool root)> on_end;
  };
  SimMember(World& world, SimWorker& worker, ToyJob& toy, Hooks hooks);

  void Run(const StartTraining& order, int32_t self);
  void Interrupt();
  void Rearm() { interrupted_ = false; }
  void Proceed(const espalier::Proceed& proceed);
  // Nothing happens here any more.
  void Stop();

  const StepMachine<Real>& machine() const { return machine_; }
  ToyJob& toy() { return toy_; }
  bool running() const { return state_ != State::kIdle; }
  const FinishAction& finish() const { return *finish_; }
  // A message as if it had come on a link.
  void Inject(const ReduceMessage& message);
  bool recovering() const { return state_ == State::kLoading || state_ == State::kWaiting; }

  void OnMessage(ReduceMessage message) override;
  void OnBroken(Generation generation, uint32_t member, Status why) override;

 private:
  enum class State : uint8_t { kIdle, kLoading, kWaiting, kFetching, kComputing, kTotals };

  void Connect();
  void Disconnect();
  void Load();
  void Loaded();
  void Level(const espalier::Proceed& proceed);
  void OfferState();
  void FetchState(int64_t since_us);
  void TakeState(const std::string& bytes);
  void Train();
  void Go(Action action);
  void BeginRound();
  void Compute();
  void Contribute(size_t bucket);
  LeafUse Use() const;
  void Perform(ReduceActions actions);
  void Settle();
  void ApplyEarly();
  void Commit();
  void CommitGradient(const std::vector<double>& stats);
  void TellBroken(uint32_t member, const Status& why);
  void TellHistory();
  void ForgetWhatABugForgets(TrainingState<Real>& state) const;
  void End(Status status);
  // Runs `f` after a while, unless this generation has ended here meanwhile.
  void After(int64_t us, std::function<void()> f);

  World& world_;
  SimWorker& worker_;
  ToyJob& toy_;
  const Hooks hooks_;
  StepMachine<Real> machine_;

  // Of the present generation.
  State state_ = State::kIdle;
  uint64_t run_ = 0;  // counts generations taken part in
  StartTraining order_;
  int32_t self_ = 0;
  MemberPoint point_;
  LeafSpan own_, own_before_;
  bool moved_ = false;  // own_before_ is of an earlier generation
  bool root_ = false, alone_ = false, broken_ = false, interrupted_ = false, linked_ = false;
  std::unique_ptr<TreeReducer> reducer_;
  std::optional<espalier::Proceed> proceed_;
  std::vector<Range> held_;  // training rows
  size_t history_told_ = 0;

  // Of the present round.
  Action action_;
  Contribution own_sums_;
  std::vector<Payload> totals_, early_;  // early_: what a bug applies
  size_t missing_ = 0, contributed_ = 0;
  Status failure_;
  std::optional<FinishAction> finish_;
};

}  // namespace espalier::sim
