// Simulated hosts and the ordered one-way streams between them. A pair of hosts can be blocked in
// one direction: what is underway waits, in order, until it is free again.
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
  // When the pair was last freed, or will not be for now.
  void Block(int from, int to) { ++blocked_[{from, to}]; }
  void Free(int from, int to);
  void FreeAll();
  // Latencies between all hosts are multiplied by this.
  void SlowDown(int from, int to, int64_t factor) { slow_[{from, to}] = factor; }

  // Forgets what is underway: what waits in pipes refers to pipes.
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

// Delivers in order, each a latency after it was sent.
class Pipe : public std::enable_shared_from_this<Pipe> {
 public:
  Pipe(Net& net, int from, int to) : net_(net), from_(from), to_(to) { net_.pipes_.insert(this); }
  ~Pipe() { net_.pipes_.erase(this); }
  void Send(std::function<void()> deliver);
  // What has not arrived never will.
  void Cut() { underway_.clear(); }
  // ... and nothing that is sent from now on.
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
