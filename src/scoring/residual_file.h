// Residuals of a shard as a file. Workers of a cluster pass them to the coordinator in this form,
// for the report. The files are in the directory for parts of a prediction (staging.h).
//
//   file := "espalier-residuals 1\n" (counts counts)*     of each target its grid and its bins
//   counts := EXPONENT (" " CELL ":" COUNT)* "\n"         cells that are not 0, ascending
//
// Example: "-3 32896:2 33153:1\n" for three rows of a grid.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/scoring/evaluation.h"

namespace espalier::scoring {

// Maximum length of a file, enough for kResidualTargetsMax full grids, in bytes.
inline constexpr int64_t kResidualBytesMax = int64_t{16} << 20;

// Returns "residuals-00012".
std::string ResidualName(int64_t shard);

std::string EncodeResiduals(const std::vector<TargetResiduals>& residuals);

// Decodes a file. kDataLoss: it is not a residual file with `targets` targets, or counts more than
// `rows` rows of one target.
Result<std::vector<TargetResiduals>> DecodeResiduals(std::string_view text, size_t targets,
                                                     int64_t rows);

}  // namespace espalier::scoring
