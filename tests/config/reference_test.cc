// The reference: each key has a text, and config/reference.yaml is up to date.
#include "src/config/reference.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>

#include "src/config/key_hints.h"
#include "src/config/preset.h"

namespace espalier::config {
namespace {

TEST_CASE("each key has a text, and each text a key") {
  const std::vector<KeyReference> keys = AllKeys();
  CHECK(keys.size() > 120);
  for (const KeyReference& key : keys) {
    INFO(key.path);
    CHECK(key.doc != nullptr);
  }
  for (const KeyDoc& doc : KeyDocs()) {
    INFO(doc.path);
    CHECK(std::any_of(keys.begin(), keys.end(), [&](const auto& k) { return k.doc == &doc; }));
  }
}

TEST_CASE("the reference has types, words and defaults") {
  const std::vector<KeyReference> keys = AllKeys();
  const auto key = [&](const std::string& path) {
    const auto found = std::find_if(keys.begin(), keys.end(),
                                    [&](const KeyReference& k) { return k.path == path; });
    INFO(path);
    REQUIRE(found != keys.end());
    return *found;
  };
  CHECK(key("train.seed").type == "a whole number");
  CHECK(key("train.seed").value == "1");
  CHECK(key("train.optimizer.sgd.learning_rate").value == "0.01");
  CHECK(key("train.steps").value.empty());
  CHECK(key("model.task").words.size() == 4);
  CHECK(key("predict.on_bad_row").value == "empty");
  CHECK(key("evaluate.raw").value == "false");
  CHECK(key("sweep.metric").value == "val_loss");
  CHECK(key("sweep.folds").value.empty());
  CHECK(key("train.epochs").value == "10");
  CHECK(key("train.batch").value == "256");
  CHECK(key("model.hidden").value == "[]");
  CHECK(key("data.train").value.empty());
  CHECK(key("data.label").value.empty());
  CHECK(key("data.csv").value.empty());
  CHECK(key("train.on_nonfinite").words == std::vector<std::string>{"fail", "skip"});
}

TEST_CASE("the reference shows what a user gets with a preset") {
  const auto head = [](const std::string& key) {
    const std::string text = KeyText(*KeysBelow(key));
    return text.substr(0, text.find("\n  "));
  };
  CHECK(head("preset") == "preset: one of none, fast, good, best, default good");
  CHECK(head("train.epochs") ==
        "train.epochs: a number, default 10 (with preset: none; other presets choose it)");
  CHECK(head("train.ensemble") ==
        "train.ensemble: such as {fits: 5, over: folds}, chosen by presets except none");
  CHECK(head("train.l1") == "train.l1: a number, default 0");
  const std::set<std::string> chosen = KeysOfPresets();
  for (const char* key :
       {"data.features.scale", "data.features.categories.encode", "data.features.groups[].encode",
        "data.validation", "data.validation.fraction", "data.validation.stratify", "model.task",
        "model.hidden", "model.init", "model.start_at_constant", "train.optimizer", "train.leaves",
        "train.calibrate"}) {
    INFO(key);
    CHECK(chosen.contains(key));
  }
  // A given optimizer has its defaults with each preset.
  CHECK_FALSE(chosen.contains("train.optimizer.adamw.learning_rate"));
  const std::vector<KeyReference> keys = AllKeys();
  for (const std::string& path : chosen) {
    INFO(path);
    CHECK(std::any_of(keys.begin(), keys.end(), [&](const auto& k) { return k.path == path; }));
  }
}

std::vector<std::string> PathsBelow(const std::string& key) {
  std::vector<std::string> paths;
  const auto keys = KeysBelow(key);
  REQUIRE(keys.ok());
  for (const KeyReference& found : *keys) paths.push_back(found.path);
  return paths;
}

TEST_CASE("a key is found with the keys below it") {
  using Paths = std::vector<std::string>;
  CHECK(PathsBelow("train.seed") == Paths{"train.seed"});
  CHECK(PathsBelow("data.csv") == Paths{"data.csv", "data.csv.header", "data.csv.delimiter",
                                        "data.csv.quote", "data.csv.multiline", "data.csv.decimal",
                                        "data.csv.thousands", "data.csv.escape", "data.csv.comment",
                                        "data.csv.extra_field"});
  CHECK(PathsBelow("model.loss.huber") == Paths{"model.loss.huber.delta"});
  CHECK(PathsBelow("data.features.groups.hash") == Paths{"data.features.groups[].hash"});
  CHECK(PathsBelow("data.features.groups[].hash") == Paths{"data.features.groups[].hash"});
}

TEST_CASE("an unknown key names the nearest ones") {
  const auto said = [](const std::string& key) {
    const auto keys = KeysBelow(key);
    REQUIRE_FALSE(keys.ok());
    CHECK(keys.status().code() == StatusCode::kInvalidArgument);
    return keys.status().message();
  };
  CHECK(said("train.epoch") == "unknown key 'train.epoch'; did you mean train.epochs?");
  CHECK(said("epochs") == "unknown key 'epochs'; did you mean train.epochs?");
  CHECK(said("epocs") == "unknown key 'epocs'; did you mean train.epochs?");
  CHECK_THAT(said("warmup"), Catch::Contains("train.schedule.") && Catch::EndsWith(", ...?"));
  CHECK(said("batch_size") == "unknown key 'batch_size'; did you mean train.batch?");
  CHECK(said("train.random-state") == "unknown key 'train.random-state'; did you mean train.seed?");
  CHECK(said("qqqqqqqqqqqq") ==
        "unknown key 'qqqqqqqqqqqq'. `espalier reference` prints all keys.");
  CHECK_FALSE(KeysBelow("").ok());
  CHECK_FALSE(KeysBelow("train.").ok());
}

TEST_CASE("the names of other programs lead to keys") {
  const std::vector<KeyReference> keys = AllKeys();
  std::set<std::string> names;
  for (const KeyAlias& alias : KeyAliases()) {
    INFO(alias.name);
    CHECK(names.insert(alias.name).second);
    REQUIRE(alias.keys[0] != nullptr);
    for (const char* path : alias.keys) {
      if (path == nullptr) continue;
      INFO(path);
      CHECK(std::any_of(keys.begin(), keys.end(), [&](const auto& k) { return k.path == path; }));
    }
  }
}

TEST_CASE("the text of keys fits a terminal and shares texts") {
  const auto text = [](const std::string& key) { return KeyText(*KeysBelow(key)); };
  CHECK(text("train.seed").starts_with("train.seed: a whole number, default 1\n  "));
  CHECK_THAT(text("data.csv.decimal"), Catch::Contains(", such as \",\"\n"));
  const std::string groups = text("data.features.groups");
  CHECK_THAT(groups, Catch::Contains("\n\ndata.features.groups[].columns"));
  // adam and adamw share the text of beta1.
  const std::string optimizer = text("train.optimizer");
  const size_t adam = optimizer.find("train.optimizer.adam.beta1: ");
  CHECK(optimizer.find("\ntrain.optimizer.adamw.beta1: ", adam) == optimizer.find('\n', adam));
  for (size_t begin = 0; begin < optimizer.size();) {
    const size_t end = optimizer.find('\n', begin);
    CHECK(end - begin <= 80);
    begin = end + 1;
  }
}

TEST_CASE("the range of a key is in its text") {
  const auto text = [](const std::string& key) { return KeysBelow(key)->front().doc->text; };
  CHECK_THAT(text("train.leaves"), Catch::Contains("From 1 to 1024."));
  CHECK_THAT(text("data.shard_bytes"), Catch::Contains("From 1 KiB to 1 GiB."));
  CHECK_THAT(text("model.dropout"), Catch::Contains("At least 0, below 1."));
  CHECK_THAT(text("train.checkpoint.every"), Catch::Contains("At least 1 s."));
  CHECK_THAT(text("train.steps"), !Catch::Contains("1000000000000"));
}

TEST_CASE("scalar keys have one type and default each") {
  const std::vector<ScalarKey> keys = ScalarKeys();
  const auto key = [&](const std::string& path) {
    const auto found =
        std::find_if(keys.begin(), keys.end(), [&](const ScalarKey& k) { return k.path == path; });
    INFO(path);
    return found == keys.end() ? ScalarKey() : *found;
  };
  CHECK(key("train.seed").type == "int");
  CHECK(key("train.seed").value == "1");
  CHECK(key("train.schedule").value == "constant");
  CHECK(key("model.layer_norm").type == "bool");
  CHECK(key("train.max_time").type == "any");
  CHECK(key("train.optimizer.*.beta1").type == "float");
  CHECK_THAT(key("train.optimizer.*.beta1").text, Catch::EndsWith(" Only with adam, adamw."));
  for (const char* path : {"train", "model.hidden", "data.features.groups[].hash", "predict.model",
                           "sweep.metric", "compat.spark-mlp.tol"}) {
    CHECK(key(path).type.empty());
  }
}

TEST_CASE("conditions of a key are in its text") {
  const auto text = [](const std::string& key) { return KeysBelow(key)->front().doc->text; };
  CHECK_THAT(text("train.staleness"), Catch::Contains("Only with train.mode async."));
  CHECK_THAT(text("train.on_nonfinite"), Catch::Contains("Only fail with train.optimizer lbfgs."));
  CHECK_THAT(text("train.clip_norm"), Catch::Contains("Not with train.optimizer lbfgs."));
  CHECK_THAT(text("model.parametrization"),
             Catch::Contains("Only standard with train.optimizer lbfgs."));
}

TEST_CASE("config/reference.yaml is up to date") {
  const std::string expected = ReferenceYaml();
  if (const char* path = std::getenv("ESPALIER_WRITE_REFERENCE")) std::ofstream(path) << expected;
  std::ifstream file("config/reference.yaml");
  const std::string found{std::istreambuf_iterator<char>(file), {}};
  INFO(
      "write it: ESPALIER_WRITE_REFERENCE=config/reference.yaml bazel-bin/tests/config/"
      "config_test \"config/reference.yaml is up to date\"");
  CHECK(found == expected);
}

}  // namespace
}  // namespace espalier::config
