// A line search for the strong Wolfe conditions, as a machine: it is given value and slope of a
// function of one number at the point it asked for, and answers with the next point, or that this
// one will do. Nocedal and Wright, "Numerical Optimization", 2nd edition, algorithms 3.5 (an
// interval is looked for, each point 1.5 times as far as the one before) and 3.6 (it is narrowed by
// the cubic through its ends, kept a tenth of its length from either). Constants and order of tests
// are those of Breeze's StrongWolfeLineSearch, which Spark uses, so that the points are the same.
//
// A point does when, with f and f' value and slope at it and f0 and f0' those at 0:
//   f <= f0 + 1e-4 t f0'   and   |f'| <= 0.9 |f0'|
//
// Thread rule: values and pure functions.
#pragma once

#include <cstdint>

namespace espalier::model {

struct SearchPoint {
  double t = 0, value = 0, slope = 0;
};

// What a search must remember: part of the job state.
struct LineSearch {
  SearchPoint start;        // at 0; slope < 0
  SearchPoint low, high;    // the interval, once `narrows`; before, `low` is the point before
  double t = 0;             // where value and slope are asked for
  bool narrows = false;     // an interval is found
  int64_t evaluations = 0;  // so far, of this half of the search
};

enum class SearchAnswer { kAsk, kTake, kFail };

// Asks at `t` first. Unless slope < 0 and t > 0 are finite, the first answer is kFail.
LineSearch BeginSearch(double value, double slope, double t);

// Value and slope at search.t: kAsk for those at the new search.t, kTake when search.t does, kFail
// when half of `evaluations_max` was not enough to find an interval or to narrow it to a point that
// does. A value that is no finite number is one too far away.
SearchAnswer Answer(LineSearch& search, double value, double slope, int64_t evaluations_max);

}  // namespace espalier::model
