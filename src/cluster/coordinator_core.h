// CoordinatorCore: rendezvous of workers, the queue of jobs, who takes part in which, and every
// job's state, as a machine that does no I/O. The daemon (coordinator/) turns streams, calls and
// timers into events and performs the actions.
//
// The life of a job: kQueued until the job is first in the queue and `workers_min` workers are
// free; then it takes all free workers up to `workers_max` and the number of leaves. kProfiling:
// each member reads its run of shards; the results are merged. kLoading: members load the rows of
// their leaves. kTraining until the first JobDone. (A job that scores ends with its merge, and
// has no members while that lasts.) Strict
// first come, first served: a job that waits lets no younger one pass. The exception is a job that
// a quota of its owner holds back: younger jobs of other owners pass it.
//
// A job belongs to the requester that submitted it. Another requester may end it only as an admin.
//
// A member that is lost (its stream ended and it did not come back within a heartbeat, or it was
// silent for the liveness limit) costs its job no more than the round in flight: the survivors,
// with free workers in the place of the lost where that is possible, become the next generation
// (kProfiling again, or kRecovering until all are ready to go on). With fewer than `workers_min`
// the survivors keep their state and wait for workers, up to `below_min_timeout_ms`; before they
// are given up one of them writes it as a checkpoint. When all are lost, new members begin again:
// from a checkpoint, or from the start. A job that loses members again and again without a step
// between them fails.
//
// The oldest job that waits like that gets what others hold beyond their minimum. If that is not
// enough, younger jobs, the youngest first, keep their state as a checkpoint, give it all their
// workers and are queued again; those that run only when the older one has waited for the time in
// which shares may change, since jobs end and workers come back by themselves.
//
// While a job trains its members may change by plan, without a pause: free workers join up to
// `workers_max`, workers that want to leave do, leaves move from slow members to fast ones, and
// workers beyond its minimum go to a job that waits for its own. The next generation loads its rows
// beside the training; when all are ready the root ends the present one.
//
// A member that complains about its link to another one may merely be the first to notice a death:
// the complaint waits a heartbeat for that death to show. Then the pair is kept apart in the tree
// of the next generation; if no tree is left, the most-complained-of member leaves the job.
//
// A restart (`past`) restores the ended jobs with their histories. Queued jobs return to the queue,
// and so do jobs that were in their profiling pass, which starts over. The core waits one liveness
// limit for the members of jobs in training. A worker whose Hello names its id and its job is a
// member again, in the generation that the journal holds, and receives the orders of that
// generation if it missed them. During this time the core declares no worker dead and gives workers
// to no job. A member that has not returned by then is lost, like any other. The core never reuses
// a number that workers have seen. If workers know a higher incarnation, a coordinator younger than
// the liveness limit takes one above it, because its journal is an old copy. An older coordinator
// sends the workers away, because another one has replaced it.
//
// When all attached workers fall silent at once, the coordinator's own network has failed rather
// than all of them, and nobody is there to take over from anybody: it is as if it were away. Nobody
// is declared dead until one of them is heard again, when the others have a liveness limit, or
// until `step_timeout_ms` has passed.
//
// Everything a worker says is checked; what cannot be true fails its job by name. Every wait ends:
// a silent worker after `liveness_limit_ms`, a profile without progress, a start or a step that
// does not come after their timeouts. (A queued job waits for workers without limit and says why.)
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <deque>
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
#include "src/cluster/fate.h"
#include "src/cluster/messages.h"
#include "src/spec/coordinator_limits.h"

namespace espalier::cluster {

struct CoordinatorCoreOptions : spec::CoordinatorLimits {
  Incarnation incarnation;
  std::string version = kVersion;      // workers of another version are refused
  std::string arithmetic_id;           // of all workers; empty: that of the first one
  int64_t workers_a_name_max = 0;      // of one certificate; 0: names prove nothing
  int64_t merges_tried_max = 2;        // lives that may end during the merge of one job
  int64_t cancel_timeout_ms = 10'000;  // for the fence of the output of a job to be cancelled
  int64_t check_timeout_ms = 30'000;   // for the check of the output of a job that reports its end
  int64_t plans_bytes_max = int64_t{512} << 20;  // of all unfinished jobs (PlanBytes)
  int64_t history_rows_max = kHistoryRowsMax;    // of a job; the oldest rows go first
  int64_t skipped_rows_kept_max = 20;            // positions of skipped rows, of each shard
  int64_t confusion_bytes_max = 64 << 20;  // of ended jobs; those of the newest job always stay
};

class CoordinatorCore : CoordinatorRecords {
 public:
  // `past`: what earlier lives remembered, in order (coordinator_restore.cc).
  explicit CoordinatorCore(CoordinatorCoreOptions options,
                           const std::vector<JournalEntry>& past = {});

