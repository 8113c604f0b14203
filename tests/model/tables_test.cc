// Coded inputs: embeddings, and one-hot inputs that are never stored as numbers.
#include <catch2/catch.hpp>

#include "src/model/optimizer.h"
#include "tests/model/support.h"

namespace espalier::model {
namespace {

using Strings = std::vector<std::string>;

spec::ModelSpec Model(std::vector<int64_t> hidden, bool norm = false) {
  spec::ModelSpec model;
  model.hidden = std::move(hidden);
  model.activation = {spec::Activation::kTanh};
  model.layer_norm = norm;
  return model;
}

spec::InputShape Inputs(int64_t dense, std::vector<spec::CodedInput> coded) {
  spec::InputShape inputs(dense);
  inputs.coded = std::move(coded);
  return inputs;
}

// Returns networks with different mixtures of numbers, one-hot and embedded categories.
std::vector<NetworkShape> Shapes() {
  return {MakeShape(Model({6, 4}), Inputs(3, {{5, 0}, {4, 2}, {7, 3}, {2, 0}}), 3),
          MakeShape(Model({6, 4}, true), Inputs(0, {{5, 0}, {4, 0}}), 3),  // without numbers
          MakeShape(Model({5}), Inputs(0, {{5, 3}}), 2),
          MakeShape(Model({}), Inputs(2, {{4, 0}, {3, 2}}), 3)};
}

TEST_CASE("the gradient of tables agrees with finite differences") {
  constexpr int64_t kRows = 150;  // two micro-batches
  for (const NetworkShape& shape : Shapes()) {
    LeafPass<double> pass(shape, kRows);
    FillBatch(pass, kRows, 3);
    CheckFiniteDifferences(pass, kRows, 1e-6);
  }
}

TEST_CASE("one-hot inputs equal a network with that many more numbers") {
  constexpr int64_t kRows = 20;
  const NetworkShape coded = MakeShape(Model({6, 4}), Inputs(3, {{5, 0}, {4, 0}}), 3);
  const NetworkShape spelled = MakeShape(Model({6, 4}), 3 + 5 + 4, 3);
  LeafPass<double> one(coded, kRows), two(spelled, kRows);
  FillBatch(one, kRows, 1);
  FillBatch(two, kRows, 1);
  const auto parameters = StartOf<double>(coded, 2);
  std::vector<double> same(ParameterCount(spelled));
  REQUIRE(same.size() == parameters.size());
  const spec::TensorList tensors = Tensors(coded);
  const auto table = [&](int64_t k, int64_t code, int64_t unit) {
    return parameters[tensors[6 + k].offset + code * 6 + unit];
  };
  for (int64_t unit = 0; unit < 6; ++unit) {
    for (int64_t i = 0; i < 3; ++i) same[unit * 12 + i] = parameters[unit * 3 + i];
    for (int64_t c = 0; c < 5; ++c) same[unit * 12 + 3 + c] = table(0, c, unit);
    for (int64_t c = 0; c < 4; ++c) same[unit * 12 + 8 + c] = table(1, c, unit);
  }
  std::copy(parameters.begin() + 18, parameters.begin() + tensors[6].offset, same.begin() + 72);
  for (int64_t r = 0; r < kRows; ++r) {
    for (int64_t i = 0; i < 3; ++i) two.inputs()[r * 12 + i] = one.inputs()[r * 3 + i];
    std::fill_n(two.inputs() + r * 12 + 3, 9, 0.0);
    if (one.codes()[2 * r] >= 0) two.inputs()[r * 12 + 3 + one.codes()[2 * r]] = 1;
    if (one.codes()[2 * r + 1] >= 0) two.inputs()[r * 12 + 8 + one.codes()[2 * r + 1]] = 1;
  }
  std::vector<double> a(kRows * 3), b(kRows * 3);
  one.Predict(parameters.data(), kRows, a.data());
  two.Predict(same.data(), kRows, b.data());
  for (size_t i = 0; i < a.size(); ++i) CHECK(a[i] == Approx(b[i]).epsilon(1e-12));
  CHECK(TrainingTotals(one, parameters, kRows)[kTotalLoss] ==
        Approx(TrainingTotals(two, same, kRows)[kTotalLoss]).epsilon(1e-12));
  const auto ga = WholeGradient(one), gb = WholeGradient(two);
  for (int64_t unit = 0; unit < 6; ++unit) {
    for (int64_t c = 0; c < 5; ++c) {
      CHECK(ga[tensors[6].offset + c * 6 + unit] ==
            Approx(gb[unit * 12 + 3 + c]).epsilon(1e-10).margin(1e-14));
    }
  }
}

TEST_CASE("tables are tensors after the layers, tiled by chunks") {
  const NetworkShape shape = Shapes()[0];
  CHECK(shape.inputs() == 3);
  CHECK(shape.layers[0].in == 3 + 2 + 3);
  const spec::TensorList tensors = Tensors(shape);
  Strings names;
  int64_t offset = 0;
  for (const spec::TensorInfo& t : tensors) {
    CHECK(t.offset == offset);
    offset += t.size;
    names.push_back(t.name);
  }
  CHECK(offset == ParameterCount(shape));
  CHECK(Strings(names.begin() + 6, names.end()) ==
        Strings{"layers.0.one_hot.0.weight", "layers.0.embeddings.1.weight",
                "layers.0.embeddings.2.weight", "layers.0.one_hot.3.weight"});
  CHECK(tensors[8].shape == std::vector<int64_t>{7, 3});
  for (const int64_t bytes : {16, 64, 1 << 20}) {
    std::vector<int> covered(static_cast<size_t>(offset));
    for (const plan::Chunk& c : ChunksOf<double>(shape, bytes)) {
      for (int64_t i = 0; i < c.size; ++i) ++covered[static_cast<size_t>(c.offset + i)];
    }
    CHECK(std::count(covered.begin(), covered.end(), 1) == offset);
  }
}

TEST_CASE("the gradient of tables has the same bits for any chunks") {
  for (const NetworkShape& shape : Shapes()) {
    LeafPass<float> pass(shape, 90);
    FillBatch(pass, 90, 4);
    TrainingTotals(pass, StartOf<float>(shape, 1), 90);
    const auto whole = WholeGradient(pass);
    const int64_t tables = Tensors(shape)[Tensors(shape).size() - shape.tables.size()].offset;
    for (const int64_t bytes : {16, 64, 256}) {
      const auto cut = WholeGradient(pass, bytes);
      CHECK(std::equal(whole.begin() + tables, whole.end(), cut.begin() + tables));
    }
    for (const plan::Chunk& c : ChunksOf<float>(shape)) {
      const bool table = c.layer >= static_cast<int32_t>(shape.layers.size());
      if (table) CHECK_FALSE(pass.AccumulateIsExact(c, 90));
    }
  }
}

TEST_CASE("tables are frozen and decayed with the first layer") {
  NetworkShape shape = Shapes()[0];
  spec::TrainSpec train;
  train.optimizer = spec::DefaultOptimizer(spec::OptimizerKind::kSgd);
  train.weight_decay = 0.5;
  const auto start = StartOf<double>(shape, 1);
  const auto updated = [&] {
    auto parameters = start;
    const std::vector<double> zero(parameters.size());
    for (const plan::Chunk& c : ChunksOf<double>(shape)) {
      ApplyUpdate<double>(train, shape, c, parameters.data(), nullptr, zero.data(), 1, 1, 0.1, 1);
    }
    return parameters;
  };
  const auto decayed = updated();
  const int64_t tables = Tensors(shape)[6].offset;
  for (size_t i = static_cast<size_t>(tables); i < start.size(); ++i) {
    CHECK(decayed[i] == Approx(start[i] * 0.95));
  }
  shape.layers[0].frozen = true;
  const auto frozen = updated();
  CHECK(std::equal(start.begin() + tables, start.end(), frozen.begin() + tables));
  LeafPass<double> pass(shape, 9);
  FillBatch(pass, 9, 3);
  TrainingTotals(pass, start, 9);
  const auto gradient = WholeGradient(pass);
  CHECK(std::count(gradient.begin() + tables, gradient.end(), 0.0) ==
        static_cast<int64_t>(start.size()) - tables);
}

TEST_CASE("a network without inputs or with too many codes is refused") {
  const auto error = [](const spec::InputShape& inputs) {
    return MakeNetworkShape(Model({4}), inputs, 2).status().message();
  };
  CHECK(error(Inputs(0, {})) ==
        "data.features: gives the network 0 inputs; 1 to 16,777,216 are possible");
  CHECK(error(Inputs(1, {{1 << 24, 0}})) ==
        "data.features: gives the network 16,777,217 inputs; 1 to 16,777,216 are possible");
}

}  // namespace
}  // namespace espalier::model
