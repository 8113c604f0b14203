// WorkerCore: a worker's side of the rendezvous as a machine that does no I/O: attaching to the
// coordinator and coming back to it, heartbeats, obeying the orders of the highest incarnation, and
// reporting. The daemon (worker/) turns its link, its threads' results and its signals into events
// and performs the actions, in order.
//
// Reports about the present job are kept until the job is released and told again after each
// re-attachment: a coordinator or a connection may be away when they are made, and nobody can know
// what a broken stream still delivered. The coordinator ignores what it has. Parts of the profiling
// pass, which are large, go out one at a time and are forgotten when the coordinator has taken
// them.
//
// A worker that no coordinator answers gives up after `coordinator_timeout_ms`, but not before the
// training it takes part in has ended, one way or the other, or stands still because a partner was
// lost, which only a coordinator can mend. Then the job state is written as a checkpoint first: by
// the member that comes first; the others wait a little longer, and find it written.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "src/base/ids.h"
#include "src/base/log.h"
#include "src/base/status.h"
#include "src/cluster/fate.h"
#include "src/cluster/messages.h"

namespace espalier::cluster {

struct WorkerCoreOptions {
  Hello hello;                   // what does not change: version, session, name, address, ...
  uint64_t seed = 1;             // of the jitter
  int64_t backoff_min_ms = 100;  // wait before the second attempt; doubles up to the maximum
  int64_t backoff_max_ms = 2000;
  int64_t answer_limit_ms = 5000;   // an attempt without a connection or a Welcome is given up
  int64_t goodbye_limit_ms = 2000;  // wait for Dismiss after Goodbye
  int64_t leave_limit_ms = 30'000;  // wait for the Dismiss of a member that asked to leave
  int64_t keep_limit_ms = 120'000;  // for writing the state, before it gives up
  int64_t coordinator_timeout_ms = 600'000;       // without a coordinator: gives up
  int64_t history_reports_max = kHistoryRowsMax;  // kept for telling again; oldest go first
};

// ---- events ----------------------------------------------------------------------------------

// The link of attempt `attempt` is up.
struct LinkUp {
  uint64_t attempt = 0;
};
// It could not be made, or it broke.
struct LinkDown {
  uint64_t attempt = 0;
  Status why;
  bool ours = false;  // ended by this side, which has told why
};
struct CoordinatorMessage {
  uint64_t attempt = 0;
  ToWorker message;
};
// What the worker's own threads have to tell the coordinator: ProfilingProgress, ProfilePart,
// MemberReady, LinkBroken, StateKept, TokenRefused, Progress, HistoryEntry, JobDone, JobFailed; one
// about an older job is dropped.
struct Report {
  FromWorker message;
};
// Time passed; `step` is the last committed step of the present job, `job_over`: its training is
// done here and only the release is waited for.
// `waiting_because`: as of Heartbeat.
struct WorkerTick {
  int64_t step = 0;
  bool job_over = false;
  std::string waiting_because = {};
};
// SIGTERM: a member of a job asks to leave and takes part until it is dismissed, for
// `leave_limit_ms` at most; others say goodbye. A second one ends at once.
struct Terminate {
  std::string reason;
};
// A thread has crashed and waits until the coordinator has the report. No action touches the job,
// because its memory may be damaged.
struct Crash {
  std::string signal;  // its name
};
using WorkerEvent =
    std::variant<LinkUp, LinkDown, CoordinatorMessage, Report, WorkerTick, Terminate, Crash>;

// ---- actions ---------------------------------------------------------------------------------

// Find the coordinator's address (again) and open a link; events about it carry `attempt`.
struct Connect {
  uint64_t attempt = 0;
};
// Drop the link of that attempt. Its events are ignored from now on.
struct Disconnect {
  uint64_t attempt = 0;
};
struct SendToCoordinator {
  FromWorker message;
};
// Profile these shards; of a newer generation of the same job it takes the place of what runs.
struct RunProfiling {
  StartProfiling order;
};
// Take part in that generation, as order.members[self]; takes the place of what runs.
struct RunTraining {
  StartTraining order;
  int32_t self = 0;
};
// Load what is needed to take part in that generation, beside what runs (or as one who joins).
struct RunPreparation {
  StartTraining order;
  int32_t self = 0;
};
// All members of the present generation are ready.
struct RunProceed {
  Proceed order;
};
// All members of the prepared generation are ready: the root ends the present one.
struct RunSwitch {
  Generation next;
};
// The root makes the next step the last one of the job.
struct RunEarlyEnd {
  Generation generation;
};
// Write the job state as a checkpoint and report StateKept; takes the place of what runs.
// `reverts`: the newest state that all members had.
struct RunKeep {
  JobPoint at;
  bool reverts = false;
};
// The job's delegation tokens are these from now on; what runs goes on.
struct RunTokens {
  spec::StorageTokens tokens;
};
// Drop everything about that job: threads, links, rows. Comes before any RunProfiling of another
// one.
struct AbortJob {
  JobPoint at;
  std::string reason;
};
// End the process; an error is its last words.
struct Exit {
  Status why;
  // Coordinator and worker do not believe each other: to start again mends nothing.
  bool not_believed = false;
};
struct WorkerLog {
  LogLevel level = LogLevel::kInfo;
  std::string text;
};
using WorkerAction =
    std::variant<Connect, Disconnect, SendToCoordinator, RunProfiling, RunTraining, RunPreparation,
                 RunProceed, RunSwitch, RunEarlyEnd, RunKeep, RunTokens, AbortJob, Exit, WorkerLog>;

class WorkerCore {
 public:
  explicit WorkerCore(WorkerCoreOptions options);

