// Residuals of a shard as a file: how a cluster's workers tell them to the coordinator, which makes
// the report. They lie where parts of a prediction would (staging.h).
//
//   file := "espalier-residuals 1\n" (counts counts)*     of each target its grid and its bins
//   counts := EXPONENT (" " CELL ":" COUNT)* "\n"         cells that are not 0, ascending
//
// Such as "-3 32896:2 33153:1\n" for three rows of a grid. Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/scoring/evaluation.h"

namespace espalier::scoring {

// What a file of kResidualTargetsMax full grids is not longer than.
inline constexpr int64_t kResidualBytesMax = int64_t{16} << 20;

// "residuals-00012".
std::string ResidualName(int64_t shard);

std::string EncodeResiduals(const std::vector<TargetResiduals>& residuals);

// kDataLoss: it is no such file of so many targets, or counts more than `rows` of one.
Result<std::vector<TargetResiduals>> DecodeResiduals(std::string_view text, size_t targets,
                                                     int64_t rows);

}  // namespace espalier::scoring