  // `now_ms`: milliseconds since 1970 by a clock that never goes back.
  CoordinatorActions Step(const CoordinatorEvent& event, int64_t now_ms);

  // Snapshots as of the newest event, sorted by id; without confusion matrices, which Job has
  // (CoordinatorCoreOptions::confusion_bytes_max).
  std::vector<spec::JobSnapshot> Jobs() const;
  std::optional<spec::JobSnapshot> Job(JobId job) const;
  // History rows from number `from` on (rows are numbered from 0; forgotten ones are left out).
  // Rows carry no confusion matrix and no figures a class: the result has them.
  std::vector<spec::HistoryRow> History(JobId job, int64_t from) const;
  // Rows recorded so far: the `from` for what comes next.
  int64_t HistoryEnd(JobId job) const;
  // Without those of an earlier life who have not come back yet.
  std::vector<spec::WorkerSnapshot> Workers() const;
  // All that the entries so far have said, in as few as possible: a core made with them is in the
  // same state as one made with all entries.
  std::vector<JournalEntry> Remember() const;
  // The job of an earlier submission with this RequestKey, if it is remembered.
  std::optional<JobId> FindSubmission(const std::string& request_key) const;

 private:
  // coordinator_core.cc: time and the end.
  void On(const Tick& event);
  void On(const Shutdown& event);
  void ForgiveOwnPause();
  void CheckSessions();
  void CheckJob(JobRecord& job);
  void CheckStall(JobRecord& job);
  std::string Late(const JobRecord& job, int64_t limit_ms) const;
  int64_t StallLimit(spec::JobState state) const;

  // coordinator_workers.cc: sessions, Hello, Goodbye, loss.
  void On(const SessionOpened& event);
  void On(const SessionClosed& event);
  void On(const WorkerMessage& event);
  void Obey(Worker& worker, const Hello& message);
  void Obey(Worker& worker, const Heartbeat& message);
  void TellWaiting(JobRecord& job);
  void Obey(Worker& worker, const Goodbye& message);
  void NoteCrash(const Worker& worker, const std::string& signal);
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

  // coordinator_jobs.cc: submit, cancel, start and end.
  void On(const Submit& event);
  void On(const CancelJob& event);
  void OrderEarlyEnd(const JobRecord& job);
  Status CheckSubmission(const Submission& submission) const;
  Status CheckPlanSize(const Submission& submission) const;
  Status CheckModelSize(const TrainingSubmission& submission) const;
  void StartJob(JobRecord& job, const std::vector<Worker*>& workers);
  // Makes these the members of a new generation, in this order.
  void BeginGeneration(JobRecord& job, const std::vector<Worker*>& workers, Generation number);
  void GiveShards(JobRecord& job, std::vector<std::vector<int32_t>> runs);
  // The same workers, in the order of the runs they are to profile.
  static std::vector<Worker*> NearTo(const spec::InputPlan& input,
                                     const std::vector<std::vector<int32_t>>& runs,
                                     std::vector<Worker*> workers);
  std::vector<Worker*> FreeWorkers();
  // Of these, those that the job may take.
  std::vector<Worker*> FreeFor(const JobRecord& job);
  void EndJob(JobRecord& job, spec::JobState state, Status error, spec::JobResult result);
  void Fail(JobRecord& job, Status error);
  void ReleaseMembers(const JobRecord& job, const std::string& words);
  static bool Leaves(const JobRecord& job);
  void ClearAway(JobRecord& job);
  void ClearAwayAgain();
  // What only a job that has not ended needs.
  void ForgetWork(JobRecord& job);
  void ForgetOldJobs();
  void SetConfusionAside(JobRecord& job);
  // Metrics of the result on validation and test rows; nullptr: none.
  static std::pair<spec::Metrics*, spec::Metrics*> Evaluated(spec::JobSnapshot& s);
  StartProfiling ProfilingOrder(const JobRecord& job, Generation generation) const;  // of no shards
  void SendProfile(const JobRecord& job, size_t member);
  void SendTraining(const JobRecord& job, size_t member);

