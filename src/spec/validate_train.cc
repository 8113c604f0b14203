// Conditions between fields of `model` and `train` that Keys do not have.
#include <algorithm>
#include <cmath>

#include "src/spec/findings.h"
#include "src/spec/metrics.h"
#include "src/spec/names.h"

namespace espalier::spec {
namespace {

constexpr double kParametersMax = 2147483648.0;  // 2^31, over all hidden layers

void CheckHidden(Findings& f, const ModelSpec& model) {
  double parameters = 0;
  for (size_t i = 0; i < model.hidden.size(); ++i) {
    if (i == 0) continue;
    parameters +=
        static_cast<double>(model.hidden[i - 1] + 1) * static_cast<double>(model.hidden[i]);
  }
  f.Expect(parameters <= kParametersMax, "model.hidden",
           ShortestDouble(parameters) + " parameters between hidden layers",
           "at most 2147483648; make layers narrower");
  f.Expect(
      model.activation.size() == 1 || model.activation.size() == model.hidden.size(),
      "model.activation", std::to_string(model.activation.size()) + " activations",
      "one for all hidden layers, or one for each of the " + std::to_string(model.hidden.size()));
  f.Expect(
      model.dropout.size() == 1 || model.dropout.size() == model.hidden.size(), "model.dropout",
      std::to_string(model.dropout.size()) + " numbers",
      "one for all hidden layers, or one for each of the " + std::to_string(model.hidden.size()));
  const bool alike =
      std::adjacent_find(model.hidden.begin(), model.hidden.end()) != model.hidden.end();
  f.Expect(!model.residual || alike, "model.residual", "true",
           "two adjacent layers of the same width in model.hidden for the link to join");
  f.Expect(!model.layer_norm || !model.hidden.empty(), "model.layer_norm", "true",
           "layers in model.hidden to normalize");
}

const char* LossesFor(Task task) {
  switch (task) {
    case Task::kClassification:
      return "softmax_cross_entropy or binary_cross_entropy for task classification";
    case Task::kMultilabel:
      return "binary_cross_entropy for task multilabel";
    case Task::kAutoencoder:
      return "mse, mae or huber for task autoencoder";
    case Task::kRegression:
      break;
  }
  return "mse, mae, huber, poisson or quantile for task regression";
}

void CheckLoss(Findings& f, const ModelSpec& model) {
  const Loss loss = EffectiveLoss(model);
  f.Expect(LossFits(loss, model.task), "model.loss", NameOf(loss), LossesFor(model.task));
  f.Expect(
      loss != Loss::kPoisson || EffectiveTargetScale(model) == TargetScale::kNone,
      "model.target_scale", NameOf(EffectiveTargetScale(model)),
      "none, or nothing: with loss poisson the targets are counts, and a shifted count is none");
}

// Checks a metric that decides: one of the validation rows ("val_loss"), or a running value of the
// training rows ("loss").
void CheckMetric(Findings& f, const std::string& path, const std::string& metric,
                 const JobSpec& job) {
  const std::vector<std::string> names = MetricNames(job.model.task);
  std::vector<std::string> known;
  for (const std::string& name : names) known.push_back("val_" + name);
  const bool numbers = PredictsNumbers(job.model.task);
  const auto end = numbers ? names.end() : names.begin() + 2;  // loss, accuracy
  known.insert(known.end(), names.begin(), end);
  std::string list;
  for (const std::string& name : known) list += (list.empty() ? "" : ", ") + name;
  const auto near = Nearest(metric, known);
  f.Expect(std::find(known.begin(), known.end(), metric) != known.end(), path + ".metric",
           Quoted(metric), "one of " + list + (near ? "; did you mean '" + *near + "'?" : ""));
  const bool holds_out = job.data.validation.any() || FoldsOf(job.train) > 0;
  f.Expect(!metric.starts_with("val_") || holds_out, path, "no validation rows to judge by",
           "data.validation, for instance `validation: {fraction: 0.2}`");
}

void CheckPlateau(Findings& f, const std::string& path, const JobSpec& job) {
  const PlateauRule& p = job.train.schedule.plateau;
  CheckMetric(f, path, p.metric, job);
  f.Expect(job.train.schedule.factor != 1, path + ".factor", "1", "a number below 1");
  f.Expect(p.min_learning_rate <= job.train.optimizer.learning_rate, path + ".min_learning_rate",
           ShortestDouble(p.min_learning_rate), "at most the optimizer's learning_rate");
}

void CheckSchedule(Findings& f, const JobSpec& job) {
  const TrainSpec& train = job.train;
  const ScheduleSpec& s = train.schedule;
  const std::string path = std::string("train.schedule.") + NameOf(s.kind);
  f.Expect(s.warmup_share == 0 || s.warmup.amount == 0, path + ".warmup_share",
           ShortestDouble(s.warmup_share), "either `warmup` or `warmup_share`");
  f.Expect(s.warmup_share == 0 || EpochLimit(train) || train.steps, path + ".warmup_share",
           "an end by time alone", "train.epochs or train.steps, of which it is a share");
  if (s.kind == ScheduleKind::kStep || s.kind == ScheduleKind::kExponential) {
    f.Expect(std::isfinite(s.every.amount) && s.every.amount > 0, path + ".every",
             ShortestDouble(s.every.amount),
             s.kind == ScheduleKind::kStep ? "the length of a stair, such as `3 epochs`"
                                           : "what `factor` is spread over, such as `1 epoch`");
  }
  if (s.kind == ScheduleKind::kCosine || s.kind == ScheduleKind::kPolynomial) {
    f.Expect(EpochLimit(train) || train.steps, path, "an end by time alone",
             "train.epochs or train.steps, which say where the curve ends");
  }
  f.Expect(
      train.weight_decay_schedule == DecaySchedule::kConstant || EpochLimit(train) || train.steps,
      "train.weight_decay_schedule", "an end by time alone",
      "train.epochs or train.steps, which say where the curve ends");
  if (s.kind == ScheduleKind::kPlateau) CheckPlateau(f, path, job);
}

void CheckEarlyStopping(Findings& f, const JobSpec& job) {
  if (!job.train.early_stopping) return;
  const EarlyStopping& e = *job.train.early_stopping;
  CheckMetric(f, "train.early_stopping", e.metric, job);
}

void CheckClassWeights(Findings& f, const JobSpec& job) {
  const std::vector<ClassWeight>& given = job.train.class_weight.given;
  const std::string path = "train.class_weight";
  f.Expect(given.size() <= kListMax, path, std::to_string(given.size()) + " classes",
           "at most " + std::to_string(kListMax));
  double sum = 0;
  for (const ClassWeight& c : given) {
    f.Within(path + "." + c.label, c.weight, kNotNegative);
    f.Expect(job.model.precision == Precision::kFloat64 || !VanishesInFloat(c.weight),
             path + "." + c.label, ShortestDouble(c.weight),
             "0, or a number that float32 does not count as 0 (or model.precision: float64)");
    sum += c.weight;
  }
  f.Expect(given.empty() || sum > 0, path, "no weight above 0", "one class that counts at least");
}

void CheckCosts(Findings& f, const JobSpec& job) {
  constexpr Bounds kMistakeCost = {0, 1e9};
  const std::vector<ClassCosts>& given = job.model.costs.given;
  const std::string path = "model.costs";
  const bool chooses =
      !job.model.thresholds.empty() || job.train.threshold.kind != ThresholdKind::kNone;
  f.Expect(given.empty() || !chooses, path, "costs",
           "none next to model.thresholds and train.threshold");
  size_t entries = 0;
  for (const ClassCosts& row : given) {
    entries += row.costs.size();
    for (const PredictedCost& c : row.costs) {
      f.Within(path + "." + row.label + "." + c.predicted, c.cost, kMistakeCost);
      f.Expect(c.predicted != row.label, path + "." + row.label, "the cost of a right prediction",
               "labels of other classes");
    }
  }
  f.Expect(entries <= kListMax, path, std::to_string(entries) + " costs",
           "at most " + std::to_string(kListMax));
}

// Checks the choices on the held-out rows after the last fit.
void CheckDecision(Findings& f, const JobSpec& job) {
  const TrainSpec& train = job.train;
  const bool holds_out = job.data.validation.any() || FoldsOf(train) > 0;
  const bool chooses = train.threshold.kind != ThresholdKind::kNone;
  const std::string path = "train.threshold", word = NameOf(train.threshold.kind);
  const std::string needs = "data.validation, for instance `validation: {fraction: 0.2}`";
  f.Expect(!chooses || job.model.thresholds.empty(), path, word, "none next to model.thresholds");
  f.Expect(!chooses || holds_out, path, "no validation rows to choose the threshold by", needs);
  const bool intervals = train.intervals > 0;
  f.Expect(!intervals || std::ssize(job.data.label) <= kIntervalTargetsMax, "train.intervals",
           std::to_string(job.data.label.size()) + " targets",
           "at most " + std::to_string(kIntervalTargetsMax) + " targets");
  f.Expect(!intervals || holds_out, "train.intervals", "no validation rows to measure residuals of",
           needs);
}

void CheckEnsemble(Findings& f, const JobSpec& job) {
  const TrainSpec& train = job.train;
  const EnsembleSpec& e = train.ensemble;
  const std::string path = "train.ensemble";
  const int64_t folds = FoldsOf(train);
  f.Expect(e.over == FitsOver::kFolds || !e.folds, path + ".folds", "a number",
           "nothing with over: seeds, where all fits have the same rows");
  f.Expect(folds == 0 || folds >= e.fits, path + ".folds", std::to_string(folds),
           "at least train.ensemble.fits: each fit holds out another part");
  f.Expect(folds == 0 || !job.data.validation.any(), "data.validation", "validation rows",
           "none, because each fit holds out a part of the training rows (or set "
           "train.ensemble.over: seeds)");
  f.Expect(!e.shrink || folds > 0, path + ".shrink", "true without folds",
           "over: folds, because their held-out rows determine the share");
  const OptimizerKind kind = train.optimizer.kind;
  const bool whole = kind == OptimizerKind::kGd || kind == OptimizerKind::kLbfgs;
  const bool many = HasFits(train);
  f.Expect(!many || !whole, path, "several fits",
           std::string("one fit with optimizer ") + NameOf(kind));
  f.Expect(!many || train.mode == TrainMode::kSync, path, "several fits",
           "one fit with mode async");
  f.Expect(!train.calibrate || job.data.validation.any() || folds > 0, "train.calibrate",
           "no validation rows to fit the temperature by",
           "data.validation, for instance `validation: {fraction: 0.2}`");
  CheckDecision(f, job);
}

// Checks layer numbers. The network has `hidden` + 1 layers.
void CheckLayers(Findings& f, const std::string& path, const std::vector<int64_t>& layers,
                 int64_t hidden) {
  for (size_t i = 0; i < layers.size(); ++i) {
    const std::string at = path + "[" + std::to_string(i) + "]";
    f.Whole(at, layers[i], 0, hidden);
    f.Expect(std::count(layers.begin(), layers.end(), layers[i]) == 1, at,
             std::to_string(layers[i]) + " twice", "each layer once");
  }
}

// Checks the start of training and the frozen parts.
void CheckBegin(Findings& f, const JobSpec& job) {
  const auto hidden = static_cast<int64_t>(job.model.hidden.size());
  if (job.train.initial) {
    const InitialSpec& initial = *job.train.initial;
    if (initial.values.empty()) f.Paths("train.initial.from", {initial.from});
    f.Expect(initial.values.empty() || (initial.spark && initial.from.empty()),
             "train.initial.values",
             initial.spark ? "numbers and `from`" : "numbers without `spark: true`",
             "`spark: true` with either `from` or `values`");
    CheckLayers(f, "train.initial.layers", job.train.initial->layers, hidden);
  }
  CheckLayers(f, "train.frozen", job.train.frozen, hidden);
  f.Expect(static_cast<int64_t>(job.train.frozen.size()) <= hidden, "train.frozen", "all layers",
           "one at least that is trained");
}

}  // namespace

void CheckModel(Findings& f, const ModelSpec& model) {
  CheckHidden(f, model);
  CheckLoss(f, model);
}

void CheckTrain(Findings& f, const JobSpec& job) {
  CheckSchedule(f, job);
  CheckEarlyStopping(f, job);
  CheckEnsemble(f, job);
  CheckClassWeights(f, job);
  CheckCosts(f, job);
  CheckBegin(f, job);
}

}  // namespace espalier::spec
