// The members of a job that are the root of the summation tree. Only the root reports progress,
// history and the end of a job.
//
// Thread rule: a value.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "src/base/ids.h"
#include "src/cluster/messages.h"

namespace espalier::cluster {

class SummationRoots {
 public:
  // Returns the index of the member that is the root of this generation. `leaves`: the interval of
  // each member. REQUIRES: `leaves` is not empty and has `count` leaves.
  size_t PlaceIn(Generation generation, const std::vector<LeafInterval>& leaves, int64_t count);
  // Records the root of a generation that is about to end. Its rows of the history may come late.
  void Note(Generation generation, WorkerId root);
  // Returns whether this worker was the root of an earlier generation.
  bool Was(WorkerId worker, Generation generation) const;

 private:
  size_t place_ = 0;  // in generation `of_`
  Generation of_;
  std::map<Generation, WorkerId> earlier_;  // the newest ones
};

}  // namespace espalier::cluster
