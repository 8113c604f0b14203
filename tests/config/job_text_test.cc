// A job as text: bounds against hostile input, normalisation, and mutated examples.
#include <catch2/catch.hpp>
#include <string>

#include "src/config/job_yaml.h"
#include "src/spec/job_spec.h"
#include "tests/config/parsed_job.h"
#include "tests/fuzz/mutate.h"
#include "tests/testing/scale.h"

namespace espalier::config {
namespace {

TEST_CASE("text size, depth and number of values are bounded") {
  CHECK(Error(std::string((1 << 20) + 1, '#')) ==
        "job.yaml: found more than 1.0 MiB of YAML, expected at most that");
  CHECK(Error("a: " + std::string(40, '[') + std::string(40, ']')) ==
        "job.yaml:1:35: nested deeper than 32 levels");
  for (const std::string unit : {"[", "{", "- ", "? ", "[{", "{a: ", "- - ", "? - "}) {
    std::string deep = "a:\n ";
    while (deep.size() < 500'000) deep += unit;
    CHECK(Error(deep).find("nested deeper") != std::string::npos);
  }
  std::string stairs;
  for (int i = 0; i < 1000; ++i) stairs += std::string(static_cast<size_t>(i), ' ') + "a:\n";
  CHECK(Error(stairs) != "OK");
  std::string many = "a: [";
  for (int i = 0; i < 70'000; ++i) many += "1,";
  CHECK(Error(many + "]").find("more than 65536 values") != std::string::npos);
}

TEST_CASE("a tab that indents is told as what it is") {
  const std::string tab = ": found a tab before the text, expected spaces: tabs cannot indent YAML";
  CHECK(Error("data:\n\ttrain: a.csv\n\tlabel: y\n") == "job.yaml:2:1" + tab);
  CHECK(Error("data:\n  train: a.csv\n  \tlabel: y\n") == "job.yaml:3:3" + tab);
  CHECK(Error("name: a\tb: c\n").find("tab") == std::string::npos);
}

TEST_CASE("relative local paths become absolute and nothing else changes") {
  const std::string text = R"(
name: "a: \"quoted\" name with # and 'both'"
data:
  train: [x/*.csv, /abs/y.csv, ./z, "../up"]
  test: t/
  label: "3"
  features: {columns: [1, "2", -x, "10..12", "a,b [c]"], nulls: {constant: -1}}
  validation: {files: v.csv}
model: {hidden: [], activation: [relu]}
train:
  schedule: {cosine: {warmup: 1 epoch}}
  steps: 9
  max_time: 5 min
  initial: {from: old/m}
  class_weight: {0: 1, "a: b": 2, 'it''s': 3, "- #\t": 4}
output: {path: m, overwrite: true}
resume: {from: old/run}
)";
  const auto made = MakePathsAbsolute(text, "/home/me");
  REQUIRE(made.ok());
  INFO(*made);
  spec::JobSpec expected = Parsed(text);
  expected.data.train = {"/home/me/x/*.csv", "/abs/y.csv", "/home/me/z", "/home/up"};
  expected.data.test = {"/home/me/t/"};
  expected.data.validation.files = {"/home/me/v.csv"};
  expected.output.path = "/home/me/m";
  expected.resume->from = "/home/me/old/run";
  expected.train.initial->from = "/home/me/old/m";
  const spec::JobSpec actual = Parsed(*made);
  CHECK(actual.data == expected.data);
  CHECK(actual == expected);
  CHECK(*MakePathsAbsolute(*made, "/other") == *made);
  CHECK(Parsed(*MakePathsAbsolute(kHead, "/d")).output.path == "/d/m");
  CHECK(Parsed(*MakePathsAbsolute(kHead + "train: {initial: w.safetensors}\n", "/d"))
            .train.initial->from == "/d/w.safetensors");
  CHECK_FALSE(MakePathsAbsolute(kHead, "relative").ok());
  CHECK_FALSE(MakePathsAbsolute("a: [", "/d").ok());
}

TEST_CASE("mutated job text never crashes the parser") {
  const std::string seed_text = R"(name: mnist
data:
  train: [a/*.csv, b]
  label: 0
  csv: {header: false, delimiter: ";"}
  features: {columns: "1..784", scale: {divide: 255}, nulls: fail}
  validation: {fraction: 0.2}
model: {hidden: [256, 256], activation: relu, dropout: 0.2}
train:
  optimizer: {adam: {learning_rate: 1e-3}}
  schedule: {cosine: {warmup: 1 epoch}}
  epochs: 3
  max_time: 30s
output: {path: out, overwrite: true}
)";
  const std::string alphabet = "{}[]:,-?&*!|>'\"%@`#\\ \n\t0a~.\xff\x01";
  int parsed = 0;
  for (uint64_t round = 0; round < 10'000 * TestScale(); ++round) {
    const std::string text = Mutated(seed_text, alphabet, round);
    const auto job = ParseJob(text, "job.yaml");
    if (!job.ok()) {
      CHECK_FALSE(job.status().message().empty());
      continue;
    }
    ++parsed;
    const auto normal = MakePathsAbsolute(text, "/");
    REQUIRE(normal.ok());
    const auto again = ParseJob(*normal, "normal.yaml");
    INFO(text << "\n---\n" << *normal << again.status().ToString());
    REQUIRE(again.ok());
    CHECK(again->model == job->model);
    CHECK(again->train == job->train);
    CHECK(again->data.features == job->data.features);
  }
  CHECK(parsed > 100);
}

}  // namespace
}  // namespace espalier::config
