// The first layer over sparse rows.
#include <catch2/catch.hpp>
#include <cstring>

#include "src/model/optimizer.h"
#include "tests/model/support.h"

namespace espalier::model {
namespace {

constexpr int64_t kInputs = 37;  // not a multiple of any block size of sums

NetworkShape Shape(bool sparse, std::vector<int64_t> hidden, bool norm = false,
                   std::vector<spec::CodedInput> coded = {}) {
  spec::ModelSpec model;
  model.hidden = std::move(hidden);
  model.activation = {spec::Activation::kTanh};
  model.layer_norm = norm;
  spec::InputShape inputs(kInputs);
  inputs.coded = std::move(coded);
  NetworkShape shape = MakeShape(model, inputs, 3);
  shape.sparse = sparse;
  return shape;
}

// Fills both passes with the same rows. Some rows have no entry and few have many. The passes keep
// a pointer to `base`.
template <typename T>
void FillSparse(LeafPass<T>& sparse, LeafPass<T>& dense, const std::vector<T>& base, int64_t rows,
                uint64_t seed) {
  spec::SparseRows<T>& to = sparse.sparse();
  to.Clear();
  to.base = base;
  for (int64_t r = 0; r < rows; ++r) {
    const uint64_t of = r % 5 == 0 ? 1'000'000 : r % 11 == 0 ? 2 : 9;
    for (int64_t i = 0; i < kInputs; ++i) {
      T& input = dense.inputs()[r * kInputs + i];
      input = base.empty() ? T{0} : base[static_cast<size_t>(i)];
      if (Mix64(seed * 31 + static_cast<uint64_t>(r * kInputs + i)) % of != 0) continue;
      to.columns.push_back(static_cast<int32_t>(i));
      to.values.push_back(static_cast<T>(TestNumber(seed, static_cast<uint64_t>(r * kInputs + i))));
      input += to.values.back();
    }
    to.ends.push_back(static_cast<int64_t>(to.columns.size()));
    const auto& tables = sparse.shape().tables;
    for (size_t k = 0; k < tables.size(); ++k) {  // some are -1
      const auto at = static_cast<size_t>(r) * tables.size() + k;
      const auto codes = static_cast<uint64_t>(tables[k].codes);
      sparse.codes()[at] = static_cast<int32_t>(Mix64(seed * 131 + at) % (codes + 1)) - 1;
      if (!dense.shape().tables.empty()) dense.codes()[at] = sparse.codes()[at];
    }
    sparse.weights()[r] = dense.weights()[r] = static_cast<T>(0.5 + 0.01 * static_cast<double>(r));
    sparse.labels()[r] = dense.labels()[r] = static_cast<int32_t>(Mix64(seed ^ (77 + r)) % 3);
  }
}

template <typename T>
void FillSparse(LeafPass<T>& sparse, LeafPass<T>& dense, std::vector<T>&& base, int64_t rows,
                uint64_t seed) = delete;

template <typename T>
std::vector<T> Base(bool any) {
  std::vector<T> base;
  for (uint64_t i = 0; any && i < kInputs; ++i) base.push_back(static_cast<T>(TestNumber(4, i)));
  return base;
}

TEST_CASE("gradients of a sparse first layer match finite differences") {
  constexpr int64_t kRows = 150;  // two micro-batches
  for (const bool any_base : {false, true}) {
    for (const auto& hidden : std::vector<std::vector<int64_t>>{{6, 4}, {5}, {}}) {
      const NetworkShape shape = Shape(true, hidden, hidden.size() == 1);
      const std::vector<double> base = Base<double>(any_base);
      LeafPass<double> pass(shape, kRows), spelled(Shape(false, hidden), kRows);
      FillSparse(pass, spelled, base, kRows, 3);
      CheckFiniteDifferences(pass, kRows, 1e-6);
    }
  }
}

// One-hot inputs and embeddings. Their order makes a difference.
const std::vector<std::vector<spec::CodedInput>> kCoded = {
    {}, {{5, 0}}, {{4, 3}}, {{6, 2}, {5, 0}, {3, 4}}};

TEST_CASE("gradients next to sparse numbers equal finite differences") {
  constexpr int64_t kRows = 45;
  for (const auto& coded : kCoded) {
    for (const auto& hidden : std::vector<std::vector<int64_t>>{{6, 4}, {5}, {}}) {
      const NetworkShape shape = Shape(true, hidden, hidden.size() == 1, coded);
      const std::vector<double> base = Base<double>(coded.size() != 1);
      LeafPass<double> pass(shape, kRows), spelled(Shape(false, hidden), kRows);
      FillSparse(pass, spelled, base, kRows, 3);
      CheckFiniteDifferences(pass, kRows, 1e-6);
    }
  }
}

template <typename T>
void CheckAgainstDense(double tolerance, const std::vector<spec::CodedInput>& coded) {
  constexpr int64_t kRows = 300;
  for (const bool any_base : {false, true}) {
    const std::vector<T> base = Base<T>(any_base);
    LeafPass<T> sparse(Shape(true, {13, 4}, false, coded), kRows);
    LeafPass<T> dense(Shape(false, {13, 4}, false, coded), kRows);
    FillSparse(sparse, dense, base, kRows, 8);
    const auto parameters = StartOf<T>(sparse.shape(), 2);
    std::vector<T> a(kRows * 3), b(kRows * 3);
    sparse.Predict(parameters.data(), kRows, a.data());
    dense.Predict(parameters.data(), kRows, b.data());
    for (size_t i = 0; i < a.size(); ++i) CHECK(std::abs(a[i] - b[i]) < tolerance);
    CHECK(TrainingTotals(sparse, parameters, kRows)[kTotalLoss] ==
          Approx(TrainingTotals(dense, parameters, kRows)[kTotalLoss]).epsilon(tolerance));
    const auto ga = WholeGradient(sparse), gb = WholeGradient(dense);
    for (size_t i = 0; i < ga.size(); ++i) CHECK(std::abs(ga[i] - gb[i]) < 300 * tolerance);
  }
}

TEST_CASE("a sparse first layer computes what a dense one computes") {
  for (const auto& coded : kCoded) {
    CheckAgainstDense<double>(1e-13, coded);
    CheckAgainstDense<float>(3e-6, coded);
  }
}

TEST_CASE("sums over sparse rows do not depend on chunks or other rows") {
  constexpr int64_t kRows = 150;
  const std::vector<float> base = Base<float>(true);
  const NetworkShape shape = Shape(true, {13, 4}, false, {{5, 0}});
  LeafPass<float> pass(shape, kRows), roomy(shape, 2 * kRows), dense(Shape(false, {13, 4}), 300);
  FillSparse(pass, dense, base, kRows, 8);
  FillSparse(roomy, dense, base, 2 * kRows, 8);
  const auto parameters = StartOf<float>(shape, 2);
  std::vector<float> a(2 * kRows * 3), b(2 * kRows * 3);
  pass.Predict(parameters.data(), kRows, a.data());
  roomy.Predict(parameters.data(), 2 * kRows, b.data());
  CHECK(std::memcmp(a.data(), b.data(), kRows * 3 * sizeof(float)) == 0);
  CHECK(TrainingTotals(pass, parameters, kRows) == TrainingTotals(roomy, parameters, kRows));
  const auto whole = WholeGradient(pass);
  for (const int64_t bytes : {16, 1000, 1 << 20}) {  // first layer only; BLAS depends on chunks
    const auto cut = WholeGradient(roomy, bytes);
    CHECK(std::equal(cut.begin(), cut.begin() + 13 * kInputs, whole.begin()));
  }
}

TEST_CASE("a frozen sparse layer has no gradient, others keep theirs") {
  constexpr int64_t kRows = 150;
  const std::vector<double> base = Base<double>(true);
  NetworkShape frozen = Shape(true, {13, 4});
  LeafPass<double> free(frozen, kRows), dense(Shape(false, {13, 4}), kRows);
  frozen.layers[0].frozen = true;
  LeafPass<double> pass(frozen, kRows);
  FillSparse(pass, dense, base, kRows, 8);
  FillSparse(free, dense, base, kRows, 8);
  const auto parameters = StartOf<double>(frozen, 2);
  CHECK(TrainingTotals(pass, parameters, kRows) == TrainingTotals(free, parameters, kRows));
  const auto gradient = WholeGradient(pass), whole = WholeGradient(free);
  const auto of_first = 13 * kInputs + 13;
  CHECK(
      std::all_of(gradient.begin(), gradient.begin() + of_first, [](double g) { return g == 0; }));
  CHECK(std::equal(gradient.begin() + of_first, gradient.end(), whole.begin() + of_first));
}

TEST_CASE("a frozen layer over sparse numbers freezes all its tables") {
  constexpr int64_t kRows = 150;
  NetworkShape frozen = Shape(true, {13, 4}, false, {{6, 2}, {5, 0}});
  frozen.layers[0].frozen = true;
  LeafPass<double> pass(frozen, kRows), dense(Shape(false, {13, 4}), kRows);
  const std::vector<double> base = Base<double>(true);
  FillSparse(pass, dense, base, kRows, 8);
  TrainingTotals(pass, StartOf<double>(frozen, 2), kRows);
  const auto gradient = WholeGradient(pass);
  for (const plan::Chunk& chunk : ChunksOf<double>(frozen)) {
    const auto begin = gradient.begin() + chunk.offset;
    const bool none = std::all_of(begin, begin + chunk.size, [](double g) { return g == 0; });
    CHECK(none == IsFrozen(frozen, chunk));
  }
}

TEST_CASE("a batch without rows ignores earlier rows") {
  const std::vector<float> base = Base<float>(true);
  const NetworkShape shape = Shape(true, {13, 4});
  LeafPass<float> pass(shape, 20), dense(Shape(false, {13, 4}), 20);
  FillSparse(pass, dense, base, 20, 8);
  const auto parameters = StartOf<float>(shape, 2);
  TrainingTotals(pass, parameters, 20);
  pass.sparse().Clear();
  for (const double total : TrainingTotals(pass, parameters, 0)) CHECK(total == 0);
  for (const float g : WholeGradient(pass)) CHECK(g == 0);
}

TEST_CASE("only gradients of dense layers may be added in place") {
  const NetworkShape shape = Shape(true, {13, 4});
  const LeafPass<float> pass(shape, 10);
  for (const plan::Chunk& chunk : ChunksOf<float>(shape)) {
    CHECK_FALSE((chunk.layer == 0 && pass.AccumulateIsExact(chunk, 10)));
    const LeafPass<float> dense(Shape(false, {13, 4}), 10);
    if (chunk.layer > 0) {
      CHECK(pass.AccumulateIsExact(chunk, 10) == dense.AccumulateIsExact(chunk, 10));
    }
  }
}

}  // namespace
}  // namespace espalier::model
