// WorkerCore: a worker's side of the rendezvous, as a state machine without I/O. It attaches to the
// coordinator and re-attaches, sends heartbeats, obeys the orders of the highest incarnation, and
// reports. The daemon (worker/) turns its link, its threads' results and its signals into events,
// and performs the actions in order.
//
// The core keeps the reports about the present job until the job is released, and sends them again
// after each re-attachment. The coordinator or the connection may be down when a report is made,
// and the worker cannot know which messages a broken stream still delivered. The coordinator
// ignores repeated reports. Parts of the profiling pass are large. They go out one at a time, and
// the core drops them when the coordinator has received them.
//
// If no coordinator answers, the worker gives up after `coordinator_timeout_ms`. It does not give
// up before its training has ended, or has stopped because of a lost partner, which only a
// coordinator can replace. In the second case, the first member writes the job state as a
// checkpoint before it gives up. The others wait a little longer and find the checkpoint written.
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
#include "src/cluster/message_filter.h"
#include "src/cluster/messages.h"

namespace espalier::cluster {

struct WorkerCoreOptions {
  Hello hello;                   // constant parts: version, session, name, address, ...
  uint64_t seed = 1;             // seed of the jitter
  int64_t backoff_min_ms = 100;  // wait before the second attempt; doubles up to the maximum
  int64_t backoff_max_ms = 2000;
  int64_t answer_limit_ms = 5000;            // limit for a connection and a Welcome of one attempt
  int64_t goodbye_limit_ms = 2000;           // wait for Dismiss after Goodbye
  int64_t leave_limit_ms = 30'000;           // wait for the Dismiss of a member that asked to leave
  int64_t keep_limit_ms = 120'000;           // limit for writing the state before giving up
  int64_t coordinator_timeout_ms = 600'000;  // time without a coordinator before giving up
  int64_t history_reports_max = kHistoryRowsMax;  // kept to resend; oldest are dropped first
};

// ---- events ----------------------------------------------------------------------------------

// The link of attempt `attempt` is up.
struct LinkUp {
  uint64_t attempt = 0;
};
// The attempt failed, or its link broke.
struct LinkDown {
  uint64_t attempt = 0;
  Status why;
  bool ours = false;  // ended by this side, which has logged why
};
struct CoordinatorMessage {
  uint64_t attempt = 0;
  ToWorker message;
};
// A report from the worker's threads: ProfilingProgress, ProfilePart, MemberReady, LinkBroken,
// StateKept, TokenRefused, Progress, HistoryEntry, JobDone, JobFailed. The core drops a report
// about an older job.
struct Report {
  FromWorker message;
};
// A passage of time. `step`: the last committed step of the present job. `job_over`: the training
// is done at this worker, which only waits for the release. `waiting_because`: as in Heartbeat.
struct WorkerTick {
  int64_t step = 0;
  bool job_over = false;
  std::string waiting_because = {};
};
// SIGTERM. A member of a job asks to leave and takes part until it is dismissed, for
// `leave_limit_ms` at most. Other workers say goodbye. A second SIGTERM ends the worker at once.
struct Terminate {
  std::string reason;
};
// A thread has crashed and waits until the coordinator has the report. No action touches the job,
// because its memory may be damaged.
struct Crash {
  std::string signal;  // name of the signal
};
using WorkerEvent =
    std::variant<LinkUp, LinkDown, CoordinatorMessage, Report, WorkerTick, Terminate, Crash>;

// ---- actions ---------------------------------------------------------------------------------

// Finds the coordinator's address (again) and opens a link. Events about the link carry `attempt`.
struct Connect {
  uint64_t attempt = 0;
};
// Drops the link of that attempt. The core ignores its events from now on.
struct Disconnect {
  uint64_t attempt = 0;
};
struct SendToCoordinator {
  FromWorker message;
};
// Profiles these shards. For a newer generation of the same job, it replaces the running work.
struct RunProfiling {
  StartProfiling order;
};
// Takes part in that generation, as order.members[self]. It replaces the running work.
struct RunTraining {
  StartTraining order;
  int32_t self = 0;
};
// Loads the data for that generation during the running work (or as a worker that joins).
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
// Writes the job state as a checkpoint and reports StateKept. It replaces the running work.
// `reverts`: writes the newest state that all members had.
struct RunKeep {
  JobPoint at;
  bool reverts = false;
};
// Sets the job's delegation tokens. The running work continues.
struct RunTokens {
  spec::StorageTokens tokens;
};
// Drops everything about that job: threads, links, rows. It comes before any RunProfiling of
// another job.
struct AbortJob {
  JobPoint at;
  std::string reason;
};
// Ends the process. An error is the final message.
struct Exit {
  Status why;
  // Coordinator and worker do not trust each other, so a restart does not help.
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

  // Returns the actions, to be performed in this order. The first tick starts the first attempt.
  // `now_ms`: milliseconds, from a clock that never goes back. Returns nothing after Exit.
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

  // Returns false if the order is from an older life of the coordinator.
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
  // Sends a report with the information about earlier reports that the coordinator needs.
  void Tell(FromWorker message);
  void Send(FromWorker message) { out_.push_back(SendToCoordinator{std::move(message)}); }
  void End(Status why, bool not_believed = false);
  void Log(LogLevel level, std::string text) { out_.push_back(WorkerLog{level, std::move(text)}); }

  const WorkerCoreOptions options_;
  int64_t now_ms_ = 0;
  int64_t ticked_ms_ = 0;
  std::vector<WorkerAction> out_;  // actions of the step in progress

  LinkState link_ = LinkState::kDown;
  uint64_t attempt_ = 0;   // number of the newest attempt
  uint64_t failures_ = 0;  // attempts since the last Welcome
  int64_t next_attempt_ms_ = 0;
  int64_t away_ms_ = 0;       // last time attached to the coordinator; 0: time is unknown yet
  int64_t heard_ms_ = 0;      // newest message on the link
  int64_t heartbeat_ms_ = 0;  // newest heartbeat sent
  Incarnation incarnation_;   // highest one seen
  WorkerId id_;
  int64_t heartbeat_interval_ms_ = 1000;
  int64_t liveness_limit_ms_ = 5000;

  JobPoint at_;            // the present job; none: 0, 0
  bool training_ = false;  // its StartTraining has arrived, and the training is not over
  bool started_ = false;   // its StartTraining has arrived, over or not
  std::string told_why_;   // logged reason for the missing link
  int64_t told_why_ms_ = 0;
  bool proceeds_ = false;           // its Proceed has arrived
  int32_t self_ = 0;                // its place among the members
  int32_t planned_self_ = 0;        // its place in the planned generation
  int64_t keeping_ms_ = 0;          // start of writing the state before giving up; 0: not writing
  std::optional<StateKept> kept_;   // result of that
  Generation planned_;              // the next generation, in preparation; or none
  std::deque<FromWorker> reports_;  // reports about the present job, in order
  int64_t history_reports_ = 0;     // number of history rows among them
  int64_t history_first_ = 0;       // number of the oldest of those rows
  std::deque<ProfilePart>
      parts_;  // parts of its profiling pass without an answer; the first one is in transit
  int64_t shards_taken_ = 0;  // shards of the parts before those

  bool asked_to_leave_ = false;
  bool leaving_ = false;
  bool crashed_ = false;
  int64_t leave_by_ms_ = 0;
  bool ended_ = false;
};

}  // namespace espalier::cluster
