// MemberCore: one worker's part in the training of a job, over all its generations, as a state
// machine without I/O. Events in, actions out. The worker (worker/job_member.h) and the simulator
// (tests/sim) perform the actions. Nothing else decides a step of the protocol.
//
// A generation that all members begin together (after submission, or after a member was lost):
//
//   TakePart      -> CloseLinks, OpenLinks, FindState      the links open first, because members
//                                                          need different times for the rest
//   StateFound    -> [Revert], CoverRows                   Revert: the members' states differed
//   RowsCovered   -> Report(MemberReady with its round)
//   ProceedCame   -> [FetchState], [OfferState], NextRound
//
// A generation that begins by plan, while the one before still trains:
//
//   member of both:   Prepare -> StageRows.  RowsStaged -> Report(MemberReady).
//                     SwitchTo at the root, which stamps its next total. All members read the stamp
//                     and end the generation after that total:
//                     -> SetLinksAside, AdoptRows, Report(Switched), OpenLinks, NextRound
//   member that joins: TakePart -> CloseLinks, CoverRows.  RowsCovered -> Report(MemberReady),
//                     FetchState.  StateFetched -> Report(Switched), OpenLinks, NextRound
//   member that leaves: its run ends with `left`
//
// The links of the generation before stay up until the first totals of the next one arrive. Only
// then has every member received the last total of the one before.
//
// Rounds: NextRound makes the shell report the round in flight (RoundReached). RunRound computes
// it, SendSums passes its sums to the reducer, and Commit applies its totals. The next RoundReached
// follows. A complete total is always committed, also after an interruption or a broken link. So
// no two members are more than one round apart. A generation whose end is stamped in a total ends
// with it, even if one of its links breaks: the links of the next one are new.
//
// From time to time, the members compare checksums of their states. If all are equal, the state
// that they had before the step is agreed, and may become a checkpoint. If they differ, nothing is
// applied, and the next generation begins with the agreed state.
//
// The core knows the state of the job only by its round. Three copies may exist in the shell: the
// present one, the compared one (present at the last HoldCompared), and the agreed one.
//
// Asynchronous training: one member holds the state, and the others compute for it. There are no
// rounds to agree on. RunLoop replaces all rounds of a generation, and LoopEnded is its end.
//
// Thread rule: one thread at a time. The shell performs actions in order, and passes in the result
// of each action that has one. AbortRound, EndLoop, StageRows, StopStaging, and a Report before
// which no action waits, may be performed at once. Interrupt, ProceedCame, Prepare, RowsStaged,
// SwitchTo, EndEarly and LinkBroke may come at any time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "src/base/ids.h"
#include "src/base/status.h"
#include "src/cluster/messages.h"
#include "src/member/place.h"
#include "src/training/step_signals.h"

