// Compares the time of the leaf step with that of bare matrix products: 784-256-256-10 ReLU, batch
// 256 as four leaves of 64 rows, Adam, one thread, float. Both run in turns, so that a busy machine
// slows both. Prints medians as JSON lines. Run it with OPENBLAS_CORETYPE=Haswell.
//
//   leaf_step [ROUNDS [CHUNK_KIB]]
#include <cblas.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <vector>

#include "src/base/aligned.h"
#include "src/base/random.h"
#include "src/model/arithmetic.h"
#include "src/model/leaf_pass.h"
#include "src/model/optimizer.h"
#include "src/model/vector_math.h"

namespace espalier {
namespace {

constexpr int64_t kInputs = 784, kHidden = 256, kClasses = 10, kBatch = 256, kLeaves = 4;

// Wall time and processor time of this thread, in milliseconds. On an idle machine both are equal.
// On a busy machine only the processor time is comparable.
struct Time {
  double wall = 0, cpu = 0;
  Time operator+(const Time& o) const { return {wall + o.wall, cpu + o.cpu}; }
};

double ReadClock(clockid_t id) {
  timespec t{};
  clock_gettime(id, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

Time Milliseconds(const std::function<void()>& body) {
  const Time start{ReadClock(CLOCK_MONOTONIC), ReadClock(CLOCK_THREAD_CPUTIME_ID)};
  body();
  return {ReadClock(CLOCK_MONOTONIC) - start.wall, ReadClock(CLOCK_THREAD_CPUTIME_ID) - start.cpu};
}

AlignedVector<float> Numbers(int64_t size, uint64_t seed) {
  AlignedVector<float> numbers(size);
  for (int64_t i = 0; i < size; ++i) {
    numbers[i] = static_cast<float>(UnitDouble(Mix64(seed * 1000003 + i)) - 0.5);
  }
  return numbers;
}

// Only the matrix products of one step, at whole-batch shapes: forward, deltas, weights.
class BareProducts {
 public:
  void Run() {
    for (size_t l = 0; l < 3; ++l) {
      const auto [in, out] = kLayers[l];
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, kBatch, out, in, 1, a_[l].data(), in,
                  w_[l].data(), in, 0, a_[l + 1].data(), out);
    }
    for (size_t l = 2; l > 0; --l) {
      const auto [in, out] = kLayers[l];
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, kBatch, in, out, 1, d_[l + 1].data(),
                  out, w_[l].data(), in, 0, d_[l].data(), in);
    }
    for (size_t l = 0; l < 3; ++l) {
      const auto [in, out] = kLayers[l];
      cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, out, in, kBatch, 1, d_[l + 1].data(),
                  out, a_[l].data(), in, 0, g_[l].data(), in);
    }
  }

 private:
  static constexpr std::pair<int64_t, int64_t> kLayers[] = {
      {kInputs, kHidden}, {kHidden, kHidden}, {kHidden, kClasses}};
  AlignedVector<float> w_[3] = {Numbers(kInputs * kHidden, 1), Numbers(kHidden* kHidden, 2),
                                Numbers(kHidden* kClasses, 3)};
  AlignedVector<float> g_[3] = {w_[0], w_[1], w_[2]};
  AlignedVector<float> a_[4] = {Numbers(kBatch * kInputs, 4), Numbers(kBatch* kHidden, 5),
                                Numbers(kBatch* kHidden, 6), Numbers(kBatch* kClasses, 7)};
  AlignedVector<float> d_[4] = {a_[0], a_[1], a_[2], a_[3]};
};

// A complete training step of one worker that owns all four leaves.
class LeafStep {
 public:
  LeafStep(double dropout, int64_t chunk_bytes) {
    spec::ModelSpec model;
    model.hidden = {kHidden, kHidden};
    model.dropout = {dropout};
    shape_ = model::MakeNetworkShape(model, kInputs, kClasses).value();
    chunks_ = plan::MakeChunks(model::Dims(shape_), sizeof(float), chunk_bytes);
    const int64_t count = model::ParameterCount(shape_);
    parameters_.resize(count);
    model::InitialParameters<float>(shape_, 1, parameters_.data());
    for (auto* v : {&first_, &second_, &left_, &right_}) v->resize(count);
    for (int64_t l = 0; l < kLeaves; ++l) AddLeaf(l);
  }

