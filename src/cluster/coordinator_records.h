// The state that CoordinatorCore keeps of streams, workers and jobs. Private to it.
//
// Thread rule: values.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "src/base/ids.h"
#include "src/base/status.h"
#include "src/cluster/arrangement.h"
#include "src/cluster/collected_results.h"
#include "src/cluster/coordinator_actions.h"
#include "src/cluster/job_history.h"
#include "src/cluster/link_reports.h"
#include "src/cluster/message_filter.h"
#include "src/cluster/messages.h"
#include "src/cluster/owner_uses.h"
#include "src/cluster/summation_roots.h"
#include "src/cluster/token_renewal.h"

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
    SessionId session;  // none: its stream ended, and the worker may return
    Status detached_why;
    int64_t attached_ms = 0;
    int64_t heard_ms = 0;              // time of the newest message, or of the end of the stream
    bool doomed = false;               // silent and about to be lost; not free, not a survivor
    bool awaited = false;              // known from the journal, has not returned yet
    JobPoint at = {};                  // the job in which it takes part; none: free
    size_t place = 0;                  // index among the job's members; SIZE_MAX: still to join
    std::string waiting_because = {};  // value of its newest heartbeat
    bool leaving = false;              // leaves as soon as its job can continue without it
    std::string leaving_why;
  };
  struct MemberState {
    Member member;
    std::vector<int32_t> shards;
    bool joined = false;  // not in the generation before
    int64_t bytes = 0;    // size of its shards
    int64_t bytes_done = 0;
    int64_t moved_ms = 0;       // time of its newest progress
    size_t shards_missing = 0;  // number of its shards whose results have not arrived
    bool ready = false;
    uint64_t round = 0;  // round in flight, reported by its MemberReady
    int64_t step = 0;    // last committed step, as of its newest heartbeat
  };
  // The part of the profiling pass that all generations of a job share.
  struct ProfilingState {
    CollectedResults results;
    int64_t bytes_done = 0;  // bytes of the input that earlier generations finished
    bool merging = false;
  };
  // The next generation, while it is prepared during the present one.
  struct Plan {
    Generation generation;
    std::vector<WorkerId> workers;  // members of the next generation, in order
    std::vector<LeafInterval> leaves;
    std::set<WorkerId> ready;
    bool ordered = false;  // the root has its order to end the present one
    int64_t since_ms = 0;
    std::string why;
  };
  // The writing of the state of a waiting job in this generation, before the job is given up.
  struct Keeping {
    int64_t since_ms = 0;
    WorkerId by;               // the worker that writes; none: no worker at present
    std::set<WorkerId> asked;  // workers asked so far
    bool over = false;
    std::string path;  // directory of the checkpoint; empty: none
  };
  // A job that a client cancels while a worker may be writing its model.
  struct Cancelling {
    std::vector<RequestId> requests;  // requests to answer
    std::string reason;
    int64_t since_ms = 0;
    std::string lost;  // why it lost members in the meantime, after the fence stopped a writer
  };
  // A job whose root has reported the end, while the shell checks its output.
  struct Finishing {
    std::string root;  // label of the root, for messages
    spec::TrainingResult result;
    int64_t since_ms = 0;
  };
  // Statistics of lost members, to detect a job that makes no progress.
  struct Recovery {
    int64_t since_ms = 0;    // start of the wait for workers; 0: not waiting
    int64_t step = 0;        // furthest committed step
    int64_t reached = 0;     // progress at the newest loss of members
    int64_t fruitless = 0;   // losses since the last progress
    std::string last_words;  // reason of the newest loss
    std::string no_memory;   // newest loss for lack of memory since the last progress; or empty
  };
  struct JobRecord {
    spec::JobSnapshot snapshot;
    Submission submission;   // without yaml and input once the job has ended
    int64_t plan_bytes = 0;  // PlanBytes(submission); 0 once the job has ended
    std::vector<MemberState> members;
    ProfilingState profiled;
    std::shared_ptr<const spec::TableProfile> profile;
    std::vector<LeafInterval> leaves;
    std::vector<Proceed> proceed;  // each member's, in this generation, once all were ready
    Recovery recovery;
    uint64_t generations = 0;  // numbers used
    std::optional<Plan> plan;
    std::optional<Keeping> keeping;
    std::optional<Cancelling> cancelling;
    std::optional<Finishing> finishing;
    int64_t planned_ms = 0;        // end of the newest plan, completed or abandoned
    int64_t shared_ms = 0;         // likewise, for plans that change the number of workers
    std::set<WorkerId> departing;  // members of the generation before, until all are in this one
    JobHistory history;
    int64_t moved_ms = 0;  // start of the phase, or time of its newest progress
    LinkReports links;
    std::set<WorkerId> expelled;  // not accepted again
    std::string arithmetic_id;    // shared by the members
    // Confusion matrices of the result, for Snapshot. They are the bulk of it, so `snapshot` does
    // not hold them.
    std::vector<double> validation_confusion, test_confusion;
    TokenRenewal tokens;
    std::optional<MemberCrashed> first_crash;  // absent: no member has crashed
    // Time of the newest loss of a member on each machine (MachineOf), in this life.
    std::map<std::string, int64_t> lost_on;
    std::string set_aside;     // JobSetAside::why; empty: its entries were read
    int64_t merges_tried = 0;  // merges in a row, in all coordinator lives, without an end
    bool cleared = false;      // ended jobs: nothing remains next to the output
    SummationRoots roots;
    bool may_write = false;   // a member may have received the right to write the output
    bool reverts = false;     // states differed, and not all members have reverted yet
    bool met = false;         // all members of this generation were ready, so all have their orders
    bool ends_early = false;  // a client wants the current weights; not in the journal
    bool outdated = false;    // after a restart: not all members are in the newest generation
  };
};

}  // namespace espalier::cluster