namespace espalier::member {

struct MemberCoreOptions {
  int32_t leaves = 1;
  bool async = false;
  TreePlanner plan_tree = MakeTree;
  int64_t agreement_steps = 100;         // interval of state comparisons ...
  int64_t checkpoint_steps = 0;          // ... and a second interval; 0: none
  int64_t pace_steps = 20;               // steps whose times are averaged before a report
  int64_t pace_interval_us = 1'000'000;  // minimum time between two reports of uneven members
  int64_t fetch_retry_us = 10'000;
  int64_t fetch_limit_us = 60'000'000;  // time for the holder to offer its state
  int64_t max_time_us = 0;              // limit of the job's time at the root; 0: none
};

// Returns the error of an interrupted run.
inline Status OrderCame() { return Cancelled("a newer order came"); }

// ---- events ----------------------------------------------------------------------------------

// Takes part in a generation. It replaces the present run, which must have ended.
struct TakePart {
  TrainingOrder order;
};
// Ends the present run soon, and later ones until Rearm: a newer order came, or the job is over.
struct Interrupt {};
struct Rearm {};
// Result of FindState. `unread`: the state exists, but this member cannot read it; the job fails
// unless another member is further.
struct StateFound {
  Status status;
  Status unread = {};
};
// Result of CoverRows: the rows are available and the root has reserved the output. `round`: round
// in flight in the present state.
struct RowsCovered {
  Status status;
  uint64_t round = 0;
};
// Result of FetchState. `status`: kNotFound if the holder does not offer its state yet, or another
// error of the transfer. `decoded`: not OK if the holder sent something else than a state of the
// job. `round`: round of the fetched state, which is the present one now.
struct StateFetched {
  Status status;
  Status decoded = {};
  uint64_t round = 0;
};
// All members of a generation are ready.
struct ProceedCame {
  cluster::Proceed proceed;
};
// The present state is between two rounds, and this one follows.
struct RoundReached {
  enum class Kind : uint8_t { kGradient, kEvaluation, kFinish, kFail };
  Kind kind = Kind::kGradient;
  uint64_t round = 0;      // round in flight
  int64_t step = 0;        // committed steps
  size_t evaluations = 0;  // rows of the history
  Status error = {};       // for kFail
};
// The passes over the own leaves are done, and nothing of the sums is sent.
struct LeavesDone {
  int64_t state_checksum = 0;   // of the present state, if RunRound requires it
  bool checkpoint_due = false;  // at the root: a checkpoint should be written soon
};
// The totals of the round are complete. The others: only of a gradient step.
struct TotalsCame {
  std::optional<training::StepSignals> signals = {};
  double leaf_ms = 0;  // milliseconds per own leaf in this step
};
// An action could not be performed, or the round in flight ended without totals.
struct Failed {
  Status why;
};
// A link to a member of that generation broke.
struct LinkBroke {
  Generation generation;
  int32_t member = 0;
  Status why;
};
// Loads the rows of a planned generation that follows the present one.
struct Prepare {
  TrainingOrder order;
};
// Result of StageRows.
struct RowsStaged {
  uint64_t number = 0;
  Status status;
};
// At the root: all members of the generation `next` are ready, so the present one ends.
struct SwitchTo {
  Generation next;
};
// At the root: the next step of that generation is the last one of the job.
struct EndEarly {
  Generation generation;
};
// Result of RunLoop. `finished`: the job is trained. `next`: the generation that begins instead, in
// `round`.
struct LoopEnded {
  Status status;
  bool finished = false;
  Generation next = {};
  uint64_t round = 0;
};
using MemberEvent = std::variant<TakePart, Interrupt, Rearm, StateFound, RowsCovered, StateFetched,
                                 ProceedCame, RoundReached, LeavesDone, TotalsCame, Failed,
                                 LinkBroke, Prepare, RowsStaged, SwitchTo, EndEarly, LoopEnded>;

// ---- actions ---------------------------------------------------------------------------------

using PlaceRef = std::shared_ptr<const Place>;

// Drops all links, and the offered state.
struct CloseLinks {};
// Opens the links of that place's generation.
struct OpenLinks {
  PlaceRef place;
};
// Keeps the open links as those of the generation before, and drops older ones.
struct SetLinksAside {};
// Drops the links of the generation before.
struct CloseLinksAside {};
// Finds the state from which this member begins: the present one, a checkpoint, or a new model.
// -> StateFound
struct FindState {
  PlaceRef place;
};
// Replaces the present state by the agreed one, or by a new model if there is none.
struct Revert {};
// Makes the rows of the place available. The root also reserves the output. -> RowsCovered
struct CoverRows {
  PlaceRef place;
};
// Loads the rows of the place next to those in use. The future root also reserves the output.
// -> RowsStaged
struct StageRows {
  PlaceRef place;
  uint64_t number = 0;
};
// Stops all StageRows. Their results are no longer of use.
struct StopStaging {};
// Makes exactly the rows of the place available, which were staged.
struct AdoptRows {
  PlaceRef place;
};
// Fetches the state of that member, after a delay. -> StateFetched
struct FetchState {
  PlaceRef place;
  int32_t holder = 0;             // member index
  std::optional<uint64_t> round;  // required round; none: any
  int64_t delay_us = 0;
};
// Offers the present state to all members of the generation.
struct OfferState {
  PlaceRef place;
};
struct WithdrawState {};
// Makes the present state the agreed one.
struct AgreeOnPresent {};
// Copies the present state as the compared one, before the step.
struct HoldCompared {};
// Makes the compared state the agreed one.
struct AgreeOnCompared {};
// At the root: the agreed state may become a checkpoint.
struct OfferCheckpoint {
  PlaceRef place;
};
// Reports these rows of the history, from `first` to the newest.
struct ReportHistory {
  PlaceRef place;
  size_t first = 0;
};
// Begins the rounds of a generation: determines the round in flight. -> RoundReached
struct NextRound {
  PlaceRef place;
};
// Computes the own part of the round in flight. A gradient: -> LeavesDone or Failed. An evaluation
// also sends its sums: -> TotalsCame or Failed
struct RunRound {
  bool checksum = false;  // LeavesDone contains the checksum of the state
};
// Sends the sums of a gradient with these signals. -> TotalsCame or Failed
struct SendSums {
  std::optional<training::RootSignals> root;  // at the root
  training::MemberSignals own;
};
// Ends the round or loop in flight with this error, unless its totals are complete, and later ones
// of this generation.
struct AbortRound {
  Status why;
};
// Applies the totals. -> RoundReached
struct Commit {};
// Runs all steps of an asynchronous generation. Once all members have begun it, the shell withdraws
// the offered state and drops the links of the generation before. -> LoopEnded
struct RunLoop {
  PlaceRef place;
};
// At the root, during RunLoop.
struct EndLoop {
  Generation next;   // generation that begins after the next step
  bool job = false;  // the next step is the last one of the job
};
struct Report {
  cluster::FromWorker message;
};
// The run is over. The links stay up: dropping them would discard data that slower members have
// not read yet, and would look like another lost member.
struct EndRun {
  Status status;          // OK, or why the job cannot continue on this worker
  bool broken = false;    // a link broke or the states differ; the next generation recovers
  bool left = false;      // the job continues without this member
  bool joining = false;   // the member had not begun the generation yet
  bool finished = false;  // the job is trained; set with status OK
  PlaceRef place;         // in the generation in which the run ended; null: there was none
};
using MemberAction =
    std::variant<CloseLinks, OpenLinks, SetLinksAside, CloseLinksAside, FindState, Revert,
                 CoverRows, StageRows, StopStaging, AdoptRows, FetchState, OfferState,
                 WithdrawState, AgreeOnPresent, HoldCompared, AgreeOnCompared, OfferCheckpoint,
                 ReportHistory, NextRound, RunRound, SendSums, AbortRound, Commit, RunLoop, EndLoop,
                 Report, EndRun>;
using MemberActions = std::vector<MemberAction>;

class MemberCore {
 public:
  explicit MemberCore(MemberCoreOptions options) : options_(options) {}

