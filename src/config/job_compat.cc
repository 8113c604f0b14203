#include "src/config/job_compat.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/base/text.h"
#include "src/config/job_sections.h"

namespace espalier::config {
namespace {

// Reads a number within bounds. `what` describes the expected value.
template <typename T>
ReadValue Within(Reader& reader, T& out, T min, T max, std::string what) {
  return [&reader, &out, min, max, what](const YamlNode& node, const std::string& path) -> Status {
    ESPALIER_RETURN_IF_ERROR(reader.Read(node, path, out));
    if (out >= min && out <= max) return {};
    return reader.Unexpected(node, path, what);
  };
}

// Reads one of two words. Sets `second` if it is the second one.
ReadValue OneOf(Reader& reader, std::string first, std::string other, bool& second) {
  return [&reader, first, other, &second](const YamlNode& node, const std::string& path) -> Status {
    if (!node.is_scalar() || (node.text != first && node.text != other)) {
      return reader.UnknownWord(node, path, {first, other});
    }
    second = node.text == other;
    return {};
  };
}

// Returns an error for keys of a section that `compat` has already set.
Status RefuseKeys(Reader& reader, YamlNode& root, const std::string& section,
                  const std::vector<std::string>& keys, const std::string& whose) {
  YamlNode* node = root.Find(section);
  for (const std::string& key : keys) {
    YamlNode* found = node ? node->Find(key) : nullptr;
    if (!found) continue;
    return reader.ErrorAt(found->mark,
                          section + "." + key + ": found together with " + whose +
                              ", which sets it already (expected one of the two). Remove one");
  }
  return {};
}

constexpr int64_t kIterationsMax = 1'000'000'000;
constexpr double kRealMax = std::numeric_limits<double>::max();

struct SparkMlp {
  std::vector<int64_t> layers;
  int64_t max_iter = 100, block_size = 128, seed = 1;
  double tol = 1e-6, step_size = 0.03;
  bool gd = false;
  std::optional<spec::InitialSpec> initial;
  std::vector<double> thresholds;
};

Status ReadNumbers(Reader& reader, const YamlNode& node, const std::string& path,
                   std::vector<double>& out) {
  if (node.kind != YamlNode::Kind::kSequence) {
    return reader.Unexpected(node, path, "a list of numbers");
  }
  out.clear();
  return reader.ReadOneOrMany(node, path, [&](const YamlNode& item, const std::string& at) {
    out.emplace_back();
    return reader.Read(item, at, out.back());
  });
}

Status ReadSparkInitial(Reader& reader, const YamlNode& node, const std::string& path,
                        SparkMlp& out) {
  spec::InitialSpec& initial = out.initial.emplace();
  initial.spark = true;
  if (node.is_scalar()) return ReadPath(reader, node, path, initial.from);
  return ReadNumbers(reader, node, path, initial.values);
}

Status CheckSparkMlp(Reader& reader, const std::string& path, const SparkMlp& spark) {
  const auto error = [&](const char* key, const std::string& found, const std::string& expected) {
    return reader.Locate(
        InvalidArgument(path + "." + key + ": found " + found + ", expected " + expected));
  };
  if (spark.layers.size() < 2 || spark.layers.size() > 66) {
    return error("layers", std::to_string(spark.layers.size()) + " numbers",
                 "2 to 66: how many features there are, the widths of the hidden layers, and how "
                 "many classes there are");
  }
  if (*std::min_element(spark.layers.begin(), spark.layers.end()) < 1) {
    return error("layers", "a layer without units", "at least 1 in each");
  }
  double parameters = 0;
  for (size_t i = 1; i < spark.layers.size(); ++i) {
    parameters +=
        static_cast<double>(spark.layers[i - 1] + 1) * static_cast<double>(spark.layers[i]);
  }
  if (spark.initial && spark.initial->from.empty() &&
      static_cast<double>(spark.initial->values.size()) != parameters) {
    return error("initialWeights", std::to_string(spark.initial->values.size()) + " numbers",
                 "the " + ShortestDouble(parameters) + " that these layers have");
  }
  const auto& t = spark.thresholds;
  if (t.empty()) return {};
  const bool sound = std::all_of(t.begin(), t.end(), [](double v) { return v >= 0; }) &&
                     std::count(t.begin(), t.end(), 0.0) <= 1;
  if (!sound || static_cast<int64_t>(t.size()) != spark.layers.back()) {
    return error("thresholds", std::to_string(t.size()) + " numbers",
                 "one per class, " + std::to_string(spark.layers.back()) +
                     ": each at least 0, one at most 0");
  }
  return {};
}

void MapSparkMlp(const SparkMlp& spark, spec::JobSpec& job) {
  const auto& layers = spark.layers;
  job.model.expected_inputs = layers.front();
  job.model.expected_outputs = layers.back();
  job.model.hidden.assign(layers.begin() + 1, layers.end() - 1);
  job.model.activation = {spec::Activation::kSigmoid};
  job.model.loss = spec::Loss::kSoftmaxCrossEntropy;
  job.model.precision = spec::Precision::kFloat64;
  job.model.thresholds = spark.thresholds;
  job.data.features.scale.kind = spec::ScaleKind::kNone;
  job.train.seed = static_cast<uint64_t>(spark.seed);
  job.train.initial = spark.initial;
  if (spark.gd) {
    job.train.optimizer = spec::DefaultOptimizer(spec::OptimizerKind::kGd);
    job.train.optimizer.learning_rate = spark.step_size;
    job.train.optimizer.step_tolerance = spark.tol;
    job.train.epochs = static_cast<double>(spark.max_iter);
    return;
  }
  job.train.optimizer = spec::DefaultOptimizer(spec::OptimizerKind::kLbfgs);
  job.train.optimizer.max_iterations = spark.max_iter;
  job.train.optimizer.tolerance = spark.tol;
}

Status ReadSparkMlp(Reader& reader, const YamlNode& body, const std::string& path, YamlNode& root,
                    spec::JobSpec& job, std::optional<int64_t>&) {
  SparkMlp spark;
  ESPALIER_RETURN_IF_ERROR(reader.ReadMap(
      body, path,
      {{"layers",
        [&](const YamlNode& node, const std::string& at) -> Status {
          if (node.kind != YamlNode::Kind::kSequence) {
            return reader.Unexpected(node, at, "a list such as [4, 5, 4, 3]");
          }
          return ReadSpec(reader, node, at, spark.layers);
        }},
       {"maxIter", Within<int64_t>(reader, spark.max_iter, 1, kIterationsMax,
                                   "a whole number from 1 to 1000000000")},
       {"tol", Within(reader, spark.tol, 0.0, kRealMax, "a number of at least 0")},
       {"blockSize", Within<int64_t>(reader, spark.block_size, 1, kIterationsMax,
                                     "a whole number above 0 (it changes nothing here)")},
       {"solver", OneOf(reader, "l-bfgs", "gd", spark.gd)},
       {"stepSize", Within(reader, spark.step_size, std::numeric_limits<double>::min(), kRealMax,
                           "a number above 0")},
       {"initialWeights",
        [&](const YamlNode& node, const std::string& at) {
          return ReadSparkInitial(reader, node, at, spark);
        }},
       reader.Value("seed", spark.seed),
       {"thresholds", [&](const YamlNode& node, const std::string& at) {
          return ReadNumbers(reader, node, at, spark.thresholds);
        }}}));
  ESPALIER_RETURN_IF_ERROR(CheckSparkMlp(reader, path, spark));
  if (const YamlNode* model = root.Find("model")) {
    return reader.Unexpected(*model, "model",
                             "no section model: compat.spark-mlp.layers states the model");
  }
  const std::string whose = "compat.spark-mlp";
  ESPALIER_RETURN_IF_ERROR(RefuseKeys(
      reader, root, "train", {"optimizer", "schedule", "epochs", "seed", "initial"}, whose));
  MapSparkMlp(spark, job);
  return {};
}

constexpr int64_t kWholeEpoch = 1'000'000'000'000;  // steps; the last update of an epoch uses fewer

struct SparkTorch {
  int64_t iters = 10, mini_batch = -1, partitions = -1, patience = -1, shuffles = 1, verbose = 1;
  double validation = 0;
  bool hogwild = false;
};

// Returns an error for gd and lbfgs, which determine the rows of an update themselves.
Status RefuseWholeEpochs(Reader& reader, YamlNode& root, bool hogwild) {
  YamlNode* train = root.Find("train");
  YamlNode* optimizer = train ? train->Find("optimizer") : nullptr;
  if (!optimizer) return {};
  for (const std::string word : {"gd", "lbfgs"}) {
    if (!(optimizer->is_scalar() && optimizer->text == word) && !optimizer->Find(word)) continue;
    return reader.ErrorAt(
        optimizer->mark,
        "train.optimizer: found " + word + " together with compat.sparktorch, expected another " +
            (hogwild ? "one, such as sgd or adam: hogwild's updates are each of miniBatch rows"
                     : "one: without miniBatch each update is of all rows, with sgd just as with "
                       "gd"));
  }
  return {};
}

void MapSparkTorch(const SparkTorch& torch, spec::JobSpec& job, std::optional<int64_t>& batch) {
  const int64_t iterations = torch.iters * torch.shuffles;
  if (torch.hogwild) {  // each partition runs all iterations, and each iteration is an update
    job.train.mode = spec::TrainMode::kAsync;
    batch = torch.mini_batch;
    job.train.steps = iterations * torch.partitions;
  } else if (torch.mini_batch > 0) {
    batch = torch.mini_batch * torch.partitions;
    job.train.steps = iterations;
  } else {  // each iteration is one update from all rows
    batch = spec::DefaultBatch(spec::OptimizerKind::kGd);
    job.train.accumulate_steps = kWholeEpoch;
    job.train.epochs = static_cast<double>(iterations);
  }
  if (torch.partitions > 0) job.workers.max = torch.partitions;
  job.data.validation.fraction = torch.validation;
  if (torch.patience > 0) {
    job.train.early_stopping.emplace();
    job.train.early_stopping->patience = torch.patience;
    job.train.early_stopping->restore_best = false;
    if (torch.validation == 0) job.train.early_stopping->metric = "loss";
  }
}

Status ReadSparkTorch(Reader& reader, const YamlNode& body, const std::string& path, YamlNode& root,
                      spec::JobSpec& job, std::optional<int64_t>& batch) {
  SparkTorch torch;
  const auto whole = [&](const char* key, int64_t& out, int64_t min, int64_t max) {
    return Field{key, Within<int64_t>(reader, out, min, max,
                                      "a whole number from " + std::to_string(min) + " to " +
                                          std::to_string(max))};
  };
  const auto amount = [&](const char* key, int64_t& out, int64_t max) {  // -1: none
    return Field{key, [&reader, &out, max](const YamlNode& node, const std::string& at) -> Status {
                   ESPALIER_RETURN_IF_ERROR(reader.Read(node, at, out));
                   if (out == -1 || (out >= 1 && out <= max)) return {};
                   return reader.Unexpected(
                       node, at, "-1 or a whole number from 1 to " + std::to_string(max));
                 }};
  };
  ESPALIER_RETURN_IF_ERROR(reader.ReadMap(
      body, path,
      {whole("iters", torch.iters, 1, kIterationsMax),
       amount("miniBatch", torch.mini_batch, 1 << 20),
       amount("partitions", torch.partitions, 1024),
       whole("partitionShuffles", torch.shuffles, 1, 1000),
       {"validationPct", Within(reader, torch.validation, 0.0, 0.99, "a number from 0 to 0.99")},
       amount("earlyStopPatience", torch.patience, kIterationsMax),
       whole("verbose", torch.verbose, 0, 2),
       {"mode", OneOf(reader, "synchronous", "hogwild", torch.hogwild)}}));
  if (torch.hogwild && torch.mini_batch < 0) {
    return reader.Locate(
        InvalidArgument(path + ".mode: found hogwild without miniBatch, expected both: "
                               "an update is the gradient of that number of rows; for all rows "
                               "of a partition write those of the table divided by "
                               "partitions"));
  }
  if (torch.mini_batch > 0 && torch.partitions < 0) {
    return reader.Locate(InvalidArgument(path +
                                         ".miniBatch: found it without partitions, expected both: "
                                         "miniBatch rows of each partition are one global batch"));
  }
  if (torch.hogwild || torch.mini_batch < 0) {
    ESPALIER_RETURN_IF_ERROR(RefuseWholeEpochs(reader, root, torch.hogwild));
  }
  const std::string whose = "compat.sparktorch";
  std::vector<std::string> keys = {"epochs", "steps", "batch", "accumulate_steps", "mode"};
  if (torch.patience > 0) keys.emplace_back("early_stopping");
  ESPALIER_RETURN_IF_ERROR(RefuseKeys(reader, root, "train", keys, whose));
  if (torch.validation > 0) {
    ESPALIER_RETURN_IF_ERROR(RefuseKeys(reader, root, "data", {"validation"}, whose));
  }
  MapSparkTorch(torch, job, batch);
  return {};
}

}  // namespace

Status ReadCompat(Reader& reader, YamlNode& root, spec::JobSpec& out,
                  std::optional<int64_t>& batch) {
  const YamlNode* node = root.Find("compat");
  if (!node) return {};
  const auto choice = [&](const char* word, auto read) {
    return Choice{word, [&, read](const YamlNode* body, const std::string& path) -> Status {
                    if (body && body->kind == YamlNode::Kind::kMap) {
                      return read(reader, *body, path, root, out, batch);
                    }
                    return reader.Unexpected(*node, path, "a map with its parameters");
                  }};
  };
  return reader.ReadChoice(
      *node, "compat", {choice("spark-mlp", ReadSparkMlp), choice("sparktorch", ReadSparkTorch)});
}

void CompleteCompat(spec::JobSpec& job) {
  if (!job.model.expected_inputs || spec::FormatOf(job.data) != spec::DataFormat::kLibsvm) return;
  auto& columns = job.data.features.columns;
  if (columns.empty()) columns.emplace_back(spec::ColumnRange{1, *job.model.expected_inputs});
  if (job.data.label.empty()) job.data.label.emplace_back(int64_t{0});
}

std::vector<std::string> CompatPathKey() { return {"compat", "spark-mlp", "initialWeights"}; }

}  // namespace espalier::config
