#include "src/model/line_search.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace espalier::model {
namespace {

constexpr double kDecrease = 1e-4, kCurvature = 0.9;
constexpr double kGrowth = 1.5;
constexpr double kMargin = 0.1;  // fraction of the interval, at either end

// Returns the minimum of the cubic with these values and slopes (equation 3.59 there), within the
// interval without its margins. Returns the middle of the interval if no such cubic exists.
double Cubic(SearchPoint left, SearchPoint right) {
  if (left.t > right.t) std::swap(left, right);
  const double width = right.t - left.t;
  const double d1 = left.slope + right.slope - 3 * (left.value - right.value) / (left.t - right.t);
  const double d2 = std::sqrt(d1 * d1 - left.slope * right.slope);
  const double t = right.t - width * (right.slope + d2 - d1) / (right.slope - left.slope + 2 * d2);
  if (!std::isfinite(t)) return left.t + width / 2;
  return std::clamp(t, left.t + kMargin * width, left.t + (1 - kMargin) * width);
}

bool Decreases(const LineSearch& s, const SearchPoint& at) {
  return at.value <= s.start.value + kDecrease * at.t * s.start.slope;
}

bool IsFlat(const LineSearch& s, const SearchPoint& at) {
  return std::fabs(at.slope) <= kCurvature * std::fabs(s.start.slope);
}

// Starts to narrow the interval between a better point and one that bounds it.
void Narrow(LineSearch& s, SearchPoint low, SearchPoint high) {
  s.low = low;
  s.high = high;
  s.narrows = true;
  s.evaluations = 0;
}

// Returns true if `at` is acceptable. Otherwise sets a new interval.
bool JudgeWithin(LineSearch& s, const SearchPoint& at) {
  if (!Decreases(s, at) || at.value >= s.low.value) {
    s.high = at;
    return false;
  }
  if (IsFlat(s, at)) return true;
  if (at.slope * (s.high.t - s.low.t) >= 0) s.high = s.low;
  s.low = at;
  return false;
}

// Returns true if `at` is acceptable. Otherwise sets an interval, or the next point further out.
bool JudgeOnward(LineSearch& s, const SearchPoint& at) {
  if (!Decreases(s, at) || (at.value >= s.low.value && s.evaluations > 1)) {
    Narrow(s, s.low, at);
    return false;
  }
  if (IsFlat(s, at)) return true;
  if (at.slope >= 0) {
    Narrow(s, at, s.low);
    return false;
  }
  s.low = at;
  s.t *= kGrowth;
  return false;
}

}  // namespace

LineSearch BeginSearch(double value, double slope, double t) {
  LineSearch search;
  search.start = search.low = {0, value, slope};
  search.t = t;
  return search;
}

SearchAnswer Answer(LineSearch& search, double value, double slope, int64_t evaluations_max) {
  if (!(search.start.slope < 0 && std::isfinite(search.start.slope)) || !(search.t > 0)) {
    return SearchAnswer::kFail;
  }
  const bool finite = std::isfinite(value) && std::isfinite(slope);
  ++search.evaluations;
  if (search.narrows) {
    SearchPoint at{search.t, value, slope};
    if (!finite) at.value = HUGE_VAL;
    if (JudgeWithin(search, at)) return SearchAnswer::kTake;
  } else if (!finite) {
    search.t /= 2;
  } else if (JudgeOnward(search, {search.t, value, slope})) {
    return SearchAnswer::kTake;
  }
  if (search.evaluations >= evaluations_max / 2) return SearchAnswer::kFail;
  if (search.narrows) search.t = Cubic(search.low, search.high);
  return std::isfinite(search.t) && search.t > 0 ? SearchAnswer::kAsk : SearchAnswer::kFail;
}

}  // namespace espalier::model
