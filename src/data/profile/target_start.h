// Computes the initial outputs of a regression. Thread rule: a pure function.
#pragma once

#include <span>

#include "src/spec/input.h"
#include "src/spec/job_spec.h"

namespace espalier::data {

// Returns the constant prediction with the least loss, as an output of the network: the mean (mse),
// the logarithm of the mean (poisson), the median (mae, huber) or the quantile (quantile).
// `sampled`: values of the target, ascending, where spec::SamplesTargets; the median and quantiles
// are theirs. `fitted`: provides shift and factor.
double TargetStart(const spec::ModelSpec& model, const spec::ColumnStats& stats,
                   std::span<const double> sampled, const spec::FittedTarget& fitted);

}  // namespace espalier::data
