// The different scores of a two-class evaluation as a part of its totals, exact while they are few.
//
// The sketch is an invertible Bloom lookup table (Goodrich and Mitzenmacher, 2011). A row is added
// to one cell in each of three tables, which the hash of its score selects. Cells are sums, so
// sketches are added up like all totals. A cell with a single score shows it. Without this score,
// its other two cells may show more scores, and so on. With up to kExactScores different scores,
// this finds all of them in more than 99 % of the cases.
//
// Thread rule: pure functions over the caller's buffers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace espalier::model {

inline constexpr int64_t kExactScores = 1000;
// Cells of one table, and the sums of a cell: rows, two halves of the score, checksum, and the
// weight of each class. The sums without weights are exact integers up to 2^37 rows.
inline constexpr int64_t kSketchCells = 512, kSketchTables = 3, kSketchSums = 6;
inline constexpr int64_t kSketchSize = kSketchTables * kSketchCells * kSketchSums;

// A score with the weight of the rows of either class. Scores that are equal as floats are one
// score. NaN counts as the lowest score.
struct ScoreWeights {
  float score = 0;
  double zero = 0, one = 0;
};

// Adds a row of class 0 or 1. A row without weight is not counted.
void AddToSketch(double score, int32_t label, double weight, double* sketch);

// Returns the scores of the rows, ascending. Absent: there are too many.
std::optional<std::vector<ScoreWeights>> ScoresInSketch(const double* sketch);

}  // namespace espalier::model
