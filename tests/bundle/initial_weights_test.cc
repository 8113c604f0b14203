#include "src/bundle/initial_weights.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <limits>
#include <numeric>
#include <vector>

#include "src/base/checksum.h"
#include "src/bundle/checkpoint_store.h"
#include "src/bundle/model_json.h"
#include "src/bundle/safetensors.h"
#include "src/training/state_codec.h"
#include "tests/storage/temporary_directory.h"
#include "tests/testing/says.h"

namespace espalier::bundle {
namespace {

// Returns the tensors of 2 inputs, 3 hidden units and 1 output.
spec::TensorList Network() {
  return {{"layers.0.weight", {3, 2}, 0, 6},
          {"layers.0.bias", {3}, 6, 3},
          {"layers.1.weight", {1, 3}, 9, 3},
          {"layers.1.bias", {1}, 12, 1}};
}

struct Model {
  Model() {
    std::filesystem::create_directories(directory / "m");
    for (int i = 0; i < 13; ++i) weights.push_back(0.1f * static_cast<float>(i));
    Put();
  }
  void Put() { path = directory.Put("m/weights.safetensors", Encoded(Network(), weights)); }
  // Writes a model with these weights. Returns their path.
  std::string Put(ModelDocument document, const spec::TensorList& network,
                  const std::vector<float>& values) const {
    const std::string bytes = Encoded(network, values);
    document.weights_sha256 = Sha256Hex(bytes);
    directory.Put("m/model.json", EncodeModelJson(document));
    return directory.Put("m/weights.safetensors", bytes);
  }
  static std::string Encoded(const spec::TensorList& network, const std::vector<float>& values) {
    return EncodeSafetensors(network, values.data(), ElementType::kFloat32);
  }
  Result<std::vector<spec::InitialTensor>> Read(const spec::InitialSpec& initial,
                                                const spec::TensorList& network = Network(),
                                                const spec::Preprocessing& fitted = {}) const {
    return ReadInitialWeights(*files, initial, network, fitted);
  }
  std::string Error(const spec::InitialSpec& initial,
                    const spec::TensorList& network = Network()) const {
    return Read(initial, network).status().message();
  }
  std::string Directory() const { return path.substr(0, path.rfind('/')); }

