// Charts as inline SVG: axes with round numbers, lines, bars, cells. Thread rule: values and pure
// functions.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::scoring {

// Text as it may stand in HTML: printable, with &, <, > and quotes written as entities.
std::string HtmlText(std::string_view text);

// Round numbers within [low, high], some `about` of them, ascending. REQUIRES: low < high, finite.
std::vector<double> RoundTicks(double low, double high, int about);

// A chart of one pair of axes. Numbers that are not finite break a line; what lies outside the
// axes is cut off.
class SvgChart {
 public:
  // `title` is what it shows, for those who cannot see it. Empty axes ([a, a]) are widened.
  SvgChart(std::string title, std::string x_name, std::string y_name, double x_low, double x_high,
           double y_low, double y_high);

  void Line(const std::string& name, const std::vector<std::pair<double, double>>& points);
  // A dashed line without a name.
  void Guide(double x1, double y1, double x2, double y2);
  // From the x axis up.
  void Bar(double x1, double x2, double height);
  // A filled cell; `share` in [0, 1] is how dark.
  void Cell(double x1, double y1, double x2, double y2, double share);

  // The <svg> element.
  std::string Html() const;

 private:
  double X(double x) const;
  double Y(double y) const;
  std::string Axes() const;

  std::string title_, x_name_, y_name_;
  double x_low_, x_high_, y_low_, y_high_;
  std::string marks_;
  std::vector<std::string> names_;  // of lines
};

}  // namespace espalier::scoring
