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
#include "tests/sim/held_leaves.h"
#include "tests/sim/peers.h"
#include "tests/sim/toy_job.h"

namespace espalier::sim {

class SimWorker;
class World;

// Members compare their states every so many steps.
inline constexpr int64_t kAgreementSteps = 4;

// A generation to take part in, as order.members[self].
struct MemberOrder {
  cluster::StartTraining order;
  int32_t self = 0;
};

class SimMember final : public collective::LinkListener {
 public:
  // A run ended here: with an OK status the job is trained, or goes on without this member.
  struct End {
    Status status;
    bool broken = false;   // a link, or the agreement: the next generation mends it
    bool left = false;     // the job goes on without this member
    bool joining = false;  // it had not begun yet
    bool root = false;
    Generation generation;  // in which it ended
    MemberOrder order;      // of that
  };
  struct Hooks {
    std::function<void(cluster::FromWorker)> tell;
    std::function<void(int64_t step)> on_step;
    // At a member that is to be the root, before it is ready.
    std::function<void(const MemberOrder&)> reserve_output;
    // At the root: the state that all members had before a step.
    std::function<void(int64_t step, const std::string& bytes)> on_agreed;
    std::function<void(const End&)> on_end;
  };
  SimMember(World& world, SimWorker& worker, ToyJob& toy, Hooks hooks);

  void Run(const MemberOrder& order);
  void Interrupt();
  void Rearm() { interrupted_ = false; }
  void Proceed(const espalier::cluster::Proceed& proceed);
  // Loads the rows of a generation that is to follow the one that runs; tells MemberReady.
  void Prepare(const MemberOrder& order);
  // At the root: ends the present generation.
  void SwitchTo(Generation next);
  // Nothing happens here any more.
  void Stop();
  // Before the first run: what is begun with instead of a new model.
  void GoOnFrom(training::TrainingState<Real> state);

  const training::StepMachine<Real>& machine() const { return machine_; }
  const std::string& agreed() const { return agreed_; }
  bool differs() const { return differs_; }  // from others, as of the last run
  ToyJob& toy() { return toy_; }
  const MemberPoint& point() const { return point_; }
  plan::LeafSpan own() const { return own_; }
  int64_t members() const { return static_cast<int64_t>(order_.members.size()); }
  bool running() const { return state_ != State::kIdle; }
  bool recovering() const { return state_ == State::kLoading || state_ == State::kWaiting; }
  bool joining() const { return joining_ && running(); }
  bool fetching() const { return state_ == State::kFetching; }
  bool preparing() const { return preparing_; }
  bool stamped() const { return stamped_; }  // at the root: the round in flight is its last
  const training::FinishAction& finish() const { return *finish_; }
  // A message as if it had come on a link.
  void Inject(const collective::ReduceMessage& message);
  // Memory that fails: one bit of a parameter. False: not at this moment.
  bool FlipBit();

  void OnMessage(collective::ReduceMessage message) override;
  void OnBroken(Generation generation, uint32_t member, Status why) override;

 private:
  enum class State : uint8_t { kIdle, kLoading, kWaiting, kFetching, kComputing, kTotals };

  // member.cc: a generation begins and ends.
  void Place(const MemberOrder& order);
  bool IsRoot(const MemberOrder& order) const;
  void Connect();
  void Disconnect();
  void Load();
  void Loaded();
  void TellBroken(uint32_t member, const Status& why);
  void Finish(Status status, bool left = false);
  // Runs `f` after a while, unless this run has ended here meanwhile.
  void After(int64_t us, std::function<void()> f);

  // member_state.cc: all come to one state.
  void Level(const espalier::cluster::Proceed& proceed);
  void OfferState();
  void FetchState(uint32_t holder, int64_t since_us);
  void Fetched(uint32_t holder, int64_t since_us, const Result<std::string>& bytes);
  void TakeState(const std::string& bytes);
  void ForgetWhatABugForgets(training::TrainingState<Real>& state) const;
  // False: the members' states differ.
  bool Agree(const training::GradientAction& step);
  void GoBack();

  // member_planned.cc: generations that begin by plan.
  void Prepared(const MemberOrder& order);
  void StopPreparing();
  void EndGeneration(Generation next);
  void SwitchInto(const MemberOrder& next);
  void CloseBefore();
  void HearPace();
  void TellPace();

  // member_rounds.cc
  void Train();
  void Go(training::Action action);
  void BeginRound();
  void SayOwnWords();
  void Compute();
  void Contribute(size_t bucket);
  LeafUse Use() const;
  void Perform(collective::ReduceActions actions);
  void Settle();
  void ApplyEarly();
  void Commit();
  void CommitGradient(const std::vector<double>& stats);
  void Update(const training::UpdateAction& update);
  void TellHistory();

  World& world_;
  SimWorker& worker_;
  ToyJob& toy_;
  const Hooks hooks_;
  training::StepMachine<Real> machine_;
  HeldLeaves rows_;
  bool differs_ = false;
  std::string compared_, agreed_;  // agreed_: the newest state that all members had; or none
  std::string stale_;              // an older state, which a bug offers

  // Of the present generation.
  State state_ = State::kIdle;
  uint64_t run_ = 0;  // counts runs
  cluster::StartTraining order_;
  int32_t self_ = 0;
  MemberPoint point_;
  plan::LeafSpan own_, own_before_;
  bool moved_ = false;  // own_before_ is of an earlier generation
  bool root_ = false, alone_ = false, broken_ = false, interrupted_ = false;
  bool trained_ = false;   // it has begun a round
  bool joining_ = false;   // by plan, and has not begun yet
  bool diverged_ = false;  // the members' states differed
  bool linked_ = false;
  std::optional<MemberPoint> before_;  // links of the generation before, until all are over it
  std::unique_ptr<collective::TreeReducer> reducer_;
  std::optional<espalier::cluster::Proceed> proceed_;
  size_t history_told_ = 0;

  // Of planned changes.
  uint64_t preparation_ = 0;  // counts them; older ones stop
  bool preparing_ = false;
  std::optional<MemberOrder> prepared_;
  Generation running_, switch_to_, next_;  // next_: as the root stamped it
  bool stamped_ = false;
  double leaf_ms_ = 0;
  std::vector<double> pace_sum_;
  int64_t pace_steps_ = 0, pace_told_us_ = -1'000'000'000, compute_us_ = 0;

  // Of the present round.
  training::Action action_;
  Contribution own_sums_;
  std::vector<collective::Payload> totals_, early_;  // early_: what a bug applies
  size_t missing_ = 0, contributed_ = 0;
  Status failure_;
  std::optional<training::FinishAction> finish_;
};

}  // namespace espalier::sim
