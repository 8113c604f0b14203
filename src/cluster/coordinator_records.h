// What CoordinatorCore knows of streams, workers and jobs. Private to it.
//
// Thread rule: values.
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
#include "src/base/status.h"
#include "src/cluster/arrangement.h"
#include "src/cluster/coordinator_actions.h"
#include "src/cluster/fate.h"
#include "src/cluster/messages.h"
#include "src/cluster/shard_totals.h"

namespace espalier::cluster {

struct CoordinatorRecords {
  struct Session {
    std::string peer;
    int64_t opened_ms = 0;
    WorkerId worker = {};  // none before Hello
  };
  struct Worker {
    WorkerId id;
    Hello hello;
    SessionId session;  // none: its stream ended, it may come back
    Status detached_why;
    int64_t attached_ms = 0;
    int64_t heard_ms = 0;  // newest message, or when the stream ended
    bool doomed = false;   // found silent, about to be lost: no survivor
    bool awaited = false;  // known from the journal; it has not come back yet
    JobPoint at = {};      // the job it takes part in; none: free
    size_t place = 0;      // its index among the job's members; SIZE_MAX: it is yet to join
    std::string waiting_because = {};  // as of its newest heartbeat
    bool leaving = false;              // let go as soon as its job can do without it
    std::string leaving_why;
  };
  struct MemberState {
    Member member;
    std::vector<int32_t> shards;
    bool joined = false;  // it was not in the generation before
    int64_t bytes = 0;    // of its shards
    int64_t bytes_done = 0;
    int64_t moved_ms = 0;       // when it last showed progress
    size_t shards_missing = 0;  // of its shards, those whose profiling pass has not come
    bool ready = false;
    uint64_t round = 0;  // in flight, as of its MemberReady
    int64_t step = 0;    // committed, as of its newest heartbeat
  };
  // A broken link to a member that is not known to be dead (yet).
  struct Complaint {
    WorkerId from, about;
    Status why;
    int64_t since_ms = 0;
  };
  // Of the profiling pass, what all generations of a job have in common.
  struct ProfilingState {
    ShardResults shards;  // results so far, by shard; null: not yet
    // What is taken out of them, added up as they come: it is the bulk of an evaluation's shards,
    // of those whose features are scaled by quartiles, and of those with large vocabularies.
    ShardTotals totals;
    spec::ShardSums sums;
    int64_t bytes = 0;       // what all that takes in memory, until it is merged
    int64_t bytes_done = 0;  // of the input, by earlier generations
    bool merging = false;
  };
  // The next generation, while it is prepared beside the present one.
  struct Plan {
    Generation generation;
    std::vector<WorkerId> workers;  // in member order
    std::vector<LeafInterval> leaves;
    std::set<WorkerId> ready;
    bool ordered = false;  // the root was told to end the present one
    int64_t since_ms = 0;
    std::string why;
  };
  // Writing the state of a job that waits, before it is given up; of this generation.
  struct Keeping {
    int64_t since_ms = 0;
    WorkerId by;               // who does; none: nobody at present
    std::set<WorkerId> asked;  // so far
    bool over = false;
    std::string path;  // of the checkpoint's directory; empty: there is none
  };
  // A job that a client cancels while a worker may be writing its model.
  struct Cancelling {
    std::vector<RequestId> requests;  // to be answered
    std::string reason;
    int64_t since_ms = 0;
    std::string lost;  // why the job has lost members meanwhile, as their writer was fenced
  };
  // A job whose root has reported the end, while its output is read.
  struct Finishing {
    std::string root;  // its label, for messages
    spec::TrainingResult result;
    int64_t since_ms = 0;
  };
  // Of a token of a job: when it is to be kept again. Not remembered: a coordinator that begins
  // renews at once, and thereby learns when each one ends.
  struct TokenState {
    int64_t due_ms = 0;    // since 1970
    int64_t ends_ms = 0;   // 0: not known yet
    int64_t asked_ms = 0;  // when it was last worked on
    bool working = false;
    std::string trouble;  // why it cannot be kept, without times; empty: it can
  };
  // What the jobs of one owner use now.
  struct OwnerUse {
    int64_t running = 0;  // jobs that have begun and not ended
    int64_t workers = 0;  // theirs, or reserved for their minimum
    JobId held;           // first waiting job that a quota holds back; none: not found yet
  };
  using OwnerUses = std::map<std::string, OwnerUse>;
  // How often members were lost, to see when that leads nowhere.
  struct Recovery {
    int64_t since_ms = 0;    // when the job began to wait for workers; 0: it does not
    int64_t step = 0;        // furthest committed step
    int64_t reached = 0;     // how far the job was when members were last lost
    int64_t fruitless = 0;   // losses since it last got further
    std::string last_words;  // of the newest loss
  };
  struct JobRecord {
    spec::JobSnapshot snapshot;
    Submission submission;   // without yaml and input once the job has ended
    int64_t plan_bytes = 0;  // PlanBytes(submission); 0 once the job has ended
    std::vector<MemberState> members;
    ProfilingState profiled;
    std::shared_ptr<const spec::TableProfile> profile;
    std::vector<LeafInterval> leaves;
    std::vector<Proceed> proceed;  // of this generation, each member's, once all were ready
    Recovery recovery;
    uint64_t generations = 0;  // numbers used
    std::optional<Plan> plan;
    std::optional<Keeping> keeping;
    std::optional<Cancelling> cancelling;
    std::optional<Finishing> finishing;
    int64_t planned_ms = 0;        // when the newest plan ended, one way or the other
    int64_t shared_ms = 0;         // likewise, of those that were to change how many workers it has
    std::set<WorkerId> departing;  // members of the generation before, until all are in this one
    std::deque<spec::HistoryRow> history;
    int64_t history_begin = 0;          // number of the first row kept
    int64_t moved_ms = 0;               // when the phase began or last showed progress
    std::vector<Complaint> complaints;  // of this generation
    WorkerPairs broken;                 // kept apart in the tree, from earlier generations
    std::map<WorkerId, int64_t> complained_of;
    std::set<WorkerId> expelled;  // not taken again
    std::string arithmetic_id;    // of the members
    // Of the result, for Snapshot: they are the bulk of it, and not in `snapshot`.
    std::vector<double> validation_confusion, test_confusion;
    std::map<std::string, TokenState> tokens;  // by file system
    std::optional<MemberCrashed> first_crash;
    int64_t merges_tried = 0;  // in a row, in all lives, without an end
    bool cleared = false;      // of a job that has ended: nothing is left of it beside its output
    size_t root = 0;           // index of the member that is the root of generation `root_of`
    Generation root_of;
    std::map<Generation, WorkerId> roots;  // of earlier generations, the newest ones
    bool may_write = false;                // a member may have got the right to write the output
    bool reverts = false;     // states differed, and not all members have gone back yet
    bool met = false;         // all members of this generation were ready, so all had their orders
    bool ends_early = false;  // a client wants its weights as they are; not in the journal
    bool outdated = false;    // after a restart: its members are not all in the newest generation
  };
};

}  // namespace espalier::cluster
