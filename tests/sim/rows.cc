#include "tests/sim/rows.h"

#include "tests/sim/worker.h"
#include "tests/sim/world.h"

namespace espalier::sim {

std::set<int32_t> SimRows::Leaves(plan::LeafSpan span) {
  std::set<int32_t> leaves;
  for (int32_t l = span.begin; l < span.end; ++l) leaves.insert(l);
  return leaves;
}

bool SimRows::Holds(plan::LeafSpan span) const {
  for (int32_t l = span.begin; l < span.end; ++l) {
    if (!held_.contains(l)) return false;
  }
  return true;
}

int64_t SimRows::CoverUs(plan::LeafSpan span) {
  return Holds(span) ? 200 * worker_.disk().slow : StageUs();
}

int64_t SimRows::StageUs() { return (1000 + world_.dice.Below(200'000)) * worker_.disk().slow; }

Status SimRows::Cover(const member::Place& place) {
  if (place.start().planned) {
    if (world_.Strikes(Fault::kPreparationFails)) return Unavailable("its rows cannot be read");
    // The rows of a first generation fit in memory. A joiner's rows may have to be spilled.
    ESPALIER_RETURN_IF_ERROR(worker_.Room());
  }
  staged_.clear();
  held_ = Leaves(place.own);
  return Status::Ok();
}

Status SimRows::Stage(const member::Place& place) {
  ESPALIER_RETURN_IF_ERROR(worker_.Room());
  if (world_.Strikes(Fault::kPreparationFails)) return Unavailable("its rows cannot be read");
  if (!world_.bugs(Bug::kSwitchWithoutRows)) Load(place.own);
  return Status::Ok();
}

void SimRows::Load(plan::LeafSpan span) {
  staged_ = Leaves(span);
  std::erase_if(staged_, [this](int32_t l) { return held_.contains(l); });
}

void SimRows::Adopt(plan::LeafSpan span) {
  held_.merge(staged_);
  staged_.clear();
  std::erase_if(held_, [&](int32_t l) { return l < span.begin || l >= span.end; });
}

}  // namespace espalier::sim
