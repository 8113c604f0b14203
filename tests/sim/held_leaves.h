// The leaves whose rows a simulated member holds: worker/own_rows.h without the rows.
#pragma once

#include <cstdint>
#include <set>

#include "src/plan/ownership.h"

namespace espalier::sim {

// Thread rule: one thread.
class HeldLeaves {
 public:
  // Returns whether all these leaves are held.
  bool Holds(plan::LeafSpan span) const {
    for (int32_t l = span.begin; l < span.end; ++l) {
      if (!held_.contains(l)) return false;
    }
    return true;
  }
  // Holds exactly these leaves. Drops staged leaves.
  void Cover(plan::LeafSpan span) {
    staged_.clear();
    held_ = Leaves(span);
  }
  // Loads the missing ones of these leaves, next to those in use. Drops the leaves that an earlier
  // Stage loaded.
  void Stage(plan::LeafSpan span) {
    staged_ = Leaves(span);
    std::erase_if(staged_, [this](int32_t l) { return held_.contains(l); });
  }
  // Holds exactly the leaves that Stage was called for.
  void Adopt(plan::LeafSpan span) {
    held_.merge(staged_);
    staged_.clear();
    std::erase_if(held_, [&](int32_t l) { return l < span.begin || l >= span.end; });
  }

 private:
  static std::set<int32_t> Leaves(plan::LeafSpan span) {
    std::set<int32_t> leaves;
    for (int32_t l = span.begin; l < span.end; ++l) leaves.insert(l);
    return leaves;
  }
  std::set<int32_t> held_, staged_;
};

}  // namespace espalier::sim
