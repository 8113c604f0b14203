// CoordinatorCore: a state machine without I/O for the rendezvous of workers, the job queue, the
// assignment of workers to jobs, and the state of every job. The daemon (coordinator/) turns
// streams, calls and timers into events and performs the actions.
//
// Life of a job: it is kQueued until it is first in the queue and `workers_min` workers are free.
// Then it takes all free workers, up to `workers_max` and the number of leaves. In kProfiling, each
// member reads its run of shards, and the coordinator merges the results. In kLoading, the members
// load the rows of their leaves. In kTraining, the job trains until the first JobDone. A scoring
// job ends with its merge and has no members during the merge. The queue is strictly first come,
// first served: no younger job passes a waiting one. The exception is a job that a quota of its
// owner holds back. Younger jobs of other owners pass it.
//
// A job belongs to the requester that submitted it. Another requester may end it only as an admin.
//
// A member is lost if its stream ended and it did not return within a heartbeat, or if it was
// silent for the liveness limit. The job loses at most the round in flight. The survivors become
// the next generation, with free workers in place of the lost members where possible. The state is
// kProfiling again, or kRecovering until all members are ready to continue. With fewer than
// `workers_min` workers, the survivors keep their state and wait for workers, up to
// `below_min_timeout_ms`. Before the job gives them up, one of them writes the state as a
// checkpoint. When all members are lost, new members start from a checkpoint, or from the
// beginning. A job that loses members repeatedly without a step in between fails.
//
// The oldest job that waits for its minimum gets the workers that other jobs hold beyond their own.
// If these are not enough, younger jobs, the youngest first, write their state as a checkpoint,
// give up all their workers and return to the queue. Running jobs do so only after the older job
// has waited for a while, because jobs end and workers return on their own. That wait is the
// interval in which shares may change.
//
// While a job trains, its members may change by plan, without a pause. Free workers join, up to
// `workers_max`. Workers that want to leave do so. Leaves move from slow members to fast ones.
// Workers beyond the job's minimum go to a job that waits for its own. The next generation loads
// its rows during the training. When all its members are ready, the root ends the present one.
//
// A member that reports a broken link may only be the first to notice that the other member died.
// The core therefore waits a heartbeat for the death to show. Then it keeps the pair apart in the
// tree of the next generation. If no tree remains, the member with the most reports against it
// leaves the job.
//
// A restart (`past`) restores the ended jobs with their histories. Queued jobs return to the queue,
// and so do jobs that were in their profiling pass, which starts over. The core waits one liveness
// limit for the members of jobs in training. A worker whose Hello names its id and its job is a
// member again, in the generation that the journal holds. It receives the orders of that generation
// if it missed them. During this time the core declares no worker dead and gives workers to no job.
// A member that has not returned by then is lost, like any other. The core never reuses a number
// that workers have seen. If workers know a higher incarnation, a coordinator younger than the
// liveness limit takes one above it, because its journal is an old copy. An older coordinator sends
// the workers away, because another one has replaced it.
//
// If all attached workers fall silent at once, the network of the coordinator has failed, and no
// worker is left to replace another. The core then acts as if the coordinator itself were down. It
// declares no worker dead until it hears from one again, or until `step_timeout_ms` has passed.
// After the first message, the other workers get one liveness limit.
//
// The core validates every message of a worker. An impossible message fails its job with an error
// that names the worker. Every wait ends. A silent worker has `liveness_limit_ms`. A profiling pass
// without progress, a start, and a step have their own timeouts. A queued job waits for workers
// without a limit and reports why.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "src/base/ids.h"
#include "src/base/version.h"
#include "src/cluster/arrangement.h"
#include "src/cluster/coordinator_actions.h"
#include "src/cluster/coordinator_records.h"
#include "src/cluster/message_filter.h"
#include "src/cluster/messages.h"
#include "src/spec/coordinator_limits.h"

