// Training losses as a text plot.
//
// Thread rule: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/spec/snapshots.h"

namespace espalier::cli {

// One evaluation.
struct CurvePoint {
  double epoch = 0;
  double train = 0;       // loss; NaN: unknown
  double validation = 0;  // loss; NaN: unknown
};
CurvePoint CurvePointOf(const spec::HistoryRow& row);

// Drawing capabilities of the output.
struct Drawing {
  bool unicode = false;  // otherwise ASCII
  bool color = false;
  int width = 80;  // columns of the terminal
};

inline constexpr int kCurveRows = 8;
inline constexpr int kCurveWidthMax = 60;  // columns without labels

// Returns the plot with its axes, at most min(width, 80) columns wide. Ends with '\n'. The loss
// axis is linear. Empty if fewer than two evaluations have finite losses.
std::string LearningCurve(const std::vector<CurvePoint>& points, const Drawing& drawing);

// Returns whether a locale such as "de_DE.UTF-8" uses UTF-8.
bool NamesUtf8(std::string_view locale);

}  // namespace espalier::cli
