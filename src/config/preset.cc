#include "src/config/preset.h"

#include <algorithm>
#include <initializer_list>
#include <utility>
#include <vector>

#include "src/base/check.h"
#include "src/base/text.h"
#include "src/config/job_sections.h"
#include "src/spec/names.h"

namespace espalier::config {
namespace {

// Minimum rows for a validation share. A fifth of fewer rows may be no row at all.
constexpr int64_t kHeldOutRowsMin = 50;
constexpr double kHeldOutMost = 50'000;  // rows
constexpr int64_t kLikelyRows = 100'000;
// Maximum columns for embeddings of numbers, and for a scale that needs a sample.
constexpr int64_t kEmbeddedMax = 200, kRobustMax = 1000;
// Row limits below which `good` uses several fits, and below which predictions are moved toward the
// constant prediction.
constexpr int64_t kEnsembleRows = 8'000, kShrinkRows = 2'000;
// Share of the estimated rows that the table is certain to have.
constexpr double kSureShare = 0.8;

YamlNode Parsed(const std::string& value) {
  Result<YamlNode> parsed = ParseYaml("v: " + value, "preset");
  ESPALIER_CHECK(parsed.ok(), "a preset has bad YAML");
  return std::move(parsed->entries.front().second);
}

// Returns the value at a path from the top, or null.
YamlNode* Found(YamlNode& root, std::initializer_list<std::string_view> path) {
  YamlNode* node = &root;
  for (const std::string_view key : path) {
    if (node == nullptr || node->kind != YamlNode::Kind::kMap) return nullptr;
    node = node->Find(key);
  }
  return node;
}

// Returns the map at a path. Creates it if it is missing.
YamlNode& MapAt(YamlNode& root, std::initializer_list<std::string_view> path) {
  YamlNode* node = &root;
  for (const std::string_view key : path) {
    YamlNode* next = node->Find(key);
    if (next == nullptr) {
      node->entries.push_back({ScalarNode(std::string(key)), {.kind = YamlNode::Kind::kMap}});
      next = &node->entries.back().second;
    }
    if (next->kind == YamlNode::Kind::kNull) next->kind = YamlNode::Kind::kMap;
    node = next;
  }
  return *node;
}

// Adds the paths of the entries that only `filled` has.
void AddNewKeys(YamlNode& given, const YamlNode& filled, const std::string& path,
                std::set<std::string>* keys) {
  for (size_t i = 0; i < filled.items.size(); ++i) {
    AddNewKeys(given.items[i], filled.items[i], path + "[]", keys);
  }
  for (const auto& [key, value] : filled.entries) {
    const std::string child = (path.empty() ? "" : path + ".") + key.text;
    if (YamlNode* const before = given.Find(key.text)) {
      AddNewKeys(*before, value, child, keys);
    } else {
      keys->insert(child);
    }
  }
}

class Filler {
 public:
  Filler(YamlNode& root, const spec::JobSpec& given, const TableOutlook& outlook)
      : root_(root), given_(given), outlook_(outlook) {}

  void Run() {
    FillFeatures();
    FillValidation();
    FillModel();
    FillTraining();
  }

 private:
  // Returns whether the job sets the key.
  bool Has(std::initializer_list<std::string_view> path) { return Found(root_, path) != nullptr; }

  static void Add(YamlNode& map, const char* key, const std::string& value) {
    if (map.kind != YamlNode::Kind::kMap || map.Find(key) != nullptr) return;
    map.entries.push_back({ScalarNode(key), Parsed(value)});
  }

  bool classifies() const { return outlook_.task == spec::Task::kClassification; }
  bool gives_back() const { return outlook_.task == spec::Task::kAutoencoder; }
  // Returns whether the optimizer uses all rows at a time. These optimizers have their own stopping
  // rules, which a preset cannot improve.
  bool whole() const {
    const spec::OptimizerKind kind = given_.train.optimizer.kind;
    return kind == spec::OptimizerKind::kLbfgs || kind == spec::OptimizerKind::kGd;
  }
  // Returns whether the job sets a part of the optimizer. Learning rate, decay, initial weights and
  // their scale belong together.
  bool HasOptimizer() {
    const YamlNode* scaled = Found(root_, {"model", "parametrization"});
    return Has({"train", "optimizer"}) || Has({"model", "init"}) ||
           (scaled != nullptr && scaled->text == "standard");
  }

