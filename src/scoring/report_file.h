// The report of an evaluation (report.h) as a file.
//
// Thread rule: re-entrant functions.
#pragma once

#include <span>
#include <string>

#include "src/base/status.h"
#include "src/scoring/evaluation.h"
#include "src/scoring/model_outline.h"
#include "src/spec/input.h"
#include "src/spec/scoring_spec.h"
#include "src/storage/file_system.h"

namespace espalier::scoring {

// Checks, before anything is read, whether the report may be written to `path` and replace an
// existing file. kInvalidArgument: `path` is a directory or an input file.
Status CheckReportPath(const storage::FileSystem& files, const spec::InputPlan& input,
                       const std::string& path);

// Writes the report to the output of `spec`, and replaces an existing file. It contains the loss
// curves of the model's bundle, if the bundle has them. `notes`: InputPlan::notes.
Status WriteReport(const storage::FileSystem& files, const ModelOutline& trained,
                   const Evaluation& evaluation, const spec::ScoringSpec& spec,
                   std::span<const std::string> notes);

}  // namespace espalier::scoring
