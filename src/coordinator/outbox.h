// The gate between CoordinatorCore and the outside: holds a step's actions back until the journal
// contains the entries on which they depend, and handles a journal that cannot be written.
//
// Actions leave in the order of their steps. The actions of a step with journal entries, and of all
// steps after it, wait until the entries are stored. A separate thread writes all waiting entries
// at once, so the control loop never waits for a disk. Pulses and progress-only notifications leave
// at once, because they depend on no entry and a slow disk must not look like a dead coordinator.
//
// "A full disk refuses new jobs and harms no running one":
//   - If the entries of a step that accepts a job cannot be written, the outbox undoes the step.
//     The client gets the reason, orders about the job are not sent, and `refuse` makes the core
//     drop the job.
//   - All other entries are about running jobs. The outbox gives the journal's reserve back to the
//     disk. If that does not help, the entries wait, in order, and the outbox retries each second.
//     The actions that depend on them (orders of a new generation, the end of a job) wait, too.
//     Training itself does not need the coordinator.
//   - While the reserve cannot be set aside again, `room` is an error, and no submission should
//     reach the core.
//   - `fail` ends this coordinator only when a newer one has taken over, or too much waits.
//
// Thread rule: one thread (the control loop). The outbox calls the hooks on this thread, too.
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
  std::function<void(cluster::CoordinatorActions)> perform;  // except `persist` and `log`
  std::function<void(JobId, Status)> refuse;                 // the job was never accepted
  std::function<void(Status)> fail;
  // Runs a call on the control loop. The writing thread uses it.
  std::function<void(std::function<void()>)> post;
};

class Outbox {
 public:
  Outbox(std::unique_ptr<Journal> journal, OutboxHooks hooks);
  // Waits for the disk. Posts nothing after it has returned.
  ~Outbox();
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  void Push(cluster::CoordinatorActions actions);
  // Replaces the content of the journal, at this point among the pushes. `entries`: the complete
  // state after all steps pushed so far. Best effort.
  void Rewrite(std::vector<cluster::JournalEntry> entries);
  bool wants_rewrite() const { return wants_rewrite_; }
  bool durable() const { return durable_; }
  // Returns the number of steps held back: those with entries, and others with actions.
  int64_t held_back() const { return static_cast<int64_t>(waiting_.size()); }
  // Returns OK if the journal has room for new jobs.
  const Status& room() const { return room_; }
  // Writes the waiting entries if possible, and performs the actions that become free. Returns
  // after `limit_ms` at the latest. Then `busy` returns whether a write is still in progress, for
  // which the destructor would wait. REQUIRES: nothing is pushed after it.
  void Close(int64_t limit_ms);
  bool busy() const { return busy_; }

 private:
  // Work of the writing thread: entries to append, or to replace all (`rewrite`).
  struct Batch {
    uint64_t ticket = 0;
    bool rewrite = false;
    std::vector<cluster::JournalEntry> entries;
  };
  struct Waiting {
    uint64_t ticket = 0;  // ticket of its batch; 0: no batch, waits for its turn
    int64_t entries = 0;
    cluster::CoordinatorActions actions;
  };

  // These run on the loop.
  void Free(uint64_t ticket, bool wants_rewrite);
  void Undo(JobId job, const Status& why);
  // These run on the writing thread.
  void Write();
  // Waits for batches, but not beyond the retry of failed ones. Returns false if no more will
  // arrive.
  bool TakeBatches();
  // Checks from time to time, with nothing to write, whether a newer coordinator has taken over.
  Status AskWhose();
  void Replaced(const Status& why);
  // Writes from the front on. After an error, the unwritten batches remain.
  Status WriteAll();
  Status WriteGroup();
  // Removes the entries that accept jobs. Returns false if there are none.
  bool RefuseJobs(const Status& why);
  void LeaveOutRefused(Batch& batch) const;
  void TellRoom(Status room);
  void Tell(std::function<void()> call);

  const std::unique_ptr<Journal> journal_;  // used only by the writing thread
  const OutboxHooks hooks_;
  const bool durable_;
  std::deque<Waiting> waiting_;
  uint64_t next_ticket_ = 1;
  int64_t entries_waiting_ = 0;
  bool wants_rewrite_ = false, closed_ = false;
  Status room_;

  // Used only by the writing thread.
  std::deque<Batch> batches_;
  std::set<JobId> refused_;
  std::string room_told_ = Status::Ok().ToString();
  bool failed_ = false;
  std::chrono::steady_clock::time_point asked_ = {};

  Queue<Batch> queue_;  // batches for the writing thread
  Queue<bool> ended_;   // signal of the writing thread: it has ended
  std::atomic<bool> busy_{false};
  // Calls from the writing thread that the loop has not run yet. Close runs them. The posted calls
  // then find nothing, even after the outbox is destroyed.
  using Calls = Queue<std::function<void()>>;
  const std::shared_ptr<Calls> calls_ = std::make_shared<Calls>();
  std::thread thread_;  // last: it uses all members above. None for a journal that keeps nothing
};

}  // namespace espalier::coordinator