  // `now_us`: time of a clock that never goes back.
  MemberActions Step(MemberEvent event, int64_t now_us);

  // Where a run is. All but kIdle wait for the result of an action, kReady for ProceedCame.
  enum class Phase : uint8_t { kIdle, kFinding, kCovering, kReady, kFetching, kTraining };
  Phase phase() const { return phase_; }
  // Returns the place in the present or last generation, or null.
  const PlaceRef& place() const { return place_; }
  // Returns whether the present state may be wrong: the states differed in the last run.
  bool differs() const { return differs_; }
  // Returns whether the member joins by plan and has not begun yet.
  bool joining() const { return joining_ && phase_ != Phase::kIdle; }
  // Returns whether rows of a later generation are being loaded.
  bool staging() const { return staging_ != nullptr; }
  bool interrupted() const { return interrupted_; }

 private:
  // member_core.cc: a run, from its order to its first round.
  void Handle(TakePart event);
  void Handle(Interrupt);
  void Handle(Rearm) { interrupted_ = false; }
  void Handle(StateFound event);
  void Handle(RowsCovered event);
  void Handle(StateFetched event);
  void Handle(const ProceedCame& event);
  void Handle(const LinkBroke& event);
  void Enter(PlaceRef place);
  void Equalize();
  void Fetch(int32_t holder, std::optional<uint64_t> round);
  void Join();
  void Train();
  void End(Status status, bool left = false, bool finished = false);
  void ReportBroken(int32_t member, const Status& why);

  // member_rounds.cc: the rounds of a generation.
  void Handle(RoundReached event);
  void Handle(const LeavesDone& event);
  void Handle(const TotalsCame& event);
  void Handle(Failed event);
  void Handle(LoopEnded event);
  void ReleaseBefore();
  bool Compares() const;
  bool Compare(const std::vector<training::MemberSignals>& members);
  void NotePace(const std::vector<training::MemberSignals>& members);

  // member_planned.cc: generations that begin by plan.
  void Handle(Prepare event);
  void Handle(RowsStaged event);
  void Handle(SwitchTo event);
  void Handle(EndEarly event);
  void StopPreparing();
  void EndGeneration(Generation next);
  void SwitchInto(PlaceRef next);

  template <typename Action>
  void Do(Action action) {
    actions_.push_back(std::move(action));
  }

  const MemberCoreOptions options_;
  MemberActions actions_;  // of the present event
  int64_t now_us_ = 0;

  Phase phase_ = Phase::kIdle;
  bool interrupted_ = false;
  bool differs_ = false;
  std::optional<int64_t> begun_us_;          // start of the first round of the job at this worker
  std::optional<cluster::Proceed> proceed_;  // newest one, of any generation

  // The present generation.
  PlaceRef place_;
  bool joining_ = false;   // joins by plan and has not begun yet
  bool broken_ = false;    // a link broke, and is reported
  bool diverged_ = false;  // the states differ
  Status failure_;         // first reason to end the run
  Status unread_;
  uint64_t round_ = 0;               // round in flight
  std::optional<uint64_t> fetches_;  // round of the state that this member fetches; none: any
  int32_t holder_ = 0;               // member from which it fetches the state
  int64_t fetch_begun_us_ = 0;

  // The rounds of the present generation.
  RoundReached reached_;                    // the round in flight
  std::optional<size_t> history_reported_;  // rows
  bool all_began_ = false;                  // totals have arrived
  bool compare_next_ = false;               // from the root
  Generation next_;                         // from the root: the generation that begins now
  double leaf_ms_ = 0;                      // of this member, smoothed over steps
  std::vector<double> pace_sum_;            // by member, since the last report
  int64_t pace_steps_ = 0;
  std::optional<int64_t> pace_reported_us_;

  // Planned changes.
  uint64_t staging_number_ = 0;  // of the newest StageRows
  PlaceRef staging_;             // its place, while it runs
  PlaceRef staged_;              // place whose rows are loaded
  Generation running_;           // generation that trains, or trained last
  Generation switch_to_;         // at the root: ordered next generation
  Generation ends_early_;        // generation that ends the job, as ordered
};

}  // namespace espalier::member
