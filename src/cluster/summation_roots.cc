#include "src/cluster/summation_roots.h"

#include "src/plan/ownership.h"

namespace espalier::cluster {
namespace {

constexpr size_t kEarlierMax = 64;  // earlier generations whose root may still report rows

}  // namespace

size_t SummationRoots::PlaceIn(Generation generation, const std::vector<LeafInterval>& leaves,
                               int64_t count) {
  if (of_ == generation) return place_;
  plan::Ownership ownership;
  for (const LeafInterval& i : leaves) ownership.intervals.push_back({i.begin, i.end});
  place_ =
      static_cast<size_t>(plan::RootOf(plan::PlanTree(ownership, static_cast<int32_t>(count))));
  of_ = generation;
  return place_;
}

void SummationRoots::Note(Generation generation, WorkerId root) {
  earlier_[generation] = root;
  while (earlier_.size() > kEarlierMax) earlier_.erase(earlier_.begin());
}

bool SummationRoots::Was(WorkerId worker, Generation generation) const {
  const auto found = earlier_.find(generation);
  return found != earlier_.end() && found->second == worker;
}

}  // namespace espalier::cluster