  void FillFeatures() {
    YamlNode& data = MapAt(root_, {"data"});
    YamlNode* features = data.Find("features");
    if (features != nullptr && features->kind != YamlNode::Kind::kMap &&
        features->kind != YamlNode::Kind::kNull) {  // columns only
      YamlNode map = {.kind = YamlNode::Kind::kMap};
      map.entries.push_back({ScalarNode("columns"), std::move(*features)});
      *features = std::move(map);
    }
    YamlNode& all = MapAt(root_, {"data", "features"});
    const bool robust = !gives_back() && outlook_.features <= kRobustMax;
    if (robust) {
      Add(all, "scale", "robust_smooth_clip");
      Add(all, "nulls", "median");
    } else {
      Add(all, "nulls", "mean");
    }
    const YamlNode* nulls = all.Find("nulls");
    const bool fills =
        nulls->kind == YamlNode::Kind::kMap || nulls->text == "median" || nulls->text == "mean";
    if (fills && !gives_back()) Add(all, "null_indicators", "true");
    if (robust && outlook_.features <= kEmbeddedMax) {
      Add(all, "numbers", "{embedding: piecewise_linear}");
    }
    if (!gives_back()) FillCategories(MapAt(root_, {"data", "features", "categories"}));
    YamlNode* groups = all.Find("groups");
    if (groups == nullptr || gives_back()) return;
    for (YamlNode& group : groups->items) {
      const YamlNode* type = Found(group, {"type"});
      if (type != nullptr && type->text == "categorical") FillCategories(group);
    }
  }

  static void FillCategories(YamlNode& options) {
    if (options.Find("encode") != nullptr || options.Find("hash") != nullptr) return;
    Add(options, "encode", "{embedding: 8}");
    Add(options, "one_hot_max", "8");
    Add(options, "min_count", "30");
    Add(options, "zero_rare", "true");
  }

  void FillValidation() {
    const double rows = static_cast<double>(outlook_.rows);
    const double share =
        outlook_.rows < 2000 ? 0.2 : std::min(0.1, kHeldOutMost / std::max(1.0, rows));
    if (YamlNode* given = Found(root_, {"data", "validation"})) {
      const bool has_share = given->Find("fraction") != nullptr || given->Find("fold") != nullptr;
      if (given_.data.validation.by_place()) {
        const bool bounded = given->Find("from") != nullptr || given->Find("to") != nullptr;
        if (!has_share && !bounded) Add(*given, "fraction", ShortestDouble(share));
        return;
      }
      if (!has_share) return;
      Add(*given, "exact", "true");
      if (classifies()) Add(*given, "stratify", "true");
      return;
    }
    if (whole() || outlook_.rows < kHeldOutRowsMin) return;
    folds_ = FillEnsemble();
    if (folds_) return;
    Add(MapAt(root_, {"data"}), "validation",
        "{exact: true, fraction: " + ShortestDouble(share) +
            (classifies() ? ", stratify: true}" : "}"));
  }

  // Returns whether the job can have only one fit.
  bool single() {
    return whole() || gives_back() || given_.train.mode == spec::TrainMode::kAsync ||
           Has({"train", "max_time"});
  }

  // Fills in fits over folds instead of a validation share. Returns whether the job has them now.
  bool FillEnsemble() {
    YamlNode& train = MapAt(root_, {"train"});
    if (train.Find("ensemble") != nullptr) return folds_;
    if (single() || given_.preset == spec::Preset::kFast) return false;
    const bool small = outlook_.rows < kEnsembleRows;
    if ((!small && given_.preset != spec::Preset::kBest)) return false;
    Add(train, "ensemble",
        !small                        ? "{fits: 8, folds: 10}"
        : outlook_.rows < kShrinkRows ? "{fits: 5, shrink: true}"
                                      : "{fits: 5}");
    return true;
  }

