// Simulated hosts and the ordered one-way streams between them. A pair of hosts can be blocked in
// one direction. Messages in transit then wait, in order, until the pair is free again.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tests/sim/dice.h"
#include "tests/sim/queue.h"

namespace espalier::sim {

class Pipe;

class Net {
 public:
  Net(Queue& queue, Dice& dice) : queue_(queue), dice_(dice) {}
  Net(const Net&) = delete;
  Net& operator=(const Net&) = delete;

  bool Passes(int from, int to) const { return !blocked_.contains({from, to}); }
  // Blocks one direction of a pair. Each Block needs a Free.
  void Block(int from, int to) { ++blocked_[{from, to}]; }
  void Free(int from, int to);
  void FreeAll();
  // Multiplies the latency from one host to another.
  void SlowDown(int from, int to, int64_t factor) { slow_[{from, to}] = factor; }

  // Drops all messages in transit. They refer to pipes, so they would keep each other alive.
  void Forget();

  int64_t Latency(int from, int to);
  Queue& queue() { return queue_; }

 private:
  friend class Pipe;
  Queue& queue_;
  Dice& dice_;
  std::map<std::pair<int, int>, int> blocked_;
  std::map<std::pair<int, int>, int64_t> slow_;
  std::map<std::pair<int, int>, std::vector<std::shared_ptr<Pipe>>> stalled_;
  std::unordered_set<Pipe*> pipes_;
};

// A one-way stream. It delivers messages in order, each after its latency.
class Pipe : public std::enable_shared_from_this<Pipe> {
 public:
  Pipe(Net& net, int from, int to) : net_(net), from_(from), to_(to) { net_.pipes_.insert(this); }
  ~Pipe() { net_.pipes_.erase(this); }
  void Send(std::function<void()> deliver);
  // Drops the messages in transit.
  void Cut() { underway_.clear(); }
  // Drops the messages in transit and all later ones.
  void Break() {
    Cut();
    broken_ = true;
  }

 private:
  friend class Net;
  void Arm();
  void Arrive();

  Net& net_;
  const int from_, to_;
  struct Item {
    int64_t us;
    std::function<void()> deliver;
  };
  std::deque<Item> underway_;
  bool armed_ = false, broken_ = false;
};

}  // namespace espalier::sim