namespace espalier::cluster {

struct CoordinatorCoreOptions : spec::CoordinatorLimits {
  Incarnation incarnation;
  std::string version = kVersion;      // workers of another version are refused
  std::string arithmetic_id;           // required of all workers; empty: that of the first worker
  int64_t workers_a_name_max = 0;      // limit per certificate; 0: names prove nothing
  int64_t merges_tried_max = 2;        // coordinator lives that may end during the merge of one job
  int64_t cancel_timeout_ms = 10'000;  // limit for fencing the output of a job to be cancelled
  int64_t check_timeout_ms = 30'000;  // limit for checking the output of a job that reports its end
  // Limit over all unfinished jobs (PlanBytes). Waiting jobs are in it with their packed inputs.
  int64_t plans_bytes_max = int64_t{512} << 20;
  int64_t history_rows_max = kHistoryRowsMax;  // limit per job; the oldest rows are dropped first
  int64_t skipped_rows_kept_max = 20;          // positions of skipped rows, per shard
  int64_t confusion_bytes_max = 64 << 20;      // limit over ended jobs; the newest job is exempt
};

class CoordinatorCore : CoordinatorRecords {
 public:
  // `past`: the journal entries of earlier coordinator lives, in order (coordinator_restore.cc).
  // `replaying` is called before the core applies an entry. It is also called with a null entry:
  // before the core restores a job from the applied ones, and with job 0 at the end.
  using Replaying = std::function<void(JobId job, const JournalEntry* entry)>;
  explicit CoordinatorCore(CoordinatorCoreOptions options,
                           const std::vector<JournalEntry>& past = {},
                           const Replaying& replaying = {});

  // Returns the actions for one event. `now_ms`: milliseconds since 1970, from a clock that never
  // goes back.
  CoordinatorActions Step(const CoordinatorEvent& event, int64_t now_ms);

  // Returns snapshots as of the newest event, sorted by id. They have no confusion matrices. Job
  // returns those (CoordinatorCoreOptions::confusion_bytes_max).
  std::vector<spec::JobSnapshot> Jobs() const;
  std::optional<spec::JobSnapshot> Job(JobId job) const;
  // Returns the history rows with numbers from `from` on. Rows are numbered from 0, and dropped
  // rows are left out. Rows have no confusion matrix and no figures per class. The result has them.
  std::vector<spec::HistoryRow> History(JobId job, int64_t from) const;
  // Returns the number of rows recorded so far, which is the `from` of the next row.
  int64_t HistoryEnd(JobId job) const;
  // Returns the workers, without those of an earlier coordinator life that have not returned yet.
  std::vector<spec::WorkerSnapshot> Workers() const;
  // Returns the content of all entries so far, in as few entries as possible. A core made from them
  // has the same state as one made from all entries.
  std::vector<JournalEntry> Remember() const;
  // Returns the job of an earlier submission with this RequestKey, if the core still knows it.
  std::optional<JobId> FindSubmission(const std::string& request_key) const;

 private:
  // coordinator_core.cc: time and shutdown.
  void On(const Tick& event);
  void On(const Shutdown& event);
  void ForgiveOwnPause();
  void CheckSessions();
  void CheckJob(JobRecord& job);
  void CheckStall(JobRecord& job);
  std::string Late(const JobRecord& job, int64_t limit_ms) const;
  int64_t StallLimit(spec::JobState state) const;

  // coordinator_workers.cc: sessions, Hello, Goodbye and the loss of workers.
  void On(const SessionOpened& event);
  void On(const SessionClosed& event);
  void On(const WorkerMessage& event);
  void Obey(Worker& worker, const Hello& message);
  void Obey(Worker& worker, const Heartbeat& message);
  void TellWaiting(JobRecord& job);
  void Obey(Worker& worker, const Goodbye& message);
  void NoteCrash(const Worker& worker, const std::string& signal);
  void NoteOutOfMemory(const Worker& worker);
  void Greet(SessionId id, Session& session, const Hello& hello);
  Status CheckHello(const Hello& hello) const;
  Status CheckArithmetic(const Hello& hello) const;
  Status CheckShare(const Hello& hello) const;
  void Attach(SessionId id, Session& session, const Hello& hello);
  void Reattach(SessionId id, Session& session, Worker& worker, const Hello& hello);
  void Refuse(SessionId session, Status why);
  void SendAway(SessionId session, Status why);
  void Detach(Worker& worker, Status why);
  void Lose(WorkerId worker, const std::string& why);
  Worker* FindWorker(WorkerId worker);
  Worker* FindText(const std::string& session_text);
  std::string Label(const Worker& worker) const;

