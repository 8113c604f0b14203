// A line search for the strong Wolfe conditions, as a state machine. Its input is the value and
// slope of a function of one number at the requested point. Its answer is the next point, or that
// this point is acceptable.
//
// The algorithms are 3.5 and 3.6 of Nocedal and Wright, "Numerical Optimization", 2nd edition.
// Algorithm 3.5 looks for an interval, with each point 1.5 times as far as the last one. Algorithm
// 3.6 narrows it with the cubic through its ends, at least a tenth of its length from either end.
// Constants and the order of tests are those of Breeze's StrongWolfeLineSearch, which Spark uses,
// so that the points are the same.
//
// Let f and f' be the value and slope at a point t, and f0 and f0' those at 0. The point is
// acceptable if:
//   f <= f0 + 1e-4 t f0'   and   |f'| <= 0.9 |f0'|
//
// Thread rule: values and pure functions.
#pragma once

#include <cstdint>

namespace espalier::model {

struct SearchPoint {
  double t = 0, value = 0, slope = 0;
};

// The state of a search, which is part of the job state.
struct LineSearch {
  SearchPoint start;        // at 0; slope < 0
  SearchPoint low, high;    // the interval, if `narrows`; before that, `low` is the previous point
  double t = 0;             // point of the requested value and slope
  bool narrows = false;     // an interval was found
  int64_t evaluations = 0;  // evaluations so far in this half of the search
};

enum class SearchAnswer { kAsk, kTake, kFail };

// Starts a search with a request at `t`. Unless slope < 0 and t > 0 are finite, the first answer is
// kFail.
LineSearch BeginSearch(double value, double slope, double t);

// Processes the value and slope at search.t. Returns kAsk to request those at the new search.t, and
// kTake if search.t is acceptable. Returns kFail if half of `evaluations_max` was not enough to
// find an interval, or to narrow it to an acceptable point. A value that is not finite means that
// the point is too far away.
SearchAnswer Answer(LineSearch& search, double value, double slope, int64_t evaluations_max);

}  // namespace espalier::model
