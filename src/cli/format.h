// Short texts that several views share.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace espalier::cli {

// Columns of text that is not on a terminal, or is on one of unknown width.
inline constexpr int kPlainColumns = 80;

// Returns a loss or an error: "0.1234", "1.234e-05", "nan".
std::string FormatValue(double value);
// Returns a mean over rows with this total weight, or "-" if the weight is 0.
std::string FormatMean(double value, double weight);
// Returns a share in [0, 1] as "97.25 %", or "-" for NaN, the share of an empty set.
std::string FormatShare(double share);
// Milliseconds as seconds.
inline double Seconds(int64_t ms) { return static_cast<double>(ms) / 1000; }
// Returns an integer without a point, and any other number with two decimals: "3", "2.50".
std::string FormatEpochs(double epochs);
// Returns "context <- cause <- cause", without the position.
std::string MessageWithCauses(const Status& error);
// Returns the first line in at most `width` columns. A cut end is replaced by "...". External parts
// of `text` must already be Printable.
std::string Fit(std::string_view text, int width);

// Returns the text with ANSI colours, or the text itself if `color` is false.
enum class Ink { kBold, kDim, kRed, kGreen, kYellow, kCyan };
std::string Colored(std::string_view text, Ink ink, bool color);

// Returns columns of text, separated by two spaces. The first column is left-aligned, the others
// are right-aligned. All rows have as many cells as the first. Each line starts with `indent` and
// ends with '\n'.
std::string Table(const std::vector<std::vector<std::string>>& rows, std::string_view indent);
// Does the same with every column left-aligned.
std::string LeftTable(const std::vector<std::vector<std::string>>& rows, std::string_view indent);

}  // namespace espalier::cli
