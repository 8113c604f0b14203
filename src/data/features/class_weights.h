// Settings for single classes or labels: the weights of their rows, and the positive class of two.
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

// Returns one weight per class, in the order of `classes`, or nothing if all weights are 1. `rows`:
// training rows of each class, by text. `balanced` is scikit-learn's formula rows / (classes * rows
// of the class), over classes with rows. Other classes have weight 1. A label that spells a number
// matches the class of that number ("1.0" matches "1"). kInvalidArgument: a weight for a label that
// is not a class, or weights that are all 0.
Result<std::vector<double>> FitClassWeights(const spec::ClassWeights& wanted,
                                            const std::vector<std::string>& classes,
                                            const std::map<std::string, int64_t>& rows);

// Returns the position of the positive class: model.positive, or 1. kInvalidArgument:
// model.positive is not a class of the job, or the job requires two classes and has another number.
Result<int32_t> PositiveClass(const spec::JobSpec& job, const std::vector<std::string>& classes);

// Returns the costs of model.costs by the positions of classes, without those of 1.
// kInvalidArgument: a label is not a class, is given twice in two spellings, or there are more than
// kCostClassesMax classes.
Result<std::vector<spec::CostOfClass>> CostsOfClasses(const spec::DecisionCosts& costs,
                                                      const std::vector<std::string>& classes);

// Multilabel: returns one weight per label for its ones, in the order of `labels`, or nothing if
// all weights are 1. `stats`: statistics of each label's zeros and ones in the training rows.
// `balanced` is rows with 0 / rows with 1, limited to [1 / kPositiveWeightMax, kPositiveWeightMax].
// It is 1 for a label that has only zeros or only ones. kInvalidArgument: a weight for a name that
// is not a label.
inline constexpr double kPositiveWeightMax = 1000;
Result<std::vector<double>> FitPositiveWeights(const spec::ClassWeights& wanted,
                                               const std::vector<spec::FittedTarget>& labels,
                                               const std::vector<spec::ColumnStats>& stats);

}  // namespace espalier::data
