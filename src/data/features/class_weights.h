// Settings for single classes or labels: the weights of their rows, and the positive one of two
// classes.
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"

namespace espalier::data {

// One weight a class, in the order of `classes`; none when all weigh 1. `rows`: training rows of
// each class, as texts. `balanced` is scikit-learn's: rows / (classes * rows of the class), over
// classes with rows; others weigh 1. A label
// that is spelt as a number may stand for the class of that number ("1.0" for "1").
// kInvalidArgument: a weight for a label that is no class, or no row that weighs anything.
Result<std::vector<double>> FitClassWeights(const spec::ClassWeights& wanted,
                                            const std::vector<std::string>& classes,
                                            const std::map<std::string, int64_t>& rows);

// The position of the positive class: model.positive, or 1. kInvalidArgument: model.positive is not
// a class of the job, or the job requires two classes and has another number.
Result<int32_t> PositiveClass(const spec::JobSpec& job, const std::vector<std::string>& classes);

// Multilabel: one weight a label, in the order of `labels`, for its ones; none when all weigh 1.
// `stats`: of each label's zeros and ones in the training rows. `balanced` is rows with 0 / rows
// with 1, from 1 / kPositiveWeightMax to kPositiveWeightMax, but 1 for a label that has only one of
// the two. kInvalidArgument: a weight for what is no label.
inline constexpr double kPositiveWeightMax = 1000;
Result<std::vector<double>> FitPositiveWeights(const spec::ClassWeights& wanted,
                                               const std::vector<spec::FittedTarget>& labels,
                                               const std::vector<spec::ColumnStats>& stats);

}  // namespace espalier::data
