#include "src/model/activation.h"

#include "src/base/aligned.h"
#include "src/model/vector_math.h"

namespace espalier::model {
namespace {

constexpr double kLeakySlope = 0.01;
constexpr double kSqrtHalf = 0.70710678118654752440;
constexpr double kInverseSqrtTwoPi = 0.39894228040143267794;

// Smooth activations work in pieces of kPadding elements, so that temporaries stay in registers and
// L1.
template <typename T>
struct Piece {
  alignas(kBufferAlignment) T v[kPadding];
};

template <typename T>
void EluPiece(T* z, T* d) {
  Piece<T> e;
  Exp(z, e.v, kPadding);
  for (int64_t i = 0; i < kPadding; ++i) {
    const T x = z[i];
    z[i] = x > 0 ? x : e.v[i] - T{1};
    d[i] = x > 0 ? T{1} : e.v[i];
  }
}

template <typename T>
void SiluPiece(T* z, T* d) {
  Piece<T> s;
  Sigmoid(z, s.v, kPadding);
  for (int64_t i = 0; i < kPadding; ++i) {
    const T x = z[i], y = x * s.v[i];
    z[i] = y;
    d[i] = s.v[i] + y * (T{1} - s.v[i]);
  }
}

template <typename T>
void GeluPiece(T* z, T* d) {
  Piece<T> a, p;
  for (int64_t i = 0; i < kPadding; ++i) {
    a.v[i] = z[i] * T(kSqrtHalf);
    p.v[i] = z[i] * z[i] * T(-0.5);
  }
  Erf(a.v, a.v, kPadding);
  Exp(p.v, p.v, kPadding);
  for (int64_t i = 0; i < kPadding; ++i) {
    const T x = z[i], phi = T(0.5) * (T{1} + a.v[i]);
    z[i] = x * phi;
    d[i] = phi + x * (p.v[i] * T(kInverseSqrtTwoPi));
  }
}

template <typename T>
void TanhPiece(T* z, T* d) {
  Tanh(z, z, kPadding);
  for (int64_t i = 0; i < kPadding; ++i) d[i] = T{1} - z[i] * z[i];
}

template <typename T>
void SigmoidPiece(T* z, T* d) {
  Sigmoid(z, z, kPadding);
  for (int64_t i = 0; i < kPadding; ++i) d[i] = z[i] * (T{1} - z[i]);
}

template <typename T>
void LeakyPiece(T* z, T* d) {
  for (int64_t i = 0; i < kPadding; ++i) {
    d[i] = z[i] > 0 ? T{1} : T(kLeakySlope);
    z[i] *= d[i];
  }
}

template <typename T, typename F>
void ForPieces(T* z, T* d, int64_t size, F piece) {
  for (int64_t i = 0; i < size; i += kPadding) piece(z + i, d + i);
}

// A NaN remains NaN, so that the loss shows it.
template <typename T>
void ReluRow(const T* bias, T* z, T* d, int64_t size) {
  for (int64_t i = 0; i < size; ++i) {
    const T x = z[i] + bias[i];
    z[i] = x < 0 ? T{0} : x;
  }
  for (int64_t i = 0; d != nullptr && i < size; ++i) d[i] = z[i] > 0 ? T{1} : T{0};
}

}  // namespace

bool StoresDerivative(spec::Activation activation, double dropout, bool residual) {
  if (activation == spec::Activation::kRelu) return residual;
  return activation != spec::Activation::kIdentity || dropout > 0;
}

template <typename T>
void ActivateRow(spec::Activation activation, const T* bias, T* z, T* derivative, int64_t size) {
  if (activation == spec::Activation::kRelu) return ReluRow(bias, z, derivative, size);
  for (int64_t i = 0; i < size; ++i) z[i] += bias[i];
  switch (activation) {
    case spec::Activation::kRelu:
      return;
    case spec::Activation::kIdentity:
      for (int64_t i = 0; derivative != nullptr && i < size; ++i) derivative[i] = 1;
      return;
    case spec::Activation::kTanh:
      return ForPieces(z, derivative, size, TanhPiece<T>);
    case spec::Activation::kSigmoid:
      return ForPieces(z, derivative, size, SigmoidPiece<T>);
    case spec::Activation::kLeakyRelu:
      return ForPieces(z, derivative, size, LeakyPiece<T>);
    case spec::Activation::kElu:
      return ForPieces(z, derivative, size, EluPiece<T>);
    case spec::Activation::kGelu:
      return ForPieces(z, derivative, size, GeluPiece<T>);
    case spec::Activation::kSilu:
      return ForPieces(z, derivative, size, SiluPiece<T>);
  }
}

template <typename T>
void BackRow(spec::Activation kind, const T* activation, const T* derivative, T scale, T* delta,
             int64_t size) {
  if (derivative != nullptr) {
    for (int64_t i = 0; i < size; ++i) delta[i] *= derivative[i];
  } else if (kind == spec::Activation::kRelu) {
    for (int64_t i = 0; i < size; ++i) {
      const T scaled = delta[i] * scale;
      delta[i] = activation[i] > 0 ? scaled : T{0};
    }
  }
}

#define ESPALIER_INSTANTIATE(T)                                              \
  template void ActivateRow<T>(spec::Activation, const T*, T*, T*, int64_t); \
  template void BackRow<T>(spec::Activation, const T*, const T*, T, T*, int64_t);
ESPALIER_INSTANTIATE(float)
ESPALIER_INSTANTIATE(double)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::model
