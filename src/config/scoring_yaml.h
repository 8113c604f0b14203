// Parser and writer of scoring jobs (config/reference.yaml). The section `predict` or `evaluate`
// replaces `data`, `model` and `train`. Errors and bounds are those of job_yaml.h.
//
// Thread rule: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/spec/scoring_spec.h"

namespace espalier::config {

// Returns the kind of job in a text: that of the first key `predict` or `evaluate`, otherwise a
// training job. Returns an error if the text is not YAML.
Result<spec::JobKind> JobKindOf(std::string_view yaml_text, std::string_view name_for_messages);

// Parses and validates a scoring job. kInvalidArgument: JobKindOf does not report a scoring job.
Result<spec::ScoringSpec> ParseScoring(std::string_view yaml_text,
                                       std::string_view name_for_messages);

// Returns the job as text. ParseScoring of it returns an equal `spec`.
std::string ScoringYaml(const spec::ScoringSpec& spec);

}  // namespace espalier::config
