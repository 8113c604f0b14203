// The losses of a training as a plot of characters. Thread rule: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/spec/snapshots.h"

namespace espalier::cli {

// One evaluation.
struct CurvePoint {
  double epoch = 0;
  double train = 0;       // loss; NaN: not known
  double validation = 0;  // the same
};
CurvePoint CurvePointOf(const spec::HistoryRow& row);

// How text may be drawn.
struct Drawing {
  bool unicode = false;  // otherwise ASCII
  bool color = false;
  int width = 80;  // columns of the terminal
};

inline constexpr int kCurveRows = 8;
inline constexpr int kCurveWidthMax = 60;  // columns of the plot without its labels

// The plot with its axes, at most min(width, 80) columns; ends with '\n'. The loss axis is linear.
// Empty with fewer than two evaluations whose losses are finite.
std::string LearningCurve(const std::vector<CurvePoint>& points, const Drawing& drawing);

// Whether the locale, such as "de_DE.UTF-8", has UTF-8.
bool NamesUtf8(std::string_view locale);

}  // namespace espalier::cli