  storage::TemporaryDirectory directory;
  std::unique_ptr<storage::FileSystem> files = storage::MakeFileSystem();
  std::vector<float> weights;
  std::string path;
};

// Returns the 13 parameters of the network with the given tensors.
std::vector<double> AllOf(const std::vector<spec::InitialTensor>& tensors) {
  std::vector<double> all(13, std::nan(""));
  for (const spec::InitialTensor& t : tensors)
    std::ranges::copy(t.values, all.begin() + static_cast<int64_t>(t.offset));
  return all;
}

TEST_CASE("weights come from a model or a file of safetensors") {
  const Model model;
  for (const std::string& from : {model.path, model.Directory(), model.Directory() + "/"}) {
    const auto tensors = model.Read({from, {}});
    INFO(tensors.status().ToString());
    REQUIRE(tensors.ok());
    REQUIRE(tensors->size() == 4);
    CHECK(AllOf(*tensors) == std::vector<double>(model.weights.begin(), model.weights.end()));
  }
  const auto second = model.Read({model.path, {1}});
  REQUIRE(second->size() == 2);
  CHECK(second->at(0).offset == 9);
  CHECK(second->at(1).values == std::vector<double>{static_cast<double>(model.weights[12])});
}

TEST_CASE("weights of float64 are read exactly") {
  Model model;
  const std::vector<double> doubles(13, 0.1);
  model.path = model.directory.Put(
      "d.safetensors", EncodeSafetensors(Network(), doubles.data(), ElementType::kFloat64));
  CHECK(model.Read({model.path, {}})->at(0).values == std::vector<double>(6, 0.1));
}

// Returns a checkpoint with the weights `first`, `first` + 1, ...
template <typename T>
std::string CheckpointOf(int64_t step, double first,
                         spec::OptimizerKind kind = spec::OptimizerKind::kAdam,
                         std::vector<int64_t> hidden = {3}, const std::string& preprocessing = "") {
  training::TrainingState<T> state;
  for (int i = 0; i < 13; ++i) state.parameters.push_back(static_cast<T>(first + i));
  if (kind == spec::OptimizerKind::kLbfgs) {  // a later line search has other parameters
    state.slots = {state.parameters, {}};
    for (T& p : state.parameters) p = -p;
  }
  spec::JobSpec job;
  job.model.hidden = std::move(hidden);
  job.train.optimizer.kind = kind;
  return EncodeCheckpoint(
      {step, spec::CanonicalText(job), "data", "arithmetic", {}, true, preprocessing},
      training::EncodeState(state));
}

TEST_CASE("weights come from a checkpoint or a directory's newest one") {
  const Model model;
  std::filesystem::create_directories(model.directory / "m.checkpoints");
  const std::string old =
      model.directory.Put("m.checkpoints/" + CheckpointFileName(5), CheckpointOf<float>(5, 50));
  model.directory.Put("m.checkpoints/" + CheckpointFileName(7), CheckpointOf<double>(7, 70.25));
  std::string torn = CheckpointOf<float>(9, 90);
  torn[torn.size() / 2] ^= 1;
  model.directory.Put("m.checkpoints/" + CheckpointFileName(9), torn);
  const std::string directory = model.directory / "m.checkpoints";
  for (const auto& [from, first] :
       {std::pair(old, 50.0), std::pair(directory, 70.25), std::pair(directory + "/", 70.25)}) {
    const auto tensors = model.Read({from, {}});
    INFO(tensors.status().ToString());
    REQUIRE(tensors.ok());
    REQUIRE(tensors->size() == 4);
    std::vector<double> expected(13);
    std::iota(expected.begin(), expected.end(), first);
    CHECK(AllOf(*tensors) == expected);
  }
  CHECK(model.Read({old, {1}})->at(0).values == std::vector<double>{59, 60, 61});
  const std::string lbfgs =
      model.directory.Put("l.ckpt", CheckpointOf<float>(3, 1, spec::OptimizerKind::kLbfgs));
  CHECK(model.Read({lbfgs, {}})->at(3).values == std::vector<double>{13});
}

TEST_CASE("a damaged or unfit checkpoint is refused") {
  Model model;
  std::string bytes = CheckpointOf<float>(5, 50);
  const std::string path = model.directory.Put("c.ckpt", bytes);
  spec::TensorList wider = Network();
  wider[2] = {"layers.1.weight", {2, 3}, 9, 6};
  wider[3] = {"layers.1.bias", {2}, 15, 2};
  const std::string hint = " ... the same layers and inputs";
  CHECK_THAT(
      model.Error({path, {}}, wider),
      Says("train.initial: " + path +
           ": found 13 parameters ... layers of [3] ... 17 parameters ... layers of [3]" + hint));
  // The same number of parameters, in layers of other widths.
  const std::string other =
      model.directory.Put("o.ckpt", CheckpointOf<float>(5, 50, spec::OptimizerKind::kAdam, {2, 1}));
  CHECK_THAT(model.Error({other, {}}),
             Says("train.initial: " + other +
                  ": found 13 parameters ... layers of [2, 1] ... 13 parameters ... layers of [3]" +
                  hint));
  // The same number of parameters. A norm of 6 + 4 values replaces one of the inputs.
  const spec::TensorList normed = {
      {"layers.0.weight", {3, 1}, 0, 3},   {"layers.0.bias", {3}, 3, 3},
      {"layers.0.norm.weight", {1}, 6, 1}, {"layers.0.norm.bias", {1}, 7, 1},
      {"layers.1.weight", {1, 3}, 8, 3},   {"layers.1.bias", {1}, 11, 2}};
  CHECK_THAT(model.Error({path, {}}, normed), Says("... found 13 parameters ... layers of [3] ... "
                                                   "13 parameters ... layers of [3], normalised"));
  wider[2] = {"layers.0.one_hot.0.weight", {3, 3}, 9, 9};
  CHECK_THAT(model.Error({path, {}}, wider), Catch::Contains("does not record which values"));
  bytes.back() ^= 1;
  model.directory.Put("c.ckpt", bytes);
  CHECK_THAT(model.Read({path, {}}).status().ToString(), Catch::Contains("its SHA-256 differs"));
  const std::string empty =
      model.directory.Put("e.ckpt", EncodeCheckpoint({5, "", "", "", {}, true}, "ESPS"));
  CHECK_THAT(model.Error({empty, {}}), Catch::Contains("does not begin with parameters"));
  const auto missing = model.Read({model.directory / "none.checkpoints", {}});
  CHECK(missing.status().code() == StatusCode::kNotFound);
}

TEST_CASE("a checkpoint's tables fit only its columns and classes") {
  const Model model;
  // A number and a category with 2 values.
  const spec::TensorList network = {{"layers.0.weight", {2, 1}, 0, 2},
                                    {"layers.0.bias", {2}, 2, 2},
                                    {"layers.0.one_hot.0.weight", {2, 2}, 4, 4},
                                    {"layers.1.weight", {1, 2}, 8, 2},
                                    {"layers.1.bias", {3}, 10, 3}};
  spec::FittedFeature city{.name = "city"};
  city.codes = 2;
  city.vocabulary = {"Oslo", "\xFF"};
  const spec::Preprocessing earlier{{{.name = "x"}, city}, {}, {"a", "b", "c"}};
  const std::string path = model.directory.Put(
      "c.ckpt",
      CheckpointOf<float>(5, 50, spec::OptimizerKind::kAdam, {2}, EncodePreprocessing(earlier)));
  const auto read = [&](const spec::Preprocessing& fitted, std::vector<int64_t> layers = {}) {
    return model.Read({path, std::move(layers)}, network, fitted);
  };
  const auto same = read(earlier);
  INFO(same.status().ToString());
  REQUIRE(same.ok());
  CHECK(same->at(2).values == std::vector<double>{54, 55, 56, 57});

  spec::Preprocessing other = earlier;
  other.features[1].vocabulary[0] = "Lima";
  CHECK(read(other).status().code() == StatusCode::kFailedPrecondition);
  CHECK_THAT(read(other).status().message(),
             Catch::StartsWith("train.initial: " + path + ": the column 'city' had other values"));
  CHECK(read(other, {1}).ok());
  other = earlier;
  other.features[0].name = "z";
  CHECK_THAT(read(other).status().message(),
             Catch::Contains("in another order: 'x' where this job has 'z'"));
  CHECK(read(other, {1}).ok());
  other = earlier;
  other.classes[0] = "d";
  CHECK_THAT(read(other).status().message(),
             Catch::Contains("other classes or targets: 'a' where"));
  CHECK(read(other, {0}).ok());
  other = earlier;
  other.features[0].null_indicator = true;
  CHECK_THAT(read(other).status().message(), Catch::Contains("has other inputs or answers"));
}

TEST_CASE("weights of another network are refused by the first misfit") {
  Model model;
  spec::TensorList wider = Network();
  wider[2] = {"layers.1.weight", {2, 3}, 9, 6};
  wider[3] = {"layers.1.bias", {2}, 15, 2};
  const std::string hint = " ... the same layers and inputs ... {from: MODEL, layers: [0]}";
  CHECK_THAT(model.Error({model.path, {}}, wider),
             Says("train.initial: " + model.path +
                  ": found one of [1, 3] for the tensor layers.1.weight of [2, 3]" + hint));
  CHECK(model.Read({model.path, {0}}, wider)->size() == 2);
  wider[0].name = "layers.0.norm.weight";
  CHECK_THAT(model.Error({model.path, {0}}, wider),
             Says("train.initial: " + model.path +
                  ": found none for the tensor layers.0.norm.weight of [3, 2]" + hint));
  model.weights[7] = std::numeric_limits<float>::infinity();
  model.Put();
  CHECK_THAT(model.Error({model.path, {}}),
             Says("train.initial: " + model.path + " ... tensor layers.0.bias ... not finite"));
}

TEST_CASE("tables of categories need all their values") {
  const Model model;
  ModelDocument document;
  document.job.data.train = {"t.csv"};
  document.job.data.label = {std::string("y")};
  document.job.data.features.groups.emplace_back().columns = {std::string("city")};
  document.job.data.features.groups[0].type = spec::FeatureType::kCategorical;
  document.schema = {{"city", "y"}, {0}, {1}};
  document.schema.rules = {{spec::FeatureType::kCategorical, 0}};
  spec::FittedFeature city{.name = "city"};
  city.codes = 3;
  city.vocabulary = {"Oslo", "Rome", "Wien"};
  document.preprocessing = {{city}, {}, {"a", "b"}};
  const spec::TensorList network = {{"layers.0.weight", {3, 0}, 0, 0},
                                    {"layers.0.bias", {3}, 0, 3},
                                    {"layers.0.one_hot.0.weight", {3, 3}, 3, 9}};
  const std::string file = model.Put(document, network, model.weights);
  spec::Preprocessing fitted{{city}, {}, {"a", "b"}};
  const auto read = model.Read({model.Directory(), {}}, network, fitted);
  INFO(read.status().ToString());
  CHECK(read.ok());
  fitted.features[0].vocabulary[1] = "Lima";
  const Status other = model.Read({model.Directory(), {}}, network, fitted).status();
  CHECK(other.code() == StatusCode::kFailedPrecondition);
  CHECK_THAT(other.message(), Catch::Contains("the column 'city' had other values"));
  CHECK(model.Read({file, {}}, network, fitted).ok());
  CHECK(model.Read({model.Directory(), {7}}, network, fitted).ok());
  const spec::InitialSpec spark{"", {}, true, std::vector<double>(12, 0.5)};
  CHECK_THAT(model.Read(spark, network, fitted).status().ToString(),
             Catch::Contains("Spark's layout has no place"));
}

// Returns a model with the inputs a and b and two classes.
ModelDocument OfTwoColumns() {
  ModelDocument document;
  document.job.data.train = {"t.csv"};
  document.job.data.label = {std::string("y")};
  document.schema = {{"a", "b", "y"}, {0, 1}, {2}};
  document.schema.rules = {{}, {}};
  document.preprocessing = {{{.name = "a"}, {.name = "b"}}, {}, {"no", "yes"}};
  return document;
}

TEST_CASE("a model's inputs and outputs must match names and order") {
  const Model model;
  const ModelDocument document = OfTwoColumns();
  model.Put(document, Network(), model.weights);
  const auto read = [&](const spec::Preprocessing& fitted, std::vector<int64_t> layers = {},
                        bool file = false) {
    return model.Read({file ? model.path : model.Directory(), std::move(layers)}, Network(), fitted)
        .status();
  };
  spec::Preprocessing fitted = document.preprocessing;
  INFO(read(fitted).ToString());
  CHECK(read(fitted).ok());
  fitted.features = {{.name = "b"}, {.name = "a"}};
  CHECK(read(fitted).code() == StatusCode::kFailedPrecondition);
  CHECK_THAT(read(fitted).message(),
             Catch::StartsWith("train.initial: " + model.Directory() + "/model.json") &&
                 Catch::Contains("in another order: 'a' where this job has 'b'; list them"));
  CHECK(read(fitted, {1}).ok());
  CHECK(read(fitted, {}, true).ok());
  fitted = document.preprocessing;
  fitted.classes = {"maybe", "yes"};
  CHECK_THAT(read(fitted).message(), Catch::Contains("other classes or targets: 'no' where this"));
  CHECK_FALSE(read(fitted, {1}).ok());
  CHECK(read(fitted, {0}).ok());
  CHECK(read(fitted, {}, true).ok());
}

TEST_CASE("weights that are not those of model.json are refused") {
  Model model;
  const ModelDocument document = OfTwoColumns();
  model.Put(document, Network(), model.weights);
  CHECK(model.Read({model.Directory(), {}}, Network(), document.preprocessing).ok());
  model.weights[3] += 1;
  model.Put();
  const Status other =
      model.Read({model.Directory(), {}}, Network(), document.preprocessing).status();
  CHECK(other.code() == StatusCode::kDataLoss);
  CHECK_THAT(other.message(),
             Says("train.initial: " + model.path + ": ... SHA-256 ... model.json"));
  CHECK(model.Read({model.path, {}}, Network(), document.preprocessing).ok());
}

// Returns a model with a number, a one-hot and an embedded category, a scaling layer and three
// classes.
ModelDocument Coded() {
  ModelDocument document;
  document.job.data.train = {"t.csv"};
  document.job.data.label = {std::string("y")};
  document.job.data.features.groups.resize(2);
  for (auto& group : document.job.data.features.groups) {
    group.type = spec::FeatureType::kCategorical;
  }
  document.job.data.features.groups[0].columns = {std::string("city")};
  document.job.data.features.groups[1].columns = {std::string("shop")};
  document.schema = {{"x", "city", "shop", "y"}, {0, 1, 2}, {3}};
  document.schema.rules = {
      {}, {spec::FeatureType::kCategorical, 0}, {spec::FeatureType::kCategorical, 1}};
  spec::FittedFeature city{.name = "city"}, shop{.name = "shop"};
  city.codes = 3;  // and one code for other values
  city.vocabulary = {"Oslo", "Rome"};
  shop.codes = 2;
  shop.embedding = 2;
  shop.vocabulary = {"A", "C"};
  document.preprocessing = {{{.name = "x"}, city, shop}, {}, {"a", "c", "d"}};
  return document;
}

spec::TensorList CodedNetwork(int64_t cities, int64_t shops, int64_t classes) {
  spec::TensorList list;
  int64_t offset = 0;
  const auto add = [&](const std::string& name, std::vector<int64_t> shape) {
    int64_t size = 1;
    for (const int64_t side : shape) size *= side;
    list.push_back({name, std::move(shape), offset, size});
    offset += size;
  };
  add("layers.0.weight", {2, 3});
  add("layers.0.bias", {2});
  add("layers.1.weight", {classes, 2});
  add("layers.1.bias", {classes});
  add("layers.0.one_hot.0.weight", {cities, 2});
  add("layers.0.embeddings.1.weight", {shops, 2});
  add("layers.0.scale", {3 + cities});
  return list;
}

TEST_CASE("new values and classes keep drawn weights, others load") {
  const Model model;
  const ModelDocument document = Coded();
  const spec::TensorList before = CodedNetwork(3, 2, 3);
  std::vector<float> weights(static_cast<size_t>(before.back().offset + before.back().size));
  std::iota(weights.begin(), weights.end(), 1.0F);
  model.Put(document, before, weights);
  spec::Preprocessing fitted = document.preprocessing;
  fitted.features[1].vocabulary = {"Lima", "Oslo", "Rome"};
  fitted.features[1].codes = 4;
  fitted.features[2].vocabulary = {"A", "B", "C", "D"};
  fitted.features[2].codes = 4;
  fitted.classes = {"a", "b", "c", "d"};
  const spec::TensorList now = CodedNetwork(4, 4, 4);
  const auto read = model.Read({model.Directory(), {}}, now, fitted);
  INFO(read.status().ToString());
  REQUIRE(read.ok());
  const auto found = [&](const std::string& name) {
    for (size_t i = 0; i < now.size(); ++i) {
      if (now[i].name != name) continue;
      CHECK(read->at(i).offset == now[i].offset);
      std::vector<double> values = read->at(i).values;
      for (double& value : values) value = std::isnan(value) ? 0 : value;  // a drawn value
      return values;
    }
    return std::vector<double>();
  };
  using Values = std::vector<double>;
  CHECK(found("layers.0.weight") == Values{1, 2, 3, 4, 5, 6});
  CHECK(found("layers.1.weight") == Values{9, 10, 0, 0, 11, 12, 13, 14});
  CHECK(found("layers.1.bias") == Values{15, 0, 16, 17});
  CHECK(found("layers.0.one_hot.0.weight") == Values{0, 0, 18, 19, 20, 21, 22, 23});
  CHECK(found("layers.0.embeddings.1.weight") == Values{24, 25, 0, 0, 26, 27, 0, 0});
  CHECK(found("layers.0.scale") == Values{28, 29, 30, 0, 31, 32, 33});
  // A value of the model that is now missing has no place.
  fitted.features[1].vocabulary = {"Lima", "Oslo", "Paris"};
  CHECK_THAT(model.Read({model.Directory(), {}}, now, fitted).status().message(),
             Catch::Contains("the column 'city' had other values"));
}

TEST_CASE("a model with a tensor without a place is refused") {
  const Model model;
  const ModelDocument document = Coded();
  const spec::TensorList network = CodedNetwork(3, 2, 3);
  const std::vector<float> weights(static_cast<size_t>(network.back().offset + network.back().size),
                                   0.5F);
  const std::string file = model.Put(document, network, weights);
  spec::TensorList unscaled = network;
  unscaled.pop_back();
  const spec::Preprocessing& fitted = document.preprocessing;
  CHECK(model.Read({model.Directory(), {}}, network, fitted).ok());
  const Status refused = model.Read({model.Directory(), {}}, unscaled, fitted).status();
  CHECK(refused.code() == StatusCode::kFailedPrecondition);
  CHECK_THAT(refused.message(), Says("train.initial: ... layers.0.scale ... model.scaling_layer"));
  CHECK(model.Read({model.Directory(), {1}}, unscaled, fitted).ok());
  CHECK(model.Read({file, {}}, unscaled, fitted).ok());
}

TEST_CASE("layers after the inputs are read for any categories") {
  const Model model;
  ModelDocument document = Coded();
  document.job.data.features.groups[0].hash = 1'000'000;
  document.preprocessing.features[1].hashed = true;
  document.preprocessing.features[1].vocabulary.clear();
  document.preprocessing.features[1].codes = 1'000'000;
  const spec::TensorList second = {{"layers.1.weight", {3, 2}, 0, 6}, {"layers.1.bias", {3}, 6, 3}};
  const std::vector<float> weights = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  model.Put(document, second, weights);
  for (const bool hashed : {true, false}) {
    spec::Preprocessing fitted = Coded().preprocessing;
    fitted.features[1].hashed = hashed;
    if (hashed) fitted.features[1].vocabulary.clear();
    const auto read = model.Read({model.Directory(), {1}}, CodedNetwork(3, 2, 3), fitted);
    INFO(read.status().ToString());
    REQUIRE(read.ok());
    REQUIRE(read->size() == 2);
    CHECK(read->at(1).values == std::vector<double>{7, 8, 9});
  }
}

TEST_CASE("a checkpoint with impossible preprocessing is refused") {
  spec::Preprocessing preprocessing = Coded().preprocessing;
  CHECK(DecodePreprocessing(EncodePreprocessing(preprocessing)).ok());
  preprocessing.features[1].codes = 7;  // of two values
  CHECK_FALSE(DecodePreprocessing(EncodePreprocessing(preprocessing)).ok());
  preprocessing = Coded().preprocessing;
  preprocessing.features[1].codes = int64_t{1} << 60;
  CHECK_FALSE(DecodePreprocessing(EncodePreprocessing(preprocessing)).ok());
  preprocessing = Coded().preprocessing;
  preprocessing.targets = {{.name = "y", .factor = 0}};
  CHECK_FALSE(DecodePreprocessing(EncodePreprocessing(preprocessing)).ok());
}

TEST_CASE("a job keeps the preprocessing of the layers that it reads") {
  const Model model;
  const ModelDocument document = Coded();
  model.directory.Put("m/model.json", EncodeModelJson(document));
  spec::JobSpec job;
  job.model.hidden = {4};
  CHECK_FALSE(ReadEarlierFit(*model.files, job)->has_value());
  const auto read = [&](const std::string& from, std::vector<int64_t> layers, bool refit) {
    job.train.initial = {.from = from, .layers = std::move(layers), .refit_preprocessing = refit};
    auto fit = ReadEarlierFit(*model.files, job);
    INFO(fit.status().ToString());
    REQUIRE(fit.ok());
    return *std::move(fit);
  };
  const auto all = read(model.Directory(), {}, false);
  REQUIRE(all);
  CHECK(all->preprocessing == document.preprocessing);
  CHECK((all->features && all->answers));
  const auto first = read(model.Directory() + "/", {0}, false);
  CHECK((first->features && !first->answers));
  const auto last = read(model.Directory(), {1}, false);
  CHECK((!last->features && last->answers));
  CHECK_FALSE(read(model.Directory(), {}, true));
  CHECK_FALSE(read(model.path, {}, false));
  const std::string path = model.directory.Put(
      "c.ckpt", CheckpointOf<float>(5, 50, spec::OptimizerKind::kAdam, {2},
                                    EncodePreprocessing(document.preprocessing)));
  CHECK(read(path, {}, false)->preprocessing == document.preprocessing);
  model.directory.Put("m/model.json", "{");
  job.train.initial = {.from = model.Directory()};
  CHECK_THAT(ReadEarlierFit(*model.files, job).status().message(),
             Catch::StartsWith("train.initial: "));
}

TEST_CASE("weights in Spark's layout are columns and then the bias") {
  const Model model;
  const std::vector<double> values = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13};
  const std::string text =
      model.directory.Put("w.txt", "[1 2.0 3,4e0]\n5,6\t7 8 9 (10), 11\n12 13");
  for (const spec::InitialSpec& initial :
       {spec::InitialSpec{"", {}, true, values}, spec::InitialSpec{text, {}, true, {}}}) {
    const auto tensors = model.Read(initial);
    INFO(tensors.status().ToString());
    REQUIRE(tensors.ok());
    REQUIRE(tensors->size() == 4);
    CHECK(tensors->at(0).values == std::vector<double>{1, 4, 2, 5, 3, 6});
    CHECK(tensors->at(1).values == std::vector<double>{7, 8, 9});
    CHECK(tensors->at(2).values == std::vector<double>{10, 11, 12});
    CHECK(tensors->at(2).offset == 9);
    CHECK(tensors->at(3).values == std::vector<double>{13});
  }
}

TEST_CASE("invalid weights in Spark's layout are refused") {
  const Model model;
  const auto error = [&](const std::string& text) {
    const std::string path = model.directory.Put("w.txt", text);
    const auto read = model.Read({path, {}, true, {}});
    std::string message = read.status().ToString();
    const size_t at = message.find(path);
    return at == std::string::npos ? message : message.replace(at, path.size(), "W");
  };
  CHECK_THAT(error("1 2 3"), Catch::Contains("compat.spark-mlp.initialWeights: W <- found 3 "
                                             "numbers; the network has 13"));
  CHECK_THAT(error("1 2 x3 4"), Catch::Contains("found 'x3' at byte 4, expected a number"));
  CHECK_THAT(error("1 2 3\x01 4"), Catch::Contains("at byte 4, expected a number"));
  CHECK_THAT(error("1 2 3 4 5 6 7 8 9 10 11 12 nan"), Catch::Contains("not finite"));
  CHECK_THAT(error("1e999"), Catch::Contains("at byte 0, expected a number"));
  CHECK(model.Read({"", {}, true, {1}}).status().ToString().find("found 1 numbers") !=
        std::string::npos);
  CHECK(model.Read({model.Directory() + "/no.txt", {}, true, {}}).status().code() ==
        StatusCode::kNotFound);
}

TEST_CASE("a missing or invalid model is refused with its path") {
  Model model;
  const auto missing = model.Read({model.Directory() + "/no", {}});
  CHECK(missing.status().code() == StatusCode::kNotFound);
  CHECK(missing.status().ToString().find("/no/weights.safetensors") != std::string::npos);
  model.path = model.directory.Put("bad.safetensors", "nonsense");
  CHECK(model.Read({model.path, {}}).status().code() == StatusCode::kBadInput);
}

}  // namespace
}  // namespace espalier::bundle
