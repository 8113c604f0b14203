#include "src/spec/check_fields.h"

namespace espalier::spec {

void CheckFields(Findings& f, const JobSpec& job) { FieldVisitor(f, &job).Check("", job); }

void CheckFields(Findings& f, const ScoringSpec& scoring) {
  FieldVisitor(f).Check("", scoring);
  FieldVisitor(f).Check("workers", scoring.workers);
}

}  // namespace espalier::spec