  // coordinator_jobs.cc: submission, cancellation, start and end of jobs.
  void On(const Submit& event);
  void On(const CancelJob& event);
  void OrderEarlyEnd(const JobRecord& job);
  Status CheckSubmission(const Submission& submission) const;
  // `bytes`: PlanBytes of a new submission.
  Status CheckPlanSize(int64_t bytes) const;
  Status CheckModelSize(const TrainingSubmission& submission) const;
  void StartJob(JobRecord& job, const std::vector<Worker*>& workers);
  // Makes these workers the members of a new generation, in this order.
  void BeginGeneration(JobRecord& job, const std::vector<Worker*>& workers, Generation number);
  void GiveShards(JobRecord& job, std::vector<std::vector<int32_t>> runs);
  // Returns the same workers, in the order of the runs that they profile.
  static std::vector<Worker*> NearTo(const spec::InputPlan& input,
                                     const std::vector<std::vector<int32_t>>& runs,
                                     std::vector<Worker*> workers);
  std::vector<Worker*> FreeWorkers();
  // Returns the free workers that the job may take.
  std::vector<Worker*> FreeFor(const JobRecord& job);
  void EndJob(JobRecord& job, spec::JobState state, Status error, spec::JobResult result);
  void Fail(JobRecord& job, Status error);
  void ReleaseMembers(const JobRecord& job, const std::string& words);
  static bool Leaves(const JobRecord& job);
  void ClearAway(JobRecord& job);
  void ClearAwayAgain();
  // Drops the data that only an unfinished job needs.
  void ForgetWork(JobRecord& job);
  // Returns the job's input, unpacked until the job waits again or ends. REQUIRES: it has one.
  const spec::InputPlan& InputOf(JobRecord& job);
  static void PackInput(JobRecord& job);
  void ForgetOldJobs();
  void SetConfusionAside(JobRecord& job);
  // Returns the result's metrics on validation and test rows. nullptr: none.
  static std::pair<spec::Metrics*, spec::Metrics*> Evaluated(spec::JobSnapshot& s);
  StartProfiling ProfilingOrder(const JobRecord& job, Generation generation) const;  // no shards
  void SendProfile(const JobRecord& job, size_t member);
  void SendTraining(const JobRecord& job, size_t member);

  // coordinator_cancelling.cc: the answer to the fence of a cancelled job.
  static Status HasEnded(const JobRecord& job);
  void On(const OutputFenced& event);
  void GoOnToTheEnd(JobRecord& job, const std::string& output);
  void CheckCancelling(JobRecord& job);
  void AnswerCancelling(JobRecord& job);

  // coordinator_queue.cc: the choice of the next job, and the reasons why jobs wait.
  void StartJobs();
  JobRecord* NextInQueue();
  void ExplainQueue();
  std::string WhyWaiting(const JobRecord& job, int64_t place, JobId ahead) const;

  // coordinator_owners.cc: permission to end a job, and the quotas of owners.
  void On(const WithdrawSubmission& event);
  static Status CheckOwner(const JobRecord& job, const Requester& by);
  Status CheckQuotas(const Submission& submission) const;
  OwnerUses UsesOfOwners() const;
  int64_t RoomFor(const JobRecord& job) const { return UsesOfOwners().Room(job.submission.owner); }
  bool MakeRoom();

  // coordinator_recovery.cc: lost members and broken links.
  static int64_t Reached(const JobRecord& job);
  static int64_t Least(const Submission& submission);
  static int64_t Least(const JobRecord& job) { return Least(job.submission); }
  void MemberLost(JobRecord& job, const std::string& why);
  // Forms the next generation, or begins the wait for enough workers.
  void Regroup(JobRecord& job);
  std::vector<Worker*> Survivors(const JobRecord& job);
  void AddReplacements(const JobRecord& job, std::vector<Worker*>& workers);
  void ProfileOn(JobRecord& job, std::vector<Worker*> workers);
  void TrainOn(JobRecord& job, std::vector<Worker*> workers);
  void Expel(JobRecord& job, std::vector<Worker*>& workers);
  void CheckLinks(JobRecord& job);
  bool MissesSwitch(Worker& worker, const LinkBroken& message);
  bool CannotJoin(Worker& worker, const LinkBroken& message);
  void ProceedIfReady(JobRecord& job);
  std::vector<Proceed> ProceedOf(const JobRecord& job) const;

