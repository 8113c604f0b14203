// Charts as inline SVG: axes with round numbers, lines, bars, cells.
//
// Thread rule: values and pure functions.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::scoring {

// Returns text for HTML: printable, with &, <, > and quotes as entities.
std::string HtmlText(std::string_view text);

// Returns round numbers within [low, high], about `about` of them, ascending. REQUIRES: low < high,
// finite.
std::vector<double> RoundTicks(double low, double high, int about);

// A chart with one pair of axes. Numbers that are not finite break a line. Points outside the axes
// are cut off.
class SvgChart {
 public:
  // `title` describes the chart for screen readers. Empty axes ([a, a]) are widened.
  SvgChart(std::string title, std::string x_name, std::string y_name, double x_low, double x_high,
           double y_low, double y_high);

  void Line(const std::string& name, const std::vector<std::pair<double, double>>& points);
  // Adds a dashed line without a name.
  void Guide(double x1, double y1, double x2, double y2);
  // Adds a bar from the x axis up.
  void Bar(double x1, double x2, double height);
  // Adds a filled cell. `share` in [0, 1] is its darkness.
  void Cell(double x1, double y1, double x2, double y2, double share);

  // Returns the <svg> element.
  std::string Html() const;

 private:
  double X(double x) const;
  double Y(double y) const;
  std::string Axes() const;

  std::string title_, x_name_, y_name_;
  double x_low_, x_high_, y_low_, y_high_;
  std::string marks_;
  std::vector<std::string> names_;  // names of lines
};

}  // namespace espalier::scoring
