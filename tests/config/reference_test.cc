// The reference of a job file: each key has a text, and config/reference.yaml is up to date.
#include "src/config/reference.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace espalier::config {
namespace {

TEST_CASE("each key of a job has a text, and each text a key") {
  const std::vector<KeyReference> keys = JobReference();
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
  const std::vector<KeyReference> keys = JobReference();
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
  CHECK(key("train.on_nonfinite").words == std::vector<std::string>{"fail", "skip"});
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