  // coordinator_waiting.cc: jobs that wait for enough workers, and the jobs that yield to them.
  void AwaitWorkers(JobRecord& job, size_t survivors);
  bool BelowMinimum(const JobRecord& job);
  void CheckRecovery(JobRecord& job);
  // Returns false if one of them continues to wait, so that the queue must wait too.
  bool RegroupWaitingJobs();
  void GoOn(const std::vector<JobId>& waiting, const JobRecord& older);
  std::vector<JobRecord*> Yielding(const JobRecord& job, const std::vector<JobId>& waiting);
  static bool MayYield(const JobRecord& job);
  bool WaitedLong(const JobRecord& job) const;
  void BeginToYield(JobRecord& job, const JobRecord& older);
  void GiveUpSurvivors(JobRecord& job, const JobRecord& older);

  // coordinator_state.cc: states that differ, and states to be saved.
  void Obey(Worker& worker, const StatesDiffer& message);
  bool StateIsKept(JobRecord& job);
  void Obey(Worker& worker, const StateKept& message);

  // coordinator_planned.cc: workers that join, leave and exchange leaves during the training.
  bool MayChange(const JobRecord& job) const;
  std::optional<int64_t> LeftMs(const JobRecord& job) const;
  static bool IsMember(const JobRecord& job, const Worker& worker);
  bool PlanGeneration(JobRecord& job, const std::vector<Worker*>& workers,
                      const plan::Ownership& ownership, std::string why);
  void AbandonPlan(JobRecord& job, const std::string& why);
  // Called while the job still has its members from before the plan.
  void PlanEnded(JobRecord& job, const Plan& plan);
  bool ReadyForPlan(Worker& worker, const MemberReady& message);
  void OrderPlanIfReady(JobRecord& job);
  void SendSwitch(const JobRecord& job, const Worker& worker);
  void CompletePlan(JobRecord& job, uint64_t round);
  void CheckPlan(JobRecord& job);
  void LetGo(Worker& worker, const JobRecord& job);
  void Dismissed(Worker& worker);
  void On(const DrainWorker& event);
  Status Drain(Worker& worker, std::string why);
  bool ReleaseLeavers(JobRecord& job);
  void Obey(Worker& worker, const Switched& message);
  void Obey(Worker& worker, const Leaving& message);
  void Obey(Worker& worker, const Uneven& message);

  // coordinator_sharing.cc: the workers beyond the minimum of jobs in training. A change that would
  // take effect only near the end is not worthwhile.
  static constexpr int64_t kWorthMs = 3000;
  static int64_t Surplus(const JobRecord& job);
  int64_t MostWorkers(const JobRecord& job) const;
  void ChangeJobs();
  void Grow(JobRecord& job, size_t jobs);
  void Shrink(JobRecord& job, int64_t give, const std::string& why);
  std::vector<JobRecord*> Settled();
  JobRecord* Needy();
  int64_t Missing(const JobRecord& job);
  void ShrinkFor(const JobRecord& needy);
  void TakeSurplus(const std::vector<JobRecord*>& jobs, int64_t wanted, const JobRecord& needy);
  void ShareEvenly();

  // coordinator_profiling.cc: the members' results for their shards, and the merge of these.
  void Obey(Worker& worker, const ProfilingProgress& message);
  void Obey(Worker& worker, const ProfilePart& message);
  Status TakeShard(JobRecord& job, MemberState& member,
                   const std::shared_ptr<const spec::ShardResult>& result);
  // Starts the merge when the profiles of all shards have arrived.
  void MergeIfProfiled(JobRecord& job);
  void LetMembersGo(JobRecord& job);
  Status ProfileTooLarge(const JobRecord& job) const;
  void ForgetProfile(JobRecord& job);
  void On(const ProfileMerged& event);
  void Replan(JobRecord& job, const Replanned& plan);
  static void TakePlan(JobRecord& job, const Replanned& plan);
  void NoteProfile(JobRecord& job);

  // coordinator_messages.cc: the members' messages about their job.
  void Obey(Worker& worker, const MemberReady& message);
  void Obey(Worker& worker, const LinkBroken& message);
  void Obey(Worker& worker, const Progress& message);
  void Obey(Worker& worker, const HistoryEntry& message);
  void Obey(Worker& worker, const JobDone& message);
  void On(const OutputChecked& event);
  void CheckFinishing(JobRecord& job);
  void Obey(Worker& worker, const JobFailed& message);
  void On(const JobScored& event);
  // The worker's job and its place in it, if the core accepts the message. Null: the core dropped
  // the message, or the message was impossible and failed the job.
  struct Place {
    JobRecord* job = nullptr;
    MemberState* member = nullptr;
  };
  Place Judge(Worker& worker, JobPoint point, const char* what);
  static Status CheckRoot(JobRecord& job, const Worker& worker, const char* what);
  // Records the root before the members or leaves change.
  static void NoteRoot(JobRecord& job);
  void Blame(JobRecord& job, const Worker& worker, Status error);
  void EnterTraining(JobRecord& job);
  // Also writes to the journal that all members have received their orders.
  void Met(JobRecord& job);

