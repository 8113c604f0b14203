// Messages between coordinator and workers, and snapshots of jobs for clients, as plain structs.
// Only rpc/ knows their protos.
//
// Messages of a job (C coordinator, W each member):
//   C -> W  StartSurvey     the spec, the frozen input, and the shards of this member; a member
//                           that joins later gets one without shards
//   W -> C  SurveyPart      results of some of its shards, a few MiB at a time; the next one is
//                           sent when SurveyTaken has answered the last, so that queues stay short
//   C -> W  SurveyTaken     number of shards received
//   C -> W  StartTraining   the members, the merged survey, and the owner of each leaf
//   W -> C  MemberReady     rows are loaded and links are up; the round of its job state
//   C -> W  Proceed         all are ready: continue from the state of the most advanced member
//   W -> C  Progress        from the root of the tree, a few times a second
//   W -> C  HistoryEntry    from the root, after each evaluation
//   W -> C  JobDone         from the root, when the bundle is in place
//   W -> C  JobFailed       from any member, at any time
//   W -> C  LinkBroken      the sum cannot be finished: a member is lost or unreachable
//   W -> C  StatesDiffer    the job states of the members differ, and which are in the minority
//   C -> W  NewTokens       a delegation token of the job was replaced
//   W -> C  TokenRefused    a delegation token is refused; the member waits for another one
//   C -> W  Release         the job is over here (done, failed or cancelled)
// When a member is lost, the others get StartTraining (or StartSurvey) of the next generation. They
// keep their job state and rows, drop the rest of the generation before, and continue at Proceed.
// When members join, leave or exchange leaves by plan, no member waits:
//   C -> W  StartTraining   of the next generation, planned: rows are loaded next to the training
//   W -> C  MemberReady     they are loaded
//   C -> W  SwitchOver      all are ready: the root stamps the end of this generation into a total
//   W -> C  Switched        that total is applied, and the next generation has begun
// A job that scores has no training: its survey is the scoring. Members apply the model to their
// shards, and SurveyPart reports the results. The job is over when the coordinator has added them
// up and put the predictions in place.
// Each message about a job names job and generation. A worker obeys only the highest incarnation
// that it has seen.
//
// Thread rule: values.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "src/base/ids.h"
#include "src/base/status.h"
#include "src/spec/input.h"
#include "src/spec/metrics.h"
#include "src/spec/scoring_spec.h"
#include "src/spec/shard_score.h"

