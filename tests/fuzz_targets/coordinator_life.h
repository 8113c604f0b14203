// A CoordinatorCore with the rest of its process and its workers, driven by hostile bytes.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "src/cluster/coordinator_core.h"
#include "tests/fuzz_targets/input.h"

namespace espalier::fuzz {

// Thread rule: one thread.
class CoordinatorLife {
 public:
  // Starts with the journal of earlier processes.
  explicit CoordinatorLife(std::vector<cluster::JournalEntry> past);

  // Plays one event from the input. The first byte is its kind, the next ones are its parts.
  void Play(Input& input);
  // Ends the process unless the core's state equals that of a core that read the journal.
  void CheckMemory() const;

 private:
  struct Order {
    JobId job;
    Generation generation;
    std::vector<int32_t> shards;
  };

  cluster::CoordinatorCoreOptions Options() const;
  void Feed(const cluster::CoordinatorEvent& event);
  void Keep(const cluster::CoordinatorActions& actions);
  void PlayClient(Input& input, int kind);
  void PlayStorage(Input& input, int kind);
  void PlayWorker(Input& input, int kind);
  void Send(cluster::SessionId session, const cluster::FromWorker& message);
  void Restart();

  cluster::SessionId AnySession(Input& input) const;
  cluster::Submission AnySubmission(Input& input) const;
  cluster::ProfilePart AnyProfile(Input& input, const Order& order) const;
  // Returns the session's present order, or another job and generation.
  Order AnyOrder(Input& input, cluster::SessionId session) const;

  uint64_t incarnation_ = 3, sessions_ = 0, requests_ = 0;
  int64_t now_ms_ = 1'000'000;
  bool ended_ = false;  // shut down
  bool ahead_ = false;  // a worker has named a newer generation, which is not in the journal
  std::vector<cluster::JournalEntry> journal_;
  std::unique_ptr<cluster::CoordinatorCore> core_;
  std::set<cluster::SessionId> open_;
  std::map<cluster::SessionId, Order> orders_;
  std::set<cluster::RequestId> unanswered_;
  std::deque<cluster::MergeWork> merges_;
  std::deque<JobId> fences_, checks_, clears_;
  std::deque<cluster::TokenWork> tokens_;
};

}  // namespace espalier::fuzz
