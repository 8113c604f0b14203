#include "src/model/arithmetic.h"

#include <cblas.h>
#include <immintrin.h>

#include <cmath>
#include <sstream>
#include <string_view>
#include <vector>

#include "src/base/aligned.h"
#include "src/base/checksum.h"
#include "src/base/random.h"
#include "src/model/blas.h"
#include "src/model/dropout.h"
#include "src/model/optimizer.h"
#include "src/model/sparse_layer.h"
#include "src/model/vector_math.h"

namespace espalier::model {
namespace {

constexpr const char* kArithmeticVersion = "2";  // increased if our own code changes the bits

// All traps masked, flush-to-zero, denormals-are-zero, round to nearest.
constexpr unsigned kControlWord = 0x1F80 | 0x8000 | 0x0040;

// Runs a scope with the control word of a compute thread.
class ComputeScope {
 public:
  ComputeScope() : before_(_mm_getcsr()) { PrepareComputeThread(); }
  ~ComputeScope() { _mm_setcsr(before_); }
  ComputeScope(const ComputeScope&) = delete;
  ComputeScope& operator=(const ComputeScope&) = delete;

 private:
  unsigned before_;
};

template <typename T>
AlignedVector<T> Numbers(int64_t size, uint64_t seed, double spread) {
  AlignedVector<T> numbers(size);
  for (int64_t i = 0; i < size; ++i) {
    const uint64_t bits = Mix64(seed * 1000003 + static_cast<uint64_t>(i));
    numbers[i] = static_cast<T>(spread * (2 * UnitDouble(bits) - 1));
  }
  return numbers;
}

template <typename T>
void Add(Sha256& hash, const AlignedVector<T>& values) {
  hash.Update(values.data(), values.size() * sizeof(T));
}

// Computes products in the three forms of a pass. Returns an error if one of them is not a product
// at all.
template <typename T>
Status TestProducts(Sha256& hash) {
  constexpr int64_t kShapes[][3] = {{64, 256, 784}, {64, 10, 256}, {1, 3, 5},
                                    {37, 129, 61},  {128, 48, 64}, {96, 784, 64}};
  for (const auto& [m, n, k] : kShapes) {
    const auto a = Numbers<T>(m * k, 1, 1), b = Numbers<T>(k * n, 2, 1);
    for (int form = 0; form < 3; ++form) {
      const bool left = form == 1, right = form == 2;
      auto c = Numbers<T>(m * n, 3, 1);
      Multiply<T>(m, n, k, {a.data(), left ? m : k, left}, {b.data(), right ? k : n, right},
                  form == 1, c.data(), n);
      double expected = form == 1 ? static_cast<double>(Numbers<T>(1, 3, 1)[0]) : 0;
      for (int64_t i = 0; i < k; ++i) {
        expected +=
            static_cast<double>(a[left ? i * m : i]) * static_cast<double>(b[right ? i : i * n]);
      }
      const double error = std::fabs(static_cast<double>(c[0]) - expected);
      if (!(error < 1e-3)) {
        return Internal("OpenBLAS kernel " + BlasKernel() + " computes a wrong product of " +
                        std::to_string(m) + " x " + std::to_string(k) + " by " + std::to_string(k) +
                        " x " + std::to_string(n) + ": off by " + std::to_string(error) +
                        "; reinstall OpenBLAS, or suspect this machine's processor or memory");
      }
      Add(hash, c);
    }
  }
  return {};
}

// Computes the first layer over sparse rows, with a base and without. The sizes are not multiples
// of any block size of its sums.
template <typename T>
void TestSparse(Sha256& hash) {
  constexpr int64_t kRows = 11, kIn = 101, kOut = 7;
  const auto weight = Numbers<T>(kOut * kIn, 9, 1), deltas = Numbers<T>(kRows * kOut, 10, 1);
  const auto base = Numbers<T>(kIn, 11, 1);
  spec::SparseRows<T> rows;
  for (int64_t r = 0; r < kRows; ++r) {
    for (int64_t i = r; i < kIn; i += 3 * r + 1) {  // all columns of the first row
      rows.columns.push_back(static_cast<int32_t>(i));
      rows.values.push_back(base[(i * 7 + r) % kIn]);
    }
    rows.ends.push_back(static_cast<int64_t>(rows.columns.size()));
  }
  AlignedVector<T> sums(kRows * kOut), gradient(kOut * kIn);
  for (const bool shifted : {false, true}) {
    if (shifted) rows.base = {base.data(), base.size()};
    MultiplySparse<T>(rows, kRows, weight.data(), kIn, kOut, sums.data(), kOut);
    SparseGradient<T>(rows, kRows, deltas.data(), kOut, kOut, kIn, gradient.data());
    Add(hash, sums);
    Add(hash, gradient);
  }
}

template <typename T>
void TestFunctions(Sha256& hash) {
  constexpr int64_t kCount = 512;
  const auto x = Numbers<T>(kCount, 4, 20);
  AlignedVector<T> y(kCount);
  for (auto function : {Exp<T>, Tanh<T>, Erf<T>, Sigmoid<T>}) {
    function(x.data(), y.data(), kCount);
    Add(hash, y);
  }
  Log(y.data(), y.data(), kCount);
  Add(hash, y);
  DropoutMask({7, 11, 13}, 3, 0.3).Apply<T>(17, y.data(), nullptr, kCount);
  Add(hash, y);
}

template <typename T>
void TestAdam(Sha256& hash) {
  constexpr int64_t kIn = 33, kOut = 7, kCount = kIn * kOut + kOut;
  NetworkShape shape;
  shape.layers.push_back({kIn, kOut});
  auto parameters = Numbers<T>(kCount, 5, 1), first = Numbers<T>(kCount, 6, 0.1),
       second = Numbers<T>(kCount, 7, 0.1);
  const auto gradient = Numbers<T>(kCount, 8, 1);
  for (T& v : second) v = v * v;
  spec::TrainSpec train;
  train.weight_decay = 0.01;
  const plan::Chunk chunk{0, 0, kOut, true, 0, kCount};
  T* slots[] = {first.data(), second.data()};
  ApplyUpdate<T>(train, shape, chunk, parameters.data(), slots, gradient.data(), 1.0 / 3, 0.75,
                 1e-3, 3);
  for (const auto* values : {&parameters, &first, &second}) Add(hash, *values);
  const double norm = SquaredNorm<T>(chunk, gradient.data(), 0.5);
  hash.Update(&norm, sizeof(norm));
}

template <typename T>
Status SelfTest(Sha256& hash) {
  ESPALIER_RETURN_IF_ERROR(TestProducts<T>(hash));
  TestSparse<T>(hash);
  TestFunctions<T>(hash);
  TestAdam<T>(hash);
  return {};
}

// Returns "OpenBLAS 0.3.21" from a text like "OpenBLAS 0.3.21 DYNAMIC_ARCH NO_AFFINITY Haswell
// ...".
std::string BlasVersion() {
  std::istringstream words{openblas_get_config()};
  std::string name, version;
  words >> name >> version;
  return name + " " + version;
}

}  // namespace

void InitArithmetic() { openblas_set_num_threads(1); }

void PrepareComputeThread() { _mm_setcsr(kControlWord); }

std::string BlasKernel() { return openblas_get_corename(); }

Status VerifyKernel(const std::string& wanted) {
  const std::string found = BlasKernel();
  if (found == wanted) return {};
  return FailedPrecondition(
      "OpenBLAS runs its kernel " + found + ", expected " + wanted +
      ": kernels differ in their last bits, so all members of a job run the same one. Start with "
      "OPENBLAS_CORETYPE=" +
      wanted + " in the environment (OpenBLAS ignores names it does not know: check the spelling)");
}

Result<std::string> ArithmeticId() {
  InitArithmetic();
  const ComputeScope scope;
  Sha256 hash;
  ESPALIER_RETURN_IF_ERROR(SelfTest<float>(hash));
  ESPALIER_RETURN_IF_ERROR(SelfTest<double>(hash));
  return "espalier " + std::string(kArithmeticVersion) + "; " + BlasVersion() + " " + BlasKernel() +
         "; self-test " + hash.FinishHex().substr(0, 16);
}

}  // namespace espalier::model
