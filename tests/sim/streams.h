// The streams between workers and coordinators. Messages are in order in both directions. Each end
// learns of a break at a different time, or never.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "src/cluster/coordinator_actions.h"
#include "src/cluster/messages.h"
#include "tests/sim/net.h"

namespace espalier::sim {

class SimCoordinator;
class SimWorker;
class World;

struct Stream {
  cluster::SessionId session;
  SimWorker* worker = nullptr;
  uint64_t attempt = 0;
  SimCoordinator* coordinator = nullptr;
  std::shared_ptr<Pipe> up, down;
  bool worker_open = true, coordinator_open = false;
};
using StreamRef = std::shared_ptr<Stream>;

class Streams {
 public:
  explicit Streams(World& world) : world_(world) {}

  StreamRef Open(SimWorker& worker, uint64_t attempt);
  void Up(const StreamRef& stream, cluster::FromWorker message);
  void Down(const StreamRef& stream, cluster::ToWorker message);
  // Closes the stream at one end. The other end learns of it after the messages in transit.
  void CloseByWorker(const StreamRef& stream);
  void CloseByCoordinator(const StreamRef& stream, const Status& why);
  // Breaks the stream. Each end learns of it after its time in microseconds, or never if it is -1.
  void Reset(const StreamRef& stream, int64_t worker_us, int64_t coordinator_us);

 private:
  void WorkerLearns(const StreamRef& stream, const Status& why);
  void CoordinatorLearns(const StreamRef& stream, const Status& why);

  World& world_;
  uint64_t sessions_ = 0;
};

}  // namespace espalier::sim
