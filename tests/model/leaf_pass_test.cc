#include "src/model/leaf_pass.h"

#include <immintrin.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>
#include <utility>

#include "src/model/arithmetic.h"
#include "src/spec/names.h"
#include "tests/model/support.h"

namespace espalier::model {
namespace {

spec::ModelSpec Model(spec::Activation activation, spec::Loss loss, double dropout = 0) {
  spec::ModelSpec model;
  model.hidden = {7, 6};
  model.activation = {activation};
  model.dropout = {dropout};
  const bool classes =
      loss == spec::Loss::kSoftmaxCrossEntropy || loss == spec::Loss::kBinaryCrossEntropy;
  model.task = classes ? spec::Task::kClassification : spec::Task::kRegression;
  model.loss = loss;
  return model;
}

NetworkShape Shape(spec::Activation activation, spec::Loss loss, double dropout = 0) {
  return MakeShape(Model(activation, loss, dropout), 5,
                   loss == spec::Loss::kBinaryCrossEntropy ? 2 : 3);
}

NetworkShape Wide(double dropout = 0) {
  spec::ModelSpec model = Model(spec::Activation::kRelu, spec::Loss::kSoftmaxCrossEntropy, dropout);
  model.hidden = {96, 40};
  return MakeShape(model, 131, 10);
}

template <typename T>
bool SameBits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

void CheckFiniteDifferences(const NetworkShape& shape, const DropoutKey& key) {
  constexpr int64_t kRows = 9;
  LeafPass<double> pass(shape, kRows);
  FillBatch(pass, kRows, 3);
  CheckFiniteDifferences(pass, kRows, 2e-7, key);
}

TEST_CASE("gradients of all activations and losses match differences") {
  for (auto activation :
       {spec::Activation::kIdentity, spec::Activation::kRelu, spec::Activation::kTanh,
        spec::Activation::kSigmoid, spec::Activation::kLeakyRelu, spec::Activation::kElu,
        spec::Activation::kGelu, spec::Activation::kSilu}) {
    for (auto loss :
         {spec::Loss::kSoftmaxCrossEntropy, spec::Loss::kBinaryCrossEntropy, spec::Loss::kMse,
          spec::Loss::kMae, spec::Loss::kHuber, spec::Loss::kPoisson, spec::Loss::kQuantile}) {
      INFO(spec::NameOf(activation) << " " << spec::NameOf(loss));
      CheckFiniteDifferences(Shape(activation, loss), {});
    }
  }
}

TEST_CASE("gradients under dropout match finite differences") {
  for (auto activation :
       {spec::Activation::kIdentity, spec::Activation::kRelu, spec::Activation::kGelu}) {
    INFO(spec::NameOf(activation));
    CheckFiniteDifferences(Shape(activation, spec::Loss::kMse, 0.4), {1, 2, 3});
  }
}

TEST_CASE("gradients of smoothed labels match finite differences") {
  for (auto loss : {spec::Loss::kSoftmaxCrossEntropy, spec::Loss::kBinaryCrossEntropy}) {
    spec::ModelSpec model = Model(spec::Activation::kTanh, loss);
    model.label_smoothing = 0.2;
    CheckFiniteDifferences(MakeShape(model, 5, loss == spec::Loss::kBinaryCrossEntropy ? 2 : 3),
                           {});
  }
}

TEST_CASE("the gradient of multilabel agrees with finite differences") {
  spec::ModelSpec model = Model(spec::Activation::kTanh, spec::Loss::kBinaryCrossEntropy);
  model.task = spec::Task::kMultilabel;
  for (const int64_t labels : {1, 3, 140}) {
    for (const double smoothing : {0.0, 0.2}) {
      INFO(labels << " labels, smoothing " << smoothing);
      model.label_smoothing = smoothing;
      CheckFiniteDifferences(MakeShape(model, 5, labels), {});
    }
  }
}

TEST_CASE("positive weights of labels act like PyTorch's pos_weight") {
  spec::ModelSpec model = Model(spec::Activation::kTanh, spec::Loss::kBinaryCrossEntropy);
  model.task = spec::Task::kMultilabel;
  for (const int64_t labels : {2, 140}) {
    for (const double smoothing : {0.0, 0.2}) {
      INFO(labels << " labels, smoothing " << smoothing);
      model.label_smoothing = smoothing;
      const NetworkShape plain = MakeShape(model, 5, labels);
      NetworkShape shape = plain;
      for (int64_t k = 0; k < labels; ++k) {
        shape.positive_weights.push_back(k % 5 == 4 ? 0 : 0.25 + static_cast<double>(k));
      }
      CheckFiniteDifferences(shape, {});
      // The expected loss follows from its formula and the predicted probabilities.
      constexpr int64_t kRows = 9;
      LeafPass<double> pass(shape, kRows), unweighted(plain, kRows);
      FillBatch(pass, kRows, 3);
      FillBatch(unweighted, kRows, 3);
      const auto parameters = StartOf<double>(shape, 1);
      std::vector<double> p(static_cast<size_t>(kRows * labels));
      pass.Predict(parameters.data(), kRows, p.data());
      double expected = 0, weight = 0;
      for (int64_t r = 0; r < kRows; ++r) {
        weight += pass.weights()[r];
        for (int64_t k = 0; k < labels; ++k) {
          const int64_t at = r * labels + k;
          const double y = (1 - smoothing) * pass.targets()[at] + smoothing / 2;
          expected -=
              pass.weights()[r] / static_cast<double>(labels) *
              (shape.positive_weights[k] * y * std::log(p[at]) + (1 - y) * std::log(1 - p[at]));
        }
      }
      const auto totals = TrainingTotals(pass, parameters, kRows);
      CHECK(totals[kTotalLoss] == Approx(expected).epsilon(1e-12));
      CHECK(totals[kTotalWeight] == Approx(weight));  // independent of the labels of rows
      // Evaluations ignore positive weights, and weights of 1 change nothing.
      std::vector<double> with(TotalsSize(shape, TotalsKind::kEvaluation)), without = with;
      pass.Evaluate(parameters.data(), kRows, with.data());
      unweighted.Evaluate(parameters.data(), kRows, without.data());
      CHECK(SameBits(with, without));
      shape.positive_weights.assign(static_cast<size_t>(labels), 1.0);
      LeafPass<double> ones(shape, kRows);
      FillBatch(ones, kRows, 3);
      CHECK(SameBits(TrainingTotals(ones, parameters, kRows),
                     TrainingTotals(unweighted, parameters, kRows)));
      CHECK(SameBits(WholeGradient(ones), WholeGradient(unweighted)));
    }
  }
}

TEST_CASE("gradients of an autoencoder match finite differences") {
  for (auto loss : {spec::Loss::kMse, spec::Loss::kMae, spec::Loss::kHuber}) {
    INFO(spec::NameOf(loss));
    spec::ModelSpec model = Model(spec::Activation::kSilu, loss);
    model.task = spec::Task::kAutoencoder;
    CheckFiniteDifferences(MakeShape(model, 5, 5), {});
  }
}

// Returns a model of four hidden layers. Equal widths get residual links, some layers dropout.
spec::ModelSpec Linked(spec::Activation activation, bool norm, bool residual) {
  spec::ModelSpec model = Model(activation, spec::Loss::kSoftmaxCrossEntropy);
  model.hidden = {6, 6, 4, 4};
  model.dropout = {0.3, 0, 0.4, 0.2};
  model.layer_norm = norm;
  model.residual = residual;
  return model;
}

TEST_CASE("norms, links and dropout agree with finite differences") {
  for (auto activation :
       {spec::Activation::kIdentity, spec::Activation::kRelu, spec::Activation::kTanh,
        spec::Activation::kSigmoid, spec::Activation::kLeakyRelu, spec::Activation::kElu,
        spec::Activation::kGelu, spec::Activation::kSilu}) {
    for (const auto& [norm, residual] : {std::pair{true, false}, {false, true}, {true, true}}) {
      INFO(spec::NameOf(activation) << " norm " << norm << " residual " << residual);
      CheckFiniteDifferences(MakeShape(Linked(activation, norm, residual), 5, 3), {1, 2, 3});
    }
  }
}

TEST_CASE("frozen layers have no gradient, others keep theirs") {
  NetworkShape shape = MakeShape(Linked(spec::Activation::kTanh, true, true), 5, 3);
  const auto parameters = StartOf<double>(shape, 1);
  const auto gradient = [&] {
    LeafPass<double> pass(shape, 9);
    FillBatch(pass, 9, 3);
    TrainingTotals(pass, parameters, 9, {1, 2, 3});
    return WholeGradient(pass);
  };
  const auto whole = gradient();
  for (const std::vector<size_t>& frozen :
       std::vector<std::vector<size_t>>{{0}, {0, 1}, {2}, {0, 1, 2, 3}, {1, 4}}) {
    for (LayerShape& layer : shape.layers) layer.frozen = false;
    for (size_t layer : frozen) shape.layers[layer].frozen = true;
    auto expected = whole;
    for (const plan::Chunk& c : ChunksOf<double>(shape)) {
      if (!shape.layers[c.layer].frozen) continue;
      std::fill_n(expected.begin() + c.offset, c.size, 0.0);
    }
    CHECK(SameBits(gradient(), expected));
  }
}

TEST_CASE("a residual link adds the input to the layer's output") {
  spec::ModelSpec model = Linked(spec::Activation::kRelu, false, true);
  model.hidden = {6, 6};
  model.dropout = {0};
  const NetworkShape shape = MakeShape(model, 6, 6);
  CHECK_FALSE(shape.layers[0].residual);  // its input is the features, not a layer
  CHECK(shape.layers[1].residual);
  // The second layer always gives 0. The others are the identity.
  std::vector<double> parameters(ParameterCount(shape));
  for (int64_t i = 0; i < 6; ++i) parameters[i * 7] = parameters[84 + i * 7] = 1;
  LeafPass<double> pass(shape, 1);
  FillBatch(pass, 1, 1);
  for (int64_t i = 0; i < 6; ++i) pass.inputs()[i] = static_cast<double>(i);
  std::vector<double> p(6);
  pass.Predict(parameters.data(), 1, p.data());
  for (int64_t i = 1; i < 6; ++i) CHECK(p[i] / p[i - 1] == Approx(std::exp(1.0)));
}

TEST_CASE("Poisson predicts the exponential, and metrics use it") {
  spec::ModelSpec model = Model(spec::Activation::kTanh, spec::Loss::kPoisson);
  const NetworkShape shape = MakeShape(model, 5, 3);
  LeafPass<double> pass(shape, 40);
  FillBatch(pass, 40, 1);
  const auto parameters = StartOf<double>(shape, 1);
  std::vector<double> poisson(120), linear(120);
  pass.Predict(parameters.data(), 40, poisson.data());
  model.loss = spec::Loss::kMse;
  LeafPass<double> same(MakeShape(model, 5, 3), 40);
  FillBatch(same, 40, 1);
  same.Predict(parameters.data(), 40, linear.data());
  double squares = 0, weights = 0;
  for (size_t i = 0; i < 120; ++i) {
    CHECK(poisson[i] == Approx(std::exp(linear[i])).epsilon(1e-14));
    const double d = poisson[i] - pass.targets()[i];
    squares += pass.weights()[i / 3] * d * d;
    if (i % 3 == 0) weights += pass.weights()[i / 3];
  }
  std::vector<double> totals(TotalsSize(shape, TotalsKind::kEvaluation));
  pass.Evaluate(parameters.data(), 40, totals.data());
  const spec::Metrics m = MetricsFromTotals(shape, {}, TotalsKind::kEvaluation, totals);
  CHECK(m.rmse == Approx(std::sqrt(squares / weights / 3)));
}

TEST_CASE("a linear model without hidden layers has a gradient") {
  spec::ModelSpec model;
  CheckFiniteDifferences(MakeShape(model, 5, 3), {});
}

TEST_CASE("dropout is a function of seed, step and leaf") {
  const NetworkShape shape = Wide(0.5);
  LeafPass<float> pass(shape, 64);
  FillBatch(pass, 64, 1);
  const auto parameters = StartOf<float>(shape, 1);
  const auto gradient = [&](DropoutKey key) {
    TrainingTotals(pass, parameters, 64, key);
    return WholeGradient(pass);
  };
  const auto first = gradient({1, 2, 3});
  CHECK(SameBits(first, gradient({1, 2, 3})));
  CHECK_FALSE(SameBits(first, gradient({2, 2, 3})));
  CHECK_FALSE(SameBits(first, gradient({1, 3, 3})));
  CHECK_FALSE(SameBits(first, gradient({1, 2, 4})));
  CHECK_FALSE(SameBits(first, gradient({1, 2 + (uint64_t{1} << 32), 3})));
}

TEST_CASE("dropout keeps the given share, scaled to keep the mean") {
  constexpr int64_t kSize = 1 << 16;
  AlignedVector<double> values(kSize, 1.0), also(kSize, 2.0);
  const DropoutMask mask({1, 2, 3}, 0, 0.3);
  mask.Apply(5, values.data(), also.data(), kSize);
  int64_t kept = 0;
  for (int64_t i = 0; i < kSize; ++i) {
    CHECK((values[i] == 0 || values[i] == 1 / 0.7));
    CHECK(also[i] == 2 * values[i]);
    kept += values[i] != 0;
  }
  CHECK(kept == Approx(0.7 * kSize).epsilon(0.01));
}

TEST_CASE("dropout draws the same words as the scalar Philox") {
  constexpr int64_t kSize = 96;
  AlignedVector<float> values(kSize, 1.0f);
  const DropoutKey key{77, (uint64_t{5} << 32) + 9, 21};
  DropoutMask(key, 2, 0.25).Apply<float>(1000, values.data(), nullptr, kSize);
  PhiloxKey philox = MakeKey(77, RandomUse::kDropout);
  philox.k1 ^= 5;
  for (uint32_t i = 0; i < kSize; ++i) {
    const auto words = Philox(philox, {i / 32 * 8 + i % 8, 2u << 24 | 1000, 21, 9});
    const uint32_t bits = words[i % 32 / 8] >> 1;
    CHECK((values[i] != 0) == (bits >= uint32_t{1} << 29));
  }
}

TEST_CASE("evaluation and prediction ignore dropout") {
  const NetworkShape with = Wide(0.5), without = Wide(0);
  LeafPass<float> a(with, 20), b(without, 20);
  FillBatch(a, 20, 1);
  FillBatch(b, 20, 1);
  const auto parameters = StartOf<float>(with, 1);
  std::vector<float> p(200), q(200);
  a.Predict(parameters.data(), 20, p.data());
  b.Predict(parameters.data(), 20, q.data());
  CHECK(SameBits(p, q));
}

template <typename T>
void CheckAccumulation(int64_t rows, bool norm) {
  spec::ModelSpec model = Model(spec::Activation::kRelu, spec::Loss::kSoftmaxCrossEntropy);
  model.hidden = {96, 40};
  model.layer_norm = norm;
  const NetworkShape shape = MakeShape(model, 131, 10);
  LeafPass<T> left(shape, 128), right(shape, 128);
  FillBatch(left, rows, 1);
  FillBatch(right, rows, 2);
  const auto parameters = StartOf<T>(shape, 1);
  TrainingTotals(left, parameters, rows);
  TrainingTotals(right, parameters, rows);
  REQUIRE(right.AccumulateIsExact(ChunksOf<T>(right.shape())[0], rows));
  auto together = WholeGradient(left, 4096), apart = together;
  const auto addend = WholeGradient(right, 4096);
  for (size_t i = 0; i < apart.size(); ++i) apart[i] += addend[i];
  for (const plan::Chunk& chunk : ChunksOf<T>(shape, 4096)) {
    right.WeightGradient(chunk, together.data() + chunk.offset, true);
  }
  CHECK(SameBits(together, apart));
}

TEST_CASE("accumulating onto a sibling has the bits of the separate add") {
  for (int64_t rows : {1, 2, 31, 64, 127, 128}) {
    INFO(rows);
    for (const bool norm : {false, true}) {
      CheckAccumulation<float>(rows, norm);
      CheckAccumulation<double>(rows, norm);
    }
  }
}

TEST_CASE("several micro-batches may not be accumulated") {
  const LeafPass<float> pass(Wide(), 300);
  CHECK(pass.AccumulateIsExact(ChunksOf<float>(pass.shape())[0], 128));
  CHECK_FALSE(pass.AccumulateIsExact(ChunksOf<float>(pass.shape())[0], 129));
}

TEST_CASE("bits do not depend on rows_max, earlier passes or thread") {
  const NetworkShape shape = GENERATE(false, true)
                                 ? MakeShape(Linked(spec::Activation::kRelu, true, true), 21, 3)
                                 : Wide(0.2);
  const auto parameters = StartOf<float>(shape, 1);
  for (int64_t rows : {1, 5, 64, 200}) {
    LeafPass<float> exact(shape, rows), roomy(shape, 513);
    FillBatch(exact, rows, 1);
    FillBatch(roomy, 513, 8);
    const auto expected_totals = TrainingTotals(exact, parameters, rows, {1, 2, 3});
    const auto expected = WholeGradient(exact);
    TrainingTotals(roomy, parameters, 513, {4, 5, 6});
    FillBatch(roomy, rows, 1);
    std::vector<double> totals;
    std::vector<float> gradient;
    std::thread([&] {
      totals = TrainingTotals(roomy, parameters, rows, {1, 2, 3});
      gradient = WholeGradient(roomy);
    }).join();
    CHECK(SameBits(totals, expected_totals));
    CHECK(SameBits(gradient, expected));
  }
}

TEST_CASE("several threads may compute chunks of one leaf at once") {
  const NetworkShape shape = Wide();
  LeafPass<float> pass(shape, 64);
  FillBatch(pass, 64, 1);
  InitArithmetic();
  TrainingTotals(pass, StartOf<float>(shape, 1), 64);
  const auto expected = WholeGradient(pass, 4096);
  std::vector<float> found(expected.size());
  const auto chunks = ChunksOf<float>(shape, 4096);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (size_t i = t; i < chunks.size(); i += 3) {
        pass.WeightGradient(chunks[i], found.data() + chunks[i].offset, false);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(SameBits(found, expected));
}

TEST_CASE("an empty leaf adds nothing") {
  const NetworkShape shape = Wide();
  for (int64_t rows_max : {0, 4}) {
    LeafPass<double> pass(shape, rows_max);
    const auto parameters = StartOf<double>(shape, 1);
    CHECK(TrainingTotals(pass, parameters, 0) ==
          std::vector<double>(TotalsSize(shape, TotalsKind::kTraining)));
    CHECK(WholeGradient(pass) == std::vector<double>(parameters.size()));
    std::vector<double> gradient(parameters.size(), 3.0), before = gradient;
    for (const plan::Chunk& chunk : ChunksOf<double>(shape)) {
      pass.WeightGradient(chunk, gradient.data() + chunk.offset, true);
    }
    CHECK(gradient == before);
  }
}

TEST_CASE("nonfinite values are counted for any activation") {
  for (float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::max()}) {
    for (auto activation :
         {spec::Activation::kRelu, spec::Activation::kTanh, spec::Activation::kGelu}) {
      const NetworkShape shape = Shape(activation, spec::Loss::kSoftmaxCrossEntropy);
      LeafPass<float> pass(shape, 4);
      FillBatch(pass, 4, 1);
      auto parameters = StartOf<float>(shape, 1);
      for (float& p : parameters) p *= bad;
      CHECK(TrainingTotals(pass, parameters, 4)[kTotalNonfinite] > 0);
    }
  }
}

TEST_CASE("both probabilities of a certain prediction keep digits") {
  spec::ModelSpec model;
  model.loss = spec::Loss::kBinaryCrossEntropy;
  LeafPass<float> pass(MakeShape(model, 1, 2), 2);
  pass.inputs()[0] = 20, pass.inputs()[1] = -20;
  float p[4] = {};
  pass.Predict(std::vector<float>{1, 0}.data(), 2, p);
  const double rare = std::exp(-20.0) / (1 + std::exp(-20.0));
  CHECK(p[0] == Approx(rare).epsilon(1e-5));
  CHECK(p[1] == Approx(1));
  CHECK(p[2] == Approx(1));
  CHECK(p[3] == Approx(rare).epsilon(1e-5));
}

TEST_CASE("probabilities are positive and add up to 1") {
  for (auto loss : {spec::Loss::kSoftmaxCrossEntropy, spec::Loss::kBinaryCrossEntropy}) {
    const NetworkShape shape = Shape(spec::Activation::kTanh, loss);
    LeafPass<double> pass(shape, 150);
    FillBatch(pass, 150, 1);
    std::vector<double> p(150 * shape.classes());
    pass.Predict(StartOf<double>(shape, 1).data(), 150, p.data());
    for (size_t r = 0; r < 150; ++r) {
      double sum = 0;
      for (int64_t c = 0; c < shape.classes(); ++c) {
        CHECK(p[r * shape.classes() + c] > 0);
        sum += p[r * shape.classes() + c];
      }
      CHECK(sum == Approx(1).epsilon(1e-14));
    }
  }
}

TEST_CASE("float agrees with double to float's precision") {
  const NetworkShape shape = Wide(0.2);
  LeafPass<float> a(shape, 200);
  LeafPass<double> b(shape, 200);
  FillBatch(a, 200, 1);
  FillBatch(b, 200, 1);
  TrainingTotals(a, StartOf<float>(shape, 1), 200, {1, 2, 3});
  TrainingTotals(b, StartOf<double>(shape, 1), 200, {1, 2, 3});
  const auto found = WholeGradient(a);
  const auto expected = WholeGradient(b);
  for (size_t i = 0; i < found.size(); ++i) {
    CHECK(found[i] == Approx(expected[i]).epsilon(1e-3).margin(1e-4));
  }
}

}  // namespace
}  // namespace espalier::model
