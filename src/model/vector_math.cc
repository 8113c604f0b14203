#include "src/model/vector_math.h"

#include <Eigen/Core>
#include <algorithm>
#include <type_traits>

#include "src/base/aligned.h"

namespace espalier::model {
namespace {

template <typename T>
using Values = Eigen::Array<T, Eigen::Dynamic, 1>;
template <typename T>
using ConstView = Eigen::Map<const Values<T>, Eigen::Aligned64>;
template <typename T>
using View = Eigen::Map<Values<T>, Eigen::Aligned64>;

// One piece of a buffer. Temporaries of this fixed size stay on the stack, in packets.
template <typename T>
using Packet = Eigen::Array<T, kPadding, 1>;
template <typename T>
using PacketIn = Eigen::Map<const Packet<T>, Eigen::Aligned64>;
template <typename T>
using PacketOut = Eigen::Map<Packet<T>, Eigen::Aligned64>;

// Runs `f` (an expression of a piece) over a padded buffer, piece by piece.
template <typename T, typename F>
void ForPackets(const T* in, T* out, int64_t size, F f) {
  for (int64_t i = 0; i < size; i += kPadding) {
    const Packet<T> x = PacketIn<T>(in + i);
    PacketOut<T>(out + i) = f(x);
  }
}

// Evaluates a polynomial by Horner's scheme, highest power first.
template <typename T, size_t n>
Packet<T> Polynomial(const Packet<T>& x, const double (&c)[n]) {
  Packet<T> y = Packet<T>::Constant(static_cast<T>(c[0]));
  for (size_t i = 1; i < n; ++i) y = y * x + static_cast<T>(c[i]);
  return y;
}

constexpr double kTanhP[] = {-9.64399179425052238628e-1, -9.92877231001918586564e1,
                             -1.61468768441708447952e3};
constexpr double kTanhQ[] = {1.0, 1.12811678491632931402e2, 2.23548839060100448583e3,
                             4.84406305325125486048e3};

constexpr double kErfT[] = {9.60497373987051638749e0, 9.00260197203842689217e1,
                            2.23200534594684319226e3, 7.00332514112805075473e3,
                            5.55923013010394962768e4};
constexpr double kErfU[] = {1.0,
                            3.35617141647503099647e1,
                            5.21357949780152679795e2,
                            4.59432382970980127987e3,
                            2.26290000613890934246e4,
                            4.92673942608635921086e4};
constexpr double kErfcP[] = {
    2.46196981473530512524e-10, 5.64189564831068821977e-1, 7.46321056442269912687e0,
    4.86371970985681366614e1,   1.96520832956077098242e2,  5.26445194995477358631e2,
    9.34528527171957607540e2,   1.02755188689515710272e3,  5.57535335369399327526e2};
constexpr double kErfcQ[] = {1.0,
                             1.32281951154744992508e1,
                             8.67072140885989742329e1,
                             3.54937778887819891062e2,
                             9.75708501743205489753e2,
                             1.82390916687909736289e3,
                             2.24633760818710981792e3,
                             1.65666309194161350182e3,
                             5.57535340817727675546e2};
constexpr double kErfIsOne = 6;  // erf(6) rounds to 1 in double

}  // namespace

template <typename T>
void Exp(const T* in, T* out, int64_t size) {
  View<T>(out, size) = ConstView<T>(in, size).exp();
}

template <typename T>
void Log(const T* in, T* out, int64_t size) {
  View<T>(out, size) = ConstView<T>(in, size).log();
}

template <typename T>
void Log1p(const T* in, T* out, int64_t size) {
  // W. Kahan: the quotient cancels the error of 1 + x. If 1 + x is 1, log(1 + x) is x.
  View<T>(out, size) = ConstView<T>(in, size) + T{1};
  Log(out, out, size);
  for (int64_t i = 0; i < size; ++i) {
    const T rounded = (in[i] + T{1}) - T{1};
    out[i] = rounded == 0 ? in[i] : out[i] * (in[i] / (rounded == 0 ? T{1} : rounded));
  }
}

template <>
void Tanh<float>(const float* in, float* out, int64_t size) {
  View<float>(out, size) = ConstView<float>(in, size).tanh();
}

template <>
void Tanh<double>(const double* in, double* out, int64_t size) {
  ForPackets<double>(in, out, size, [](const Packet<double>& x) -> Packet<double> {
    const Packet<double> a = x.abs(), s = x * x;
    const Packet<double> small = x + x * s * (Polynomial(s, kTanhP) / Polynomial(s, kTanhQ));
    const Packet<double> e = (a + a).exp();
    const Packet<double> large = 1.0 - 2.0 / (e + 1.0);
    return (a < 0.625).select(small, (x < 0).select(-large, large));
  });
}

template <typename T>
void Erf(const T* in, T* out, int64_t size) {
  ForPackets<T>(in, out, size, [](const Packet<T>& x) -> Packet<T> {
    const Packet<T> a = (x.abs() < T(kErfIsOne)).select(x.abs(), T(kErfIsOne)), s = a * a;
    const Packet<T> small = x * (Polynomial(s, kErfT) / Polynomial(s, kErfU));
    const Packet<T> e = (-s).exp();
    const Packet<T> large = T{1} - e * (Polynomial(a, kErfcP) / Polynomial(a, kErfcQ));
    return (a < T{1}).select(small, (x < T{0}).select(-large, large));
  });
}

template <typename T>
void Sigmoid(const T* in, T* out, int64_t size) {
  View<T>(out, size) = (-ConstView<T>(in, size)).exp();
  for (int64_t i = 0; i < size; ++i) out[i] = T{1} / (T{1} + out[i]);
}

template <typename T>
bool AllFinite(const T* values, int64_t size) {
  // 0 * x is 0 for finite x, otherwise NaN. Separate running sums keep the units busy.
  constexpr int64_t kLanes = 64 / sizeof(T);
  Eigen::Array<T, kLanes, 1> sums = Eigen::Array<T, kLanes, 1>::Zero();
  int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    sums += Eigen::Map<const Eigen::Array<T, kLanes, 1>>(values + i) * T{0};
  }
  T sum = sums.sum();
  for (; i < size; ++i) sum += values[i] * T{0};
  return sum == 0;
}

