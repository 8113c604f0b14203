// Field declarations shared by the messages about the members of a job (convert_fields.h). Private
// to rpc/.
#pragma once

#include "src/rpc/convert_fields.h"

namespace espalier::rpc {

// Maps job and generation, which most messages contain.
template <typename W, typename T>
void MapPoint(W& w, T& m) {
  w(ESPALIER_AT(job), m.job);
  w(ESPALIER_AT(generation), m.generation);
}

// Maps a member. Worker 0 means that the member has since taken part in another job
// (journal.proto).
template <typename W>
void Map(W& w, Is<cluster::Member> auto& m) {
  w(ESPALIER_AT(worker), m.worker, kMaybe);
  w(ESPALIER_AT(name), m.name, kName);
  w(ESPALIER_AT(address), m.address, kName);
}

template <typename W>
void Map(W& w, Is<cluster::LeafInterval> auto& leaves) {
  w(ESPALIER_AT(begin), leaves.begin);
  w(ESPALIER_AT(end), leaves.end);
}

// Checks that the intervals start at 0 and follow each other without gaps.
inline void CheckLeaves(const std::vector<cluster::LeafInterval>& leaves, Fields& f) {
  int32_t next = 0;
  for (const cluster::LeafInterval& interval : leaves) {
    f.In("leaves.begin", interval.begin, next, next);
    f.In("leaves.end", interval.end, next, std::numeric_limits<int32_t>::max());
    next = interval.end;
  }
}

}  // namespace espalier::rpc
