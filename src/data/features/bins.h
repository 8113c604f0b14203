// Computes the bin edges of a number from its values in the sample of the training rows.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace espalier::data {

// Returns at most bins + 1 edges, ascending. If a column has at most bins + 1 different values, all
// of them are edges. Otherwise each value with more rows than an average bin of the rest is an
// edge, for at most half of the bins. The rows of the other values are cut at equal counts.
// REQUIRES: `ascending` is sorted and not empty; bins >= 2.
std::vector<double> BinEdges(std::span<const double> ascending, int64_t bins);

// Returns the position of `x` among the bins between ascending edges: the bin plus the fraction of
// it below x, from 0 to the number of bins. Returns 0 if there is one edge.
double PlaceAmong(std::span<const double> edges, double x);

// Returns z / sqrt(1 + (z/3)^2), which is between -3 and 3 and close to z for small z.
double SmoothClip(double z);

}  // namespace espalier::data
