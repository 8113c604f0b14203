#include "src/model/network.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "src/model/optimizer.h"
#include "tests/model/support.h"

namespace espalier::model {
namespace {

std::string ErrorOf(const spec::ModelSpec& model, int64_t inputs, int64_t outputs) {
  return MakeNetworkShape(model, inputs, outputs).status().ToString();
}

TEST_CASE("hidden layers have He or Xavier weights by activation") {
  spec::ModelSpec model;
  model.hidden = {8, 6};
  model.activation = {spec::Activation::kTanh, spec::Activation::kGelu};
  model.dropout = {0.25};
  const NetworkShape shape = MakeShape(model, 5, 3);
  REQUIRE(shape.layers.size() == 3);
  CHECK(shape.layers[0].init == spec::Init::kXavier);
  CHECK(shape.layers[1].init == spec::Init::kHe);
  CHECK(shape.layers[1].dropout == 0.25);
  CHECK(shape.layers[2].activation == spec::Activation::kIdentity);
  CHECK(shape.layers[2].init == spec::Init::kXavier);
  CHECK(shape.layers[2].dropout == 0);
  CHECK(shape.inputs() == 5);
  CHECK(shape.classes() == 3);
  CHECK(ParameterCount(shape) == 5 * 8 + 8 + 8 * 6 + 6 + 6 * 3 + 3);
  model.init = spec::Init::kHe;
  CHECK(MakeShape(model, 5, 3).layers[2].init == spec::Init::kHe);
}

TEST_CASE("binary cross-entropy has one output, regression one a target") {
  spec::ModelSpec model;
  model.loss = spec::Loss::kBinaryCrossEntropy;
  CHECK(MakeShape(model, 5, 2).outputs() == 1);
  CHECK(MakeShape(model, 5, 2).classes() == 2);
  model = {};
  model.task = spec::Task::kRegression;
  CHECK(MakeShape(model, 5, 4).outputs() == 4);
}

TEST_CASE("an impossible network is refused with the field's name") {
  spec::ModelSpec model;
  CHECK(ErrorOf(model, 0, 3).find("data.features: ") != std::string::npos);
  CHECK(ErrorOf(model, 5, 1).find("needs at least 2") != std::string::npos);
  model.loss = spec::Loss::kMse;
  CHECK(ErrorOf(model, 5, 3).find("model.loss: ") != std::string::npos);
  model.loss = spec::Loss::kBinaryCrossEntropy;
  CHECK(ErrorOf(model, 5, 3).find("softmax_cross_entropy") != std::string::npos);
  model = {};
  model.hidden = {4, 0};
  CHECK(ErrorOf(model, 5, 3).find("model.hidden: ") != std::string::npos);
  model.hidden = {4, 4, 4};
  model.activation = {spec::Activation::kRelu, spec::Activation::kRelu};
  CHECK(ErrorOf(model, 5, 3).find("model.activation: ") != std::string::npos);
  model = {};
  model.thresholds = {1};
  CHECK(ErrorOf(model, 5, 3).find("model.thresholds: found 1 numbers") == 0);
  model.thresholds = {1, 0, 0};
  CHECK(ErrorOf(model, 5, 3).find("one at most 0") != std::string::npos);
  model = {};
  model.hidden = {65536};
  CHECK(ErrorOf(model, 1 << 20, 3).find("model.hidden: the network has 68,719,") == 0);
  model = {};
  model.dropout = {std::nan("")};
  CHECK(ErrorOf(model, 5, 3).find("model.dropout: ") != std::string::npos);
}

TEST_CASE("tensors tile the flat vector in order") {
  spec::ModelSpec model;
  model.hidden = {4};
  const spec::TensorList tensors = Tensors(MakeShape(model, 5, 3));
  REQUIRE(tensors.size() == 4);
  CHECK(tensors[0] == spec::TensorInfo{"layers.0.weight", {4, 5}, 0, 20});
  CHECK(tensors[1] == spec::TensorInfo{"layers.0.bias", {4}, 20, 4});
  CHECK(tensors[2] == spec::TensorInfo{"layers.1.weight", {3, 4}, 24, 12});
  CHECK(tensors[3] == spec::TensorInfo{"layers.1.bias", {3}, 36, 3});
}

TEST_CASE("a layer norm's gain and shift follow its bias as 1 and 0") {
  spec::ModelSpec model;
  model.hidden = {4};
  model.layer_norm = true;
  const NetworkShape shape = MakeShape(model, 5, 3);
  const spec::TensorList tensors = Tensors(shape);
  REQUIRE(tensors.size() == 6);
  CHECK(tensors[1] == spec::TensorInfo{"layers.0.bias", {4}, 20, 4});
  CHECK(tensors[2] == spec::TensorInfo{"layers.0.norm.weight", {4}, 24, 4});
  CHECK(tensors[3] == spec::TensorInfo{"layers.0.norm.bias", {4}, 28, 4});
  CHECK(tensors[4] == spec::TensorInfo{"layers.1.weight", {3, 4}, 32, 12});
  CHECK(ParameterCount(shape) == 47);
  const auto parameters = StartOf<double>(shape, 1);
  for (int i = 24; i < 28; ++i) CHECK(parameters[i] == 1);
  for (int i = 28; i < 32; ++i) CHECK(parameters[i] == 0);
}

TEST_CASE("dropout is one number for all hidden layers or one for each") {
  spec::ModelSpec model;
  model.hidden = {4, 3};
  model.dropout = {0.1, 0.4};
  const NetworkShape shape = MakeShape(model, 5, 3);
  CHECK(shape.layers[0].dropout == 0.1);
  CHECK(shape.layers[1].dropout == 0.4);
  CHECK(shape.layers[2].dropout == 0);
  model.dropout = {0.1, 0.2, 0.3};
  CHECK(ErrorOf(model, 5, 3).find("model.dropout: lists 3 numbers for 2") != std::string::npos);
}

TEST_CASE("first weights have the variance of He or Xavier") {
  spec::ModelSpec model;
  model.hidden = {200};
  const NetworkShape shape = MakeShape(model, 300, 100);
  const auto parameters = StartOf<double>(shape, 1);
  const auto variance = [&](const spec::TensorInfo& tensor) {
    double sum = 0;
    for (int64_t i = 0; i < tensor.size; ++i) {
      sum += parameters[tensor.offset + i] * parameters[tensor.offset + i];
    }
    return sum / static_cast<double>(tensor.size);
  };
  const spec::TensorList tensors = Tensors(shape);
  CHECK(variance(tensors[0]) == Approx(2.0 / 300).epsilon(0.02));
  CHECK(variance(tensors[1]) == 0);
  CHECK(variance(tensors[2]) == Approx(2.0 / 300).epsilon(0.02));
  CHECK(parameters == StartOf<double>(shape, 1));
  CHECK(parameters != StartOf<double>(shape, 2));
}

TEST_CASE("weight decay and l1 exclude biases by default") {
  const NetworkShape shape = MakeShape(spec::ModelSpec{}, 2, 2);
  spec::TrainSpec train;
  (GENERATE(false, true) ? train.l1 : train.weight_decay) = 0.5;
  for (auto kind :
       {spec::OptimizerKind::kSgd, spec::OptimizerKind::kMomentum, spec::OptimizerKind::kNesterov,
        spec::OptimizerKind::kAdam, spec::OptimizerKind::kAdamW, spec::OptimizerKind::kAdagrad,
        spec::OptimizerKind::kRmsprop, spec::OptimizerKind::kGd}) {
    train.optimizer = spec::DefaultOptimizer(kind);
    for (bool biases : {false, true}) {
      train.decay_biases = biases;
      std::vector<float> p(6, 1.0f), a(6), b(6), c(6), gradient(6);
      float* slots[] = {a.data(), b.data(), c.data()};
      for (const plan::Chunk& chunk : ChunksOf<float>(shape, 8)) {
        ApplyUpdate(train, shape, chunk, p.data(), slots, gradient.data(), 1, 1, 0.1, 1);
      }
      for (int i = 0; i < 4; ++i) CHECK(p[i] < 1);
      for (int i = 4; i < 6; ++i) CHECK((p[i] < 1) == biases);
    }
  }
}

TEST_CASE("a job's frozen layers are marked, and no update changes them") {
  spec::JobSpec job;
  job.model.hidden = {3};
  job.train.frozen = {0};
  job.train.weight_decay = 0.1;
  const NetworkShape shape = MakeNetworkShape(job, 2, 2).value();
  std::vector<double> p(17, 1.0), a(17), b(17), gradient(17, 0.5);
  double* slots[] = {a.data(), b.data()};
  for (const plan::Chunk& c : ChunksOf<double>(shape)) {
    ApplyUpdate(job.train, shape, c, p.data(), slots, gradient.data(), 1, 1, 0.1, 1);
  }
  for (int i = 0; i < 17; ++i) CHECK((p[i] == 1) == (i < 9));
  job.train.frozen = {2};
  CHECK(MakeNetworkShape(job, 2, 2).status().message() ==
        "train.frozen: names layer 2; the network has 2, counted from 0");
}

TEST_CASE("an update has the same bits for any chunks") {
  spec::ModelSpec model;
  model.hidden = {50};
  const NetworkShape shape = MakeShape(model, 37, 11);
  spec::TrainSpec train;
  train.weight_decay = 0.01;
  train.clip_value = GENERATE(0.0, 0.01);
  const auto updated = [&](int64_t chunk_bytes) {
    auto p = StartOf<float>(shape, 1);
    const auto gradient = StartOf<float>(shape, 2);
    std::vector<float> m(p.size()), v(p.size());
    float* slots[] = {m.data(), v.data()};
    for (int64_t step = 1; step < 4; ++step) {
      for (const plan::Chunk& c : ChunksOf<float>(shape, chunk_bytes)) {
        ApplyUpdate(train, shape, c, p.data(), slots, gradient.data() + c.offset, 0.3, 0.9, 1e-2,
                    step);
      }
    }
    return p;
  };
  const auto whole = updated(plan::kChunkBytes);
  CHECK(updated(200) == whole);
  CHECK(updated(1000) == whole);
}

TEST_CASE("the norm is clipped before single values") {
  const NetworkShape shape = MakeShape(spec::ModelSpec{}, 3, 2);
  spec::TrainSpec train;
  train.optimizer = spec::DefaultOptimizer(spec::OptimizerKind::kSgd);
  train.clip_norm = 5;
  train.clip_value = 2.5;
  const std::vector<plan::Chunk> chunks = ChunksOf<double>(shape, plan::kChunkBytes);
  std::vector<double> gradient(static_cast<size_t>(ParameterCount(shape)));
  gradient[0] = 60, gradient[1] = -80, gradient[2] = 2;  // of 10 rows; the mean's norm is about 10
  std::vector<double> p(gradient.size());
  double squares = 0;
  for (const plan::Chunk& c : chunks) squares += SquaredNorm(c, gradient.data() + c.offset, 0.1);
  const double scale = ClipScale(squares, train.clip_norm);
  CHECK(scale == Approx(5 / std::sqrt(100.04)).epsilon(1e-6));
  for (const plan::Chunk& c : chunks) {
    ApplyUpdate<double>(train, shape, c, p.data(), nullptr, gradient.data() + c.offset, 0.1, scale,
                        1, 1);
  }
  CHECK(p[0] == Approx(-2.5));  // 3 after the norm
  CHECK(p[1] == Approx(2.5));   // -4 after the norm
  CHECK(p[2] == Approx(-0.1).epsilon(1e-3));
}

TEST_CASE("no clipping when the limit is 0") {
  CHECK(ClipScale(1e12, 0) == 1);
  CHECK(ClipScale(4, 1) == Approx(1 / (2 + 1e-6)).epsilon(1e-15));
}

}  // namespace
}  // namespace espalier::model
