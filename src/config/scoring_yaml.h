// A job that scores, as people write it (config/reference.yaml): `predict` or `evaluate` stands in
// the place of `data`, `model` and `train`. Errors and bounds are those of job_yaml.h.
//
// Thread rule: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/spec/scoring_spec.h"

namespace espalier::config {

// Which kind of job a text is: that of the first of the keys `predict` and `evaluate` in it, else a
// training. An error: it is no YAML.
Result<spec::JobKind> JobKindOf(std::string_view yaml_text, std::string_view name_for_messages);

// Parses and validates a job that scores. REQUIRES of input: JobKindOf says so, else
// kInvalidArgument.
Result<spec::ScoringSpec> ParseScoring(std::string_view yaml_text,
                                       std::string_view name_for_messages);

// As a text; ParseScoring of it gives `spec` again.
std::string ScoringYaml(const spec::ScoringSpec& spec);

}  // namespace espalier::config
