// Choices by the held-out rows after the last fit: the threshold between two classes, and the
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
  std::vector<double> thresholds;  // NetworkShape's
};

// Chooses the threshold of the positive class by `totals` (TotalsKind::kEvaluation). Candidates lie
// in the middle between neighbouring score bins that have rows (model/metrics.h), and on both sides
// of all rows. Among equal ones, the closest to 0.5 wins. Where no candidate has the precision or
// recall that `spec` asks for, the one that comes closest wins. Without rows: 0.5.
// REQUIRES: a shape of two classes without thresholds, spec.kind != kNone.
ThresholdChoice ChooseThreshold(const NetworkShape& shape, const spec::ThresholdSpec& spec,
                                const std::vector<double>& totals);

// Layout of the sums: the number of rows with a weight above 0, the weight of all rows, then by
// target the weight of the rows by the size of their residual, prediction - target in the units of
// training and before clip_predictions, in 64 bins an octave from 2^-64 to 2^64 (model/log_bins.h).
int64_t ResidualsSize(const NetworkShape& shape);
// Adds rows to `sums` [ResidualsSize]. REQUIRES: a regression.
template <typename T>
void AddResiduals(const NetworkShape& shape, const OutputRows<T>& rows, double* sums);
// Returns for each target the half-width of intervals for `level`, in the units of training: the
// upper end of the bin with the ceil((n + 1) * level)-th smallest residual of n. Absent: there are
// too few rows, or a residual is 2^64 or more.
std::optional<std::vector<double>> HalfWidths(const NetworkShape& shape, double level,
                                              const std::vector<double>& sums);

}  // namespace espalier::model
