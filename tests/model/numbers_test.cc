// Embedded numbers, the scaling layer and the ntp parametrization, compared with finite differences
// and with PyTorch's values (quality_golden.json).
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "src/model/optimizer.h"
#include "src/model/schedule.h"
#include "tests/model/support.h"

namespace espalier::model {
namespace {

using Json = nlohmann::json;
using Numbers = std::vector<double>;
using Rows = std::vector<Numbers>;

const Json& Golden() {
  static const Json golden = Json::parse(std::ifstream("tests/model/quality_golden.json"));
  return golden;
}

void CheckNear(double found, double expected) {
  CHECK(found == Approx(expected).epsilon(1e-12).margin(1e-12));
}

spec::InputShape Inputs(int64_t dense, spec::EmbeddedNumbers numbers,
                        std::vector<spec::CodedInput> coded = {}) {
  spec::InputShape inputs(dense);
  inputs.numbers = numbers;
  inputs.coded = std::move(coded);
  return inputs;
}

spec::ModelSpec Model(std::vector<int64_t> hidden, bool scales) {
  spec::ModelSpec model;
  model.hidden = std::move(hidden);
  model.activation = {spec::Activation::kSilu};
  model.scaling_layer = scales;
  return model;
}

// Returns networks with different mixtures of plain, embedded and categorical inputs.
std::vector<NetworkShape> Shapes() {
  return {MakeShape(Model({6, 4}, false), Inputs(0, {3, 5, 2}), 3),
          MakeShape(Model({6, 4}, true), Inputs(2, {3, 5, 2}, {{5, 0}, {4, 2}, {2, 0}}), 3),
          MakeShape(Model({5}, true), Inputs(3, {}), 2),
          MakeShape(Model({5}, true), Inputs(0, {}, {{4, 0}, {3, 0}}), 2),
          MakeShape(Model({}, true), Inputs(1, {2, 4, 3}), 3)};
}

TEST_CASE("gradients of numbers and scales equal finite differences") {
  constexpr int64_t kRows = 150;  // two micro-batches
  for (const NetworkShape& shape : Shapes()) {
    LeafPass<double> pass(shape, kRows);
    FillBatch(pass, kRows, 3);
    CheckFiniteDifferences(pass, kRows, 1e-6);
  }
}

TEST_CASE("parts of numbers and scales are tensors, tiled by chunks") {
  const NetworkShape shape = Shapes()[1];
  CHECK(shape.inputs() == 2);
  CHECK(shape.row_numbers() == 2 + 2 * 3);
  CHECK(shape.layers[0].in == 2 + 3 * 2 + 2);
  CHECK(shape.fan_in(0) == 10 + 7);
  const spec::TensorList tensors = Tensors(shape);
  std::vector<std::string> names;
  int64_t offset = 0;
  for (const spec::TensorInfo& t : tensors) {
    CHECK(t.offset == offset);
    offset += t.size;
    names.push_back(t.name);
  }
  CHECK(offset == ParameterCount(shape));
  CHECK(std::vector<std::string>(names.end() - 4, names.end()) ==
        std::vector<std::string>{"layers.0.numbers.slope", "layers.0.numbers.bias",
                                 "layers.0.numbers.weight", "layers.0.scale"});
  CHECK(tensors[tensors.size() - 2].shape == std::vector<int64_t>{3, 5, 2});
  for (const int64_t bytes : {16, 64, 1 << 20}) {
    std::vector<int> covered(static_cast<size_t>(offset));
    for (const plan::Chunk& c : ChunksOf<double>(shape, bytes)) {
      for (int64_t i = 0; i < c.size; ++i) ++covered[static_cast<size_t>(c.offset + i)];
    }
    CHECK(std::count(covered.begin(), covered.end(), 1) == offset);
  }
}

TEST_CASE("gradients of numbers have the same bits for any chunks") {
  for (const NetworkShape& shape : Shapes()) {
    LeafPass<float> pass(shape, 90);
    FillBatch(pass, 90, 4);
    TrainingTotals(pass, StartOf<float>(shape, 1), 90);
    const auto whole = WholeGradient(pass);
    const int64_t begin = Tensors(shape)[2 * shape.layers.size()].offset;
    for (const int64_t bytes : {16, 64, 256}) {
      const auto cut = WholeGradient(pass, bytes);
      CHECK(std::equal(whole.begin() + begin, whole.end(), cut.begin() + begin));
    }
  }
}

// Term of a code. Any code is a sum of simple codes, each 1 up to a bin and 0 after it. `share`
// multiplies the simple code of `bins` full bins.
struct Term {
  double share = 0;
  int64_t bins = 0;
};
std::vector<Term> TermsOf(const Numbers& code) {
  std::vector<Term> terms;
  double before = 1;
  for (size_t b = 0; b < code.size(); ++b) {
    terms.push_back({before - code[b], static_cast<int64_t>(b)});
    before = code[b];
  }
  terms.push_back({before, static_cast<int64_t>(code.size())});
  return terms;
}

TEST_CASE("embedded numbers equal PyTorch's") {
  const Json& golden = Golden()["piecewise_linear_embedding"];
  const Rows x = golden["inputs"][0], expected = golden["output"], weights = golden["weights"];
  const std::vector<Rows> codes = golden["inputs"][1];
  // The linear layer passes its inputs on. Its loss is chosen so that the deltas equal those of the
  // golden values.
  spec::ModelSpec model;
  model.task = spec::Task::kRegression;
  const NetworkShape shape = MakeShape(model, Inputs(0, {2, 4, 3}), 6);
  Numbers parameters(static_cast<size_t>(ParameterCount(shape)));
  for (size_t i = 0; i < 6; ++i) parameters[i * 6 + i] = 1;
  const auto flat = [](const Json& json) {
    Numbers all;
    const auto add = [&](const auto& self, const Json& part) -> void {
      if (part.is_number()) return all.push_back(part.get<double>());
      for (const Json& item : part) self(self, item);
    };
    add(add, json);
    return all;
  };
  auto to = parameters.begin() + 42;
  for (const char* name : {"a", "bias", "weight"}) {
    to = std::ranges::copy(flat(golden["parameters"][name]), to).out;
  }
  LeafPass<double> pass(shape, 1);
  Numbers gradient(parameters.size());
  for (size_t row = 0; row < x.size(); ++row) {
    // The codes of a row's two numbers differ, so each number has a separate pass.
    for (size_t number = 0; number < 2; ++number) {
      Numbers output(3);
      for (const Term& term : TermsOf(codes[row][number])) {
        Numbers answer(6);
        for (size_t n = 0; n < 2; ++n) {
          pass.inputs()[2 * n] = x[row][n];
          pass.inputs()[2 * n + 1] = static_cast<double>(term.bins);
        }
        pass.weights()[0] = 1;
        pass.Predict(parameters.data(), 1, answer.data());
        for (size_t i = 0; i < 6; ++i) {
          const bool own = i / 3 == number;
          if (own) output[i % 3] += term.share * answer[i];
          // The slope of a squared error over six outputs is (answer - target) / 3.
          pass.targets()[i] = answer[i] - (own ? 3 * term.share * weights[row][i] : 0.0);
        }
        TrainingTotals(pass, parameters, 1);
        const Numbers part = WholeGradient(pass);
        for (size_t i = 0; i < part.size(); ++i) gradient[i] += part[i];
      }
      for (size_t i = 0; i < 3; ++i) CheckNear(output[i], expected[row][number * 3 + i]);
    }
  }
  auto found = gradient.begin() + 42;
  for (const char* name : {"a", "bias", "weight"}) {
    for (const double g : flat(golden["gradients"][name])) CheckNear(*found++, g);
  }
}

TEST_CASE("a layer of ntp equals PyTorch's") {
  const Json& golden = Golden()["ntp_linear"];
  const Rows x = golden["inputs"][0], w = golden["parameters"]["weight"];
  spec::ModelSpec model;
  model.task = spec::Task::kRegression;
  model.parametrization = spec::Parametrization::kNtp;
  const NetworkShape shape = MakeShape(model, 4, 3);
  Numbers parameters(15);
  for (size_t i = 0; i < 12; ++i) parameters[i] = w[i / 4][i % 4] / 2;  // the fan-in is 4
  LeafPass<double> pass(shape, 5);
  for (size_t r = 0; r < 5; ++r) std::ranges::copy(x[r], pass.inputs() + 4 * r);
  Numbers output(15);
  pass.Predict(parameters.data(), 5, output.data());
  for (size_t i = 0; i < 15; ++i) {
    CheckNear(output[i], golden["output"][i / 3][i % 3]);
    pass.targets()[i] = output[i] - 1.5 * golden["weights"][i / 3][i % 3].get<double>();
    pass.weights()[i / 3] = 1;
  }
  TrainingTotals(pass, parameters, 5);
  const Numbers gradient = WholeGradient(pass);
  for (size_t i = 0; i < 12; ++i) {  // by the stored weight, which is half of W
    CheckNear(gradient[i] / 2, golden["gradients"]["weight"][i / 4][i % 4]);
  }
}

// Trains a linear model on the same rows under both parametrizations: ntp on x, and plain on x /
// sqrt(fan-in). Biases must agree; weights must differ by sqrt(fan-in).
void CheckNtp(const spec::TrainSpec& train) {
  constexpr int64_t kRows = 7, kIn = 9, kOut = 2;
  spec::ModelSpec model;
  model.task = spec::Task::kRegression;
  const NetworkShape plain = MakeShape(model, kIn, kOut);
  model.parametrization = spec::Parametrization::kNtp;
  const NetworkShape ntp = MakeShape(model, kIn, kOut);
  LeafPass<double> one(plain, kRows), two(ntp, kRows);
  FillBatch(one, kRows, 3);
  FillBatch(two, kRows, 3);
  for (int64_t i = 0; i < kRows * kIn; ++i) one.inputs()[i] /= 3;
  Numbers w = StartOf<double>(plain, 1), p = w;
  for (int64_t i = 0; i < kIn * kOut; ++i) p[i] /= 3;
  Numbers slots[2][kSlotsMax];
  for (int64_t step = 1; step <= 4; ++step) {
    for (const bool second : {false, true}) {
      LeafPass<double>& pass = second ? two : one;
      Numbers& parameters = second ? p : w;
      double* state[kSlotsMax];
      for (size_t k = 0; k < kSlotsMax; ++k) {
        slots[second][k].resize(parameters.size());
        state[k] = slots[second][k].data();
      }
      TrainingTotals(pass, parameters, kRows);
      const Numbers gradient = WholeGradient(pass);
      for (const plan::Chunk& c : ChunksOf<double>(pass.shape(), 64)) {
        ApplyUpdate(train, pass.shape(), c, parameters.data(), state, gradient.data() + c.offset,
                    0.2, 0.9, 0.05, step, 0.7);
      }
    }
    for (size_t i = 0; i < w.size(); ++i) {
      CheckNear(p[i], i < static_cast<size_t>(kIn * kOut) ? w[i] / 3 : w[i]);
    }
  }
}

TEST_CASE("each optimizer trains ntp like scaled inputs") {
  for (const spec::OptimizerKind kind :
       {spec::OptimizerKind::kSgd, spec::OptimizerKind::kMomentum, spec::OptimizerKind::kNesterov,
        spec::OptimizerKind::kAdam, spec::OptimizerKind::kAdamW, spec::OptimizerKind::kAdagrad,
        spec::OptimizerKind::kRmsprop}) {
    spec::TrainSpec train;
    train.optimizer = spec::DefaultOptimizer(kind);
    train.optimizer.epsilon = 1e-3;  // large enough to matter
    train.rate_factors.biases = 0.1;
    train.weight_decay = 0.1;
    CheckNtp(train);
    train.l1 = 0.01;
    train.clip_value = 0.05;
    CheckNtp(train);
  }
}

TEST_CASE("rate factors and decay apply to their parts only") {
  const NetworkShape shape = Shapes()[1];
  spec::TrainSpec train;
  train.optimizer = spec::DefaultOptimizer(spec::OptimizerKind::kSgd);
  train.rate_factors = {.biases = 0.1, .scaling_layer = 6};
  train.weight_decay = 0.5;
  const Numbers start = StartOf<double>(shape, 1), ones(start.size(), 1.0);
  Numbers parameters = start;
  for (const plan::Chunk& c : ChunksOf<double>(shape)) {
    ApplyUpdate<double>(train, shape, c, parameters.data(), nullptr, ones.data(), 1, 1, 0.01, 1,
                        0.5);
  }
  for (const spec::TensorInfo& t : Tensors(shape)) {
    const bool scale = t.name == "layers.0.scale", slope = t.name == "layers.0.numbers.slope";
    const bool bias = t.name.ends_with(".bias"), of_number = t.name == "layers.0.numbers.bias";
    const double rate = 0.01 * (scale ? 6 : bias && !of_number ? 0.1 : 1);
    const double decay = slope || bias ? 0 : 0.25;
    for (int64_t i = t.offset; i < t.offset + t.size; ++i) {
      CheckNear(parameters[i], start[i] - rate * (1 + decay * start[i]));
    }
  }
}

TEST_CASE("weights of ntp start with the variance 1 / fan-in") {
  spec::ModelSpec model = Model({200, 100}, true);
  model.parametrization = spec::Parametrization::kNtp;
  const NetworkShape shape = MakeShape(model, Inputs(20, {10, 4, 8}, {{50, 0}, {300, 16}}), 3);
  const Numbers start = StartOf<double>(shape, 7);
  for (const spec::TensorInfo& t : Tensors(shape)) {
    double mean = 0, square = 0;
    for (int64_t i = t.offset; i < t.offset + t.size; ++i) {
      mean += start[i] / static_cast<double>(t.size);
      square += start[i] * start[i] / static_cast<double>(t.size);
    }
    CAPTURE(t.name);
    if (t.name == "layers.0.scale") {
      CHECK(mean == Approx(1));
    } else if (t.name.ends_with(".bias") || t.name == "layers.0.numbers.weight") {
      CHECK(square == 0);
    } else {
      const double fan_in = t.name.starts_with("layers.0.w")   ? 166
                            : t.name.starts_with("layers.0.o") ? 166
                            : t.name.starts_with("layers.0.")  ? 1
                            : t.name.starts_with("layers.1.")  ? 200
                                                               : 100;
      CHECK(std::fabs(mean) < 5 / std::sqrt(fan_in * static_cast<double>(t.size)));
      CHECK(square == Approx(1 / fan_in).epsilon(8 / std::sqrt(static_cast<double>(t.size))));
    }
  }
}

TEST_CASE("the share of weight decay equals PyTorch's") {
  const Numbers expected = Golden()["flat_cos"]["value"];
  spec::TrainSpec train;
  CHECK(DecayShare(train, 39, 40) == 1);
  train.weight_decay_schedule = spec::DecaySchedule::kFlatCos;
  for (int64_t step = 0; step <= 40; ++step) {
    CHECK(DecayShare(train, step, 40) ==
          Approx(expected[static_cast<size_t>(step)]).epsilon(1e-14).margin(1e-15));
  }
  CHECK(DecayShare(train, 100, 40) < 1e-15);
  CHECK(DecayShare(train, 100, 0) == 1);
}

TEST_CASE("smoothed labels have PyTorch's loss and gradient") {
  const Json& golden = Golden()["label_smoothing"];
  spec::ModelSpec model;
  model.label_smoothing = golden["smoothing"];
  const NetworkShape shape = MakeShape(model, 1, 3);
  alignas(kBufferAlignment) double z[5 * kPadding] = {}, deltas[5 * kPadding] = {};
  const int64_t pitch = Padded(3);
  const std::vector<int32_t> labels = golden["classes"];
  const Numbers weights(5, 1.0);
  for (size_t i = 0; i < 15; ++i) z[i / 3 * pitch + i % 3] = golden["logits"][i / 3][i % 3];
  Numbers totals(static_cast<size_t>(TotalsSize(shape, TotalsKind::kTraining)));
  LossAndDeltas<double>(shape, {5, pitch, z, labels.data(), nullptr, weights.data()},
                        TotalsKind::kTraining, deltas, totals.data());
  CheckNear(totals[kTotalLoss] / 5, golden["loss"]);
  for (size_t i = 0; i < 15; ++i) {
    CheckNear(deltas[i / 3 * pitch + i % 3] / 5, golden["gradient"][i / 3][i % 3]);
  }
}

}  // namespace
}  // namespace espalier::model
