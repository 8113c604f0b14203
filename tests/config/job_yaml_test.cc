#include "src/config/job_yaml.h"

#include <catch2/catch.hpp>
#include <string>

#include "src/spec/job_spec.h"
#include "tests/config/parsed_job.h"
#include "tests/testing/says.h"

namespace espalier::config {
namespace {

TEST_CASE("different spellings of an output are one place") {
  const auto output = [](const std::string& text) {
    return Parsed("output: " + text + "\ndata: {train: t, label: 0}").output.path;
  };
  for (const char* text :
       {"/x/out", "/x/out/", "/x//out", "/x/./out", "file:///x/out", "file:/x/out"}) {
    CHECK(output(text) == "/x/out");
  }
  for (const char* text : {"hdfs://nn:8020/x/out", "hdfs://nn:8020//x/out/"}) {
    CHECK(output(text) == "hdfs://nn:8020/x/out");
  }
  CHECK(output("out/") == "out");
}

TEST_CASE("missing YAML keys have the defaults of the structs") {
  spec::JobSpec expected;
  expected.data.train = {"t.csv"};
  expected.data.label = {std::string("y")};
  expected.output.path = "m";
  CHECK(Parsed(kHead) == expected);
}

TEST_CASE("every key is read") {
  const spec::JobSpec job = Parsed(R"(
name: all keys
data:
  train: [a.csv, b/*.csv]
  test: c
  format: csv
  csv: {header: true, delimiter: "\t", quote: "'", multiline: true, decimal: ",",
        thousands: ".", escape: "\\", comment: "#", extra_field: last}
  libsvm: {zero_based: true}
  label: price
  weight: w
  features:
    columns: [x, 3, "4", 7..9]
    scale: {divide: 255}
    nulls: {constant: -1.5}
    exclude: [id_*, 12]
    date_format: "%d/%m/%Y"
  validation: {column: is_val}
  bad_rows: {policy: skip, limit: 100}
  null_values: [unknown, -999, null, ""]
  shuffle: {window: 5000}
  shard_bytes: 64MiB
model:
  task: regression
  hidden: [8, 8]
  activation: [relu, tanh]
  dropout: [0.25, 0]
  layer_norm: true
  residual: true
  loss: {huber: {delta: 0.5}}
  init: xavier
  precision: float64
  target_scale: none
train:
  optimizer: {nesterov: {learning_rate: 0.5, momentum: 0.8}}
  schedule: {step: {every: 3 epochs, factor: 0.5, warmup: 100 steps}}
  batch: 1000
  leaves: 16
  epochs: 2.5
  steps: 70
  max_time: 5 min
  early_stopping: {metric: val_rmse, patience: 40, min_delta: 1e-4, restore_best: false}
  weight_decay: 1e-4
  l1: 1e-5
  decay_biases: true
  clip_norm: 5
  clip_value: 0
  accumulate_steps: 4
  averaging: {ema: {decay: 0.99, start: 2 epochs}}
  class_weight: none
  on_nonfinite: skip
  seed: 18446744073709551615
workers: {min: 2, max: 4}
output: {path: out, overwrite: true}
)");
  spec::JobSpec e;
  e.name = "all keys";
  e.data.train = {"a.csv", "b/*.csv"};
  e.data.test = {"c"};
  e.data.format = spec::DataFormat::kCsv;
  e.data.csv = {true, '\t', '\'', true, ',', '.', '\\', '#', spec::ExtraField::kLast};
  e.data.libsvm.zero_based = true;
  e.data.label = {std::string("price")};
  e.data.weight = std::string("w");
  e.data.features.columns = {std::string("x"), int64_t{3}, std::string("4"),
                             spec::ColumnRange{7, 9}};
  e.data.features.scale = {spec::ScaleKind::kDivide, 255};
  e.data.features.nulls = {spec::NullKind::kConstant, -1.5};
  e.data.features.exclude = {std::string("id_*"), int64_t{12}};
  e.data.features.date_format = "%d/%m/%Y";
  e.data.null_values = {{"unknown", "-999", "null", ""}};
  e.data.validation.column = std::string("is_val");
  e.data.bad_rows = {true, 100};
  e.data.shuffle = {spec::ShuffleKind::kWindow, 5000};
  e.data.shard_bytes = 64 << 20;
  e.model = {spec::Task::kRegression,
             {8, 8},
             {spec::Activation::kRelu, spec::Activation::kTanh},
             {0.25, 0},
             true,
             true,
             spec::Loss::kHuber,
             0,
             0.5,
             0.5,
             spec::Init::kXavier,
             spec::Precision::kFloat64,
             spec::TargetScale::kNone};
  e.train.optimizer = {
      .kind = spec::OptimizerKind::kNesterov, .learning_rate = 0.5, .momentum = 0.8};
  e.train.schedule = {
      .kind = spec::ScheduleKind::kStep, .warmup = {100, false}, .every = {3, true}, .factor = 0.5};
  e.train.batch = 1000;
  e.train.leaves = 16;
  e.train.epochs = 2.5;
  e.train.steps = 70;
  e.train.max_time_ms = 300'000;
  e.train.early_stopping = spec::EarlyStopping{"val_rmse", 40, 1e-4, false};
  e.train.weight_decay = 1e-4;
  e.train.l1 = 1e-5;
  e.train.accumulate_steps = 4;
  e.train.averaging = {spec::AveragingKind::kEma, 0.99, {2, true}};
  e.train.decay_biases = true;
  e.train.clip_norm = 5;
  e.train.skip_nonfinite = true;
  e.train.seed = 18446744073709551615u;
  e.workers = {2, 4};
  e.output = {"out", true};
  CHECK(job.data == e.data);
  CHECK(job.model == e.model);
  CHECK(job.train == e.train);
  CHECK(job == e);
}

TEST_CASE("a choice is a word or a map with one key") {
  const auto train = [](const std::string& text) { return Parsed(kHead + text).train; };
  CHECK(train("train: {optimizer: adamw}").optimizer.kind == spec::OptimizerKind::kAdamW);
  CHECK(train("train: {optimizer: adamw}").optimizer.learning_rate == 1e-3);
  CHECK(train("train: {optimizer: sgd}").optimizer.learning_rate == 1e-2);
  CHECK(train("train: {optimizer: {sgd: {learning_rate: 3}}}").optimizer.learning_rate == 3);
  CHECK(train("train: {optimizer: {momentum: {momentum: 0.5}}}").optimizer.learning_rate == 1e-2);
  CHECK(train("train: {optimizer: {adam: {beta1: 0, beta2: 0.5, epsilon: 1}}}").optimizer.beta2 ==
        0.5);
  CHECK(train("train: {schedule: cosine}").schedule.kind == spec::ScheduleKind::kCosine);
  const auto cosine =
      train("train: {schedule: {cosine: {warmup: 1 epoch, final_fraction: 0.1}}}").schedule;
  CHECK(cosine.warmup == spec::Span{1, true});
  CHECK(cosine.final_fraction == 0.1);
  CHECK(train("train: {schedule: {constant: {warmup: 20 steps}}}").schedule.warmup ==
        spec::Span{20, false});
  CHECK(Parsed(kHead + "model: {loss: binary_cross_entropy}").model.loss ==
        spec::Loss::kBinaryCrossEntropy);
  const auto data = [](const std::string& more) {
    return Parsed("output: m\ndata: {train: t, label: 0, " + more + "}").data;
  };
  CHECK(data("features: auto").features == spec::FeatureSpec{});
  CHECK(data("csv: {header: false}, features: \"auto\"").features.columns.empty());
  CHECK(data("features: {columns: auto, scale: none, nulls: mean}").features.nulls.kind ==
        spec::NullKind::kMean);
  CHECK(data("features: {scale: minmax, nulls: drop}").features.scale.kind ==
        spec::ScaleKind::kMinMax);
  CHECK(data("features: {scale: robust}").features.scale.kind == spec::ScaleKind::kRobust);
  CHECK(data("validation: {fraction: 0.2, stratify: true}").validation.stratify);
  CHECK(data("validation: {fold: 1, of: 5, stratify: true}").validation.stratify);
  CHECK(data("shuffle: none").shuffle.kind == spec::ShuffleKind::kNone);
  CHECK(data("validation: {fraction: 0.2}").validation.fraction == 0.2);
  CHECK(data("validation: {files: [v1, v2]}").validation.files.size() == 2);
  CHECK(data("shard_bytes: 4096").shard_bytes == 4096);
}

TEST_CASE("an integer is a position, a quoted one a name, .. a range") {
  const auto label = [](const std::string& text) {
    return Parsed("output: m\ndata: {train: t, label: " + text + "}").data.label.at(0);
  };
  CHECK(label("0") == spec::ColumnRef(int64_t{0}));
  CHECK(label("\"0\"") == spec::ColumnRef(std::string("0")));
  CHECK(label("'x y'") == spec::ColumnRef(std::string("x y")));
  const auto columns =
      Parsed("output: m\ndata: {train: t, label: 0, features: {columns: 1..784}}").data.features;
  REQUIRE(columns.columns.size() == 1);
  CHECK(std::get<spec::ColumnRange>(columns.columns[0]) == spec::ColumnRange{1, 784});
}

TEST_CASE("a wrong job is one message with its place and fix") {
  struct Row {
    std::string text;
    std::string message;
  };
  const Row rows[] = {
      // Keys.
      {kHead + "train:\n  epoch: 3\n", "job.yaml:4:3: unknown key 'epoch'; did you mean 'epochs'?"},
      {"dta: 1\n", "job.yaml:1:1: unknown key 'dta'; did you mean 'data'?"},
      {kHead + "zzzzzzzzzz: 1\n",
       "job.yaml:3:1: unknown key 'zzzzzzzzzz'; expected one of name, preset, compat, data, model, "
       "train, "
       "workers, "
       "output, resume"},
      {kHead + "train: {optimizer: {adam: {lerning_rate: 1}}}\n",
       "job.yaml:3:28: unknown key 'lerning_rate'; did you mean 'learning_rate'?"},
      {kHead + "train: {optimizer: {adam: {momentum: 1}}}\n",
       "job.yaml:3:28: unknown key 'momentum'; did you mean train.optimizer.momentum.momentum, "},
      // Keys of other programs and of other maps.
      {kHead + "train: {learning_rate: 0.1}\n",
       "job.yaml:3:9: unknown key 'learning_rate'; did you mean "
       "train.optimizer.adam.learning_rate?"},
      {kHead + "train: {lr: 0.1}\n",
       "job.yaml:3:9: unknown key 'lr'; did you mean train.optimizer.adam.learning_rate?"},
      {kHead + "train: {batch-size: 32}\n",
       "job.yaml:3:9: unknown key 'batch-size'; did you mean train.batch?"},
      {kHead + "model: {layers: [64]}\n",
       "job.yaml:3:9: unknown key 'layers'; did you mean model.hidden?"},
      {kHead + "train: {preset: good}\n",
       "job.yaml:3:9: unknown key 'preset'; preset belongs at the top level of the job, not in "
       "train"},
      {kHead + "target: y\n", "job.yaml:3:1: unknown key 'target'; did you mean data.label?"},
      {kHead + "train: {hidden: [64]}\n",
       "job.yaml:3:9: unknown key 'hidden'; did you mean model.hidden?"},
      {"data: {features: {group: a}}\n",
       "job.yaml:1:19: unknown key 'group'; did you mean data.features.groups, "
       "data.validation.group?"},
      {kHead + "name: a\nname: b\n", "job.yaml:4:1: key 'name' appears twice ... line 3"},
      {"? [a]\n: b\n", "job.yaml:1:3: a key ... a word"},
      // Words.
      {kHead + "model: {activation: rellu}\n",
       "job.yaml:3:21: model.activation: unknown value 'rellu'; did you mean 'relu'?"},
      {kHead + "train: {optimizer: adan}\n",
       "job.yaml:3:20: train.optimizer: unknown value 'adan'; did you mean 'adam'?"},
      {kHead + "train: {optimizer: {adm: {}}}\n",
       "job.yaml:3:21: train.optimizer: unknown value 'adm'; did you mean 'adam'?"},
      {kHead + "train: {optimizer: {adam: {}, sgd: {}}}\n",
       "job.yaml:3:20: train.optimizer: found 2 keys, expected exactly one of sgd, momentum, "
       "nesterov, adam, adamw, adagrad, rmsprop, gd, lbfgs"},
      {kHead + "model: {loss: {mse: 3}}\n",
       "job.yaml:3:21: model.loss.mse: found '3' ... without a value"},
      {kHead + "train: {on_nonfinite: stop}\n",
       "job.yaml:3:23: train.on_nonfinite: unknown value 'stop'; expected one of fail, skip"},
      {kHead + "train: {optimizer: newton}\n",
       "job.yaml:3:20: train.optimizer: unknown value 'newton'; expected one of sgd, momentum, "
       "nesterov, adam, adamw, adagrad, rmsprop, gd, lbfgs"},
      {kHead + "train: {schedule: zigzag}\n",
       "job.yaml:3:19: train.schedule: unknown value 'zigzag'; expected one of constant, step, "
       "cosine, "
       "exponential, polynomial, plateau"},
      {"data: {format: excel}\n",
       "job.yaml:1:16: data.format: unknown value 'excel'; expected one of csv, parquet, libsvm"},
      // Kinds.
      {kHead + "train:\n  batch: abc\n",
       "job.yaml:4:10: train.batch: found 'abc', expected a whole number"},
      {kHead + "train: {batch: 1.5}\n",
       "job.yaml:3:16: train.batch: found '1.5', expected a whole number"},
      {kHead + "train: {batch: [1]}\n",
       "job.yaml:3:16: train.batch: found a list, expected a whole number"},
      {kHead + "train: {batch: }\n",
       "job.yaml:3:9: train.batch: found nothing, expected a whole number"},
      {kHead + "train: {batch: 99999999999999999999}\n",
       "job.yaml:3:16: train.batch: found '99999999999999999999', expected a whole number"},
      {kHead + "model: {hidden: 256}\n",
       "job.yaml:3:17: model.hidden: found '256' ... a list ... [256, 256]"},
      {kHead + "model: {dropout: .nan}\n",
       "job.yaml:3:18: model.dropout: found '.nan', expected a number"},
      {kHead + "train: {max_time: 30}\n",
       "job.yaml:3:19: train.max_time: found '30' ... `30s` or `5 min`"},
      {kHead + "train: {schedule: {cosine: {warmup: 3}}}\n",
       "job.yaml:3:37: train.schedule.cosine.warmup: found '3' ... `1 epoch` or `100 steps`"},
      {kHead + "train: {leaves: many}\n",
       "job.yaml:3:17: train.leaves: found 'many', expected `auto` or a whole number"},
      {kHead + "train: {decay_biases: yes}\n",
       "job.yaml:3:23: train.decay_biases: found 'yes', expected true or false"},
      {kHead + "train: {seed: -1}\n",
       "job.yaml:3:15: train.seed: found '-1' ... 0 to 18446744073709551615"},
      {"output: m\ndata: {train: t, label: 0, csv: {delimiter: tab}}\n",
       "job.yaml:2:45: data.csv.delimiter: found 'tab' ... one character ... \"\\t\" ... "
       "whitespace"},
      {"output: m\ndata: {train: t, label: 0, features: {scale: divide}}\n",
       "job.yaml:2:46: data.features.scale.divide: found no value ... `scale: {divide: 255}`"},
      {"output: m\ndata: {train: t, label: 0, features: []}\n",
       "job.yaml:2:38: data.features: found an empty list ... `auto`"},
      {"output: m\ndata: {train: t, label: 0, shard_bytes: big}\n",
       "job.yaml:2:41: data.shard_bytes: found 'big' ... `64MiB`"},
      {"output: m\ndata: {train: s3://bucket/t, label: 0}\n",
       "job.yaml:2:15: data.train: the scheme 's3' of 's3://bucket/t' ... file:///PATH ... "
       "swebhdfs://HOST:PORT/PATH"},
      {"output: m\ndata: {train: t, label: 0, bad_rows: {policy: skip}}\n",
       "job.yaml:2:38: data.bad_rows.limit: found nothing, expected `limit: N` ... `policy: skip`"},
      // Bounds, and requirements between fields, with the place of the value.
      {kHead + "train:\n  batch: 0\n",
       "job.yaml:4:10: train.batch: found '0' ... `auto` ... above 0"},
      {kHead + "model: {hidden: [4, 0]}\n",
       "job.yaml:3:21: model.hidden[1]: found 0 ... 1 to 65536"},
      {kHead + "train: {optimizer: {adam: {learning_rate: 0}}}\n",
       "job.yaml:3:43: train.optimizer.adam.learning_rate: found 0, expected a number above 0"},
      {"data:\n  train: t.csv\noutput: m\n",
       "job.yaml:1:1: data.label: found nothing ... `label: NAME_OR_POSITION`"},
      {"data: {train: t, label: y}\n", "job.yaml: output: found nothing ... `output: PATH`"},
      {kHead + "train: {early_stopping: {patience: 3}}\n",
       "job.yaml:3:9: train.early_stopping: found no validation rows ... `validation: {fraction: "
       "0.2}`"},
      // Text that is not a supported YAML document.
      {"", "job.yaml: data.train: found nothing ... `train: PATTERN`"},
      {"- a\n", "job.yaml:1:1: found no keys ... `key: value`"},
      {"name: a\nnotes: caf\xe9\n", "job.yaml:2:11: found the byte \\xe9 ... UTF-8"},
      {"a: [1\n", "job.yaml:2:1: not valid YAML: end of sequence flow not found"},
      {"a: &x 1\nb: *x\n", "job.yaml:1:4: anchors (&name) ... not supported"},
      {"a: !!str 1\n", "job.yaml:1:4: tags (tag:yaml.org,2002:str) are not supported here"},
      {kHead + "---\na: 1\n", "job.yaml: found a second document ... `---`"},
  };
  for (const Row& row : rows) CHECK_THAT(Error(row.text), Says(row.message));
}

TEST_CASE("a scalar instead of a map is refused with the map's keys") {
  const std::string error = Error(kHead + "train: 5\n");
  CHECK_THAT(error, Catch::StartsWith("job.yaml:3:8: train: found '5', expected a map"));
  for (const char* key : {" mode,", " calibrate,", " threshold,", " on_nonfinite,"}) {
    CHECK_THAT(error, Catch::Contains(key));
  }
}

TEST_CASE("paths may be on HDFS; an unknown scheme lists the known") {
  const auto job = ParseJob(
      "data: {train: [hdfs://n/x/*.csv, 'hdfs:///y', webhdfs://h:9870/z], label: 0}\n"
      "output: hdfs://n/model\n",
      "job.yaml");
  INFO(job.status().ToString());
  REQUIRE(job.ok());
  CHECK(job->data.train ==
        std::vector<std::string>{"hdfs://n/x/*.csv", "hdfs:///y", "webhdfs://h:9870/z"});
  const std::string error = Error("data: {train: s3a://bucket/x, label: 0}\noutput: m\n");
  CHECK_THAT(
      error,
      Says("job.yaml:1:15: data.train: the scheme 's3a' of 's3a://bucket/x' ... hdfs:///PATH"));
}

std::string WithTrain(const std::string& train) {
  return "data: {train: a.csv, label: 0}\noutput: m\ntrain: {" + train + "}\n";
}

TEST_CASE("checkpoints are every ten minutes by default") {
  const auto checkpoint = [](const std::string& text) {
    const auto job = ParseJob(WithTrain(text), "job.yaml");
    INFO(job.status().ToString());
    REQUIRE(job.ok());
    return job->checkpoint;
  };
  using Spec = spec::CheckpointSpec;
  CHECK(checkpoint("") == Spec{std::nullopt, 600'000, 3, false});
  CHECK(checkpoint("checkpoint: none") == std::nullopt);
  CHECK(checkpoint("checkpoint: {keep: 5}") == Spec{std::nullopt, 600'000, 5, true});
  CHECK(checkpoint("checkpoint: {every: 30s}") == Spec{std::nullopt, 30'000, 3, true});
  CHECK(checkpoint("checkpoint: {every_steps: 7}") == Spec{7, std::nullopt, 3, true});
  CHECK(checkpoint("checkpoint: {every_steps: 7, every: 1 h}") == Spec{7, 3'600'000, 3, true});
  CHECK_THAT(Error(WithTrain("checkpoint: {every: 1 epoch}")),
             Says("job.yaml:3:29: train.checkpoint.every: found '1 epoch' ... `30s` or `5 min`"));
  CHECK_THAT(Error(WithTrain("checkpoint: {every: 5 ms}")),
             Says("job.yaml:3:29: train.checkpoint.every: found 5 ms ... at least 1 s"));
  CHECK(Error(WithTrain("checkpoint: {every_steps: 0}")).find("every_steps: found 0") !=
        std::string::npos);
  CHECK_THAT(Error(WithTrain("checkpoint: {keep: 0}")),
             Says("job.yaml:3:28: train.checkpoint.keep: found 0 ... 1 to 1000"));
  CHECK_THAT(
      Error(WithTrain("checkpoint: true")),
      Says(
          "job.yaml:3:21: train.checkpoint: found 'true' ... `none` ... {every: 10 min, keep: 3}"));
}

TEST_CASE("a job resumes from a path and may accept differences") {
  const std::string head = "data: {train: a.csv, label: 0}\noutput: m\n";
  const auto resume = [&](const std::string& text) {
    const auto job = ParseJob(head + text, "job.yaml");
    INFO(job.status().ToString());
    REQUIRE(job.ok());
    return job->resume;
  };
  CHECK(resume("") == std::nullopt);
  CHECK(resume("resume: runs/a") == spec::ResumeSpec{"runs/a", false, false});
  CHECK(resume("resume: {from: hdfs:///runs/a, accept_data: true}") ==
        spec::ResumeSpec{"hdfs:///runs/a", true, false});
  CHECK(resume("resume: {from: a, accept_arithmetic: true}") == spec::ResumeSpec{"a", false, true});
  CHECK_THAT(Error(head + "resume: {accept_data: true}"),
             Says("job.yaml:3:1: resume.from: found '', expected a path of 1 to 4096 bytes"));
}

}  // namespace
}  // namespace espalier::config