  // coordinator_cancelling.cc: the answer to a cancelled job's fence.
  static Status HasEnded(const JobRecord& job);
  void On(const OutputFenced& event);
  void GoOnToTheEnd(JobRecord& job, const std::string& output);
  void CheckCancelling(JobRecord& job);
  void AnswerCancelling(JobRecord& job);

  // coordinator_queue.cc: which job starts next, and why others wait.
  void StartJobs();
  JobRecord* NextInQueue();
  void ExplainQueue();
  std::string WhyWaiting(const JobRecord& job, int64_t place, JobId ahead) const;

  // coordinator_owners.cc: who may end a job, and the quotas of owners.
  void On(const WithdrawSubmission& event);
  static Status CheckOwner(const JobRecord& job, const Requester& by);
  Status CheckQuotas(const Submission& submission) const;
  OwnerUses UsesOfOwners() const;
  bool TooManyRunning(const OwnerUse& use) const;
  bool TooManyWorkers(const JobRecord& job, const OwnerUse& use) const;
  JobId HeldBehind(const JobRecord& job, OwnerUses& uses) const;
  std::string WhyHeld(const JobRecord& job, OwnerUses& uses) const;
  int64_t RoomFor(const JobRecord& job) const;
  bool MakeRoom();

  // coordinator_recovery.cc: members are lost, links break.
  static int64_t Reached(const JobRecord& job);
  static int64_t Least(const Submission& submission);
  static int64_t Least(const JobRecord& job) { return Least(job.submission); }
  void MemberLost(JobRecord& job, const std::string& why);
  // The next generation, or the wait for workers enough.
  void Regroup(JobRecord& job);
  std::vector<Worker*> Survivors(const JobRecord& job);
  void AddReplacements(const JobRecord& job, std::vector<Worker*>& workers);
  void ProfileOn(JobRecord& job, std::vector<Worker*> workers);
  void TrainOn(JobRecord& job, std::vector<Worker*> workers);
  void Expel(JobRecord& job, std::vector<Worker*>& workers);
  void CheckComplaints(JobRecord& job);
  bool MissesSwitch(Worker& worker, const LinkBroken& message);
  bool CannotJoin(Worker& worker, const LinkBroken& message);
  void ProceedIfReady(JobRecord& job);
  std::vector<Proceed> ProceedOf(const JobRecord& job) const;

  // coordinator_waiting.cc: jobs that wait for workers enough, and those that yield to them.
  void AwaitWorkers(JobRecord& job, size_t survivors);
  bool BelowMinimum(const JobRecord& job);
  void CheckRecovery(JobRecord& job);
  // False: one of them waits on, and so must the queue.
  bool RegroupWaitingJobs();
  void GoOn(const std::vector<JobId>& waiting, const JobRecord& older);
  std::vector<JobRecord*> Yielding(const JobRecord& job, const std::vector<JobId>& waiting);
  static bool MayYield(const JobRecord& job);
  bool WaitedLong(const JobRecord& job) const;
  void BeginToYield(JobRecord& job, const JobRecord& older);
  void GiveUpSurvivors(JobRecord& job, const JobRecord& older);

  // coordinator_state.cc: states that differ, states to be kept.
  void Obey(Worker& worker, const StatesDiffer& message);
  bool StateIsKept(JobRecord& job);
  void Obey(Worker& worker, const StateKept& message);

  // coordinator_planned.cc: workers join, leave and exchange leaves beside the training.
  bool MayChange(const JobRecord& job) const;
  std::optional<int64_t> LeftMs(const JobRecord& job) const;
  static bool IsMember(const JobRecord& job, const Worker& worker);
  bool PlanGeneration(JobRecord& job, const std::vector<Worker*>& workers,
                      const plan::Ownership& ownership, std::string why);
  void AbandonPlan(JobRecord& job, const std::string& why);
  // While the job's members are still those of before the plan.
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

  // coordinator_sharing.cc: workers beyond the minimum of jobs that train.
  // A change that would come into effect only near the end is not worth it.
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

  // coordinator_profiling.cc: what members found in their shards, and the merge of it.
  void Obey(Worker& worker, const ProfilingProgress& message);
  void Obey(Worker& worker, const ProfilePart& message);
  Status TakeShard(JobRecord& job, MemberState& member,
                   const std::shared_ptr<const spec::ShardResult>& result);
  static void PutBackSums(ProfilingState& all);
  static Status AddUp(const spec::ShardResult& result, ProfilingState& all);
  // When the profiles of all shards are there.
  void MergeIfProfiled(JobRecord& job);
  void LetMembersGo(JobRecord& job);
  Status ProfileTooLarge(const JobRecord& job) const;
  void ForgetProfile(JobRecord& job);
  void On(const ProfileMerged& event);
  void Replan(JobRecord& job, const Replanned& plan);
  static void TakePlan(JobRecord& job, const Replanned& plan);
  static void NoteProfile(JobRecord& job);