  void FillModel() {
    YamlNode& model = MapAt(root_, {"model"});
    Add(model, "task", spec::NameOf(outlook_.task));
    if (whole()) return;
    Add(model, "hidden", gives_back() ? "[128, 32, 128]" : "[128, 128, 128]");
    Add(model, "activation", "silu");
    if (!has_optimizer_) {
      Add(model, "parametrization", "ntp");
      if (!gives_back()) Add(model, "scaling_layer", "true");
    } else if (given_.model.parametrization == spec::Parametrization::kStandard) {
      Add(model, "init", "xavier");
    }
    if (classifies() && model.Find("loss") == nullptr) {
      Add(model, "loss", "{softmax_cross_entropy: {label_smoothing: 0.03}}");
      Add(model, "cap_label_smoothing", "true");
    }
    if (outlook_.task != spec::Task::kRegression) return;
    Add(model, "clip_predictions", "true");
    Add(model, "start_at_constant", "true");
  }

  void FillTraining() {
    if (whole()) return;
    YamlNode& train = MapAt(root_, {"train"});
    if (!has_optimizer_) {
      Add(train, "optimizer", "{adamw: {learning_rate: 0.03, beta2: 0.95}}");
      Add(train, "rate_by_batch", "sqrt");
      Add(train, "weight_decay", "0.02");
      Add(train, "rate_factors", "{biases: 0.1, scaling_layer: 6}");
    }
    const bool by_time = Has({"train", "max_time"});
    const bool by_steps = Has({"train", "steps"});
    if (!by_time && !by_steps) Add(train, "epochs", "auto");
    const bool ends = Has({"train", "epochs"}) || by_steps;
    if (ends) Add(train, "schedule", "{cosine: {warmup_share: 0.05}}");
    if (ends && !has_optimizer_) Add(train, "weight_decay_schedule", "flat_cos");
    if (!Has({"train", "batch"})) {
      Add(train, "batch", "auto");
      Add(train, "leaves", std::to_string(Leaves()));
    }
    const YamlNode* validation = Found(root_, {"data", "validation"});
    const bool holds_out = validation != nullptr && validation->kind == YamlNode::Kind::kMap;
    if (!holds_out && !folds_) return;
    if (!folds_ && given_.preset == spec::Preset::kBest && !single()) {
      Add(train, "ensemble", "{fits: 8, over: seeds}");
    }
    Add(train, "early_stopping", "{metric: val_loss, patience: 100}");
    const bool sync = given_.train.mode == spec::TrainMode::kSync;
    if (classifies() && sync && given_.preset != spec::Preset::kFast) {
      Add(train, "calibrate", "true");
    }
  }

  // Returns the leaves for the smallest batch that the table is certain to get. They determine the
  // number of workers before the rows are counted.
  int64_t Leaves() const {
    const double rows = static_cast<double>(outlook_.rows) * (outlook_.exact ? 1 : kSureShare);
    spec::TrainSpec train = given_.train;
    train.leaves.reset();
    train.batch = spec::BatchFor(static_cast<int64_t>(rows));
    return spec::LeafCount(train);
  }