  // The actions, to be performed in this order. The first tick starts the first attempt. `now_ms`:
  // milliseconds by a clock that never goes back. After Exit nothing comes any more.
  std::vector<WorkerAction> Step(const WorkerEvent& event, int64_t now_ms);

  bool attached() const { return link_ == LinkState::kAttached; }
  JobPoint job() const { return at_; }

 private:
  enum class LinkState { kDown, kConnecting, kGreeting, kAttached };

  void On(const LinkUp& event);
  void On(const LinkDown& event);
  void On(const CoordinatorMessage& event);
  void On(const Report& event);
  void On(const WorkerTick& event);
  void On(const Terminate& event);
  void On(const Crash& event);

  void Obey(const Welcome& message);
  void Obey(const Refused& message);
  void Obey(const StartProfiling& message);
  void Obey(const ProfileTaken& message);
  void Obey(const StartTraining& message);
  void Obey(const Proceed& message);
  void Obey(const SwitchOver& message);
  void Obey(const EndTraining& message);
  void Obey(const KeepState& message);
  void Obey(const NewTokens& message);
  void Prepare(const StartTraining& message, int32_t self);
  void Obey(const Release& message);
  void Obey(const Dismiss& message);
  void Obey(const Pulse&) {}

  // False: the order is of an older life of the coordinator.
  bool Current(Incarnation incarnation);
  void Drop(const std::string& why);
  void BackOff();
  bool GivesUp() const;
  bool ToldEnd() const;
  bool KeepsState();
  void LeaveJob(const std::string& reason);
  void EnterGeneration(JobPoint at);
  void Keep(const FromWorker& message);
  void SendPart();
  void ForgetParts();
  // A report, and what the coordinator must know of those before it.
  void Tell(FromWorker message);
  void Send(FromWorker message) { out_.push_back(SendToCoordinator{std::move(message)}); }
  void End(Status why, bool not_believed = false);
  void Log(LogLevel level, std::string text) { out_.push_back(WorkerLog{level, std::move(text)}); }

  const WorkerCoreOptions options_;
  int64_t now_ms_ = 0;
  int64_t ticked_ms_ = 0;
  std::vector<WorkerAction> out_;  // of the step in progress

  LinkState link_ = LinkState::kDown;
  uint64_t attempt_ = 0;   // number of the newest attempt
  uint64_t failures_ = 0;  // attempts since the last Welcome
  int64_t next_attempt_ms_ = 0;
  int64_t away_ms_ = 0;       // when the coordinator was last attached to; 0: time is unknown yet
  int64_t heard_ms_ = 0;      // newest word of the link
  int64_t heartbeat_ms_ = 0;  // newest heartbeat sent
  Incarnation incarnation_;   // the highest seen
  WorkerId id_;
  int64_t heartbeat_interval_ms_ = 1000;
  int64_t liveness_limit_ms_ = 5000;

  JobPoint at_;            // the present job; none: 0, 0
  bool training_ = false;  // its StartTraining has come, and it is not over
  bool started_ = false;   // its StartTraining has come, over or not
  std::string told_why_;   // why there is no link
  int64_t told_why_ms_ = 0;
  bool proceeds_ = false;           // its Proceed has come
  int32_t self_ = 0;                // its place among the members
  int32_t planned_self_ = 0;        // in the planned generation
  int64_t keeping_ms_ = 0;          // when it began to write the state before it gives up, or 0
  std::optional<StateKept> kept_;   // that it has
  Generation planned_;              // the next one, prepared beside it; or none
  std::deque<FromWorker> reports_;  // about it, in order
  int64_t history_reports_ = 0;     // how many of them are history rows
  int64_t history_first_ = 0;       // number of the oldest of those
  std::deque<ProfilePart>
      parts_;                 // of its profiling pass that are not taken yet; the first is underway
  int64_t shards_taken_ = 0;  // of those before them

  bool asked_to_leave_ = false;
  bool leaving_ = false;
  bool crashed_ = false;
  int64_t leave_by_ms_ = 0;
  bool ended_ = false;
};

}  // namespace espalier::cluster
