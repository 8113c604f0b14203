// The events that go into a CoordinatorCore, and the actions that come out.
//
// Thread rule: values.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "src/base/ids.h"
#include "src/base/log.h"
#include "src/base/status.h"
#include "src/cluster/messages.h"
#include "src/spec/input.h"
#include "src/spec/shard_sums.h"

namespace espalier::cluster {

using SessionId = Number<struct SessionIdTag>;  // one stream from a worker, numbered by the shell
using RequestId = Number<struct RequestIdTag>;  // a client call that waits for an answer

// The client that sends a request.
struct Requester {
  std::string name;    // owner of the jobs that it submits; empty on a plain-text cluster
  bool admin = false;  // may end every job
  // Address without the port, if the client has no name. Limits count clients by it.
  std::string address = {};
};

// ---- events ----------------------------------------------------------------------------------

struct SessionOpened {
  SessionId session;
  std::string peer;  // address of the worker, for messages
};

struct SessionClosed {
  SessionId session;
  Status why;  // OK: the other end closed the stream
};

struct WorkerMessage {
  SessionId session;
  FromWorker message;
};

struct TrainingSubmission {
  // Members exchange messages only with the root (asynchronous training), not along the tree.
  bool star = false;
  // Lower bound of the model's part of memory_bytes_max on each worker, in bytes
  // (training/memory_plan.h). Used at submission only and not kept in the journal.
  int64_t least_model_bytes = 0;
};

struct ScoringSubmission {
  spec::JobKind kind = spec::JobKind::kPredict;  // not kTrain
  // SHA-256 of the model.json by which the input was planned. Empty: unknown, in the journals of
  // earlier versions.
  std::string model_sha256 = {};
};

// A job that the shell has parsed, with its input listed and its output reserved. The core keeps
// `input` only while the job has workers. It drops `job_yaml` and `packed_input` when the job ends.
struct Submission {
  std::string client_request_id;  // RequestKey of the owner and the client's id
  std::string job_yaml;
  std::string name;
  std::string output;
  int64_t workers_min = 1;
  int64_t workers_max = 0;  // 0: no limit
  int64_t leaves = 1;
  std::shared_ptr<const spec::InputPlan> input;
  spec::StorageTokens tokens = {};
  std::variant<TrainingSubmission, ScoringSubmission> work = {};
  // Name of the place of `output` (PlaceName of storage/file_systems.h), equal for all its names.
  // Empty: `output` itself.
  std::string output_place = {};
  // Name of the person or service that submitted the job. Empty: the job has no owner, because the
  // cluster is plain text or an earlier version accepted the job.
  std::string owner = {};
  // The job as it was submitted, if the profiling pass completes it; otherwise empty.
  std::string asked_yaml = {};
  // PackPlan of `input`, from which the core and the journal restore it (packed_plan.h). Null: the
  // shell has just made the plan, or an earlier version wrote it to the journal.
  std::shared_ptr<const std::string> packed_input = {};
  const std::string& OutputPlace() const { return output_place.empty() ? output : output_place; }
  const TrainingSubmission* training() const { return std::get_if<TrainingSubmission>(&work); }
  const ScoringSubmission* scoring() const { return std::get_if<ScoringSubmission>(&work); }
  spec::JobKind kind() const {
    return scoring() == nullptr ? spec::JobKind::kTrain : scoring()->kind;
  }
  bool star() const { return training() != nullptr && training()->star; }
};

// Returns the key that identifies a submission to the coordinator, its workers and the storage.
// Equal ids of different owners give different keys. Without an owner, the key is the client's id.
std::string RequestKey(const std::string& owner, const std::string& client_request_id);

// Returns the approximate memory of a job's YAML, packed input and input, in bytes.
int64_t PlanBytes(const Submission& submission);

struct Submit {
  RequestId request;
  Submission submission;
};

struct CancelJob {
  RequestId request;
  JobId job;
  std::string reason;  // names the requester: "cancelled by a client"
  Requester by = {};
  bool keep = false;  // saves the weights of a job that has had an evaluation
};

// Ends the job of a submission, given the client's id. The reply has job 0 if the requester has no
// job with this id.
struct WithdrawSubmission {
  RequestId request;
  std::string client_request_id;
  Requester by = {};
};

// Makes the worker leave as soon as its job can continue without it.
struct DrainWorker {
  RequestId request;
  WorkerId worker;
  std::string reason;
};

// A job as completed by the profiling pass, if it differs from the job before the pass.
struct Replanned {
  std::string job_yaml;
  std::shared_ptr<const spec::InputPlan> input;  // not provisional
  int64_t leaves = 1;
};

// The result of a ProfileMerge.
using MergedProfile =
    std::variant<std::shared_ptr<const spec::TableProfile>, std::shared_ptr<const Replanned>>;
struct ProfileMerged {
  JobId job;
  Generation generation;
  Result<MergedProfile> result;
};

// The result of a ScoreMerge. The job's output is in place.
struct JobScored {
  JobId job;
  Generation generation;
  Result<spec::ScoringResult> result;
};

// The result of a TokenWork that renews or replaces a token.
struct KeptToken {
  std::string text;     // the token to use from now on, old or new
  int64_t ends_ms = 0;  // expiry, in milliseconds since 1970; renewal is due before
  Status limit;         // reason why no later renewal is possible; OK: one is possible
};
struct TokenKept {
  JobId job;
  std::string file_system;
  Result<KeptToken> result;
};

// The result of a FenceWork. From now on, no worker of the job changes its output. `written`: the
// generation that had put the model in place before the fence, if any.
struct OutputFenced {
  JobId job;
  Result<std::optional<Generation>> written;
};

// The result of a CheckWork: whether the output holds the model that the root reported, or that of
// a later job.
struct OutputChecked {
  JobId job;
  Result<bool> holds;
};

// The leftovers of a job are removed, or remain for good because its tokens are no longer valid.
struct JobCleared {
  JobId job;
};

// The journal could not store the acceptance of this job. The client received an error, so the job
// never existed.
struct JobRefused {
  JobId job;
  Status why;
};

// A passage of time. The shell sends it a few times each heartbeat interval.
struct Tick {};

// Shutdown of the daemon. The core closes every stream with kUnavailable and accepts nothing more.
// Workers reconnect to the next daemon. The core ends every job, unless the journal passes the jobs
// on to the next daemon.
struct Shutdown {
  std::string reason;
  bool jobs_go_on = false;
};

using CoordinatorEvent =
    std::variant<SessionOpened, SessionClosed, WorkerMessage, Submit, CancelJob, WithdrawSubmission,
                 DrainWorker, ProfileMerged, JobScored, OutputFenced, OutputChecked, JobCleared,
                 TokenKept, JobRefused, Tick, Shutdown>;

// ---- actions ---------------------------------------------------------------------------------

// Journal entries: the state that the coordinator needs after a restart.
struct WorkerIdGiven {
  WorkerId worker;
};
struct JobAccepted {
  JobId job;
  int64_t submitted_ms = 0;
  Submission submission;
};
struct GenerationStarted {
  JobId job;
  // 0: the end of a set-aside job was not read, so that nothing of it is cleared away.
  Generation generation;
  std::vector<Member> members;
  std::vector<LeafInterval> leaves;  // one per member; none while profiling
  int64_t at_ms = 0;
  std::string arithmetic_id;  // shared by its members
  bool reverts = false;       // starts from the newest state that all members agreed on
};
struct ProfileRecorded {
  JobId job;
  std::shared_ptr<const spec::TableProfile> profile;
};
struct HistoryRecorded {
  JobId job;
  spec::HistoryRow row;
  int64_t number = 0;  // row number, from 0; replaces an earlier row with the same number
};
struct GenerationReserved {
  JobId job;
  Generation generation;  // number is used up, even if this generation never begins
};
// All members of the newest generation have received their orders.
struct TrainingStarted {
  JobId job;
  int64_t at_ms = 0;  // start of training in the first generation
};
struct JobEnded {
  spec::JobSnapshot snapshot;
};
struct JobForgotten {
  JobId job;
};
// The number that the coordinator takes when workers have seen a higher incarnation, for example
// because its journal is an old copy.
struct IncarnationTaken {
  Incarnation incarnation;
};
// All delegation tokens of a job, from now on.
struct TokensReplaced {
  JobId job;
  spec::StorageTokens tokens;
};
// The merge of the members' results is about to begin. `times` counts merges in a row that did not
// end.
struct MergeTried {
  JobId job;
  int64_t times = 0;
};
// The profiling pass of the job restarts with another plan.
struct JobReplanned {
  JobId job;
  Replanned plan;
};
// The first crash of a member of the job.
struct MemberCrashed {
  JobId job;
  std::string name;   // of the worker, up to the colon
  std::string label;  // worker and signal, for messages
};
// Only an outline of the job's entries was read, because they crashed the coordinator. The core
// fails the job unless it has ended.
struct JobSetAside {
  JobId job;
  std::string why;  // error of the job
};
using JournalEntry =
    std::variant<WorkerIdGiven, JobAccepted, GenerationStarted, ProfileRecorded, HistoryRecorded,
                 TrainingStarted, JobEnded, JobForgotten, IncarnationTaken, GenerationReserved,
                 TokensReplaced, MergeTried, JobReplanned, MemberCrashed, JobSetAside>;

// Returns the job of an entry; 0: it belongs to none.
JobId JobOf(const JournalEntry& entry);

struct SendToWorker {
  SessionId session;
  ToWorker message;
};

// Ends a stream after the pending messages are sent. The worker receives the reason.
struct CloseSession {
  SessionId session;
  Status why;
};

struct Reply {
  RequestId request;
  Result<JobId> result;  // the submitted or cancelled job
};

struct DrainReply {
  RequestId request;
  Result<WorkerId> result;  // the worker that leaves now
};

// A change of a job's snapshot or history.
struct JobChanged {
  JobId job;
  bool progress_only = false;  // state, workers and result are unchanged; notice may be delayed
  bool over = false;           // this step brought the job to a final state
};

// The part of a training job in a merge. The answer is ProfileMerged.
struct ProfileMerge {
  std::string asked_yaml = {};  // Submission::asked_yaml
};

// The part of a scoring job in a merge. The answer is JobScored.
struct ScoreMerge {
  std::string request_id, model_sha256;  // values of the submission
  std::vector<double> totals;            // evaluation: totals over all shards
};

// Merges the results of all shards, off the control loop.
struct MergeWork {
  JobId job;
  Generation generation;
  std::string job_yaml;
  std::shared_ptr<const spec::InputPlan> input;
  ShardResults shards;  // results in shard order; one has the sums of all (spec::ShardSums)
  spec::StorageTokens tokens = {};
  std::variant<ProfileMerge, ScoreMerge> work = {};
  const ProfileMerge* profile() const { return std::get_if<ProfileMerge>(&work); }
  const ScoreMerge* score() const { return std::get_if<ScoreMerge>(&work); }
};

// Fences the writers of a training job (bundle/output.h) before it is cancelled, off the control
// loop. The answer is OutputFenced.
struct FenceWork {
  JobId job;
  int64_t submitted_ms = 0;  // milliseconds since 1970
  std::string output, request_id;
  spec::StorageTokens tokens = {};
  std::string owner = {};  // of the job; empty: none
};

// Reads the output after a root has reported that its model is in place, off the control loop. The
// answer is OutputChecked.
struct CheckWork {
  JobId job;
  int64_t submitted_ms = 0;  // milliseconds since 1970
  std::string output, request_id, weights_sha256;
  spec::StorageTokens tokens = {};
  std::string owner = {};  // of the job; empty: none
};

// Clears away an ended job. The shell waits for any MergeWork of the job. Then it removes the files
// that the job wrote next to its output. For a scoring job that did not succeed, it also removes
// the output of a prediction, in case the merge put it in place. Then it revokes the tokens and
// sends JobCleared. The core keeps the tokens until then, because a restarted coordinator would
// need them.
struct ClearWork {
  JobId job;
  spec::JobKind kind = spec::JobKind::kTrain;
  int64_t submitted_ms = 0;  // milliseconds since 1970
  std::string output, request_id;
  spec::StorageTokens tokens = {};
  bool succeeded = false;
  bool again = false;  // repeats the work after a restart; it may be complete already
};

// Calls the issuer of a token, off the control loop. The shell renews the token, or replaces it if
// renewal no longer extends it, and answers with TokenKept. With `cancel`, it revokes the token.
struct TokenWork {
  JobId job;
  spec::StorageToken token;
  bool cancel = false;
  std::string owner = {};  // of the job; empty: none, or the job is forgotten
};

struct LogLine {
  LogLevel level = LogLevel::kInfo;
  std::string text;
};

// The work that the shell does for the core, in the order of the members and within each in order.
// `persist` is first: a worker or client must never see a job, a generation or an end that a
// restarted coordinator does not know.
struct CoordinatorActions {
  std::vector<JournalEntry> persist;
  std::vector<SendToWorker> send;
  std::vector<CloseSession> close;
  std::vector<Reply> reply;
  std::vector<DrainReply> drained;
  std::vector<JobChanged> notify;
  std::vector<MergeWork> work;
  std::vector<FenceWork> fence;
  std::vector<CheckWork> check;
  std::vector<ClearWork> clear;
  std::vector<TokenWork> tokens;
  std::vector<LogLine> log;
};

}  // namespace espalier::cluster
