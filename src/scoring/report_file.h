// The page of an evaluation (report.h) as a file. Thread rule: re-entrant functions.
#pragma once

#include <string>

#include "src/base/status.h"
#include "src/scoring/evaluation.h"
#include "src/scoring/model_outline.h"
#include "src/spec/input.h"
#include "src/spec/scoring_spec.h"
#include "src/storage/file_system.h"

namespace espalier::scoring {

// Before anything is read: whether the page may be written to `path`, in place of what may be
// there. kInvalidArgument: that is a directory, or a file of the input.
Status CheckReportPath(const storage::FileSystem& files, const spec::InputPlan& input,
                       const std::string& path);

// Writes the page to the output of `spec`, in place of what is there; with the loss curves of the
// model's bundle, where it has them.
Status WriteReport(const storage::FileSystem& files, const ModelOutline& trained,
                   const Evaluation& evaluation, const spec::ScoringSpec& spec);

}  // namespace espalier::scoring
