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
//   W -> C  StatesDiffer    the job states of the members differ, with the members in the minority
//   C -> W  NewTokens       a delegation token of the job was replaced
//   W -> C  TokenRefused    a delegation token is refused; the member waits for another one
//   C -> W  Release         the job is over for this worker (done, failed or cancelled)
// When a member is lost, the others get StartTraining (or StartProfiling) of the next generation.
// They keep their job state and rows, drop the rest of the generation before, and continue at
// Proceed. When members join, leave or exchange leaves by plan, no member waits:
//   C -> W  StartTraining   of the next generation, planned: rows are loaded during the training
//   W -> C  MemberReady     the rows are loaded
//   C -> W  SwitchOver      all are ready: the root stamps the end of this generation into a total
//   W -> C  Switched        that total is applied, and the next generation has begun
// A scoring job has no training: its profiling pass is the scoring. Members apply the model to
// their shards, and ProfilePart reports the results. The job is over when the coordinator has added
// up the results and put the predictions in place.
//
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

// A worker that takes part in a job. Its index is its place in StartTraining::members.
struct Member {
  WorkerId worker;
  std::string name;     // for messages to people
  std::string address;  // host:port of its peer service
  bool operator==(const Member&) const = default;
};

// Half-open interval of the leaves of a member. All intervals together determine the physical tree
// (plan/).
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
  WorkerId worker;          // id from an earlier Welcome when re-attaching; otherwise none
  Incarnation incarnation;  // highest one seen; none at first
  std::string name;         // for people; defaults to host:pid
  std::string address;      // host:port of the peer service
  int32_t threads = 1;
  int64_t memory_bytes = 0;
  // Current job and generation, when re-attaching.
  JobId job;
  Generation generation;
  // The kernel ended the process before this one for lack of memory. Reported once.
  bool out_of_memory = false;
};

struct Heartbeat {
  JobId job;
  Generation generation;
  int64_t step = 0;             // last committed step
  std::string waiting_because;  // reason why storage delays the worker; empty: no delay
};

// Results of shards. They are shared, because they are large and pass through several owners.
using ShardResults = std::vector<std::shared_ptr<const spec::ShardResult>>;

// The member's results for the next of its shards, in the order in which it received them. The
// profiling pass ends with the last part.
struct ProfilePart {
  JobId job;
  Generation generation;
  ShardResults shards;
};

// Progress of a profiling pass, for the progress view. While the member loads rows, it is a sign of
// life.
struct ProfilingProgress {
  JobId job;
  Generation generation;
  int64_t bytes_done = 0;
};

// Rows are loaded and links are up: the member waits for Proceed.
struct MemberReady {
  JobId job;
  Generation generation;
  uint64_t round = 0;  // round in flight in its job state (training/training_state.h), not applied
                       // yet; 1 at the start
};

// The prepared generation has begun at this member. `round` is in flight in it.
struct Switched {
  JobId job;
  Generation generation;
  uint64_t round = 0;
};

// The job states differ (training/training_state.h). The member applied nothing of the step in
// flight and went back to the last state that all members agreed on, or to none.
struct StatesDiffer {
  JobId job;
  Generation generation;
  int64_t step = 0;
  std::vector<int32_t> members;  // members outside the majority; none: no majority
};

// Sent by the root: steps would be notably shorter if the leaves were split by each member's time
// per leaf.
struct Uneven {
  JobId job;
  Generation generation;
  int64_t step = 0;
  std::vector<double> leaf_ms;  // milliseconds, by member
};

// The worker wants to leave (SIGTERM, `espalier drain`) and takes part until the coordinator lets
// it go.
struct Leaving {
  std::string reason;
};

// The member cannot finish the sums of this generation. It keeps its job state and its other links
// and waits for the next generation.
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

// Sent by the root: an evaluation. Each generation and each new stream begin with all rows of the
// job so far. The receiver takes the rows in order, each once.
struct HistoryEntry {
  JobId job;
  Generation generation;
  spec::HistoryRow row;
  int64_t number = 0;  // row number, from 0
  int64_t first = 0;   // number of the oldest row that the worker still sends; set by WorkerCore
};
// Number of newest rows that coordinator and workers keep, and send, of a longer history.
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

// The worker leaves by itself (SIGTERM), or it crashed. After a crash, `reason` names the signal.
struct Goodbye {
  std::string reason;
  bool crashed = false;
};

// Answers KeepState: the job state is in a checkpoint, or `why` states the reason why not.
struct StateKept {
  JobId job;
  Generation generation;
  int64_t step = 0;  // step of the checkpoint; 0: no step to save
  std::string path;  // directory of the checkpoint, for `resume`
  Status why;
};

// A NameNode refuses the job's token, in any generation. The member waits for another token.
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

// The coordinator rejects this worker (other version, other arithmetic). This is final: the worker
// ends with this error.
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
  std::string request_id = {};    // id of the submission; unique among all coordinators
  std::string model_sha256 = {};  // see ScoringSubmission
};

// The job's delegation tokens from now on: one was replaced.
struct NewTokens {
  Incarnation incarnation;
  JobId job;
  spec::StorageTokens tokens;
};

// Number of the member's shards that have arrived. Answers each ProfilePart.
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
  std::vector<LeafInterval> leaves;  // one per member, in member order; together all leaves
  // A planned change. The member loads rows while the generation before still trains, and reports
  // MemberReady when it has them. The new generation begins after the step whose total the root
  // stamps. Then a member that was not in the generation before fetches the state from `holder`.
  bool planned = false;
  int32_t holder = 0;  // member index
  // The members' states differed. Each member first goes back to the newest state that all agreed
  // on.
  bool reverts = false;
  // Time of the job's submission, in milliseconds since 1970. Of two jobs with the same output, the
  // later one counts (bundle/writer_name.h).
  int64_t submitted_ms = 0;
};

// Sent to the members of a generation when all of the next one are ready: the root stamps its end.
struct SwitchOver {
  Incarnation incarnation;
  JobId job;
  Generation generation;  // the generation that ends
  Generation next;
};

// Sent to the members of a job that a client ends early: the root makes the next step the last one.
struct EndTraining {
  Incarnation incarnation;
  JobId job;
  Generation generation;
};

// All members are ready. Members whose round in flight is older fetch the job state. Then all
// members begin that round (again). Each member gets its source, because not every pair may have a
// link.
struct Proceed {
  Incarnation incarnation;
  JobId job;
  Generation generation;
  uint64_t round = 0;
  int32_t holder = 0;    // source of the member's state; the member itself: its state is at `round`
  bool fetched = false;  // other members take the state from this one, once it has the state
};

struct Release {
  Incarnation incarnation;
  JobId job;
  Generation generation;
  std::string reason;
};

// Answers Goodbye: the worker may end.
struct Dismiss {
  std::string reason;
};

// Answers each Heartbeat, so that a worker notices a coordinator that disappeared without notice.
struct Pulse {
  Incarnation incarnation;
};

// Sent to a member of a job that waits for others, before the job is given up. The member writes
// its state as a checkpoint. With `reverts`, it writes the newest state that all members agreed on
// (as in StartTraining).
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