double CosQuarterTurn(double t) {
  // cos(pi t / 2) = sin(pi (1 - t) / 2), by the sine's series up to y^23 on [0, pi/2].
  const double y = 1.57079632679489661923 * (1.0 - t), s = y * y;
  double sum = 0;
  for (int n = 22; n >= 2; n -= 2) sum = (1.0 + sum) * (-s / (n * (n + 1.0)));
  return y + y * sum;
}

double IntegerPower(double base, int64_t n) {
  double power = 1;
  for (; n > 0; n >>= 1, base *= base) {
    if (n & 1) power *= base;
  }
  return power;
}

double Power(double base, double x) {
  const auto whole = static_cast<int64_t>(x);
  if (static_cast<double>(whole) == x) return IntegerPower(base, whole);
  if (!(base > 0)) return 0;
  alignas(kBufferAlignment) double y[kPadding];
  std::fill(y, y + kPadding, base);
  Log(y, y, kPadding);
  for (double& v : y) v *= x;
  Exp(y, y, kPadding);
  return y[0];
}

#define ESPALIER_INSTANTIATE(T)                    \
  template void Exp<T>(const T*, T*, int64_t);     \
  template void Log<T>(const T*, T*, int64_t);     \
  template void Log1p<T>(const T*, T*, int64_t);   \
  template void Erf<T>(const T*, T*, int64_t);     \
  template void Sigmoid<T>(const T*, T*, int64_t); \
  template bool AllFinite<T>(const T*, int64_t);
ESPALIER_INSTANTIATE(float)
ESPALIER_INSTANTIATE(double)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::model
