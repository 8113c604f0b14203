// Messages between coordinator and workers, as plain structs. Only rpc/ knows their protos.
//
// Messages of a job (C coordinator, W each member):
//   C -> W  StartProfiling  the spec, the frozen input, and the shards of this member; a member
//                           that joins later gets one without shards
//   W -> C  ProfilePart     results of some of its shards, a few MiB at a time; the next one is
//                           sent when ProfileTaken has answered the last, so that queues stay short
//   C -> W  ProfileTaken    number of shards received
//   C -> W  StartTraining   the members, the merged profile, and the owner of each leaf
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
// When a member is lost, the others get StartTraining (or StartProfiling) of the next generation.
// They keep their job state and rows, drop the rest of the generation before, and continue at
// Proceed. When members join, leave or exchange leaves by plan, no member waits:
//   C -> W  StartTraining   of the next generation, planned: rows are loaded next to the training
//   W -> C  MemberReady     they are loaded
//   C -> W  SwitchOver      all are ready: the root stamps the end of this generation into a total
//   W -> C  Switched        that total is applied, and the next generation has begun
// A job that scores has no training: its profiling pass is the scoring. Members apply the model to
// their shards, and ProfilePart reports the results. The job is over when the coordinator has added
// them up and put the predictions in place.
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
#include "src/spec/shard_score.h"
#include "src/spec/snapshots.h"
#include "src/spec/storage_token.h"

namespace espalier::cluster {

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

// Results of shards. They are shared, because they are large and pass through several owners.
using ShardResults = std::vector<std::shared_ptr<const spec::ShardResult>>;

// What the member found in the next of its shards, in the order in which it was given them. The
// profiling pass ends with the last part.
struct ProfilePart {
  JobId job;
  Generation generation;
  ShardResults shards;
};

// Progress of a profiling pass, for the progress view. While rows are loaded: a sign of life.
struct ProfilingProgress {
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
  spec::JobProgress progress;
};

// From the root: an evaluation. Each generation begins with all that the job has had, and so does
// each new stream: whoever listens takes the rows in their order, each once.
struct HistoryEntry {
  JobId job;
  Generation generation;
  spec::HistoryRow row;
  int64_t number = 0;  // of the row, from 0
  int64_t first = 0;   // of the oldest row that is still told; filled in by WorkerCore
};
// Of longer histories coordinator and workers keep, and tell, the newest rows.
inline constexpr int64_t kHistoryRowsMax = 10'000;

struct JobDone {
  JobId job;
  Generation generation;
  spec::TrainingResult result;
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

using FromWorker = std::variant<Hello, Heartbeat, ProfilingProgress, ProfilePart, MemberReady,
                                Switched, LinkBroken, StatesDiffer, Uneven, Progress, HistoryEntry,
                                JobDone, JobFailed, Leaving, Goodbye, StateKept, TokenRefused>;

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

struct StartProfiling {
  Incarnation incarnation;
  JobId job;
  Generation generation;
  std::string job_yaml;
  std::shared_ptr<const spec::InputPlan> input;
  std::vector<int32_t> shards;  // indices into input->shards, ascending
  spec::StorageTokens tokens;
  std::string request_id = {};  // of the submission: tells this job from all of other coordinators
  std::string model_sha256 = {};  // as ScoringSubmission's
};

// The job's delegation tokens from now on: one was replaced.
struct NewTokens {
  Incarnation incarnation;
  JobId job;
  spec::StorageTokens tokens;
};

// So many of the member's shards have arrived. Answers each ProfilePart.
struct ProfileTaken {
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
  std::shared_ptr<const spec::TableProfile> profile;
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

// To the members of a job that a client ends early: the root makes the next step the last one.
struct EndTraining {
  Incarnation incarnation;
  JobId job;
  Generation generation;
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

using ToWorker =
    std::variant<Welcome, Refused, StartProfiling, StartTraining, SwitchOver, Proceed, Release,
                 Dismiss, Pulse, ProfileTaken, KeepState, NewTokens, EndTraining>;

}  // namespace espalier::cluster
