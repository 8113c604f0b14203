#include "src/data/profile/target_start.h"

#include <algorithm>
#include <cmath>

#include "src/data/table/row_sample.h"

namespace espalier::data {

double TargetStart(const spec::ModelSpec& model, const spec::ColumnStats& stats,
                   std::span<const double> sampled, const spec::FittedTarget& fitted) {
  if (stats.count == 0) return 0;
  const spec::Loss loss = spec::EffectiveLoss(model);
  if (loss == spec::Loss::kPoisson) {  // if all counts are 0: half a count in total
    return std::log(std::max(stats.mean, 0.5 / static_cast<double>(stats.count)));
  }
  double constant = stats.mean;
  if (!sampled.empty()) {
    const double share = loss == spec::Loss::kQuantile ? model.quantile : 0.5;
    constant = std::clamp(QuantileOf(sampled, share), stats.min, stats.max);
  }
  return (constant - fitted.shift) * fitted.factor;
}

}  // namespace espalier::data
