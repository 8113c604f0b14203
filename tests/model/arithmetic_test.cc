#include "src/model/arithmetic.h"

#include <immintrin.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <thread>

#include "src/base/aligned.h"
#include "src/model/vector_math.h"
#include "tests/model/support.h"

namespace espalier::model {
namespace {

// Returns the largest error of `function`, in units of epsilon * max(|expected|, floor).
template <typename T, typename Function, typename Reference>
double WorstError(Function function, Reference reference, double low, double high, double floor) {
  constexpr int64_t kCount = 1 << 14;
  AlignedVector<T> x(kCount), y(kCount);
  for (int64_t i = 0; i < kCount; ++i) {
    x[i] = static_cast<T>(low + (high - low) * (static_cast<double>(i) + 0.5) / kCount);
  }
  function(x.data(), y.data(), kCount);
  double worst = 0;
  for (int64_t i = 0; i < kCount; ++i) {
    const auto expected = static_cast<double>(reference(static_cast<long double>(x[i])));
    const double unit = std::numeric_limits<T>::epsilon() * std::max(std::fabs(expected), floor);
    worst = std::max(worst, std::fabs(static_cast<double>(y[i]) - expected) / unit);
  }
  return worst;
}

template <typename T>
void CheckFunctions(double exp_range) {
  const auto sigmoid = [](long double x) { return 1 / (1 + std::exp(-x)); };
  const auto exp = [](long double x) { return std::exp(x); };
  const auto log = [](long double x) { return std::log(x); };
  const auto log1p = [](long double x) { return std::log1p(x); };
  const auto tanh = [](long double x) { return std::tanh(x); };
  const auto erf = [](long double x) { return std::erf(x); };
  CHECK(WorstError<T>(Exp<T>, exp, -exp_range, exp_range, 0) < 2);
  CHECK(WorstError<T>(Exp<T>, exp, -1e-3, 1e-3, 0) < 2);
  CHECK(WorstError<T>(Log<T>, log, 1e-6, 3, 0.1) < 3);
  CHECK(WorstError<T>(Log<T>, log, 1, 1e6, 0) < 3);
  CHECK(WorstError<T>(Log1p<T>, log1p, 0, 1, 0) < 4);
  CHECK(WorstError<T>(Log1p<T>, log1p, 0, 1e-9, 0) < 4);
  CHECK(WorstError<T>(Tanh<T>, tanh, -20, 20, 0) < 5);
  CHECK(WorstError<T>(Tanh<T>, tanh, -1, 1, 0) < 5);
  CHECK(WorstError<T>(Tanh<T>, tanh, -1e-3, 1e-3, 0) < 5);
  CHECK(WorstError<T>(Erf<T>, erf, -7, 7, 0) < 4);
  CHECK(WorstError<T>(Erf<T>, erf, -1e-3, 1e-3, 0) < 4);
  CHECK(WorstError<T>(Sigmoid<T>, sigmoid, -30, 30, 0) < 4);
}

TEST_CASE("exp, log, tanh, erf and sigmoid are accurate to a few units") {
  SECTION("float") { CheckFunctions<float>(80); }
  SECTION("double") { CheckFunctions<double>(700); }
}

TEST_CASE("a function's bits do not depend on the place in a buffer") {
  constexpr int64_t kCount = 256;
  AlignedVector<double> x(kCount), y(kCount);
  for (auto function : {Exp<double>, Tanh<double>, Erf<double>, Sigmoid<double>}) {
    for (int64_t i = 0; i < kCount; ++i) x[i] = TestNumber(1, i % 7) * 3;
    function(x.data(), y.data(), kCount);
    for (int64_t i = 7; i < kCount; ++i) CHECK(y[i] == y[i - 7]);
  }
}

TEST_CASE("AllFinite finds a NaN or an infinity anywhere") {
  for (int64_t size : {1, 7, 16, 100}) {
    std::vector<float> values(size, 1e38f);
    CHECK(AllFinite(values.data(), size));
    for (int64_t i = 0; i < size; ++i) {
      for (float bad : {std::numeric_limits<float>::infinity(), std::nanf("")}) {
        values[i] = bad;
        CHECK_FALSE(AllFinite(values.data(), size));
      }
      values[i] = 0;
    }
  }
  CHECK(AllFinite<double>(nullptr, 0));
}

TEST_CASE("powers and the cosine agree with the standard library") {
  for (int64_t n : {0, 1, 2, 7, 1000, 123457}) {
    CHECK(IntegerPower(0.999, n) == Approx(std::pow(0.999, n)).epsilon(1e-10).margin(0));
  }
  for (int i = 0; i <= 1000; ++i) {
    const double t = i / 1000.0;
    CHECK(CosQuarterTurn(t) == Approx(std::cos(M_PI_2 * t)).epsilon(1e-15).margin(2e-16));
  }
}

TEST_CASE("a compute thread flushes subnormals and rounds to nearest") {
  unsigned control = 0;
  volatile float tiny = std::numeric_limits<float>::min();
  float product = 1;
  std::thread([&] {
    _mm_setcsr(_mm_getcsr() | _MM_ROUND_UP);
    PrepareComputeThread();
    control = _mm_getcsr();
    product = tiny * 0.5f;
  }).join();
  CHECK((control & 0xFFC0) == 0x9FC0);
  CHECK(product == 0);
}

TEST_CASE("the arithmetic id names the kernel, equal on every thread") {
  const unsigned control = _mm_getcsr();
  const std::string id = ArithmeticId().value();
  CHECK(_mm_getcsr() == control);
  CHECK(id.find("espalier 2; OpenBLAS 0.") == 0);  // version 1 had no sparse rows
  CHECK(id.find(BlasKernel()) != std::string::npos);
  std::string other;
  std::thread([&] {
    _mm_setcsr(0x1F80);
    other = ArithmeticId().value();
  }).join();
  CHECK(other == id);
}

TEST_CASE("a kernel that is not the default is refused with the fix") {
  CHECK(VerifyKernel().ok());
  const Status status = VerifyKernel("Zen");
  CHECK(status.code() == StatusCode::kFailedPrecondition);
  CHECK(status.message().find("runs its kernel Haswell, expected Zen") != std::string::npos);
  CHECK(status.message().find("OPENBLAS_CORETYPE=Zen") != std::string::npos);
}

}  // namespace
}  // namespace espalier::model