  YamlNode& root_;
  const spec::JobSpec& given_;
  const TableOutlook& outlook_;
  bool folds_ = spec::FoldsOf(given_.train) > 0;  // the fits hold out rows
  const bool has_optimizer_ = HasOptimizer();     // before anything is filled in
};

bool IsOfNumbers(const std::optional<spec::EarlyStopping>& rule) {
  if (!rule) return false;
  const std::string& metric = rule->metric;
  return metric.ends_with("rmse") || metric.ends_with("mae") || metric.ends_with("r2");
}

std::optional<spec::Task> TaskOf(YamlNode& root, const spec::JobSpec& job) {
  if (Found(root, {"model", "task"}) != nullptr) return job.model.task;
  if (job.model.loss) {
    return spec::LossFits(*job.model.loss, spec::Task::kRegression) ? spec::Task::kRegression
                                                                    : spec::Task::kClassification;
  }
  const bool classes = job.train.class_weight.balanced || !job.train.class_weight.given.empty() ||
                       !job.model.thresholds.empty() || job.model.positive ||
                       !job.model.costs.given.empty() ||
                       job.train.threshold.kind != spec::ThresholdKind::kNone;
  if (classes) return spec::Task::kClassification;
  const bool numbers = job.data.label.size() > 1 || job.model.target_scale ||
                       job.model.clip_predictions || job.train.intervals > 0 ||
                       IsOfNumbers(job.train.early_stopping);
  if (numbers) return spec::Task::kRegression;
  return std::nullopt;
}

// Returns whether the job names no preset and takes all weights from a file. The weights fit only
// the network that the job describes, so a preset must not add inputs.
bool StartsFromFile(YamlNode& root, const spec::JobSpec& job) {
  const auto& initial = job.train.initial;
  return root.Find("preset") == nullptr && initial && initial->layers.empty() &&
         initial->from.ends_with(".safetensors");
}

}  // namespace

// Fills jobs that leave different keys to the preset, for tables of different kinds.
std::set<std::string> KeysOfPresets() {
  constexpr const char* kJobs[] = {
      "{data: {features: {categories: {}, groups: [{type: categorical}]}}, model: {}, train: {}}",
      "{data: {features: {}, validation: {fold: 0}}, model: {}, train: {optimizer: adam}}",
      "{data: {features: {}, validation: {group: g}}, model: {}, train: {}}"};
  std::set<std::string> keys;
  for (const char* text : kJobs) {
    for (const spec::Preset preset :
         {spec::Preset::kFast, spec::Preset::kGood, spec::Preset::kBest}) {
      for (const spec::Task task : {spec::Task::kClassification, spec::Task::kRegression}) {
        for (const int64_t rows : {kShrinkRows, 2 * kEnsembleRows}) {
          YamlNode given = Parsed(text);
          spec::JobSpec job;
          job.preset = preset;
          Reader reader("preset");
          ESPALIER_CHECK(ReadJob(reader, given, job).ok(), "a job of KeysOfPresets is invalid");
          YamlNode filled = given;
          Filler(filled, job, {.task = task, .rows = rows, .features = 1}).Run();
          AddNewKeys(given, filled, "", &keys);
        }
      }
    }
  }
  return keys;
}

Result<JobRequest> JobRequest::Read(std::string_view yaml_text,
                                    std::string_view name_for_messages) {
  JobRequest request;
  request.name_ = name_for_messages;
  request.text_ = yaml_text;
  ESPALIER_ASSIGN_OR_RETURN(request.root_, ParseYaml(yaml_text, name_for_messages));
  Reader reader(name_for_messages);
  if (YamlNode* model = request.root_.Find("model")) {
    std::erase_if(model->entries, [](const YamlEntry& entry) {
      return entry.first.text == "task" && entry.second.text == "auto";
    });
  }
  YamlNode tree = request.root_;
  request.given_.preset = spec::kDefaultPreset;
  ESPALIER_RETURN_IF_ERROR(ReadJob(reader, tree, request.given_));
  request.preset_ = request.given_.preset;
  if (request.root_.Find("compat") != nullptr || StartsFromFile(request.root_, request.given_)) {
    request.preset_ = spec::Preset::kNone;
  }
  request.task_ = TaskOf(request.root_, request.given_);
  return request;
}

TableOutlook JobRequest::Likely() const {
  return {.task = task_.value_or(spec::Task::kClassification), .rows = kLikelyRows};
}

Result<JobRequest::Filled> JobRequest::Fill(const TableOutlook& outlook) const {
  YamlNode root = root_;
  if (preset_ != spec::Preset::kNone) {
    if (root.Find("preset") == nullptr) {
      root.entries.insert(root.entries.begin(),
                          {ScalarNode("preset"), ScalarNode(spec::NameOf(preset_))});
    }
    Filler(root, given_, outlook).Run();
  }
  Filled filled;
  filled.yaml = preset_ == spec::Preset::kNone ? text_ : EmitYaml(root);
  if (filled.yaml.size() > kYamlBytesMax) {
    return InvalidArgument(name_ + ": the job has " + HumanCount(filled.yaml.size()) +
                           " bytes with the keys of its preset, expected at most " +
                           HumanCount(kYamlBytesMax) +
                           ". Use ranges such as \"1..784\" in place of long lists.");
  }
  ESPALIER_ASSIGN_OR_RETURN(filled.job, ParseJobTree(std::move(root), name_));
  return filled;
}

}  // namespace espalier::config
