// Small texts that several views share. Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace espalier::cli {

// A loss or an error: "0.1234", "1.234e-05", "nan".
std::string FormatValue(double value);
// The same of a mean over rows of this weight in all: "-" when nothing was counted.
std::string FormatMean(double value, double weight);
// A share in [0, 1] as "97.25 %"; NaN, a share of nothing, as "-".
std::string FormatShare(double share);
// Milliseconds as seconds.
inline double Seconds(int64_t ms) { return static_cast<double>(ms) / 1000; }
// A whole number without a point, any other number shortest: "3", "2.5".
std::string FormatEpochs(double epochs);
// "context <- cause <- cause", without the position.
std::string MessageWithCauses(const Status& error);
// The first line, in at most `width` columns, its end replaced by "..." when cut. What is from
// outside in `text` went through Printable.
std::string Fit(std::string_view text, int width);

// ANSI colours; the text itself when `color` is false.
enum class Ink { kBold, kDim, kRed, kGreen, kYellow, kCyan };
std::string Colored(std::string_view text, Ink ink, bool color);

// Columns of text, two spaces between. The first column is aligned to the left, the others to the
// right. All rows have as many cells as the first. Each line ends with '\n' and starts with
// `indent`.
std::string Table(const std::vector<std::vector<std::string>>& rows, std::string_view indent);
// As Table with every column aligned to the left.
std::string LeftTable(const std::vector<std::vector<std::string>>& rows, std::string_view indent);

}  // namespace espalier::cli
