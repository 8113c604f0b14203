// The leaves whose rows a simulated member holds: worker/own_rows.h without the rows. Its disk can
// be slow or full, and rows are unreadable at times.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <set>

#include "src/base/status.h"
#include "src/member/place.h"

namespace espalier::sim {

class SimWorker;
class World;

class SimRows {
 public:
  SimRows(World& world, SimWorker& worker) : world_(world), worker_(worker) {}

  // Returns whether all these leaves are held.
  bool Holds(plan::LeafSpan span) const;
  // Returns the microseconds that Cover or Stage takes.
  int64_t CoverUs(plan::LeafSpan span);
  int64_t StageUs();
  // Holds exactly the leaves of the place. Drops staged leaves.
  Status Cover(const member::Place& place);
  // Loads the missing leaves of the place, next to those in use. Drops the leaves that an earlier
  // Stage loaded.
  Status Stage(const member::Place& place);
  void Load(plan::LeafSpan span);  // does the same, without faults
  // Holds exactly the leaves that Stage was called for.
  void Adopt(plan::LeafSpan span);

 private:
  static std::set<int32_t> Leaves(plan::LeafSpan span);

  World& world_;
  SimWorker& worker_;
  std::set<int32_t> held_, staged_;
};

}  // namespace espalier::sim
