// Edges of a number's bins, from its values in the sample of the training rows.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace espalier::data {

// Returns at most bins + 1 edges, ascending. Columns of at most bins + 1 different values have all
// of them as edges. Otherwise each value with more rows than an average bin of the rest is an edge,
// for at most half of the bins, and the rows of the other values are cut at equal counts.
// REQUIRES: `ascending` is sorted and not empty, bins >= 2.
std::vector<double> BinEdges(std::span<const double> ascending, int64_t bins);

// The place of `x` among the bins between ascending edges: the bin plus the share of it below x,
// from 0 to the number of bins. 0 with one edge.
double PlaceAmong(std::span<const double> edges, double x);

// z / sqrt(1 + (z/3)^2), which is between -3 and 3 and near z for small z.
double SmoothClip(double z);

}  // namespace espalier::data
