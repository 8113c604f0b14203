// What goes into a CoordinatorCore and what comes out of it.
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

using SessionId = Number<struct SessionIdTag>;  // one stream from a worker; numbered by the shell
using RequestId = Number<struct RequestIdTag>;  // a client's call that waits for an answer

// The caller of an order.
struct Requester {
  std::string name;    // owner of the jobs that it submits; empty on a plain-text cluster
  bool admin = false;  // may end every job
};

// ---- events ----------------------------------------------------------------------------------

struct SessionOpened {
  SessionId session;
  std::string peer;  // address it came from, for messages
};

struct SessionClosed {
  SessionId session;
  Status why;  // OK: the other end closed it
};

struct WorkerMessage {
  SessionId session;
  FromWorker message;
};

struct TrainingSubmission {
  // Members exchange messages with the root alone (asynchronous training), not along the tree.
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

// A job that the shell has parsed, listed and reserved the output of. Once the job has ended, yaml
// and input are forgotten.
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
  // Canonical form of `output` (storage/uri.h): two names of one place have the same. Empty: it is
  // `output` itself.
  std::string output_place = {};
  // Name of the person or service that submitted the job. Empty: the job has no owner, because the
  // cluster is plain text or an earlier version has accepted it.
  std::string owner = {};
  // The job as it was submitted, if the profiling pass completes it; otherwise empty.
  std::string asked_yaml = {};
  const std::string& OutputPlace() const { return output_place.empty() ? output : output_place; }
  const TrainingSubmission* training() const { return std::get_if<TrainingSubmission>(&work); }
  const ScoringSubmission* scoring() const { return std::get_if<ScoringSubmission>(&work); }
  spec::JobKind kind() const {
    return scoring() == nullptr ? spec::JobKind::kTrain : scoring()->kind;
  }
  bool star() const { return training() != nullptr && training()->star; }
};

// Returns the name by which the coordinator, its workers and the storage know a submission: equal
// ids of different owners are different submissions. Without an owner it is the client's id.
std::string RequestKey(const std::string& owner, const std::string& client_request_id);

// Returns the approximate memory of a job's YAML, file list and shard list, in bytes.
int64_t PlanBytes(const Submission& submission);

struct Submit {
  RequestId request;
  Submission submission;
};

struct CancelJob {
  RequestId request;
  JobId job;
  std::string reason;  // who asked: "cancelled by a client"
  Requester by = {};
  bool keep = false;  // the weights of a job that has had an evaluation are saved
};

// Ends the job of a submission, by the client's id. Answered with job 0 when the requester has no
// job of this id.
struct WithdrawSubmission {
  RequestId request;
  std::string client_request_id;
  Requester by = {};
};

// The worker is to leave as soon as its job can do without it.
struct DrainWorker {
  RequestId request;
  WorkerId worker;
  std::string reason;
};

// A job as the profiling pass has completed it, where that differs from the job before the pass.
struct Replanned {
  std::string job_yaml;
  std::shared_ptr<const spec::InputPlan> input;  // not provisional
  int64_t leaves = 1;
};

// What came of a MergeWork.
struct ProfileMerged {
  JobId job;
  Generation generation;
  Result<std::shared_ptr<const spec::TableProfile>> result;
  std::shared_ptr<const Replanned> replanned = {};  // there: in place of a result
};

// The same of a job that scores: its result, with its output in place.
struct JobScored {
  JobId job;
  Generation generation;
  Result<spec::ScoringResult> result;
};

// What came of a TokenWork that keeps a token.
struct KeptToken {
  std::string text;     // the token to use from now on: the same, or another
  int64_t ends_ms = 0;  // since 1970: it is to be kept again before
  Status limit;         // why there will be no other one after it; OK: there will
};
struct TokenKept {
  JobId job;
  std::string file_system;
  Result<KeptToken> result;
};

// What came of a FenceWork: from now on no worker of the job changes its output. `written`: the
// generation that had put the model in place before, if one had.
struct OutputFenced {
  JobId job;
  Result<std::optional<Generation>> written;
};

// The answer to a CheckWork: whether the output holds the model that the root has reported, or that
// of a later job.
struct OutputChecked {
  JobId job;
  Result<bool> holds;
};

// What a job had left is removed, or stays for good: its tokens are worthless by now.
struct JobCleared {
  JobId job;
};

// The journal could not keep the acceptance of this job, and its client was told so: it never was.
struct JobRefused {
  JobId job;
  Status why;
};

// Time passed. Sent by the shell a few times each heartbeat interval.
struct Tick {};

// The daemon ends: every stream is closed with kUnavailable (workers come back to the daemon that
// takes its place), nothing is taken any more. Every job ends, unless the journal will tell the
// next daemon of them.
struct Shutdown {
  std::string reason;
  bool jobs_go_on = false;
};

