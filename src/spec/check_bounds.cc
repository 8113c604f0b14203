#include "src/spec/check_bounds.h"

namespace espalier::spec {

void CheckBounds(Findings& f, const JobSpec& job) { BoundsVisitor(f).Check("", Key(""), job); }

void CheckBounds(Findings& f, const ScoringSpec& scoring) {
  BoundsVisitor(f).Check("", Key(""), scoring);
  BoundsVisitor(f).Check("workers", Key("workers"), scoring.workers);
}

}  // namespace espalier::spec
