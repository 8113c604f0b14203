// A model against a table whose answers are known.
#pragma once

#include <cstdint>
#include <vector>

#include "src/base/status.h"
#include "src/scoring/residuals.h"
#include "src/scoring/scoring_run.h"
#include "src/spec/metrics.h"

namespace espalier {

// Targets whose residuals are counted, the first ones.
inline constexpr size_t kResidualTargetsMax = 8;

struct TargetResiduals {
  ResidualGrid grid;
  ResidualBins bins;
};

struct Evaluation {
  Metrics metrics;
  std::vector<double> totals;              // of model/metrics.h, TotalsKind::kEvaluation
  std::vector<TargetResiduals> residuals;  // regression, when asked for; by target
  int64_t rows = 0;                        // evaluated
  int64_t rejected = 0;
  std::vector<Status> first_rejects;  // kRejectsKept at most
};

// Evaluates the model on each row of the table; a row that cannot be read, or whose label is no
// class of the model, is a reject and counts nowhere else. Totals of shards are added in their
// order, so the figures do not depend on the threads. On a job's own test files they are those of
// the job's own evaluation, up to the order in which losses are added (counts, and what follows
// from them, are the same; sums of losses differ by rounding).
//
// Errors: the first shard's that has one; kBadInput, there are rows and none can be evaluated;
// kCancelled.
Result<Evaluation> Evaluate(const ScoringRun& run, bool with_residuals);

}  // namespace espalier
