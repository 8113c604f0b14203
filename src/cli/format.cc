#include "src/cli/format.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "src/base/text.h"

namespace espalier::cli {
namespace {

std::string Print(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string MakeTable(const std::vector<std::vector<std::string>>& rows, std::string_view indent,
                      bool right) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t c = 0; c < row.size(); ++c) {
      widths[c] = std::max(widths[c], DisplayColumns(row[c]));
    }
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line(indent);
    for (size_t c = 0; c < row.size(); ++c) {
      const std::string pad(widths[c] - DisplayColumns(row[c]), ' ');
      if (c > 0) line += "  ";
      line += right && c > 0 ? pad + row[c] : row[c] + pad;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

}  // namespace

std::string FormatValue(double value) {
  if (!std::isfinite(value)) return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
  const double size = std::fabs(value);
  return Print(size != 0 && (size < 1e-3 || size >= 1e6) ? "%.3e" : "%.4f", value);
}

std::string FormatMean(double value, double weight) {
  return weight > 0 ? FormatValue(value) : "-";
}

std::string FormatShare(double share) {
  return std::isnan(share) ? "-" : Print("%.2f %%", share * 100);
}

std::string FormatEpochs(double epochs) {
  const double whole = std::round(epochs);
  if (std::fabs(epochs - whole) < 1e-9) return Print("%.0f", whole);
  return Print("%.2f", epochs);
}

std::string MessageWithCauses(const Status& error) {
  std::string text;
  for (const Status* s = &error; !s->ok(); s = &s->cause()) {
    text += (text.empty() ? "" : " <- ") + s->message();
  }
  return text;
}

std::string Fit(std::string_view text, int width) {
  text = text.substr(0, text.find('\n'));
  const size_t limit = static_cast<size_t>(std::max(width, 1));
  if (DisplayColumns(text) <= limit) return std::string(text);
  if (limit <= 3) return std::string(FirstColumns(text, limit));
  return std::string(FirstColumns(text, limit - 3)) + "...";
}

std::string Colored(std::string_view text, Ink ink, bool color) {
  if (!color) return std::string(text);
  static constexpr const char* kCodes[] = {"1", "2", "31", "32", "33", "36"};
  return "\x1b[" + std::string(kCodes[static_cast<int>(ink)]) + "m" + std::string(text) + "\x1b[0m";
}

std::string Table(const std::vector<std::vector<std::string>>& rows, std::string_view indent) {
  return MakeTable(rows, indent, true);
}

std::string LeftTable(const std::vector<std::vector<std::string>>& rows, std::string_view indent) {
  return MakeTable(rows, indent, false);
}

}  // namespace espalier::cli
