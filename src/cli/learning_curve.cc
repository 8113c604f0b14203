#include "src/cli/learning_curve.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <limits>

#include "src/cli/format.h"

namespace espalier::cli {
namespace {

constexpr int kWidthMax = 80, kCurveWidthMin = 24;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// Content of a cell of the plot, as bits.
enum : uint8_t { kTrain = 1, kValidation = 2 };

struct Marks {
  const char *train, *validation, *both, *upright, *corner, *level;
};
constexpr Marks kAscii = {"*", "o", "@", "|", "+", "-"};
constexpr Marks kUnicode = {"●", "○", "◉", "│", "└", "─"};

std::string Mark(uint8_t cell, const Marks& marks, bool color) {
  switch (cell) {
    case kTrain:
      return Colored(marks.train, Ink::kCyan, color);
    case kValidation:
      return Colored(marks.validation, Ink::kYellow, color);
    case kTrain | kValidation:
      return Colored(marks.both, Ink::kBold, color);
    default:
      return " ";
  }
}

std::string Right(const std::string& text, size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

class Plot {
 public:
  Plot(const std::vector<CurvePoint>& points, double least, double most, int width)
      : points_(points), least_(least), most_(most), width_(width) {
    for (auto& row : rows_) row.assign(static_cast<size_t>(width), 0);
    for (const CurvePoint& point : points) {
      Set(point.epoch, point.train, kTrain);
      Set(point.epoch, point.validation, kValidation);
      validation_ = validation_ || std::isfinite(point.validation);
    }
  }

  std::string Text(const Marks& marks, bool color) const {
    const std::string top = FormatValue(most_), bottom = FormatValue(least_);
    const size_t label = std::max(top.size(), bottom.size());
    std::string text = "loss by epoch: " + Mark(kTrain, marks, color) + " training";
    if (validation_) {
      text += ", " + Mark(kValidation, marks, color) + " validation, " +
              Mark(kTrain | kValidation, marks, color) + " both";
    }
    text += "\n";
    for (size_t r = 0; r < rows_.size(); ++r) {
      const std::string value = r == 0 ? top : r + 1 == rows_.size() ? bottom : "";
      std::string line = "  " + Right(value, label) + " " + marks.upright;
      size_t end = rows_[r].size();
      while (end > 0 && rows_[r][end - 1] == 0) --end;
      for (size_t c = 0; c < end; ++c) line += Mark(rows_[r][c], marks, color);
      text += line + "\n";
    }
    const std::string indent(label + 3, ' ');
    text += indent + marks.corner;
    for (int c = 0; c < width_; ++c) text += marks.level;
    const std::string first = FormatEpochs(points_.front().epoch);
    const std::string last = FormatEpochs(points_.back().epoch);
    return text + "\n" + indent + " " + first +
           Right(last, static_cast<size_t>(width_) - std::min<size_t>(width_, first.size())) + "\n";
  }

 private:
  void Set(double epoch, double loss, uint8_t bit) {
    if (!std::isfinite(loss)) return;
    const double begin = points_.front().epoch, end = points_.back().epoch;
    const double across = end > begin ? (epoch - begin) / (end - begin) : 0;
    const double down = most_ > least_ ? (most_ - loss) / (most_ - least_) : 1;
    const auto place = [](double share, int count) {
      return static_cast<size_t>(std::lround(std::clamp(share, 0.0, 1.0) * (count - 1)));
    };
    rows_[place(down, kCurveRows)][place(across, width_)] |= bit;
  }

  const std::vector<CurvePoint>& points_;
  const double least_, most_;
  const int width_;
  bool validation_ = false;
  std::array<std::vector<uint8_t>, kCurveRows> rows_;
};

}  // namespace

CurvePoint CurvePointOf(const spec::HistoryRow& row) {
  const auto loss = [](const spec::Metrics& m) { return m.weight > 0 ? m.loss : kNone; };
  return {row.epoch, loss(row.train), row.validation ? loss(*row.validation) : kNone};
}

std::string LearningCurve(const std::vector<CurvePoint>& points, const Drawing& drawing) {
  double least = std::numeric_limits<double>::infinity(), most = -least;
  int finite = 0;
  for (const CurvePoint& point : points) {
    finite += std::isfinite(point.train) || std::isfinite(point.validation);
    for (const double loss : {point.train, point.validation}) {
      if (!std::isfinite(loss)) continue;
      least = std::min(least, loss);
      most = std::max(most, loss);
    }
  }
  if (finite < 2 || !std::isfinite(most - least)) return "";
  const size_t label = std::max(FormatValue(most).size(), FormatValue(least).size());
  const int room = std::min(drawing.width, kWidthMax) - static_cast<int>(label) - 5;
  const int wanted = std::clamp(static_cast<int>(std::min<size_t>(points.size(), kCurveWidthMax)),
                                kCurveWidthMin, kCurveWidthMax);
  if (std::min(room, wanted) < kCurveRows) return "";  // too narrow for a useful plot
  return Plot(points, least, most, std::min(room, wanted))
      .Text(drawing.unicode ? kUnicode : kAscii, drawing.color);
}

bool NamesUtf8(std::string_view locale) {
  std::string lower(locale);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower.find("utf-8") != lower.npos || lower.find("utf8") != lower.npos;
}

}  // namespace espalier::cli
