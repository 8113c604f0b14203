// The texts of the reference. Those of fields are in their Keys. The others are here.
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "src/base/text.h"
#include "src/config/reference.h"
#include "src/config/sweep_plan.h"
#include "src/spec/conditions.h"
#include "src/spec/fields.h"
#include "src/spec/names.h"

namespace espalier::config {
namespace {

struct OtherDoc {
  const char* path;
  const char* example;
  const char* text;
};
constexpr OtherDoc kPresetDocs[] = {
    {"preset", nullptr,
     "Rules that choose the keys that the job does not set. good: the default. fast: half of the "
     "epochs, one fit and no calibration. best: eight fits for tables of 8,000 rows or more. none: "
     "the defaults in this reference. A key in the job replaces that key of the preset. "
     "train.optimizer also replaces the learning rate, the weight decay and the parametrization. "
     "`espalier check --effective` prints the complete job. A job with `compat` has no preset. A "
     "job that takes all weights from a file has one only if it sets this key."},
};
// Other programs' words.
constexpr OtherDoc kCompatDocs[] = {
    {"compat", "{spark-mlp: {layers: [4, 5, 3]}}",
     "A job with the parameters of another program, instead of some of the sections above."},
    {"compat.spark-mlp.layers", nullptr,
     "REQUIRED. Number of features, widths of the hidden layers, number of classes. The data "
     "must agree. The network has sigmoid layers and softmax, in float64; features are not "
     "scaled. It replaces `model`, and optimizer, schedule, epochs, seed and initial of "
     "`train`."},
    {"compat.spark-mlp.solver", nullptr, "Spark's optimizer."},
    {"compat.spark-mlp.maxIter", nullptr, "Number of iterations."},
    {"compat.spark-mlp.tol", nullptr, "l-bfgs: `tolerance`. gd: `step_tolerance`."},
    {"compat.spark-mlp.stepSize", nullptr, "Learning rate of gd."},
    {"compat.spark-mlp.blockSize", nullptr,
     "Ignored. Spark's loss is the mean over blocks of their means, so a row of a smaller last "
     "block counts more there."},
    {"compat.spark-mlp.initialWeights", "start.txt",
     "A text file or a list of numbers in Spark's order: for each layer the matrix of outputs x "
     "inputs by columns, then the bias. By default the seed draws them; these are not the "
     "numbers that Spark draws."},
    {"compat.spark-mlp.seed", nullptr, "As train.seed."},
    {"compat.spark-mlp.thresholds", nullptr, "As model.thresholds."},
    {"compat.sparktorch.iters", nullptr,
     "Number of steps. The network stays in `model`, the optimizer in train.optimizer; gd and "
     "lbfgs only with miniBatch and mode synchronous."},
    {"compat.sparktorch.miniBatch", nullptr, "Rows of each partition in a step; -1: all."},
    {"compat.sparktorch.partitions", nullptr,
     "workers.max, unless that is given. Times miniBatch it is train.batch."},
    {"compat.sparktorch.partitionShuffles", nullptr,
     "Factor of iters. Rows are shuffled in each epoch in any case."},
    {"compat.sparktorch.validationPct", nullptr, "data.validation.fraction."},
    {"compat.sparktorch.earlyStopPatience", nullptr,
     "Evaluations of val_loss, or of the loss of training rows without validationPct; -1: off. "
     "There is one evaluation an epoch; SparkTorch counts iterations."},
    {"compat.sparktorch.verbose", nullptr, "Ignored; the client decides what it shows."},
    {"compat.sparktorch.mode", nullptr,
     "hogwild: train.mode async with batch miniBatch, which is required, and iters * partitions "
     "steps."},
};
constexpr OtherDoc kPredictDocs[] = {
    {"predict", nullptr,
     "A job that applies a model to a table has `predict` instead of data, model and train. It may "
     "have `name` and `workers`. `output` is REQUIRED: a directory for part files. With "
     "`output: {path: PATH, overwrite: true}` it replaces an earlier prediction when this one is "
     "complete."},
};
constexpr OtherDoc kEvaluateDocs[] = {
    {"evaluate", nullptr,
     "A job that tests a model on a table with labels has `evaluate` instead of data, model and "
     "train. It may have `name` and `workers`. Its metrics are the result of the job. "
     "`output: report.html` also writes them as a page with charts, which replaces an existing "
     "one."},
};
constexpr OtherDoc kSweepDocs[] = {
    {"sweep.job", nullptr,
     "REQUIRED. Job file, relative to the directory of this one, or the keys of a job."},
    {"sweep.output", nullptr, "REQUIRED. Directory for the models of the runs and sweep.json."},
    {"sweep.grid", nullptr, "Lists of values for keys of the job. All combinations are tried."},
    {"sweep.random", nullptr, "Values drawn at random, instead of a grid."},
};
constexpr OtherDoc kSweepKeysDocs[] = {
    {"sweep.random.keys", "{train.l1: {log_uniform: [1e-6, 1e-2]}}",
     "For each key a list of values, {uniform: [0, 1]}, {log_uniform: [1e-4, 1]} or "
     "{whole: [8, 64]}. Both ends of `whole` are included."},
};

// The type of a value, or of each value of a list.
template <typename T>
struct Element {
  using Type = T;
  static constexpr const char* kSuffix = "";
};
template <typename T>
struct Element<std::optional<T>> : Element<T> {};
template <typename T>
struct Element<std::vector<T>> {
  using Type = T;
  static constexpr const char* kSuffix = "[]";
};

std::string PathBelow(const std::string& path, const std::string& key) {
  return path.empty() ? key : path + "." + key;
}

// Returns a bound with its unit.
std::string BoundText(const spec::Key& key, double value) {
  const auto whole = static_cast<int64_t>(value);
  if (key.unit == spec::Key::Unit::kMilliseconds) return std::to_string(whole / 1000) + " s";
  if (key.unit != spec::Key::Unit::kBytes) {
    return std::floor(value) == value ? std::to_string(whole) : ShortestDouble(value);
  }
  const char* units[] = {"bytes", "KiB", "MiB", "GiB"};
  size_t unit = 0;
  int64_t amount = whole;
  while (unit < 3 && amount % 1024 == 0) amount /= 1024, ++unit;
  return std::to_string(amount) + " " + units[unit];
}

// Returns the range of a number as a sentence: "From 1 to 64.", "At least 0, below 1." It leaves
// out a maximum that no job reaches, and "at least 0" of a count.
std::string RangeOf(const spec::Key& key, bool is_count) {
  constexpr double kReachable = 1e9;
  if (is_count && key.by_hand) return "";  // a part of the value
  const spec::Bounds& b = key.bounds;
  const double least = key.unit == spec::Key::Unit::kMilliseconds ? 1000 : 1;
  const bool upper =
      b.max < kReachable || (std::isfinite(b.max) && key.unit == spec::Key::Unit::kBytes);
  const bool lower = is_count ? upper || b.min >= least : std::isfinite(b.min);
  if (lower && upper && !b.above && !b.below) {
    return "From " + BoundText(key, b.min) + " to " + BoundText(key, b.max) + ".";
  }
  if (!lower || (key.by_hand && !upper)) return "";
  std::string text = (b.above ? "Above " : "At least ") + BoundText(key, b.min);
  if (upper) text += (b.below ? ", below " : ", at most ") + BoundText(key, b.max);
  return text + ".";
}

// Returns the text of a key, its range and a sentence for each condition. `usual` is the default.
template <typename T>
std::string TextOf(const spec::Key& key, const T& usual) {
  std::string text = key.doc;
  using Number = typename Element<T>::Type;
  constexpr bool kCount = std::is_same_v<Number, int64_t>;
  if constexpr (kCount || std::is_same_v<Number, double>) {
    const std::string range = RangeOf(key, kCount);
    if (!range.empty()) text += " " + range;
  }
  for (const spec::Condition& condition : key.conditions) {
    if (condition.decider == spec::Decider::kNone) break;
    std::string word;  // the only value without other ones, if it has one
    if constexpr (spec::Named<T>) {
      word = spec::NameOf(usual);
    } else if constexpr (requires { spec::NameOf(usual.kind); }) {
      word = spec::NameOf(usual.kind);
    } else if constexpr (std::is_same_v<T, bool>) {
      if (key.no != std::string_view("false")) word = key.no;
    }
    text += " " + spec::SentenceOf(condition, word);
  }
  return text;
}

// Returns the ranges of the numbers that are written after a word of a struct S:
// {window: 100000} has " window: at least 8."
template <typename S>
std::string BodyRanges() {
  std::string text;
  spec::kFields<S>([&](const auto& entry) {
    using Number = std::remove_cvref_t<decltype(S().*entry.pointer)>;
    constexpr bool kCount = std::is_same_v<Number, int64_t>;
    if constexpr (kCount || std::is_same_v<Number, double>) {
      std::string range = entry.key.body ? RangeOf(entry.key, kCount) : std::string();
      if (range.empty()) return;
      range[0] = static_cast<char>(range[0] - 'A' + 'a');
      if constexpr (requires(S s) { spec::NameOf(s.kind); }) {
        for (const auto& [kind, word] : spec::Names<decltype(S().kind)>::kAll) {
          if (entry.key.Belongs(kind)) text += " " + std::string(word) + ": " + range;
        }
      }
    }
  });
  return text;
}

// Appends the texts of the fields of S, which are below `path`, in the order of presentation.
template <typename S>
void AddFields(const std::string& path, std::vector<KeyDoc>* out) {
  std::vector<std::pair<spec::Key, std::vector<KeyDoc>>> fields;  // each with the keys below it
  spec::kFields<S>([&](const auto& entry) {
    const spec::Key& key = entry.key;
    using Type = typename Element<std::remove_cvref_t<decltype(S().*entry.pointer)>>::Type;
    constexpr const char* kSuffix =
        Element<std::remove_cvref_t<decltype(S().*entry.pointer)>>::kSuffix;
    auto& [_, docs] = fields.emplace_back(key, std::vector<KeyDoc>());
    const std::string at = key.inlined ? path : PathBelow(path, key.yaml);
    if (key.doc != nullptr) {
      std::string text = TextOf(key, S().*entry.pointer);
      if constexpr (spec::HasFields<Type>) text += BodyRanges<Type>();
      docs.push_back({at, key.example, std::move(text)});
    }
    if constexpr (spec::HasFields<Type>) {
      const bool kinds = !key.inlined && requires(Type t) { spec::NameOf(t.kind); };
      AddFields<Type>(at + kSuffix + (kinds ? ".*" : ""), &docs);
    }
  });
  const auto place = [&](const auto& self, const char* after) -> void {
    for (const auto& [key, docs] : fields) {
      const bool next = after == nullptr
                            ? key.after == nullptr
                            : key.after != nullptr && std::string_view(key.after) == after;
      if (!next) continue;
      out->insert(out->end(), docs.begin(), docs.end());
      self(self, key.name);
    }
  };
  place(place, nullptr);
}

void AddOthers(std::span<const OtherDoc> others, std::vector<KeyDoc>* out) {
  for (const OtherDoc& doc : others) out->push_back({doc.path, doc.example, doc.text});
}

std::vector<KeyDoc> AllDocs() {
  std::vector<KeyDoc> docs;
  AddFields<spec::JobSpec>("", &docs);
  std::vector<KeyDoc> preset;
  AddOthers(kPresetDocs, &preset);
  docs.insert(docs.begin() + 1, preset.begin(), preset.end());  // after the name
  AddOthers(kCompatDocs, &docs);
  AddOthers(kPredictDocs, &docs);
  const char* const predict = spec::NameOf(spec::PredictionSpec::kKind);
  AddFields<spec::ScoringSpec>(predict, &docs);
  AddFields<spec::PredictionSpec>(predict, &docs);
  AddOthers(kEvaluateDocs, &docs);
  AddFields<spec::ScoringSpec>(spec::NameOf(spec::EvaluationSpec::kKind), &docs);
  AddOthers(kSweepDocs, &docs);
  AddFields<RandomSearch>("sweep.random", &docs);
  AddOthers(kSweepKeysDocs, &docs);
  AddFields<SweepPlan>("sweep", &docs);
  return docs;
}

}  // namespace

std::span<const KeyDoc> KeyDocs() {
  static const std::vector<KeyDoc> docs = AllDocs();
  return docs;
}

}  // namespace espalier::config
