#include "src/model/accumulation.h"

#include <algorithm>

#include "src/base/aligned.h"
#include "src/base/random.h"
#include "src/model/blas.h"

namespace espalier::model {
namespace {

// Returns numbers of mixed size and sign.
template <typename T>
AlignedVector<T> TestNumbers(int64_t size, uint64_t seed) {
  AlignedVector<T> numbers(size);
  for (int64_t i = 0; i < size; ++i) {
    numbers[i] = static_cast<T>(2 * UnitDouble(Mix64(seed + static_cast<uint64_t>(i))) - 1);
  }
  return numbers;
}

}  // namespace

template <typename T>
bool AccumulatesExactly(int64_t in, int64_t out, int64_t rows) {
  if (in == 0) return true;  // no multiplication takes place
  const int64_t m = out < 64 ? out : 32 + out % 32;
  const int64_t n = in < 256 ? in : 192 + in % 64;
  const auto a = TestNumbers<T>(rows * m, 1), b = TestNumbers<T>(rows * n, 2);
  auto together = TestNumbers<T>(m * n, 3), apart = together;
  AlignedVector<T> product(m * n);
  const Matrix<T> left{a.data(), m, true}, right{b.data(), n, false};
  Multiply(m, n, rows, left, right, true, together.data(), n);
  Multiply(m, n, rows, left, right, false, product.data(), n);
  for (int64_t i = 0; i < m * n; ++i) apart[i] += product[i];
  return std::equal(apart.begin(), apart.end(), together.begin());
}

template bool AccumulatesExactly<float>(int64_t, int64_t, int64_t);
template bool AccumulatesExactly<double>(int64_t, int64_t, int64_t);

}  // namespace espalier::model
