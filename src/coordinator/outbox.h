// Between CoordinatorCore and the world: keeps a step's actions back until what they must not
// outrun is in the journal, and decides what happens when the journal cannot be written.
//
// Actions leave in the order of their steps. Those of a step with journal entries, and all after
// it, wait until the entries are kept; a thread of its own writes them, all that wait in one go, so
// the control loop never waits for a disk. Pulses and mere progress leave at once: they
// promise nothing, and a slow disk must not look like a dead coordinator.
//
// "A full disk refuses new jobs and harms no running one":
//   - A step that accepts a job whose entries cannot be written is undone: the client is told why,
//     orders about the job are not sent, and `refuse` tells the core to forget it.
//   - All other entries are about running jobs: the journal's reserve is given back to the disk,
//     and if that does not help they wait, in order, and are tried again each second. What follows
//     from them (orders of a new generation, the end of a job) waits with them; training itself
//     does not need us.
//   - While the reserve cannot be set aside again, `room` is an error, and no submission should
//     reach the core.
//   - Only when a newer coordinator has taken over, or too much waits, `fail` ends this one.
//
// Thread rule: one thread (the control loop), on which the hooks are called, too.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "src/base/queue.h"
#include "src/coordinator/journal.h"

namespace espalier::coordinator {

struct OutboxHooks {
  std::function<void(cluster::CoordinatorActions)> perform;  // all but `persist` and `log`
  std::function<void(JobId, Status)> refuse;                 // the job was never accepted
  std::function<void(Status)> fail;
  // Runs a call on the control loop; called by the writing thread.
  std::function<void(std::function<void()>)> post;
};

class Outbox {
 public:
  Outbox(std::unique_ptr<Journal> journal, OutboxHooks hooks);
  // Waits for the disk. After it nothing is posted any more.
  ~Outbox();
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  void Push(cluster::CoordinatorActions actions);
  // Replaces what the journal holds, in its place among the pushes: `entries` say all that the
  // steps pushed so far have left. Best effort.
  void Rewrite(std::vector<cluster::JournalEntry> entries);
  bool wants_rewrite() const { return wants_rewrite_; }
  bool durable() const { return durable_; }
  // Steps that are held back: those with entries, and others that say something.
  int64_t held_back() const { return static_cast<int64_t>(waiting_.size()); }
  // Whether the journal has room for new jobs.
  const Status& room() const { return room_; }
  // Writes what waits, if it can be written now, and performs what becomes free. Returns after
  // `limit_ms` at the latest; `busy` tells whether the disk still keeps us then, and the destructor
  // would wait for it. Nothing is pushed after it.
  void Close(int64_t limit_ms);
  bool busy() const { return busy_; }

 private:
  // What the writing thread is given: entries to append, or to replace all (`rewrite`).
  struct Batch {
    uint64_t ticket = 0;
    bool rewrite = false;
    std::vector<cluster::JournalEntry> entries;
  };
  struct Waiting {
    uint64_t ticket = 0;  // of its batch; 0: it has none and waits for its turn
    int64_t entries = 0;
    cluster::CoordinatorActions actions;
  };

  // On the loop.
  void Free(uint64_t ticket, bool wants_rewrite);
  void Undo(JobId job, const Status& why);
  // On the writing thread.
  void Write();
  // Waits for batches, at most for the time after which those that failed are tried again. False:
  // there will be none.
  bool TakeBatches();
  // With nothing to write: whether a newer coordinator has taken over, now and then.
  Status AskWhose();
  void Replaced(const Status& why);
  // Writes from the front on; an error leaves what could not be written.
  Status WriteAll();
  Status WriteGroup();
  // Takes out what accepts jobs; false when there is nothing such.
  bool RefuseJobs(const Status& why);
  void LeaveOutRefused(Batch& batch) const;
  void TellRoom(Status room);
  void Tell(std::function<void()> call);

  const std::unique_ptr<Journal> journal_;  // the writing thread's
  const OutboxHooks hooks_;
  const bool durable_;
  std::deque<Waiting> waiting_;
  uint64_t next_ticket_ = 1;
  int64_t entries_waiting_ = 0;
  bool wants_rewrite_ = false, closed_ = false;
  Status room_;

  // The writing thread's.
  std::deque<Batch> batches_;
  std::set<JobId> refused_;
  std::string room_told_ = Status::Ok().ToString();
  bool failed_ = false;
  std::chrono::steady_clock::time_point asked_ = {};

  Queue<Batch> queue_;  // to the writing thread
  Queue<bool> ended_;   // from it: it is over
  std::atomic<bool> busy_{false};
  // What the writing thread told and the loop has not run yet: Close runs it, and what was posted
  // then finds nothing, also when the outbox is gone.
  using Calls = Queue<std::function<void()>>;
  const std::shared_ptr<Calls> calls_ = std::make_shared<Calls>();
  std::thread thread_;  // last: it uses all of the above. None for a journal that keeps nothing
};

}  // namespace espalier::coordinator
