#include "src/data/profile/target_start.h"

#include <algorithm>
#include <cmath>

namespace espalier::data {
namespace {

// Returns a quantile of the standard normal distribution, within 5e-4: Abramowitz and Stegun,
// "Handbook of Mathematical Functions", 26.2.23. REQUIRES: 0 < q < 1.
double NormalQuantile(double q) {
  const double t = std::sqrt(-2 * std::log(std::min(q, 1 - q)));
  const double z = t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                           (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
  return q < 0.5 ? -z : z;
}

}  // namespace

double TargetStart(const spec::ModelSpec& model, const spec::ColumnStats& stats,
                   const spec::FittedTarget& fitted) {
  if (stats.count == 0) return 0;
  const double count = static_cast<double>(stats.count);
  switch (spec::EffectiveLoss(model)) {
    case spec::Loss::kPoisson:  // if all counts are 0: half a count in total
      return std::log(std::max(stats.mean, 0.5 / count));
    case spec::Loss::kQuantile: {
      const double deviation = std::sqrt(stats.m2 / count);
      const double quantile = stats.mean + deviation * NormalQuantile(model.quantile);
      return (std::clamp(quantile, stats.min, stats.max) - fitted.shift) * fitted.factor;
    }
    default:
      return (stats.mean - fitted.shift) * fitted.factor;
  }
}

}  // namespace espalier::data
