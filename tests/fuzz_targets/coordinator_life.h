// A CoordinatorCore, the rest of its process and its workers, for events from hostile bytes.
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
  // Starts with the journal of earlier lives.
  explicit CoordinatorLife(std::vector<JournalEntry> past);

  // Takes one event from the input, in a format of one byte for its kind and a few for its parts.
  void Play(Input& input);
  // Ends the process unless the core remembers what all journal entries say.
  void CheckMemory() const;

 private:
  struct Order {
    JobId job;
    Generation generation;
    std::vector<int32_t> shards;
  };

  CoordinatorCoreOptions Options() const;
  void Feed(const CoordinatorEvent& event);
  void Keep(const CoordinatorActions& actions);
  void PlayClient(Input& input, int kind);
  void PlayStorage(Input& input, int kind);
  void PlayWorker(Input& input, int kind);
  void Send(SessionId session, const FromWorker& message);
  void Restart();

  SessionId AnySession(Input& input) const;
  Submission AnySubmission(Input& input) const;
  SurveyPart AnySurvey(Input& input, const Order& order) const;
  // The session's present order, or another job and generation.
  Order AnyOrder(Input& input, SessionId session) const;

  uint64_t incarnation_ = 3, sessions_ = 0, requests_ = 0;
  int64_t now_ms_ = 1'000'000;
  bool ended_ = false;  // shut down
  bool ahead_ = false;  // a worker has named a newer generation, which no journal entry says
  std::vector<JournalEntry> journal_;
  std::unique_ptr<CoordinatorCore> core_;
  std::set<SessionId> open_;
  std::map<SessionId, Order> orders_;
  std::set<RequestId> unanswered_;
  std::deque<MergeWork> merges_;
  std::deque<JobId> fences_, checks_, clears_;
  std::deque<TokenWork> tokens_;
};

}  // namespace espalier::fuzz