  // coordinator_messages.cc: what members say about their job.
  void Obey(Worker& worker, const MemberReady& message);
  void Obey(Worker& worker, const LinkBroken& message);
  void Obey(Worker& worker, const Progress& message);
  void Obey(Worker& worker, const HistoryEntry& message);
  void Obey(Worker& worker, const JobDone& message);
  void On(const OutputChecked& event);
  void CheckFinishing(JobRecord& job);
  void Obey(Worker& worker, const JobFailed& message);
  void On(const JobScored& event);
  // The worker's job and its place in it when the message is to be obeyed; else null: the message
  // was dropped, or was impossible and failed the job.
  struct Place {
    JobRecord* job = nullptr;
    MemberState* member = nullptr;
  };
  Place Judge(Worker& worker, JobPoint point, const char* what);
  static size_t RootPlace(const JobRecord& job);
  static Status CheckRoot(JobRecord& job, const Worker& worker, const char* what);
  // Remembers who was the root, before the members or leaves change.
  static void NoteRoot(JobRecord& job);
  void Blame(JobRecord& job, const Worker& worker, Status error);
  void EnterTraining(JobRecord& job);
  // Also a later life is to know that all members had their orders.
  void Met(JobRecord& job);
  static bool Knows(const JobRecord& job, const HistoryEntry& message, bool earlier);
  void SetHistory(JobRecord& job, spec::HistoryRow row, int64_t number);
  static void EndHistory(JobRecord& job, int64_t steps);
  static int64_t HistoryEnd(const JobRecord& job) {
    return job.history_begin + static_cast<int64_t>(job.history.size());
  }

  // coordinator_tokens.cc: delegation tokens of jobs.
  void CheckTokens();
  void On(const TokenKept& event);
  void On(const JobCleared& event);
  void Obey(Worker& worker, const TokenRefused& message);
  void TakeToken(JobRecord& job, const std::string& file_system, const KeptToken& kept);
  void TokenTrouble(JobRecord& job, const std::string& file_system, const Status& why);
  std::string TroubleOf(const JobRecord& job) const;
  void SendTokens(const JobRecord& job, const Worker& worker);
  void CancelTokens(JobRecord& job);
  void Recall(const TokensReplaced& e);

  // coordinator_restore.cc: from the journal and to it.
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
  void Recall(const JobEnded& e);
  void Recall(const JobForgotten& e);
  void Recall(const IncarnationTaken& e);
  void FinishRecall();
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
  // Returns a job to the queue. It repeats its profiling pass unless the profile is complete.
  void QueueAgain(JobRecord& job);

  JobRecord* FindJob(JobId job);
  const JobRecord* FindJob(JobId job) const;
  spec::JobSnapshot Outline(const JobRecord& job) const;  // without confusion matrices
  spec::JobSnapshot Snapshot(const JobRecord& job) const;
  void Changed(const JobRecord& job, bool progress_only = false);
  // To a worker without a stream nothing is sent: when it comes back it gets what it lacks.
  void Send(SessionId session, ToWorker message);
  void Close(SessionId session, Status why);
  void Log(LogLevel level, std::string text);

  CoordinatorCoreOptions options_;  // the incarnation may grow
  int64_t now_ms_ = 0;
  int64_t newest_end_ms_ = 0;    // of a job
  int64_t begun_ms_ = 0;         // the first event; 0: none yet
  bool awaiting_ = false;        // members may come back of whom the journal tells ...
  bool cut_off_ = false;         // ... or who fell silent all at once, and nobody was heard since
  int64_t awaits_until_ms_ = 0;  // ... until then
  int64_t ticked_ms_ = 0;        // the newest event; 0: none yet
  bool stopping_ = false;
  uint64_t next_worker_ = 1;
  uint64_t next_job_ = 1;
  std::map<SessionId, Session> sessions_;
  std::map<WorkerId, Worker> workers_;
  std::map<JobId, JobRecord> jobs_;
  std::deque<JobId> queue_;
  int64_t profile_bytes_ = 0;  // of all jobs
  bool queue_moved_ = false;   // workers or jobs changed such that a waiting job might start
  CoordinatorActions out_;     // of the step in progress
};

}  // namespace espalier::cluster
