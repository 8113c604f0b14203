#include "src/bundle/bundle.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

#include "src/base/checksum.h"
#include "src/base/random.h"
#include "src/bundle/history.h"
#include "src/bundle/metrics_json.h"
#include "src/bundle/readme.h"
#include "tests/testing/says.h"

namespace espalier::bundle {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

spec::Metrics TwoClasses() {
  spec::Metrics m;
  m.rows = 5;
  m.weight = 5;
  m.loss = 0.25;
  m.accuracy = 0.8;
  m.precision = 0.75;
  m.recall = 0.8;
  m.f1 = 0.775;
  m.auc = 0.9;
  m.average_precision = 0.85;
  m.classes = {{1, 0.5, 0.625, 2}, {0.75, 1, 0.875, 3}};
  m.confusion = {1, 1, 0, 3};
  return m;
}

ModelDocument Document() {
  ModelDocument d;
  d.job.name = "demo";
  d.job.data.train = {"/data/*.csv"};
  d.job.data.label = {std::string("y")};
  d.job.data.weight = int64_t{4};
  d.job.data.features.columns = {std::string("a"), int64_t{1}, spec::ColumnRange{2, 3}};
  d.job.data.validation.fraction = 0.1;
  d.job.model.hidden = {3};
  d.job.model.loss = spec::Loss::kBinaryCrossEntropy;
  d.job.train.leaves = 2;
  d.job.train.early_stopping = spec::EarlyStopping{};
  d.job.train.seed = 18446744073709551615u;
  d.job.output.path = "/models/elsewhere";
  d.job.workers = {2, 5};
  d.schema = {{"a", "b", "c", "d", "w", "y"}, {0, 1, 2, 3}, {5}, 4, -1};
  for (const char* name : {"a", "b", "c", "d"}) {
    d.preprocessing.features.push_back({name, 0.1, 1.0 / 3, -2});
  }
  d.preprocessing.classes = {"no", "caf\xe9"};
  d.storage = spec::StorageType::kFloat32;
  d.train_rows = 90;
  d.validation_rows = 10;
  d.steps = 77;
  d.epochs = 2.5;
  d.stopped_because = "early stopping";
  d.train = TwoClasses();
  d.validation = TwoClasses();
  d.data_fingerprint = "d1";
  d.arithmetic_id = "a1";
  d.weights_sha256 = "w1";
  d.accepted = {"data_fingerprint d0 until step 5"};
  return d;
}

spec::TensorList Tensors() {
  return {{"layers.0.weight", {1, 2}, 0, 2}, {"layers.0.bias", {1}, 2, 1}};
}

TEST_CASE("metrics as JSON have class names, a matrix and finite values") {
  spec::Metrics m = TwoClasses();
  m.loss = kNan;
  const std::string classes[] = {"no", "yes"};
  CHECK(MetricsJsonText(m, classes) ==
        R"({"rows":5,"weight":5,"loss":null,"accuracy":0.8,"precision":0.75,"recall":0.8,)"
        R"("f1":0.775,"auc":0.9,"average_precision":0.85,"per_class":[)"
        R"({"class":"no","precision":1,"recall":0.5,"f1":0.625,"weight":2},)"
        R"({"class":"yes","precision":0.75,"recall":1,"f1":0.875,"weight":3}],)"
        R"("confusion_matrix":[[1,1],[0,3]]})");
  m.classes.clear();
  m.confusion.clear();
  CHECK(MetricsJsonText(m, classes) ==
        R"({"rows":5,"weight":5,"loss":null,"accuracy":0.8,"auc":0.9,"average_precision":0.85})");
  spec::Metrics regression;
  regression.classification = false;
  regression.rows = 3;
  regression.rmse = 1.5;
  regression.r2 = -std::numeric_limits<double>::infinity();
  CHECK(MetricsJsonText(regression, {}) ==
        R"({"rows":3,"weight":0,"loss":0,"rmse":1.5,"mae":0,"r2":null})");
}

TEST_CASE("model.json reads back except output, workers and metrics") {
  const ModelDocument d = Document();
  const std::string text = EncodeModelJson(d);
  const auto back = DecodeModelJson(text);
  INFO(text << back.status().ToString());
  REQUIRE(back.ok());
  spec::JobSpec job = d.job;
  job.output = {};
  job.workers = {};
  CHECK(back->job == job);
  CHECK(back->schema == d.schema);
  CHECK(back->preprocessing == d.preprocessing);
  CHECK(back->storage == d.storage);
  CHECK(back->train_rows == 90);
  CHECK(back->steps == 77);
  CHECK(back->epochs == 2.5);
  CHECK(back->stopped_because == "early stopping");
  CHECK(back->arithmetic_id == "a1");
  CHECK(back->accepted == d.accepted);
  CHECK(EncodeModelJson(*back).find("\"job_fingerprint\": \"" + spec::Fingerprint(d.job)) !=
        std::string::npos);
}

TEST_CASE("model.json has the job in the keys of a job file") {
  using Json = nlohmann::json;
  ModelDocument d = Document();
  d.job.train.skip_nonfinite = true;
  d.job.train.max_time_ms = 90'000;
  d.job.data.features.scale = {spec::ScaleKind::kDivide, 255};
  const Json spec = Json::parse(EncodeModelJson(d))["spec"];
  CHECK(spec["data"]["features"]["columns"] == Json({"a", 1, "2..3"}));
  CHECK(spec["data"]["features"]["scale"] == Json({{"divide", 255}}));
  CHECK(spec["data"]["label"] == Json({"y"}));
  CHECK(spec["data"]["weight"] == 4);
  CHECK(spec["model"]["loss"] == Json({{"binary_cross_entropy", {{"label_smoothing", 0}}}}));
  CHECK(spec["train"]["max_time"] == "90 s");
  CHECK(spec["train"]["on_nonfinite"] == "skip");
  CHECK(spec["train"]["seed"] == 18446744073709551615u);
  CHECK_FALSE(spec.contains("output"));
}

TEST_CASE("a model.json of format 1, as 0.1.0 wrote it, is read") {
  std::ifstream file("tests/bundle/model_format_1.json");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto old = DecodeModelJson(text);
  INFO(old.status().ToString());
  REQUIRE(old.ok());
  const auto fingerprint = [](const std::string& model_json) {
    return nlohmann::json::parse(model_json)["job_fingerprint"].get<std::string>();
  };
  CHECK(spec::Fingerprint(old->job) == fingerprint(text));
  CHECK(old->job.train.frozen == std::vector<int64_t>{1});
  CHECK(old->job.data.features.groups.size() == 2);
  const std::string again = EncodeModelJson(*old);
  const auto back = DecodeModelJson(again);
  REQUIRE(back.ok());
  CHECK(back->job == old->job);
  CHECK(fingerprint(again) == fingerprint(text));
}

TEST_CASE("model.json records sparse training only") {
  using Json = nlohmann::json;
  ModelDocument d = Document();
  const std::string dense = EncodeModelJson(d);
  CHECK_FALSE(Json::parse(dense).contains("sparse"));
  CHECK_FALSE(DecodeModelJson(dense)->sparse);
  d.sparse = true;
  Json json = Json::parse(EncodeModelJson(d));
  CHECK(json["sparse"] == true);
  const auto back = DecodeModelJson(json.dump());
  REQUIRE(back.ok());
  CHECK(back->sparse);
  json["sparse"] = "yes";
  const auto refused = DecodeModelJson(json.dump());
  CHECK(refused.status().code() == StatusCode::kBadInput);
  CHECK(refused.status().message().find("sparse: expected true or false") != std::string::npos);
}

TEST_CASE("model.json records asynchronous training only") {
  using Json = nlohmann::json;
  ModelDocument d = Document();
  const Json sync = Json::parse(EncodeModelJson(d));
  CHECK_FALSE(sync["spec"]["train"].contains("mode"));
  CHECK_FALSE(sync["spec"]["train"].contains("staleness"));
  CHECK_FALSE(sync["training"].contains("async"));
  d.job.train.mode = spec::TrainMode::kAsync;
  d.job.train.staleness = 3;
  d.async = spec::AsyncCounts{2, 9};
  const std::string text = EncodeModelJson(d);
  const auto back = DecodeModelJson(text);
  REQUIRE(back.ok());
  CHECK(back->job.train == d.job.train);
  Json json = Json::parse(text);
  CHECK(json["training"]["async"] == Json({{"largest_lag", 2}, {"refused", 9}}));
  json["spec"]["train"]["mode"] = "sideways";
  CHECK(DecodeModelJson(json.dump()).status().message().find("train.mode") != std::string::npos);
}

TEST_CASE("model.json records chosen thresholds and intervals only") {
  using Json = nlohmann::json;
  ModelDocument d = Document();
  const Json plain = Json::parse(EncodeModelJson(d));
  CHECK_FALSE(plain.contains("thresholds"));
  CHECK_FALSE(plain.contains("intervals"));
  CHECK_FALSE(plain["training"].contains("threshold"));
  d.job.model.loss = spec::Loss::kSoftmaxCrossEntropy;
  const std::string fingerprint = spec::Fingerprint(d.job);
  d.thresholds = {0.75, 0.25};
  d.threshold = spec::ChosenThreshold{"f1", 0.25, 0.5, 0.375};
  const Json json = Json::parse(EncodeModelJson(d));
  CHECK(json["training"]["threshold"]["metric"] == "f1");
  CHECK(json["training"]["threshold"]["value_at_half"] == 0.375);
  CHECK(json["job_fingerprint"] == fingerprint);
  const auto back = DecodeModelJson(json.dump());
  REQUIRE(back.status().ToString() == "OK");
  CHECK(back->thresholds == d.thresholds);
  CHECK(BundleReadme(d, Tensors()).find("is predicted where its probability is above 0.25") !=
        std::string::npos);
  for (const char* bad : {"[0.5]", "[0, 1]", "[0.5, \"a\"]", "[0.5, 0.5, 0.5]", "7"}) {
    Json wrong = json;
    wrong["thresholds"] = Json::parse(bad);
    CHECK(DecodeModelJson(wrong.dump()).status().message().find("thresholds") != std::string::npos);
  }
  for (const char* bad :
       {R"({"level": 0.9, "half_widths": [1]})", R"({"level": 2, "half_widths": [1]})",
        R"({"level": 0.9, "half_widths": []})", R"({"level": 0.9, "half_widths": [-1]})", "{}"}) {
    Json wrong = json;  // document of a classification
    wrong["intervals"] = Json::parse(bad);
    CHECK(DecodeModelJson(wrong.dump()).status().message().find("intervals") != std::string::npos);
  }
}

TEST_CASE("model.json does not depend on output and workers") {
  ModelDocument d = Document();
  const std::string text = EncodeModelJson(d);
  d.job.output = {"/other", true};
  d.job.workers = {9, 9};
  CHECK(EncodeModelJson(d) == text);
  CHECK(text.find("elsewhere") == std::string::npos);
}

TEST_CASE("an incomplete or invalid model.json is refused by path") {
  using Json = nlohmann::json;
  const Json good = Json::parse(EncodeModelJson(Document()));
  const auto error = [&](auto change) {
    Json json = good;
    change(json);
    const auto back = DecodeModelJson(json.dump());
    return back.ok() ? "OK" : back.status().message();
  };
  CHECK(error([](Json&) {}) == "OK");
  CHECK(error([](Json& j) { j["unknown"] = 1; }) == "OK");
  CHECK(error([](Json& j) { j.erase("accepted"); }) == "OK");
  CHECK(error([](Json& j) { j["accepted"] = 1; }) == "model.json: accepted: expected a list");
  CHECK(error([](Json& j) { j["format"] = 3; }).find("found format 3") != std::string::npos);
  const auto begins = [&](auto change, const std::string& start) {
    const std::string found = error(change);
    INFO(found);
    CHECK(found.starts_with("model.json: " + start));
  };
  begins([](Json& j) { j["spec"]["train"]["horses"] = 3; }, "unknown key 'horses'");
  begins([](Json& j) { j["spec"]["model"]["activation"][0] = "step"; },
         "model.activation[0]: unknown value 'step'");
  begins([](Json& j) { j["spec"]["train"]["seed"] = -1; }, "train.seed: found '-1'");
  begins([](Json& j) { j["spec"]["data"]["bad_rows"] = nullptr; }, "data.bad_rows: found nothing");
  begins([](Json& j) { j["spec"].erase("data"); }, "data.train: found");
  CHECK(error([](Json& j) {
          j["spec"]["model"]["dropout"] = {2};
        }).find("model.dropout: found 2") != std::string::npos);
  CHECK(error([](Json& j) { j["preprocessing"]["features"].erase(0); }) ==
        "model.json: preprocessing.features: found 3, expected one for each of 4 features of the "
        "schema");
  CHECK(error([](Json& j) { j["schema"]["features"][0] = 6; }) ==
        "model.json: schema.features: found position 6 among 6 columns");
  begins(
      [](Json& j) {
        j["schema"]["left_out"] = Json::array({{{"column", 6}, {"reason", "constant"}}});
      },
      "schema.left_out: found position 6 among 6 columns");
  CHECK(
      error([](Json& j) {
        j["schema"]["rules"] = Json::array({{{"type", "numeric"}, {"group", 0}, {"part", "year"}}});
      }) == "model.json: schema.rules: found 1, expected none or one for each of 4 features");
  const auto ruled = [&](const char* type, int group) {
    return error([&](Json& j) {
      spec::FeatureSpec features;
      features.groups.emplace_back().columns = {std::string("a")};
      ModelDocument d = Document();
      d.job.data.features.groups = features.groups;
      j = Json::parse(EncodeModelJson(d));
      for (int i = 0; i < 4; ++i) {
        j["schema"]["rules"].push_back({{"type", type}, {"group", group}, {"part", "year"}});
      }
    });
  };
  CHECK(ruled("numeric", 0) == "OK");
  CHECK(ruled("numeric", 1) == "model.json: schema.rules: found group 1 among 1");
  CHECK_THAT(ruled("boolean", 0),
             Says("model.json: schema.rules: found a feature of another type ... group 0"));
  CHECK_THAT(error([](Json& j) { j["preprocessing"]["classes"] = Json::array(); }),
             Says("model.json: preprocessing.classes: found none ... at least one"));
  CHECK(DecodeModelJson("{").status().message() == "model.json: found no JSON object");
  CHECK_FALSE(DecodeModelJson(std::string(100'000, '[')).ok());
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  CHECK_FALSE(DecodeModelJson(R"({"format": )" + deep + "}").ok());
}

TEST_CASE("mutated model.json never crashes the reader") {
  const std::string good = EncodeModelJson(Document());
  for (uint64_t round = 0; round < 3000; ++round) {
    std::string text = good;
    const uint64_t bits = RandomBits({5, 6}, round, 0);
    const size_t at = bits % text.size();
    if (round % 3 == 0) text.erase(at, 1 + (bits >> 32) % 20);
    if (round % 3 == 1) text[at] = static_cast<char>(bits >> 40);
    if (round % 3 == 2) text.insert(at, "9");
    const auto back = DecodeModelJson(text);
    if (!back.ok()) CHECK_FALSE(back.status().message().empty());
  }
}

TEST_CASE("history.csv has a line for each evaluation") {
  spec::HistoryRow first{1, 4, 1e-3, TwoClasses(), {}};
  first.train.auc.reset();
  first.train.average_precision.reset();
  first.train.classes.clear();
  spec::HistoryRow second{1.5, 6, 5e-4, first.train, TwoClasses()};
  second.validation->auc.reset();
  second.validation->average_precision.reset();
  second.validation->loss = second.train.loss = kNan;
  const std::string expected =
      "epoch,step,learning_rate,loss,accuracy,"
      "val_loss,val_accuracy,val_precision,val_recall,val_f1\n"
      "1,4,0.001,0.25,0.8,,,,,\n"
      "1.5,6,5e-04,,0.8,,0.8,0.75,0.8,0.775\n";
  spec::HistoryRow rows[] = {first, second};
  CHECK(HistoryCsv(rows, spec::Task::kClassification) == expected);
  rows[1].validation->classes.clear();  // as training stores it
  CHECK(HistoryCsv(rows, spec::Task::kClassification) == expected);
  CHECK(HistoryCsv({}, spec::Task::kRegression) == "epoch,step,learning_rate,loss,rmse,mae,r2\n");
}

TEST_CASE("a bundle is four files that depend on the weights only") {
  const std::vector<float> flat = {1, 2, 3};
  ModelDocument d = Document();
  d.weights_sha256.clear();
  const Bundle bundle = MakeBundle(d, Tensors(), flat.data(), ElementType::kFloat32, {});
  REQUIRE(bundle.files.size() == 4);
  CHECK(bundle.weights_sha256 == Sha256Hex(bundle.files.at(kWeightsFile)));
  const auto document = DecodeModelJson(bundle.files.at(kModelFile));
  REQUIRE(document.ok());
  CHECK(document->weights_sha256 == bundle.weights_sha256);
  const std::string& readme = bundle.files.at(kReadmeFile);
  CHECK(readme.find("4 - 3 - 1 units, 3 parameters, 77 steps") != std::string::npos);
  CHECK(readme.find(bundle.weights_sha256) != std::string::npos);
  CHECK(readme.find("espalier predict . TABLE --output PREDICTIONS") != std::string::npos);
  d.job.output.path = "/moved";
  CHECK(MakeBundle(d, Tensors(), flat.data(), ElementType::kFloat32, {}).files == bundle.files);
}

TEST_CASE("a bundle's README states the epochs of its weights") {
  ModelDocument d = Document();
  const auto says = [&](const char* text) {
    return BundleReadme(d, Tensors()).find(text) != std::string::npos;
  };
  CHECK(says(", 2.5 epochs.\n"));
  d.best_epochs = {2};
  CHECK(says(", 2.5 epochs. The weights are those after epoch 2.\n"));
  d.best_epochs = {7, 12};
  CHECK(says("The weights are those after epoch 7, 12.\n"));
}

TEST_CASE("a bundle's README escapes all text") {
  const std::string hostile = "<img src=x onerror=alert(1)> [a](javascript:b) `c` {onclick=d} &lt;";
  ModelDocument d = Document();
  d.job.name = hostile;
  d.accepted = {"'" + hostile + "' differs"};
  REQUIRE_FALSE(d.preprocessing.features.empty());
  for (spec::FittedFeature& feature : d.preprocessing.features) feature.name = hostile;
  for (spec::FittedTarget& target : d.preprocessing.targets) target.name = hostile;
  for (std::string& label : d.preprocessing.classes) label = hostile;
  for (std::string& name : d.schema.names) name = hostile;
  d.job.data.train = {hostile};
  d.job.output.path = hostile;
  const std::string page = BundleReadme(d, Tensors());
  const std::string plain =
      R"(&lt;img src=x onerror=alert(1)&gt; \[a\](javascript:b) \`c\` \{onclick=d\} &amp;lt;)";
  CHECK(page.starts_with("# " + plain + "\n\n"));
  CHECK(page.find("differed: '" + plain + "' differs.\n") != std::string::npos);
  for (const char* raw : {"<img", "[a](", " {onclick", "`c`"}) {
    CAPTURE(raw);
    CHECK(page.find(raw) == std::string::npos);
  }
}

}  // namespace
}  // namespace espalier::bundle
