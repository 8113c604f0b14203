// Transcendental functions over whole buffers, with the same bits on every x86-64-v3 processor.
// They use Eigen's packets or our own polynomials, never libm, which chooses its code by processor.
//
// All take float or double. Buffers are 64-byte aligned and `size` is a multiple of kPadding, so
// that the same packet code handles every element. `in` and `out` may be the same buffer.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>

namespace espalier::model {

// Elements. Every row of every padded buffer is a multiple of this.
inline constexpr int64_t kPadding = 32;

constexpr int64_t Padded(int64_t n) { return (n + kPadding - 1) / kPadding * kPadding; }

// Computes exp, within 2 ulp over the range of finite results.
template <typename T>
void Exp(const T* in, T* out, int64_t size);
// Computes the natural logarithm. REQUIRES: in > 0, and normal for an exact result.
template <typename T>
void Log(const T* in, T* out, int64_t size);
// Computes log(1 + x) for 0 <= x <= 1, exact for small x. `in` and `out` must differ.
template <typename T>
void Log1p(const T* in, T* out, int64_t size);
// Computes tanh. Double: S. L. Moshier's Cephes (rational below 0.625, by exp above). Float:
// Eigen's rational.
template <typename T>
void Tanh(const T* in, T* out, int64_t size);
// Computes erf by S. L. Moshier's Cephes (ndtr.c): rational below 1, 1 - erfc above.
template <typename T>
void Erf(const T* in, T* out, int64_t size);
// Computes 1 / (1 + exp(-x)).
template <typename T>
void Sigmoid(const T* in, T* out, int64_t size);

// Returns whether all `size` elements are finite. Needs no alignment or padding.
template <typename T>
bool AllFinite(const T* values, int64_t size);

// Returns cos(pi * t / 2) for 0 <= t <= 1, to 1e-15.
double CosQuarterTurn(double t);
// Returns base^n by repeated squaring. REQUIRES: n >= 0.
double IntegerPower(double base, int64_t n);
// Returns base^x, by IntegerPower if x is an integer, otherwise by Exp and Log. REQUIRES: base >=
// 0, 0 <= x < 1e15.
double Power(double base, double x);

}  // namespace espalier::model
