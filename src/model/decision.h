// Choices on the held-out rows after the last fit: the threshold between two classes, and the
// half-width of prediction intervals. Both become part of the model (training/step_machine.h).
//
// Thread rule: pure functions over the caller's buffers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "src/model/loss.h"
#include "src/model/network.h"
#include "src/spec/job_spec.h"
#include "src/spec/metrics.h"

namespace espalier::model {

struct ThresholdChoice {
  spec::ChosenThreshold chosen;
  std::vector<double> thresholds;  // for NetworkShape
};

// Chooses the threshold of the positive class from `totals` (TotalsKind::kEvaluation). Candidates
// are the midpoints between neighboring score bins with rows (model/metrics.h), and points on both
// sides of all rows. The candidate closest to 0.5 wins a tie. If no candidate reaches the precision
// or recall in `spec`, the closest one wins. Without rows, the threshold is 0.5. REQUIRES: a shape
// of two classes without thresholds, spec.kind != kNone.
ThresholdChoice ChooseThreshold(const NetworkShape& shape, const spec::ThresholdSpec& spec,
                                const std::vector<double>& totals);

// Returns the size of the sums. Their layout:
// - the number of rows with a weight above 0
// - the weight of all rows
// - for each target, the weight of the rows by the size of their residual
// A residual is prediction - target in the units of training. It has 64 bins per octave from 2^-64
// to 2^64 (model/log_bins.h).
int64_t ResidualsSize(const NetworkShape& shape);
// Adds rows to `sums` [ResidualsSize]. REQUIRES: a regression.
template <typename T>
void AddResiduals(const NetworkShape& shape, const OutputRows<T>& rows, double* sums);
// Returns the half-width of intervals for `level` for each target, in the units of training. It is
// the upper end of the bin with the ceil((n + 1) * level)-th smallest residual of n. Returns
// nothing if there are too few rows, or if a residual is 2^64 or more.
std::optional<std::vector<double>> HalfWidths(const NetworkShape& shape, double level,
                                              const std::vector<double>& sums);

}  // namespace espalier::model
