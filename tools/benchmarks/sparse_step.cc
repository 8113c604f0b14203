// Measures for which share of zeros a first layer over sparse rows is faster than BLAS over all
// numbers: FEATURES-64-2 ReLU, one leaf of 256 rows, forward, backward and all weight gradients,
// one thread, float. Both run in turns. Prints medians as JSON lines, one for each number of
// entries per row. Run it with OPENBLAS_CORETYPE=Haswell.
//
//   sparse_step FEATURES ENTRIES.. [dense]     without `dense`, only the sparse layer
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <vector>

#include "src/base/random.h"
#include "src/model/arithmetic.h"
#include "src/model/leaf_pass.h"

namespace espalier {
namespace {

constexpr int64_t kRows = 256, kHidden = 64, kClasses = 2;
constexpr int kRounds = 15;

double NowMs() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

class Step {
 public:
  Step(int64_t features, bool sparse, bool shifted) {
    spec::ModelSpec model;
    model.hidden = {kHidden};
    model::NetworkShape shape = model::MakeNetworkShape(model, features, kClasses).value();
    shape.sparse = sparse;
    const std::vector<plan::LayerDims> dims = model::Dims(shape);
    chunks_ = plan::MakeChunks(dims, sizeof(float));
    parameters_.resize(model::ParameterCount(shape));
    gradient_.resize(parameters_.size());
    model::InitialParameters<float>(shape, 1, parameters_.data());
    pass_ = std::make_unique<model::LeafPass<float>>(shape, kRows);
    if (shifted) base_.assign(static_cast<size_t>(features), -0.1F);
  }

  void Fill(int64_t entries) {
    const int64_t features = pass_->shape().inputs();
    spec::SparseRows<float>& rows = pass_->sparse();
    rows.Clear();
    rows.base = base_;
    std::vector<int32_t> columns;
    for (int64_t r = 0; r < kRows; ++r) {
      columns.clear();
      for (int64_t e = 0; e < entries; ++e) {
        const uint64_t bits = Mix64(static_cast<uint64_t>(r * 1'000'003 + e));
        columns.push_back(static_cast<int32_t>(bits % static_cast<uint64_t>(features)));
      }
      std::sort(columns.begin(), columns.end());
      columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
      rows.columns.insert(rows.columns.end(), columns.begin(), columns.end());
      rows.values.resize(rows.columns.size(), 0.5F);
      rows.ends.push_back(static_cast<int64_t>(rows.columns.size()));
      pass_->labels()[r] = static_cast<int32_t>(r % kClasses);
      pass_->weights()[r] = 1;
      if (pass_->shape().sparse) continue;
      std::fill_n(pass_->inputs() + r * features, features, 0.0F);
      for (const int32_t column : columns) pass_->inputs()[r * features + column] = 0.5F;
    }
  }

  double Milliseconds() {
    std::vector<double> totals(model::TotalsSize(pass_->shape(), model::TotalsKind::kTraining));
    const double begin = NowMs();
    pass_->ForwardBackward(parameters_.data(), kRows, {}, totals.data());
    for (const plan::Chunk& c : chunks_)
      pass_->WeightGradient(c, gradient_.data() + c.offset, false);
    return NowMs() - begin;
  }

 private:
  std::vector<plan::Chunk> chunks_;
  std::vector<float> parameters_, gradient_, base_;
  std::unique_ptr<model::LeafPass<float>> pass_;
};

double Median(std::vector<double>* values) {
  std::sort(values->begin(), values->end());
  return (*values)[values->size() / 2];
}

void Measure(int64_t features, int64_t entries, bool with_dense) {
  Step sparse(features, true, false), shifted(features, true, true);
  std::unique_ptr<Step> dense;
  if (with_dense) dense = std::make_unique<Step>(features, false, false);
  for (Step* step : {&sparse, &shifted, dense.get()}) {
    if (step != nullptr) step->Fill(entries);
  }
  std::vector<double> sparse_ms, shifted_ms, dense_ms = {};
  for (int i = 0; i <= kRounds; ++i) {
    const double a = sparse.Milliseconds(), b = shifted.Milliseconds();
    const double c = dense == nullptr ? 0 : dense->Milliseconds();
    if (i == 0) continue;
    sparse_ms.push_back(a), shifted_ms.push_back(b), dense_ms.push_back(c);
  }
  std::printf(
      "{\"bench\":\"sparse_step\",\"features\":%lld,\"entries\":%lld,\"rows\":%lld,"
      "\"sparse_cpu_ms\":%.3f,\"shifted_cpu_ms\":%.3f,\"dense_cpu_ms\":%.3f}\n",
      static_cast<long long>(features), static_cast<long long>(entries),
      static_cast<long long>(kRows), Median(&sparse_ms), Median(&shifted_ms), Median(&dense_ms));
}

}  // namespace
}  // namespace espalier

int main(int argc, char** argv) {
  const bool dense = argc > 1 && std::strcmp(argv[argc - 1], "dense") == 0;
  const int64_t features = argc > 1 ? std::atoll(argv[1]) : 0;
  if (features < 1 || features > 1 << 20 || argc < (dense ? 4 : 3)) {
    std::fprintf(stderr, "usage: sparse_step FEATURES ENTRIES.. [dense]\n");
    return 2;
  }
  espalier::model::InitArithmetic();
  espalier::model::PrepareComputeThread();
  for (int i = 2; i < argc - dense; ++i) {
    espalier::Measure(features, std::clamp<int64_t>(std::atoll(argv[i]), 0, features), dense);
  }
  return 0;
}
