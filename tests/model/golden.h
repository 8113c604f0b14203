// The networks of PyTorch's values (torch_golden.json, torch_training.json): 5-4-3 or 5-4-1 on
// eight rows, with the mean loss, its gradient and a trainer.
#pragma once

#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "src/model/optimizer.h"
#include "tests/model/support.h"

namespace espalier::golden {

using Json = nlohmann::json;
using Numbers = std::vector<double>;

inline const Json& Golden() {
  static const Json golden = Json::parse(std::ifstream("tests/model/torch_golden.json"));
  return golden;
}
// Returns further values: torch_training.json.
inline const Json& MoreGolden() {
  static const Json golden = Json::parse(std::ifstream("tests/model/torch_training.json"));
  return golden;
}

inline spec::Activation ActivationOf(const std::string& name) {
  static const std::map<std::string, spec::Activation> kNames = {
      {"identity", spec::Activation::kIdentity},
      {"relu", spec::Activation::kRelu},
      {"leaky_relu_0.01", spec::Activation::kLeakyRelu},
      {"elu", spec::Activation::kElu},
      {"tanh", spec::Activation::kTanh},
      {"sigmoid", spec::Activation::kSigmoid},
      {"silu", spec::Activation::kSilu},
      {"gelu", spec::Activation::kGelu}};
  return kNames.at(name);
}

inline model::NetworkShape ShapeOf(const std::string& hidden, const std::string& head) {
  spec::ModelSpec model;
  model.hidden = {4};
  model.activation = {ActivationOf(hidden)};
  if (head.find("smoothing_0.1") != std::string::npos) model.label_smoothing = 0.1;
  if (head.starts_with("softmax")) return model::MakeShape(model, 5, 3);
  if (head.starts_with("binary")) {
    model.loss = spec::Loss::kBinaryCrossEntropy;
    return model::MakeShape(model, 5, 2);
  }
  model.task = spec::Task::kRegression;
  model.quantile = 0.9;
  model.loss = head == "mse"            ? spec::Loss::kMse
               : head == "mae"          ? spec::Loss::kMae
               : head == "poisson"      ? spec::Loss::kPoisson
               : head == "quantile_0.9" ? spec::Loss::kQuantile
                                        : spec::Loss::kHuber;
  return model::MakeShape(model, 5, 3);
}

// Mean loss and mean gradient of a range of fixture rows.
struct Mean {
  double loss = 0;
  Numbers gradient;
};
// The weights of the rows and the part of the fixture that they use.
enum class Rows { kPlain, kWeighted, kCounts, kWeightedClasses };

inline Mean MeanGradient(const model::NetworkShape& shape, const Numbers& parameters, int64_t begin,
                         int64_t end, Rows rows = Rows::kPlain) {
  const Json& fixture = Golden()["fixture"];
  model::LeafPass<double> pass(shape, 8);
  double weight = 0;
  for (int64_t row = begin, r = 0; row < end; ++row, ++r) {
    const Numbers x = fixture["x"][row];
    std::copy(x.begin(), x.end(), pass.inputs() + 5 * r);
    pass.weights()[r] = rows == Rows::kWeighted ? fixture["row_weights"][row].get<double>() : 1;
    if (shape.task == spec::Task::kRegression) {
      const Numbers y =
          rows == Rows::kCounts ? MoreGolden()["counts"][row] : fixture["targets"][row];
      std::copy(y.begin(), y.end(), pass.targets() + 3 * r);
    } else {
      const char* labels = shape.classes() == 2 ? "binary" : "labels";
      pass.labels()[r] = static_cast<int32_t>(fixture[labels][row].get<double>());
      if (rows == Rows::kWeightedClasses) {
        pass.weights()[r] = MoreGolden()["class_weights"][pass.labels()[r]];
      }
    }
    weight += pass.weights()[r];
  }
  Mean mean;
  mean.loss = TrainingTotals(pass, parameters, end - begin)[model::kTotalLoss] / weight;
  mean.gradient = WholeGradient(pass);
  for (double& g : mean.gradient) g /= weight;
  return mean;
}

inline void CheckNear(const Numbers& found, const Numbers& expected, double tolerance) {
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    CHECK(found[i] == Approx(expected[i]).epsilon(tolerance).margin(tolerance));
  }
}

// Trains a network, one update a call.
class Trainer {
 public:
  Trainer(const model::NetworkShape& shape, const spec::TrainSpec& train)
      : shape_(shape), train_(train), parameters(Golden()["fixture"]["weights"].get<Numbers>()) {
    for (Numbers& slot : slots_) slot.resize(parameters.size());
  }
  double Step(int64_t begin, int64_t end, double learning_rate) {
    const Mean mean = MeanGradient(shape_, parameters, begin, end);
    double* slots[] = {slots_[0].data(), slots_[1].data(), slots_[2].data()};
    const auto chunks = ChunksOf<double>(shape_, 64);  // several chunks for each layer
    norm_squared = 0;
    for (const plan::Chunk& c : chunks) {
      norm_squared += model::SquaredNorm(c, mean.gradient.data() + c.offset, 1.0);
    }
    ++step_;
    for (const plan::Chunk& c : chunks) {
      model::ApplyUpdate(train_, shape_, c, parameters.data(), slots,
                         mean.gradient.data() + c.offset, 1.0,
                         model::ClipScale(norm_squared, train_.clip_norm), learning_rate, step_);
    }
    return mean.loss;
  }

 private:
  model::NetworkShape shape_;
  spec::TrainSpec train_;
  Numbers slots_[model::kSlotsMax];
  int64_t step_ = 0;

 public:
  Numbers parameters;
  double norm_squared = 0;
};

inline spec::TrainSpec TrainOf(const Json& c) {
  const std::string name = c["name"];
  const Json& p = c["parameters"];
  spec::TrainSpec train;
  spec::OptimizerSpec& o = train.optimizer;
  o.kind = name.starts_with("adamw")      ? spec::OptimizerKind::kAdamW
           : name.starts_with("adam")     ? spec::OptimizerKind::kAdam
           : name.starts_with("nesterov") ? spec::OptimizerKind::kNesterov
           : name.starts_with("momentum") ? spec::OptimizerKind::kMomentum
           : name.starts_with("rmsprop")  ? spec::OptimizerKind::kRmsprop
           : name.starts_with("adagrad")  ? spec::OptimizerKind::kAdagrad
                                          : spec::OptimizerKind::kSgd;
  o.learning_rate = p["lr"];
  o.epsilon = p.value("eps", o.epsilon);
  o.alpha = p.value("alpha", o.alpha);
  o.centered = p.value("centered", false);
  o.momentum = p.value("momentum", 0.0);
  if (p.contains("betas")) {
    o.beta1 = p["betas"][0];
    o.beta2 = p["betas"][1];
  }
  train.weight_decay = p["weight_decay"];
  train.decay_biases = true;
  return train;
}

}  // namespace espalier::golden
