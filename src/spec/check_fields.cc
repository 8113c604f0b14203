#include "src/spec/check_fields.h"

#include <string>

namespace espalier::spec {

void CheckFields(Findings& f, const JobSpec& job) { FieldVisitor(f, &job).Check("", job); }

void CheckFields(Findings& f, const ScoringSpec& scoring) {
  const std::string section = NameOf(scoring.kind());
  FieldVisitor(f).Check(section, scoring);
  if (scoring.prediction() != nullptr) FieldVisitor(f).Check(section, *scoring.prediction());
  FieldVisitor(f).Check("workers", scoring.workers);
}

}  // namespace espalier::spec
