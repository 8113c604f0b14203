// Layer normalization of one row (Ba, Kiros and Hinton, 2016), with PyTorch's epsilon of 1e-5.
// Internal to model/.
//
//   normed = (z - mean(z)) / sqrt(variance(z) + epsilon), over the layer's units
//   input of the activation = gain * normed + shift
//
// Sums run in a fixed order over padded rows.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>

namespace espalier::model {

// Normalizes z[i] + bias[i] to normed[i]. z[i] becomes gain[i] * normed[i] (without the shift).
// Returns 1 / sqrt(variance + epsilon). The padding is zero afterwards. REQUIRES: all aligned,
// `size` (with padding) a multiple of kPadding, the padding of `bias` and `gain` zero; 0 < width <=
// size.
template <typename T>
T NormRow(const T* bias, const T* gain, int64_t width, int64_t size, T* z, T* normed);

// Converts delta[i] from the derivative of the loss by gain[i] * normed[i] + shift[i] to the
// derivative by z[i]. `inverse` is the result of NormRow. REQUIRES: those of NormRow; the padding
// of delta is zero.
template <typename T>
void NormBackRow(const T* gain, const T* normed, T inverse, int64_t width, int64_t size, T* delta);

}  // namespace espalier::model
