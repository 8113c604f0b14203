// A job as text: bounds against hostile input, normalization, and mutated examples.
#include <catch2/catch.hpp>
#include <string>

#include "src/config/job_yaml.h"
#include "src/spec/job_spec.h"
#include "tests/config/parsed_job.h"
#include "tests/fuzz/mutate.h"
#include "tests/testing/says.h"
#include "tests/testing/scale.h"

namespace espalier::config {
namespace {

TEST_CASE("text size, depth and number of values are bounded") {
  CHECK_THAT(Error(std::string((1 << 20) + 1, '#')), Says("job.yaml: found more than 1.0 MiB"));
  CHECK_THAT(Error("a: " + std::string(40, '[') + std::string(40, ']')),
             Says("job.yaml:1:35: nested deeper than 32 levels"));
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

TEST_CASE("a tab in an indent is reported as a tab") {
  const std::string tab = ": found a tab ... spaces";
  CHECK_THAT(Error("data:\n\ttrain: a.csv\n\tlabel: y\n"), Says("job.yaml:2:1" + tab));
  CHECK_THAT(Error("data:\n  train: a.csv\n  \tlabel: y\n"), Says("job.yaml:3:3" + tab));
  CHECK(Error("name: a\tb: c\n").find("tab") == std::string::npos);
}

TEST_CASE("only relative local paths become absolute") {
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

// Returns the job that is read from the YAML of `job`.
spec::JobSpec WrittenAndRead(const spec::JobSpec& job) { return Parsed(EmitYaml(JobToYaml(job))); }

TEST_CASE("a job written as YAML reads back equal") {
  for (const std::string sections : {
           "",
           "model: {task: regression, loss: mae}",
           "model: {task: regression, loss: {huber: {delta: 2.5}}, target_scale: none}",
           "model: {task: regression, loss: {quantile: {quantile: 0.9}}}",
           "model: {loss: {softmax_cross_entropy: {label_smoothing: 0.1}}, precision: float64}",
           "model: {thresholds: [1, 0.5], inputs: 3, outputs: 2, init: xavier}",
           "model: {costs: {a: {b: 20, 1: 0}, 1: {a: 0.5}}}",
           "train: {optimizer: sgd, schedule: {step: {every: 3 epochs, factor: 0.5}}}",
           "train: {optimizer: {adamw: {beta2: 0.95}}, max_time: 90s, leaves: 8}",
           "train: {optimizer: lbfgs, epochs: 2}",
           "train: {optimizer: {gd: {step_tolerance: 1e-4}}, steps: 7}",
           "train: {optimizer: {rmsprop: {centered: true, alpha: 0.5}}}",
           "train: {schedule: {cosine: {warmup: 100 steps, final_fraction: 0.1}}}",
           "train: {schedule: {plateau: {metric: loss, cooldown: 2, warmup: 0.5 epochs}}}",
           "model: {hidden: [3, 3], layer_norm: true, residual: true, dropout: [0.1, 0]}",
           "train: {mode: async, staleness: 3, on_nonfinite: skip, frozen: []}",
           "train: {averaging: {ema: {decay: 0.9, start: 1.5 epochs}}, seed: 18446744073709551615}",
           "train: {averaging: mean, class_weight: balanced, early_stopping: {metric: loss}}",
           R"(train: {class_weight: {"yes": 2, "1": 0.5, "a: b\"": 3}})",
           "model: {parametrization: ntp, scaling_layer: true, cap_label_smoothing: true}",
           "model: {task: regression, clip_predictions: true}",
           "train: {weight_decay_schedule: flat_cos, rate_factors: {biases: 0.1, scaling_layer: "
           "6}}",
           "train: {checkpoint: none}",
           "train: {checkpoint: {every_steps: 5, keep: 1}}",
           "train: {checkpoint: {every: 90s, every_steps: 5}}",
           "train: {initial: {from: a/b, layers: [0]}, clip_norm: 1.5, accumulate_steps: 2}",
           "train: {initial: {from: w.txt, spark: true}}",
           "train: {initial: {values: [1, -2.5e-7, 3], spark: true}}",
           "workers: {min: 2, max: 9, cache_input: true}",
           "resume: {from: old, accept_data: true}",
       }) {
    INFO(sections);
    const spec::JobSpec job = Parsed(kHead + sections + "\n");
    CHECK(WrittenAndRead(job) == job);
  }
  for (const std::string data : {
           R"(weight: w, csv: {delimiter: "\t", quote: "'", multiline: true})",
           R"(features: ["1..3", 7, "8", price], validation: {column: "4"})",
           "features: {columns: auto, scale: none, nulls: {constant: -1.5}}",
           "features: {columns: x, scale: {divide: 255}, nulls: drop}",
           "features: {scale: robust_smooth_clip, numbers: {embedding: piecewise_linear, bins: 9}}",
           "features: {groups: [{columns: c, type: categorical, encode: {embedding: 4}, "
           "min_count: 3, one_hot_max: 8, zero_rare: true}]}",
           "features: {groups: [{columns: c, type: categorical, encode: {embedding: 4}, nulls: "
           "category, min_count: 3}, {columns: d, type: date, parts: [hour], scale: minmax}]}",
           "features: {groups: [{columns: c, type: categorical, hash: 100}, {columns: b, log1p: "
           "true, null_indicator: true, nulls: mean}]}",
           "validation: {fold: 1, of: 5, stratify: true}, shuffle: {window: 9}",
           "validation: {files: [v1.csv, v2.csv]}, test: [t.csv], shuffle: none",
           "bad_rows: {policy: skip, limit: 4}, shard_bytes: 2 MiB, format: parquet",
           R"(csv: {decimal: ",", thousands: "."}, null_values: [unknown, "-999", "null", ""])",
           R"(csv: {delimiter: whitespace, quote: none, escape: none, comment: "#"})",
           R"(csv: {escape: "\\", extra_field: first}, libsvm: {zero_based: true})",
           R"(features: {exclude: ["id_*", 3], date_format: "%Y", groups: [{columns: d, type: date,
           date_format: auto}]})",
       }) {
    INFO(data);
    const spec::JobSpec job =
        Parsed("data: {train: [t.csv, /u/*.csv], label: y, " + data + "}\noutput: m\n");
    CHECK(WrittenAndRead(job) == job);
  }
}

TEST_CASE("an empty list of null_values is written and reads back") {
  spec::JobSpec job = Parsed("{data: {train: a.csv, label: y, null_values: []}, output: m}");
  REQUIRE(job.data.null_values.has_value());
  CHECK((WrittenAndRead(job) == job));
  job.data.null_values.reset();
  CHECK((WrittenAndRead(job) == job));
}

TEST_CASE("a job with Spark's keys is written in Espalier's") {
  const spec::JobSpec job = Parsed(R"(
data: {train: t.libsvm}
output: m
compat:
  spark-mlp: {layers: [4, 5, 3], solver: gd, initialWeights: w.txt, thresholds: [1, 2, 3]}
)");
  CHECK(JobToYaml(job).Find("compat") == nullptr);
  CHECK(WrittenAndRead(job) == job);
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
  for (uint64_t round = 0; round < 10'000 * FuzzScale(); ++round) {
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
    CHECK(WrittenAndRead(*job) == *job);
  }
  CHECK(parsed > 100);
}

}  // namespace
}  // namespace espalier::config
