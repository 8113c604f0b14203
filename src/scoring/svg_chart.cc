#include "src/scoring/svg_chart.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "src/base/text.h"

namespace espalier::scoring {
namespace {

constexpr double kWidth = 460, kHeight = 300;
constexpr double kLeft = 58, kRight = 14, kTop = 24, kBottom = 44;  // margins of the axes
constexpr const char* kInks[] = {"#1f5fa8", "#c8501e", "#2b7a3f", "#7a3f8c"};
constexpr size_t kInkCount = 4;
constexpr size_t kTextShown = 200;

std::string Number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

// Returns a coordinate on the page, with one decimal.
std::string Pixel(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

// Returns name="value" pairs of coordinates.
std::string At(std::initializer_list<std::pair<const char*, double>> attributes) {
  std::string out;
  for (const auto& [name, value] : attributes) {
    out += std::string(" ") + name + "=\"" + Pixel(value) + "\"";
  }
  return out;
}

void Widen(double* low, double* high) {
  if (*low < *high) return;
  const double by = *low == 0 ? 1 : std::fabs(*low) / 2;
  *low -= by;
  *high += by;
}

}  // namespace

std::string HtmlText(std::string_view text) {
  std::string out;
  for (const char c : Printable(text, kTextShown)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::vector<double> RoundTicks(double low, double high, int about) {
  const double rough = (high - low) / about;
  double step = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double factor : {2.0, 2.5, 2.0}) {  // to 2, 5, 10
    if (step < rough) step *= factor;
  }
  std::vector<double> ticks;
  const double first = std::ceil(low / step - 1e-9);
  for (double i = first; i * step <= high + step * 1e-9 && ticks.size() < 100; ++i) {
    ticks.push_back(i * step + 0.0);
  }
  return ticks;
}

SvgChart::SvgChart(std::string title, std::string x_name, std::string y_name, double x_low,
                   double x_high, double y_low, double y_high)
    : title_(std::move(title)),
      x_name_(std::move(x_name)),
      y_name_(std::move(y_name)),
      x_low_(x_low),
      x_high_(x_high),
      y_low_(y_low),
      y_high_(y_high) {
  Widen(&x_low_, &x_high_);
  Widen(&y_low_, &y_high_);
}

double SvgChart::X(double x) const {
  const double share = std::clamp((x - x_low_) / (x_high_ - x_low_), 0.0, 1.0);
  return kLeft + share * (kWidth - kLeft - kRight);
}

double SvgChart::Y(double y) const {
  const double share = std::clamp((y - y_low_) / (y_high_ - y_low_), 0.0, 1.0);
  return kHeight - kBottom - share * (kHeight - kTop - kBottom);
}

void SvgChart::Line(const std::string& name, const std::vector<std::pair<double, double>>& points) {
  const std::string ink = kInks[names_.size() % kInkCount];
  std::string line;
  const auto end_line = [&] {
    if (line.empty()) return;
    marks_ += "<polyline fill=\"none\" stroke=\"" + ink + "\" stroke-width=\"1.8\" points=\"" +
              line + "\"/>";
    line.clear();
  };
  for (const auto& [x, y] : points) {
    if (!std::isfinite(x) || !std::isfinite(y)) {
      end_line();
      continue;
    }
    line += (line.empty() ? "" : " ") + Pixel(X(x)) + "," + Pixel(Y(y));
  }
  end_line();
  names_.push_back(name);
}

void SvgChart::Guide(double x1, double y1, double x2, double y2) {
  marks_ += "<line" + At({{"x1", X(x1)}, {"y1", Y(y1)}, {"x2", X(x2)}, {"y2", Y(y2)}}) +
            " stroke=\"#888\" stroke-dasharray=\"4 4\"/>";
}

void SvgChart::Bar(double x1, double x2, double height) {
  marks_ += "<rect" +
            At({{"x", X(x1)},
                {"y", Y(height)},
                {"width", X(x2) - X(x1)},
                {"height", Y(y_low_) - Y(height)}}) +
            " fill=\"#1f5fa8\"/>";
}

void SvgChart::Cell(double x1, double y1, double x2, double y2, double share) {
  char opacity[16];
  std::snprintf(opacity, sizeof opacity, "%.3f", std::clamp(share, 0.0, 1.0));
  marks_ += "<rect" +
            At({{"x", X(x1)}, {"y", Y(y2)}, {"width", X(x2) - X(x1)}, {"height", Y(y1) - Y(y2)}}) +
            " fill=\"#1f5fa8\" fill-opacity=\"" + opacity + "\"/>";
}

std::string SvgChart::Axes() const {
  std::string out;
  const double bottom = kHeight - kBottom, right = kWidth - kRight;
  for (const double tick : RoundTicks(x_low_, x_high_, 6)) {
    out += "<line" + At({{"x1", X(tick)}, {"y1", kTop}, {"x2", X(tick)}, {"y2", bottom}}) +
           " stroke=\"#ddd\"/><text" + At({{"x", X(tick)}, {"y", bottom + 15}}) +
           " text-anchor=\"middle\">" + Number(tick) + "</text>";
  }
  for (const double tick : RoundTicks(y_low_, y_high_, 5)) {
    out += "<line" + At({{"x1", kLeft}, {"y1", Y(tick)}, {"x2", right}, {"y2", Y(tick)}}) +
           " stroke=\"#ddd\"/><text" + At({{"x", kLeft - 6}, {"y", Y(tick) + 4}}) +
           " text-anchor=\"end\">" + Number(tick) + "</text>";
  }
  out += "<text" + At({{"x", (kLeft + right) / 2}, {"y", kHeight - 8}}) +
         " text-anchor=\"middle\">" + HtmlText(x_name_) + "</text>";
  out += "<text" + At({{"x", kLeft}, {"y", 12}}) + ">" + HtmlText(y_name_) + "</text>";
  return out;
}

std::string SvgChart::Html() const {
  std::string out = "<svg viewBox=\"0 0 " + Number(kWidth) + " " + Number(kHeight) +
                    "\" role=\"img\" aria-label=\"" + HtmlText(title_) + "\">" + Axes() + marks_;
  double x = kWidth - kRight;
  for (size_t i = names_.size(); i-- > 0;) {  // from the right
    out += "<text" + At({{"x", x}, {"y", 12}}) + " text-anchor=\"end\" fill=\"" +
           kInks[i % kInkCount] + "\">" + HtmlText(names_[i]) + "</text>";
    x -= 12 + 7 * static_cast<double>(names_[i].size());
  }
  return out + "</svg>";
}

}  // namespace espalier::scoring
