// Where the outputs of a regression begin. Thread rule: a pure function.
#pragma once

#include "src/spec/input.h"
#include "src/spec/job_spec.h"

namespace espalier::data {

// The constant answer that suits the loss, as an output of the network: the mean (mse, mae, huber),
// the logarithm of the mean (poisson), or the quantile of a normal distribution with the targets'
// mean and deviation (quantile). `fitted` has shift and factor.
double TargetStart(const spec::ModelSpec& model, const spec::ColumnStats& stats,
                   const spec::FittedTarget& fitted);

}  // namespace espalier::data
