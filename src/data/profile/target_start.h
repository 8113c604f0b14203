// Computes the initial outputs of a regression. Thread rule: a pure function.
#pragma once

#include "src/spec/input.h"
#include "src/spec/job_spec.h"

namespace espalier::data {

// Returns the constant prediction that fits the loss, as an output of the network. It is the mean
// (mse, mae, huber) or the logarithm of the mean (poisson). For the loss quantile, it is the
// quantile of a normal distribution with the targets' mean and deviation. `fitted`: provides shift
// and factor.
double TargetStart(const spec::ModelSpec& model, const spec::ColumnStats& stats,
                   const spec::FittedTarget& fitted);

}  // namespace espalier::data