  // Runs the forward and backward passes of all leaves.
  void Deltas() {
    std::vector<double> totals(model::TotalsSize(shape_, model::TotalsKind::kTraining));
    for (int64_t l = 0; l < kLeaves; ++l) {
      const model::DropoutKey key{1, static_cast<uint64_t>(step_), static_cast<uint64_t>(l)};
      leaves_[l].ForwardBackward(parameters_.data(), kBatch / kLeaves, key, totals.data());
    }
  }
  // Computes (leaf 0 + leaf 1) + (leaf 2 + leaf 3), chunk by chunk.
  void Weights() {
    for (const plan::Chunk& c : chunks_) {
      float* left = left_.data() + c.offset;
      leaves_[0].WeightGradient(c, left, false);
      leaves_[1].WeightGradient(c, left, true);
      leaves_[2].WeightGradient(c, right_.data(), false);
      leaves_[3].WeightGradient(c, right_.data(), true);
      for (int64_t i = 0; i < c.size; ++i) left[i] += right_[i];
    }
  }
  void Update() {
    ++step_;
    float* slots[] = {first_.data(), second_.data()};
    for (const plan::Chunk& c : chunks_) {
      model::ApplyUpdate<float>(train_, shape_, c, parameters_.data(), slots,
                                left_.data() + c.offset, 1.0 / kBatch, 1, 1e-5, step_);
    }
  }

 private:
  void AddLeaf(int64_t l) {
    constexpr int64_t kRows = kBatch / kLeaves;
    model::LeafPass<float>& leaf = leaves_.emplace_back(shape_, kRows);
    const auto inputs = Numbers(kRows * kInputs, 10 + l);
    std::copy(inputs.begin(), inputs.end(), leaf.inputs());
    for (int64_t r = 0; r < kRows; ++r) {
      leaf.labels()[r] = static_cast<int32_t>(r % kClasses);
      leaf.weights()[r] = 1;
    }
  }
  model::NetworkShape shape_;
  spec::TrainSpec train_;
  std::vector<plan::Chunk> chunks_;
  AlignedVector<float> parameters_, first_, second_, left_, right_;
  std::vector<model::LeafPass<float>> leaves_;
  int64_t step_ = 0;
};

double Median(const std::vector<Time>& times, double Time::*clock = &Time::wall) {
  std::vector<double> values;
  for (const Time& time : times) values.push_back(time.*clock);
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

struct Times {
  std::vector<Time> bare, step, deltas, weights, update, dropout;
};

void Round(BareProducts& bare, LeafStep& plain, LeafStep& dropping, Times& times) {
  times.bare.push_back(Milliseconds([&] { bare.Run(); }));
  times.deltas.push_back(Milliseconds([&] { plain.Deltas(); }));
  times.weights.push_back(Milliseconds([&] { plain.Weights(); }));
  times.update.push_back(Milliseconds([&] { plain.Update(); }));
  times.step.push_back(times.deltas.back() + times.weights.back() + times.update.back());
  times.dropout.push_back(Milliseconds([&] {
    dropping.Deltas();
    dropping.Weights();
    dropping.Update();
  }));
}

int Main(int rounds, int64_t chunk_bytes) {
  model::InitArithmetic();
  model::PrepareComputeThread();
  BareProducts bare;
  LeafStep plain(0, chunk_bytes), dropping(0.2, chunk_bytes);
  Times warm_up, times;
  for (int i = 0; i < 20; ++i) Round(bare, plain, dropping, warm_up);
  for (int i = 0; i < rounds; ++i) Round(bare, plain, dropping, times);
  const double step = Median(times.step);
  std::printf(
      "{\"bench\":\"leaf_step\",\"kernel\":\"%s\",\"chunk_kib\":%lld,\"rounds\":%d,"
      "\"bare_gemm_ms\":%.4f,\"step_ms\":%.4f,\"deltas_ms\":%.4f,\"weights_ms\":%.4f,"
      "\"update_ms\":%.4f,\"ratio\":%.4f,\"ratio_cpu\":%.4f}\n",
      model::BlasKernel().c_str(), static_cast<long long>(chunk_bytes >> 10), rounds,
      Median(times.bare), step, Median(times.deltas), Median(times.weights), Median(times.update),
      Median(times.bare) / step, Median(times.bare, &Time::cpu) / Median(times.step, &Time::cpu));
  std::printf(
      "{\"bench\":\"leaf_step_dropout\",\"dropout\":0.2,\"step_ms\":%.4f,\"extra\":%.4f,\"extra_"
      "cpu\":%.4f}\n",
      Median(times.dropout), Median(times.dropout) / step - 1,
      Median(times.dropout, &Time::cpu) / Median(times.step, &Time::cpu) - 1);
  return 0;
}

}  // namespace
}  // namespace espalier

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 300;
  const int64_t chunk_bytes = argc > 2 ? std::atoll(argv[2]) << 10 : espalier::plan::kChunkBytes;
  if (rounds < 1 || chunk_bytes < 1 || chunk_bytes > espalier::plan::kChunkBytesMax) {
    std::fprintf(stderr, "usage: leaf_step [ROUNDS [CHUNK_KIB, 1 to 1024]]\n");
    return 2;
  }
  return espalier::Main(rounds, chunk_bytes);
}