namespace espalier {

// A worker taking part in a job; its index is its place in StartTraining::members.
struct Member {
  WorkerId worker;
  std::string name;     // for messages to people
  std::string address;  // host:port of its peer service
  bool operator==(const Member&) const = default;
};

// Half-open interval of leaves a member owns. The physical tree follows from all of them (plan/).
struct LeafInterval {
  int32_t begin = 0;
  int32_t end = 0;
  bool operator==(const LeafInterval&) const = default;
};

// A delegation token of a job for one file system. SECRET: whoever has it acts as its owner; it is
// in no log and no snapshot.
struct StorageToken {
  std::string file_system;  // what paths on it begin with (storage/uri.h): "hdfs://ns"
  std::string text;         // as WebHDFS writes it
  bool operator==(const StorageToken&) const = default;
};
using StorageTokens = std::vector<StorageToken>;
inline constexpr int64_t kStorageTokensMax = 16;

// ---- worker to coordinator -------------------------------------------------------------------

struct Hello {
  std::string version;  // kVersion of the worker's build
  std::string arithmetic_id;
  std::string session;      // random text, new at each start of the worker process
  WorkerId worker;          // what an earlier Welcome gave, when re-attaching; else none
  Incarnation incarnation;  // the highest seen; none at first
  std::string name;         // for people; defaults to host:pid
  std::string address;      // host:port of the peer service
  int32_t threads = 1;
  int64_t memory_bytes = 0;
  // What it is doing, when re-attaching.
  JobId job;
  Generation generation;
};

struct Heartbeat {
  JobId job;
  Generation generation;
  int64_t step = 0;             // committed
  std::string waiting_because;  // what storage keeps it from getting on; empty: nothing
};

// Surveys of shards, shared: they are large and pass through several hands.
using ShardSurveys = std::vector<std::shared_ptr<const ShardSurvey>>;

// What the member found in the next of its shards, in the order in which it was given them. The
// survey is over when it has told all.
struct SurveyPart {
  JobId job;
  Generation generation;
  ShardSurveys shards;
};

// How far a survey is, for the progress view; while rows are loaded, that it goes on.
struct SurveyProgress {
  JobId job;
  Generation generation;
  int64_t bytes_done = 0;
};

// Rows are loaded and links are up: the member waits for Proceed.
struct MemberReady {
  JobId job;
  Generation generation;
  uint64_t round = 0;  // in flight in its job state (training/training_state.h): what it has not
                       // applied yet; 1 at the start
};

// The generation that was prepared has begun here; `round` is in flight in it.
struct Switched {
  JobId job;
  Generation generation;
  uint64_t round = 0;
};

// Job states differ (training/training_state.h): nothing of the step in flight was applied, and the
// member went back to the last state that all agreed on, or to none.
struct StatesDiffer {
  JobId job;
  Generation generation;
  int64_t step = 0;
  std::vector<int32_t> members;  // whose state is not the majority's; none: no majority
};

// From the root: steps would be notably shorter if leaves were dealt out by what each member takes
// for one.
struct Uneven {
  JobId job;
  Generation generation;
  int64_t step = 0;
  std::vector<double> leaf_ms;  // by member
};

// The worker wants to go (SIGTERM, `espalier drain`) and takes part until it is let go.
struct Leaving {
  std::string reason;
};

// The sums of this generation cannot be finished here. The member keeps its job state and its other
// links and waits for the next generation.
struct LinkBroken {
  JobId job;
  Generation generation;
  WorkerId other;  // the member at the far end
  Status why;
};

struct Progress {
  JobId job;
  Generation generation;
  int64_t step = 0;         // committed
  int64_t steps_total = 0;  // expected at most
  double epoch = 0;         // completed epochs, fractional
  double epochs_total = 0;
  double loss = 0;      // running, of this epoch
  double accuracy = 0;  // running; classification only
  double learning_rate = 0;
  double rows_per_second = 0;
  std::string phase;       // "training", "evaluating", "writing"
  double phase_share = 0;  // of an evaluation that is done, 0 to 1
};

// From the root: an evaluation. Each generation begins with all that the job has had, and so does
// each new stream: whoever listens takes the rows in their order, each once.
struct HistoryEntry {
  JobId job;
  Generation generation;
  HistoryRow row;
  int64_t number = 0;  // of the row, from 0
  int64_t first = 0;   // of the oldest row that is still told; filled in by WorkerCore
};
// Of longer histories coordinator and workers keep, and tell, the newest rows.
inline constexpr int64_t kHistoryRowsMax = 10'000;

// What a finished job yields.
struct JobResult {
  int64_t steps = 0;
  double epochs = 0;
  int64_t rows_per_epoch = 0;
  Metrics train;
  std::optional<Metrics> validation;  // of the saved weights
  std::optional<Metrics> test;
  std::vector<std::string> classes;
  std::string weights_sha256;
  std::string bundle;           // path
  std::string stopped_because;  // "epochs", "steps", "time", "early stopping"
  double step_ms_p50 = 0;
  double step_ms_p99 = 0;
  int64_t skipped_rows = 0;
  std::optional<AsyncCounts> async = {};  // of asynchronous training
  // Of a job that scores: then of all above only `test` (the metrics of an evaluation), `classes`
  // and `bundle` (the output) are filled.
  std::optional<ScoringResult> scoring = {};
};

struct JobDone {
  JobId job;
  Generation generation;
  JobResult result;
};

struct JobFailed {
  JobId job;
  Generation generation;
  Status error;
};

// The worker is going away by itself (SIGTERM), or has crashed: then `reason` names the signal.
struct Goodbye {
  std::string reason;
  bool crashed = false;
};

// After KeepState: the job state is in a checkpoint, or `why` not.
struct StateKept {
  JobId job;
  Generation generation;
  int64_t step = 0;  // that the checkpoint is of; 0: there is no step to keep
  std::string path;  // the directory of the checkpoint, for `resume`
  Status why;
};

// A NameNode refuses the job's token (of whichever generation): another one is waited for.
struct TokenRefused {
  JobId job;
  std::string file_system;
};

using FromWorker = std::variant<Hello, Heartbeat, SurveyProgress, SurveyPart, MemberReady, Switched,
                                LinkBroken, StatesDiffer, Uneven, Progress, HistoryEntry, JobDone,
                                JobFailed, Leaving, Goodbye, StateKept, TokenRefused>;

// ---- coordinator to worker -------------------------------------------------------------------

struct Welcome {
  Incarnation incarnation;
  WorkerId worker;
  int64_t heartbeat_interval_ms = 1000;
  int64_t liveness_limit_ms = 5000;
};

// The coordinator will not have this worker (other version, other arithmetic). Final: the worker
// ends with the message.
struct Refused {
  Status error;
};

struct StartSurvey {
  Incarnation incarnation;
  JobId job;
  Generation generation;
  std::string job_yaml;
  std::shared_ptr<const InputPlan> input;
  std::vector<int32_t> shards;  // indices into input->shards, ascending
  StorageTokens tokens;
  std::string request_id = {};  // of the submission: tells this job from all of other coordinators
  std::string model_sha256 = {};  // as Submission's
};

// The job's delegation tokens from now on: one was replaced.
struct NewTokens {
  Incarnation incarnation;
  JobId job;
  StorageTokens tokens;
};

// So many of the member's shards have arrived. Answers each SurveyPart.
struct SurveyTaken {
  Incarnation incarnation;
  JobId job;
  Generation generation;
  int64_t shards = 0;
};

struct StartTraining {
  Incarnation incarnation;
  JobId job;
  Generation generation;
  std::vector<Member> members;  // the receiver finds itself by its id
  std::shared_ptr<const SurveyResult> survey;
  std::vector<LeafInterval> leaves;  // one a member, in member order; together all leaves
  // A planned change: rows are loaded while the generation before still trains, MemberReady tells
  // when they are; it begins after the step into whose total the root stamps it. Then a member that
  // was not in the generation before fetches the state from `holder`.
  bool planned = false;
  int32_t holder = 0;  // member index
  // The members' states were found to differ: each first goes back to the newest that all agreed
  // on.
  bool reverts = false;
  // When the job was submitted, in ms since 1970: of two jobs with the same output the later one
  // counts (bundle/writer_name.h).
  int64_t submitted_ms = 0;
};

// To the members of a generation when all of the next one are ready: the root stamps it.
struct SwitchOver {
  Incarnation incarnation;
  JobId job;
  Generation generation;  // that ends
  Generation next;
};

// All members are ready. Those whose round in flight is older fetch the job state; then all begin
// that round (again). Each member is told from whom, since not every pair may have a link.
struct Proceed {
  Incarnation incarnation;
  JobId job;
  Generation generation;
  uint64_t round = 0;
  int32_t holder = 0;    // whose state this member takes; itself: its own is at `round`
  bool fetched = false;  // others take it from this one, when it has it
};

struct Release {
  Incarnation incarnation;
  JobId job;
  Generation generation;
  std::string reason;
};

// Answer to Goodbye: the worker may end.
struct Dismiss {
  std::string reason;
};

// Answer to each Heartbeat: how a worker notices a coordinator that is gone without a word.
struct Pulse {
  Incarnation incarnation;
};

// To a member of a job that waits for others, before it is given up: its state is to be written as
// a checkpoint; when states differed the newest that all agreed on (as in StartTraining).
struct KeepState {
  Incarnation incarnation;
  JobId job;
  Generation generation;
  bool reverts = false;
};

using ToWorker = std::variant<Welcome, Refused, StartSurvey, StartTraining, SwitchOver, Proceed,
                              Release, Dismiss, Pulse, SurveyTaken, KeepState, NewTokens>;

// ---- clients ---------------------------------------------------------------------------------

enum class JobState : uint8_t {
  kQueued,
  kSurveying,  // or scoring
  kLoading,
  kTraining,
  kRecovering,  // members were lost: the next generation forms, or waits for workers
  kSucceeded,
  kFailed,
  kCancelled
};
const char* JobStateName(JobState state);  // "QUEUED" ...
inline bool IsFinal(JobState s) { return s >= JobState::kSucceeded; }

// A job as a client sees it: everything but its history.
struct JobSnapshot {
  JobId job;
  JobKind kind = JobKind::kTrain;
  std::string name;
  std::string owner;  // name of the submitter; empty: the job has no owner
  JobState state = JobState::kQueued;
  std::string waiting_because;  // queued; recovering without workers enough; storage is away
  std::string trouble;          // goes on, but not for long: what its delegation tokens lack
  std::string output;
  std::vector<std::string> workers;  // names
  std::string inferred;              // what `columns: auto` found beside numbers (InferredText)
  int64_t leaves = 0;
  Generation generation;
  int64_t input_bytes = 0, survey_bytes_done = 0;
  Progress progress;
  std::optional<JobResult> result;  // when succeeded
  Status error;                     // when failed or cancelled
  // Milliseconds since 1970; 0 when not reached.
  int64_t submitted_ms = 0, started_ms = 0, training_ms = 0, ended_ms = 0;
  // Durations of the consecutive phases, in ms.
  int64_t start_phase_ms = 0, survey_phase_ms = 0, train_phase_ms = 0;
};

struct WorkerSnapshot {
  WorkerId worker;
  std::string name, address, version, arithmetic_id;
  int32_t threads = 0;
  int64_t memory_bytes = 0;
  JobId job;                  // none: free
  int64_t attached_ms = 0;    // milliseconds since 1970
  int64_t last_heard_ms = 0;  // age of the newest message, in ms
};

// What a watcher receives each time: the snapshot, and the history rows it has not had yet.
struct JobUpdate {
  JobSnapshot snapshot;
  std::vector<HistoryRow> history;
};

struct SubmitRequest {
  std::string version;            // the client's kVersion
  std::string client_request_id;  // random text: a repeated submission is the same job
  std::string job_yaml;           // paths absolute
  StorageTokens tokens = {};      // for the secured file systems it names
};

}  // namespace espalier