  // coordinator_tokens.cc: delegation tokens of jobs.
  void CheckTokens();
  void On(const TokenKept& event);
  void On(const JobCleared& event);
  void Obey(Worker& worker, const TokenRefused& message);
  void TakeToken(JobRecord& job, const std::string& file_system, const KeptToken& kept);
  void TokenTrouble(JobRecord& job, const std::string& file_system, const Status& why);
  void SendTokens(const JobRecord& job, const Worker& worker);
  void CancelTokens(JobRecord& job);
  void Recall(const TokensReplaced& e);

  // coordinator_restore.cc: reading the journal and writing it.
  void On(const JobRefused& event);
  void Recall(const JournalEntry& entry);
  void Recall(const WorkerIdGiven& e);
  void Recall(const JobAccepted& e);
  void Recall(const GenerationStarted& e);
  void Recall(const ProfileRecorded& e);
  void Recall(const HistoryRecorded& e);
  void Recall(const TrainingStarted& e);
  void Recall(const GenerationReserved& e);
  void Recall(const MergeTried& e);
  void Recall(const MemberCrashed& e);
  void Recall(const JobReplanned& e);
  void Recall(const JobSetAside& e);
  void Recall(const JobEnded& e);
  void Recall(const JobForgotten& e);
  void Recall(const IncarnationTaken& e);
  void FinishRecall(const Replaying& replaying);
  void AwaitMember(JobRecord& job, size_t place);
  void LeaveOtherJobs(const GenerationStarted& e);
  void BeginLife();
  bool Awaits() const;
  bool HearsNobody() const;
  void ComeBack();
  void CheckAwaited();
  bool MissesMembers(const JobRecord& job);
  Worker* FindAwaited(const Hello& hello);
  bool HeedNumbers(SessionId id, const Hello& hello);
  void HeedGeneration(JobRecord& job, Generation seen);
  static GenerationStarted StartOf(const JobRecord& job);
  GenerationStarted StartOfPlan(const JobRecord& job) const;
  // Returns a job to the queue. It repeats its profiling pass unless the profile is complete.
  void QueueAgain(JobRecord& job);

  JobRecord* FindJob(JobId job);
  const JobRecord* FindJob(JobId job) const;
  spec::JobSnapshot Outline(const JobRecord& job) const;  // without confusion matrices
  spec::JobSnapshot Snapshot(const JobRecord& job) const;
  void Changed(const JobRecord& job, bool progress_only = false);
  // Sends nothing to a worker without a stream. When the worker returns, the core sends the missing
  // messages.
  void Send(SessionId session, ToWorker message);
  void Close(SessionId session, Status why);
  void Log(LogLevel level, std::string text);

  CoordinatorCoreOptions options_;  // its incarnation may grow
  int64_t now_ms_ = 0;
  int64_t newest_end_ms_ = 0;    // newest end of any job
  int64_t begun_ms_ = 0;         // time of the first event; 0: none yet
  bool awaiting_ = false;        // members known from the journal may still return ...
  bool cut_off_ = false;         // ... or all workers fell silent at once, and none was heard since
  int64_t awaits_until_ms_ = 0;  // end of that wait
  int64_t ticked_ms_ = 0;        // time of the newest event; 0: none yet
  bool stopping_ = false;
  uint64_t next_worker_ = 1;
  uint64_t next_job_ = 1;
  std::map<SessionId, Session> sessions_;
  std::map<WorkerId, Worker> workers_;
  std::map<JobId, JobRecord> jobs_;
  std::deque<JobId> queue_;
  int64_t profile_bytes_ = 0;  // total over all jobs
  bool queue_moved_ = false;   // workers or jobs changed, so a waiting job might start
  CoordinatorActions out_;     // actions of the step in progress
};

}  // namespace espalier::cluster