using CoordinatorEvent =
    std::variant<SessionOpened, SessionClosed, WorkerMessage, Submit, CancelJob, WithdrawSubmission,
                 DrainWorker, ProfileMerged, JobScored, OutputFenced, OutputChecked, JobCleared,
                 TokenKept, JobRefused, Tick, Shutdown>;

// ---- actions ---------------------------------------------------------------------------------

// Journal entries: what a later life of the coordinator must know.
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
  Generation generation;
  std::vector<Member> members;
  std::vector<LeafInterval> leaves;  // one a member; none while profiling
  int64_t at_ms = 0;
  std::string arithmetic_id;  // of its members
  bool reverts = false;       // it begins with the newest state that all agreed on
};
struct ProfileRecorded {
  JobId job;
  std::shared_ptr<const spec::TableProfile> profile;
};
struct HistoryRecorded {
  JobId job;
  spec::HistoryRow row;
  int64_t number = 0;  // of the row, from 0; one that was there before takes the place of it
};
struct GenerationReserved {
  JobId job;
  Generation generation;  // its number is used, though it may never begin
};
// All members of the generation that was started last have had their orders.
struct TrainingStarted {
  JobId job;
  int64_t at_ms = 0;  // when the first generation did
};
struct JobEnded {
  spec::JobSnapshot snapshot;
};
struct JobForgotten {
  JobId job;
};
// The coordinator is older than the workers (its journal is a copy, say): from now on it has this
// number.
struct IncarnationTaken {
  Incarnation incarnation;
};
// All delegation tokens of a job, from now on.
struct TokensReplaced {
  JobId job;
  spec::StorageTokens tokens;
};
// The merge of what members found is to begin, for the n-th time in a row without an end.
struct MergeTried {
  JobId job;
  int64_t times = 0;
};
// The profiling pass of the job begins again, by another plan.
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
using JournalEntry =
    std::variant<WorkerIdGiven, JobAccepted, GenerationStarted, ProfileRecorded, HistoryRecorded,
                 TrainingStarted, JobEnded, JobForgotten, IncarnationTaken, GenerationReserved,
                 TokensReplaced, MergeTried, JobReplanned, MemberCrashed>;

struct SendToWorker {
  SessionId session;
  ToWorker message;
};

// Ends a stream after what was to be sent on it; the worker sees why.
struct CloseSession {
  SessionId session;
  Status why;
};

struct Reply {
  RequestId request;
  Result<JobId> result;  // the job submitted or cancelled
};

struct DrainReply {
  RequestId request;
  Result<WorkerId> result;  // the worker that leaves now
};

// A job's snapshot or history changed.
struct JobChanged {
  JobId job;
  bool progress_only = false;  // state, workers and result are as before: may be delayed
  bool over = false;           // by this step the job's state is a final one
};

// Results of all shards, to be merged off the control loop. The answer is ProfileMerged, or
// JobScored where the job scores.
struct MergeWork {
  JobId job;
  Generation generation;
  std::string job_yaml;
  std::shared_ptr<const spec::InputPlan> input;
  ShardResults shards;  // in shard order; the sums of all are in one of them (spec::ShardSums)
  spec::StorageTokens tokens = {};
  spec::JobKind kind = spec::JobKind::kTrain;
  std::string request_id = {}, model_sha256 = {};  // of the submission
  std::vector<double> totals = {};                 // of an evaluation: of all shards together
  std::string asked_yaml = {};
};

// A job that trains is to be cancelled: its writers are to be fenced (bundle/output.h), off the
// control loop. OutputFenced brings the answer.
struct FenceWork {
  JobId job;
  int64_t submitted_ms = 0;  // since 1970
  std::string output, request_id;
  spec::StorageTokens tokens = {};
};

// A root reports that its model is in place: the output is to be read, off the control loop.
// OutputChecked brings the answer.
struct CheckWork {
  JobId job;
  int64_t submitted_ms = 0;  // since 1970
  std::string output, request_id, weights_sha256;
  spec::StorageTokens tokens = {};
};

// A job has ended: what it has written beside its output is to be removed, after any MergeWork of
// it; of one that scores, a prediction's output too, should that have put it in place, unless it
// `succeeded`. Then the tokens are made worthless, and JobCleared says so: until then a later life
// would need them.
struct ClearWork {
  JobId job;
  spec::JobKind kind = spec::JobKind::kTrain;
  int64_t submitted_ms = 0;  // since 1970
  std::string output, request_id;
  spec::StorageTokens tokens = {};
  bool succeeded = false;
  bool again = false;  // after a restart: it may have been done before
};

// Calls about a token, to be made off the control loop: it is renewed, or replaced when renewing
// leads no further (TokenKept brings the answer), or, with `cancel`, made worthless.
struct TokenWork {
  JobId job;
  spec::StorageToken token;
  bool cancel = false;
};

struct LogLine {
  LogLevel level = LogLevel::kInfo;
  std::string text;
};

// What the shell does for the core, in the order of the members and within each in order. `persist`
// comes first because a worker or client must never hear of a job, a generation or an end that a
// restarted coordinator would not know of.
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
