#include "src/data/profile/merge.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "src/base/text.h"
#include "src/data/features/class_weights.h"
#include "src/data/features/column_judgement.h"
#include "src/data/features/column_stats.h"
#include "src/data/features/fit_features.h"
#include "src/data/features/keep_fitted.h"
#include "src/data/features/sparse_choice.h"
#include "src/data/input/data_fingerprint.h"
#include "src/data/profile/profile_shard.h"
#include "src/data/profile/target_start.h"
#include "src/data/profile/warnings.h"
#include "src/data/table/class_text.h"
#include "src/data/table/row_sample.h"
#include "src/data/table/value_rules.h"
#include "src/spec/shard_sums.h"

namespace espalier::data {
namespace {

constexpr size_t kClassesNamed = 3;  // in a note on classes
// Minimum number of training rows of which CheckClasses asks whether labels repeat.
constexpr int64_t kClassRowsMin = 20;

int64_t Sum(const std::map<std::string, int64_t>& counts) {
  int64_t sum = 0;
  for (const auto& [text, count] : counts) sum += count;
  return sum;
}

class Merger {
 public:
  Merger(const spec::InputPlan& plan, const spec::JobSpec& job,
         std::vector<spec::ShardProfile> profiles, const storage::FileSystem* files,
         const spec::EarlierFit* earlier)
      : plan_(plan), job_(job), profiles_(std::move(profiles)), files_(files), earlier_(earlier) {}

  Result<spec::TableProfile> Run() {
    ESPALIER_RETURN_IF_ERROR(CheckShards());
    for (const spec::ShardProfile& s : profiles_) {
      Add(s);
      ESPALIER_RETURN_IF_ERROR(spec::MergeSample(s.probe, &probe_));
    }
    ESPALIER_RETURN_IF_ERROR(CheckSkipped());
    ESPALIER_RETURN_IF_ERROR(CheckRows());
    ESPALIER_RETURN_IF_ERROR(FitNumbersAndCodes());
    if (job_.model.task == spec::Task::kClassification) {
      ESPALIER_RETURN_IF_ERROR(FitClasses());
      ESPALIER_RETURN_IF_ERROR(CheckEvaluationLabels());
    } else {
      ESPALIER_RETURN_IF_ERROR(FitTargets());
      if (job_.model.task == spec::Task::kAutoencoder) TakeFeaturesAsTargets();
    }
    result_.data_fingerprint = DataFingerprint(plan_, result_, sampled_, respelt_);
    result_.warnings = FindWarnings({plan_, job_, result_.train_rows, labels_, alike_, probe_});
    for (const std::string& note : {single_, untrained_, written_}) {
      if (!note.empty()) result_.warnings.insert(result_.warnings.begin(), note);
    }
    return std::move(result_);
  }

 private:
  Status CheckShards() {
    const auto by_shard = [](const spec::ShardProfile& a, const spec::ShardProfile& b) {
      return a.shard < b.shard;
    };
    std::sort(profiles_.begin(), profiles_.end(), by_shard);
    if (profiles_.size() != plan_.shards.size()) {
      return Internal("the profile has " + std::to_string(profiles_.size()) + " shards of " +
                      std::to_string(plan_.shards.size()));
    }
    const bool classes = job_.model.task == spec::Task::kClassification;
    size_t vocabularies = 0;
    for (size_t i = 0; i < plan_.schema.features.size(); ++i) {
      vocabularies += spec::HasVocabulary(job_.data.features, plan_.schema.rule(i));
      sampled_ += spec::IsSampled(job_.data.features, plan_.schema.rule(i));
      bins_ = bins_ || spec::IsBinned(job_.data.features, plan_.schema.rule(i));
    }
    if (spec::SamplesTargets(job_.model)) sampled_ += std::ssize(plan_.schema.label);
    for (size_t i = 0; i < profiles_.size(); ++i) {
      const spec::ShardProfile& s = profiles_[i];
      if (s.shard != static_cast<int32_t>(i) || s.features.size() != plan_.schema.features.size() ||
          s.targets.size() != (classes ? 0 : plan_.schema.label.size()) ||
          s.categories.size() != vocabularies || Sum(s.labels) != (classes ? s.train_rows : 0) ||
          Sum(s.evaluation_labels) != (classes ? s.validation_rows + s.test_rows : 0) ||
          s.sample.values.size() != s.sample.keys.size() * static_cast<size_t>(sampled_) ||
          (!s.sample.keys.empty() && s.sample.bins != bins_)) {
        return Internal("the profile of shard " + std::to_string(i) + " does not fit the schema");
      }
    }
    return {};
  }

  void Add(const spec::ShardProfile& s) {
    if (features_.empty()) features_.resize(s.features.size());
    if (targets_.empty()) targets_.resize(s.targets.size());
    for (size_t i = 0; i < features_.size(); ++i)
      features_[i] = Merged(features_[i], s.features[i]);
    for (size_t i = 0; i < targets_.size(); ++i) targets_[i] = Merged(targets_[i], s.targets[i]);
    for (const auto& [text, count] : s.labels) labels_[text] += count;
    if (categories_.empty()) categories_.resize(s.categories.size());
    for (size_t i = 0; i < categories_.size(); ++i) {
      for (const auto& [text, count] : s.categories[i]) categories_[i][text] += count;
    }
    spec::AddAlike(s.alike, &alike_);
    storage_ = std::max(storage_, s.storage);
    weight_ += s.train_weight;
    nonzeros_ += s.nonzeros;
    result_.train_rows += s.train_rows;
    result_.validation_rows += s.validation_rows;
    result_.test_rows += s.test_rows;
    result_.skipped_rows += s.skipped_rows;
    spec::ShardProfile kept;
    kept.shard = s.shard;
    kept.checksum = s.checksum;
    kept.train_rows = s.train_rows;
    kept.validation_rows = s.validation_rows;
    kept.test_rows = s.test_rows;
    kept.dropped_rows = s.dropped_rows;
    kept.skipped_rows = s.skipped_rows;
    kept.storage = s.storage;
    kept.train_weight = s.train_weight;
    kept.nonzeros = s.nonzeros;
    for (const Status& why : s.skipped) {
      if (described_ == kSkippedKept) break;
      kept.skipped.push_back(why);
      ++described_;
    }
    result_.shards.push_back(std::move(kept));
    result_.storage = storage_;
  }

  Status CheckSkipped() const {
    if (result_.skipped_rows <= job_.data.bad_rows.limit) return {};
    const std::string message = Counted(result_.skipped_rows, "bad row") +
                                "; data.bad_rows tolerates " +
                                std::to_string(job_.data.bad_rows.limit);
    for (const spec::ShardProfile& s : profiles_) {
      if (s.skipped.empty()) continue;
      const Status& first = s.skipped.front();
      return BadInput(message + ". The first one: " + first.message())
          .At(first.position().value_or(InputPosition{}));
    }
    return BadInput(message);
  }

  Status CheckRows() const {
    if (result_.train_rows == 0) return NoTraining();
    if (result_.validation_rows == 0 && job_.data.validation.any()) return NoValidation();
    if (result_.test_rows == 0 && !job_.data.test.empty()) {
      return BadInput(
                 "data.test: the files hold no rows. Name files that do, or leave data.test out")
          .At(AtEmpty(spec::FileRole::kTest));
    }
    if (!(weight_ > 0) || !std::isfinite(weight_)) {
      return BadInput("data.weight: the weights of all training rows add up to " +
                      ShortestDouble(weight_) + " (expected a number above 0)")
          .At({.file = plan_.files.front().path,
               .column = plan_.schema.weight < 0 ? "" : plan_.schema.names[plan_.schema.weight]});
    }
    return {};
  }

  static const char* Way(const spec::ValidationSpec& v) {
    return v.column      ? "column"
           : v.bounded() ? (v.from ? "from" : "to")
           : v.fold      ? "fold"
                         : "fraction";
  }

  // Returns the error for no training rows, with the key that left none.
  Status NoTraining() const {
    const spec::ValidationSpec& v = job_.data.validation;
    const LeftOut out = LeftOutOf(spec::FileRole::kTrain);
    const std::string none = ": no training rows: ";
    InputPosition at{.file = plan_.files.front().path};
    if (v.files.empty() && result_.validation_rows > 0) {
      if (v.deciding()) at.column = plan_.schema.names[plan_.schema.validation];
      return BadInput("data.validation." + std::string(Way(v)) + none + "all " +
                      HumanCount(result_.validation_rows) + " rows went to validation; " +
                      (v.column      ? "mark some of them false (0)"
                       : v.bounded() ? "choose bounds that contain fewer rows"
                       : v.fold      ? "there are too few of them for folds"
                                     : "choose a smaller fraction"))
          .At(std::move(at));
    }
    if (out.dropped > 0 && job_.data.weight) {
      at.column = plan_.schema.names[plan_.schema.weight];
      return BadInput("data.weight" + none + "all " + HumanCount(out.dropped) +
                      " rows have the weight 0, or a null that `nulls: drop` leaves out (expected "
                      "a weight above 0)")
          .At(std::move(at));
    }
    if (out.dropped > 0) {
      return BadInput("data.features.nulls" + none + "drop left out all " +
                      HumanCount(out.dropped) +
                      (out.skipped > 0 ? ", and the other " + HumanCount(out.skipped) + " were bad"
                                       : "") +
                      ". Choose mean, median or {constant: V}, or leave out columns with many "
                      "nulls")
          .At(std::move(at));
    }
    if (out.skipped > 0) {
      return BadInput("data.bad_rows" + none + "all " + HumanCount(out.skipped) +
                      " rows were bad and skipped. Set policy: fail to see the first one")
          .At(std::move(at));
    }
    at = AtEmpty(spec::FileRole::kTrain);
    return BadInput("data.train" + none +
                    (at.row ? "the files hold only a header" : "the files hold no rows"))
        .At(std::move(at));
  }

  Status NoValidation() const {
    const spec::ValidationSpec& v = job_.data.validation;
    const std::string rows = HumanCount(result_.train_rows);
    if (v.column) {
      return BadInput("data.validation.column: no row of " + rows +
                      " is marked true (1). Mark some, or choose data.validation.fraction")
          .At({.file = plan_.files.front().path,
               .column = plan_.schema.names[plan_.schema.validation]});
    }
    if (v.bounded()) {
      return BadInput("data.validation." + std::string(Way(v)) + ": found no row of " + rows +
                      " within the bounds. Choose others, or `fraction` without bounds")
          .At({.file = plan_.files.front().path,
               .column = plan_.schema.names[plan_.schema.validation]});
    }
    if (!v.files.empty()) {
      return BadInput(
                 "data.validation.files: the files hold no rows. Name files that do, or choose "
                 "data.validation.fraction")
          .At(AtEmpty(spec::FileRole::kValidation));
    }
    const std::string share =
        v.fold ? "fold " + std::to_string(*v.fold) + " of " + std::to_string(*v.of)
               : ShortestDouble(v.fraction);
    return BadInput("data.validation." + std::string(Way(v)) + ": " + share + " of " + rows +
                    " rows gave no row. Choose " + (v.fold ? "fewer folds" : "a larger fraction") +
                    " or another train.seed, or leave validation out")
        .At({.file = plan_.files.front().path});
  }

  struct LeftOut {
    int64_t dropped = 0, skipped = 0;  // rows
  };
  LeftOut LeftOutOf(spec::FileRole role) const {
    LeftOut out;
    for (const spec::ShardProfile& s : profiles_) {
      if (plan_.files[plan_.shards[s.shard].file].role != role) continue;
      out.dropped += s.dropped_rows;
      out.skipped += s.skipped_rows;
    }
    return out;
  }

  // Returns the position of the first file in a set without rows. Includes row and offset if the
  // file holds only the header.
  InputPosition AtEmpty(spec::FileRole role) const {
    const LeftOut out = LeftOutOf(role);
    const bool nothing = out.dropped == 0 && out.skipped == 0;
    InputPosition at;
    for (const spec::InputFile& file : plan_.files) {
      if (file.role != role) continue;
      if (at.file.empty()) at.file = file.path;
      const bool header = spec::HasHeaderLine(job_.data, file.path);
      if (file.length == 0 || !nothing || !header) continue;
      return {.file = file.path, .row = 1, .offset = 0};
    }
    return at;
  }

  Status FitNumbersAndCodes() {
    for (const auto& counts : categories_) {
      respelt_ = respelt_ || std::any_of(counts.begin(), counts.end(), [](const auto& count) {
                   return ClassText(count.first) != count.first;
                 });
    }
    std::vector<double> nulls = SampledNulls(plan_.schema, job_.data.features);
    const size_t features = nulls.size();
    nulls.resize(static_cast<size_t>(sampled_), std::numeric_limits<double>::quiet_NaN());
    std::vector<std::vector<double>> sampled = SampledValues(profiles_, nulls);
    sampled_targets_.assign(sampled.begin() + static_cast<std::ptrdiff_t>(features), sampled.end());
    ESPALIER_ASSIGN_OR_RETURN(
        result_.preprocessing.features,
        FitFeatures(plan_, job_, features_, sampled, std::move(categories_), earlier_));
    result_.storage = StorageWithCodes(result_.preprocessing.features, result_.storage);
    const int64_t rows = result_.train_rows + result_.validation_rows + result_.test_rows;
    result_.sparse = StoresSparse(job_, result_.preprocessing, rows, nonzeros_);
    return {};
  }

  Status FitTargets() {
    for (size_t i = 0; i < targets_.size(); ++i) {
      const std::string& name = plan_.schema.names[plan_.schema.label[i]];
      const spec::ColumnStats& s = targets_[i];
      spec::FittedTarget fitted{name, 0, 1};
      if (spec::EffectiveLoss(job_.model) == spec::Loss::kPoisson && s.min < 0) {
        return BadInput("the target goes down to " + ShortestDouble(s.min) +
                        " (expected at least 0, as of counts and rates, with model.loss: poisson). "
                        "Choose another loss")
            .At({.file = plan_.files.front().path, .column = name});
      }
      if (spec::EffectiveTargetScale(job_.model) == spec::TargetScale::kStandard) {
        const bool constant = s.min == s.max;
        fitted.shift = constant ? s.min : s.mean;
        fitted.factor = constant ? 1 : 1 / std::sqrt(s.m2 / static_cast<double>(s.count));
      }
      if (job_.model.clip_predictions) fitted.range = {s.min, s.max};
      const bool scales = job_.model.task == spec::Task::kRegression &&
                          spec::EffectiveTargetScale(job_.model) == spec::TargetScale::kStandard;
      if (keeps_answers() && scales) {
        fitted = Kept(earlier_->preprocessing, std::move(fitted), targets_.size() == 1);
      }
      if (!std::isfinite(fitted.factor) ||
          !Fits(job_.model.precision, (s.min - fitted.shift) * fitted.factor) ||
          !Fits(job_.model.precision, (s.max - fitted.shift) * fitted.factor)) {
        const char* advice =
            scales ? "Scale the target, or set model.target_scale: none" : "Scale the target";
        return Overflow(plan_, name, s, advice);
      }
      if (job_.model.start_at_constant) {
        const std::vector<double> none;
        const std::vector<double>& sample = sampled_targets_.empty() ? none : sampled_targets_[i];
        fitted.start = TargetStart(job_.model, s, sample, fitted);
      }
      result_.preprocessing.targets.push_back(std::move(fitted));
    }
    if (job_.model.task != spec::Task::kMultilabel) return {};
    spec::Preprocessing& p = result_.preprocessing;
    auto weights = FitPositiveWeights(job_.train.class_weight, p.targets, targets_);
    if (!weights.ok()) return weights.status().At(AtLabel());
    p.class_weights = *std::move(weights);
    return {};
  }

  // Uses the features as targets. The network always receives 0 for a feature that is constant in
  // the training rows, so the output means that constant.
  void TakeFeaturesAsTargets() {
    for (const spec::FittedFeature& f : result_.preprocessing.features) {
      result_.preprocessing.targets.push_back({f.name, f.shift, f.factor == 0 ? 1 : f.factor});
    }
  }

  InputPosition AtLabel() const {
    return {.file = plan_.files.front().path,
            .column = plan_.schema.names[plan_.schema.label.front()]};
  }

  bool keeps_answers() const { return earlier_ != nullptr && earlier_->answers; }

  // Adds the classes of drawn validation rows whose class has no training row. The network has an
  // output for each of them, which no row trains, and the metrics count these rows as mistakes.
  // Otherwise a rare class would fail the fold that holds out all its rows. A job with a single
  // class in training still fails.
  void AddHeldOutClasses() {
    std::map<std::string, int64_t> joined = labels_;
    JoinSpellings(&joined);
    if (joined.size() < 2) return;
    std::vector<std::string> known;
    for (const auto& [text, count] : labels_) known.push_back(text);
    const ClassIndex index(known);
    ForDrawnLabels([&](const std::string& text, int64_t) {
      if (index.Of(text) < 0) labels_.try_emplace(text, 0);
    });
  }

  // Calls body(label, rows) for the held-out rows of the training files.
  template <typename Body>
  void ForDrawnLabels(const Body& body) const {
    for (const spec::ShardProfile& s : profiles_) {
      const spec::FileRole role = plan_.files[plan_.shards[s.shard].file].role;
      if (role != spec::FileRole::kTrain) continue;
      for (const auto& [text, count] : s.evaluation_labels) body(text, count);
    }
  }

  // Records the classes whose rows are all held out.
  void NoteUntrained() {
    const std::vector<std::string>& classes = result_.preprocessing.classes;
    const ClassIndex index(classes);
    std::map<std::string, int64_t> untrained;
    ForDrawnLabels([&](const std::string& text, int64_t rows) {
      const int32_t at = index.Of(text);
      const bool known = at >= 0 && labels_.at(classes[static_cast<size_t>(at)]) == 0 &&
                         !(keeps_answers() && EarlierHas(text));
      if (known) untrained[classes[static_cast<size_t>(at)]] += rows;
    });
    if (untrained.empty()) return;
    int64_t rows = 0;
    std::vector<std::string> names;
    for (const auto& [text, count] : untrained) {
      rows += count;
      names.push_back(text);
    }
    const bool one = untrained.size() == 1;
    untrained_ = HumanCount(untrained.size()) + (one ? " class has" : " classes have") +
                 " no training row (" + ShownClasses(names) + "): " + (one ? "its " : "their ") +
                 HumanCount(rows) +
                 (rows == 1 ? " row is a validation row" : " rows are validation rows");
  }

  // Records the classes with a single row, which is a training row.
  void NoteSingle() {
    const std::vector<std::string>& classes = result_.preprocessing.classes;
    const ClassIndex index(classes);
    std::set<std::string> single;
    for (const std::string& text : classes) {
      if (labels_.at(text) == 1) single.insert(text);
    }
    ForDrawnLabels([&](const std::string& text, int64_t) {
      const int32_t at = index.Of(text);
      if (at >= 0) single.erase(classes[static_cast<size_t>(at)]);
    });
    if (single.empty()) return;
    const bool one = single.size() == 1;
    single_ = HumanCount(single.size()) +
              (one ? " class has a single row (" : " classes have a single row each (") +
              ShownClasses({single.begin(), single.end()}) +
              "), which stays in training: no validation row measures " + (one ? "it" : "them");
  }

  static std::string ShownClasses(const std::vector<std::string>& classes) {
    std::string names;
    for (size_t i = 0; i < std::min(classes.size(), kClassesNamed); ++i) {
      names += (i == 0 ? "" : ", ") + Quoted(classes[i]);
    }
    return names + (classes.size() > kClassesNamed ? ", ..." : "");
  }

  bool EarlierHas(const std::string& label) const {
    return ClassIndex(earlier_->preprocessing.classes).Of(label) >= 0;
  }

  Status FitClasses() {
    const spec::ValidationSpec& validation = job_.data.validation;
    if (validation.draws() || validation.bounded()) AddHeldOutClasses();
    JoinSpellings(&labels_);
    if (keeps_answers()) {
      JoinEarlierClasses();
    } else {
      ESPALIER_RETURN_IF_ERROR(CheckClasses());
    }
    std::vector<std::string>& classes = result_.preprocessing.classes;
    bool numeric = true;
    for (const auto& [text, count] : labels_) {
      classes.push_back(text);
      numeric = numeric && WholeNumber(text).has_value();
    }
    if (classes.size() < 2) {
      return BadInput("all " + HumanCount(result_.train_rows) + " training rows have the label " +
                      Quoted(classes.front()) +
                      " (expected two classes or more). Choose another data.label, or add rows of "
                      "other classes")
          .At(AtLabel());
    }
    if (classes.size() > kClassesMax) {
      return BadInput("the label has " + HumanCount(classes.size()) +
                      " different values, more than the " + HumanCount(kClassesMax) +
                      " that make classes; is it a number (model.task: regression) or an "
                      "identifier?")
          .At(AtLabel());
    }
    if (spec::EffectiveLoss(job_.model) == spec::Loss::kBinaryCrossEntropy && classes.size() != 2) {
      return InvalidArgument("model.loss: binary_cross_entropy is for two classes, the label has " +
                             std::to_string(classes.size()) + ". Use softmax_cross_entropy")
          .At(AtLabel());
    }
    if (numeric) {
      std::sort(classes.begin(), classes.end(), [](const std::string& a, const std::string& b) {
        return *WholeNumber(a) < *WholeNumber(b);
      });
    }
    NoteUntrained();
    if (validation.draws()) NoteSingle();
    if (const auto positive = PositiveClass(job_, classes); !positive.ok()) {
      return positive.status().At(AtLabel());
    }
    if (const auto costs = CostsOfClasses(job_.model.costs, classes); !costs.ok()) {
      return costs.status().At(AtLabel());
    }
    Result<std::vector<double>> weights =
        FitClassWeights(job_.train.class_weight, classes, labels_);
    if (!weights.ok()) return weights.status().At(AtLabel());
    result_.preprocessing.class_weights = *std::move(weights);
    if (job_.model.cap_label_smoothing) {
      int64_t rarest = result_.train_rows;
      for (const auto& [text, count] : labels_) {
        if (count > 0) rarest = std::min(rarest, count);
      }
      const double share = static_cast<double>(rarest) / static_cast<double>(result_.train_rows);
      result_.preprocessing.label_smoothing = std::min(job_.model.label_smoothing, share);
    }
    return {};
  }

  // Refuses labels that are different in nearly every training row. The model could not learn such
  // classes. Labels that are written as numbers or dates get the advice for these, and a note if
  // there are many of them.
  Status CheckClasses() {
    if (result_.train_rows < kClassRowsMin || labels_.size() > kClassesMax) return {};
    const ValueRules rules(job_.data, false);  // labels that are numbers have decimal points
    ColumnSample sample;
    size_t different = 0;
    for (const auto& [text, rows] : labels_) {
      if (rows == 0) continue;  // all its rows are held out
      ++different;
      sample.Add(text, rules, nullptr, rows);
    }
    const bool nearly_all = static_cast<double>(different) >
                            kDifferentLabelsShare * static_cast<double>(result_.train_rows);
    const std::optional<Undecided> undecided = UndecidedLabel(sample);
    if (undecided && (nearly_all || different > kWholeClassesMax)) {
      InputPosition at = AtLabel();
      const bool csv =
          spec::FormatOf(job_.data, plan_.files.front().path) == spec::DataFormat::kCsv;
      const ColumnFacts facts = {.name = at.column, .csv = csv, .label = true, .many = true};
      at.text = Printable(undecided->example);
      std::string fault = UndecidedFault(at.column, facts, *undecided);
      if (nearly_all) return BadInput(std::move(fault)).At(std::move(at));
      written_ = HumanCount(different) + " classes: " + fault;
    }
    if (!nearly_all) return {};
    const bool numbers = 2 * sample.numbers() >= sample.values();
    return BadInput("data.label: the labels are different in nearly every row (found " +
                    HumanCount(different) + " in " + HumanCount(result_.train_rows) +
                    " training rows, expected classes that repeat). " +
                    (numbers ? "Set model.task: regression" : "Choose another label column"))
        .At(AtLabel());
  }

  // Adds the classes of the earlier model to the labels, in its spelling.
  void JoinEarlierClasses() {
    const std::vector<std::string>& classes = earlier_->preprocessing.classes;
    const ClassIndex index(classes);
    std::map<std::string, int64_t> joined;
    for (const std::string& name : classes) joined[name] = 0;
    for (const auto& [text, count] : labels_) {
      const int32_t known = index.Of(text);
      joined[known < 0 ? text : classes[static_cast<size_t>(known)]] += count;
    }
    labels_ = std::move(joined);
  }

  Status CheckEvaluationLabels() const {
    const ClassIndex classes(result_.preprocessing.classes);
    for (const spec::ShardProfile& s : profiles_) {
      for (const auto& [text, count] : s.labels) {
        if (classes.Of(text) < 0) return Internal("no class has the label " + Quoted(text));
      }
      for (const auto& [text, count] : s.evaluation_labels) {
        if (classes.Of(text) >= 0) continue;
        int64_t rows = 0;
        for (const spec::ShardProfile& other : profiles_) {
          const auto found = other.evaluation_labels.find(text);
          if (found != other.evaluation_labels.end()) rows += found->second;
        }
        InputPosition at = AtLabel();
        at.file = plan_.files[plan_.shards[s.shard].file].path;
        at.text = Printable(text);
        if (files_ != nullptr) {
          Result<InputPosition> found = FindEvaluationLabel({*files_, plan_, job_}, s.shard, text);
          if (found.ok() && found->row) at = *std::move(found);
        }
        return BadInput("the label " + Quoted(text) + " is in " + HumanCount(rows) +
                        " validation or test rows and in no training row, so that metrics would "
                        "mean nothing. Add training rows of it or take those rows out")
            .At(std::move(at));
      }
    }
    return {};
  }

  const spec::InputPlan& plan_;
  const spec::JobSpec& job_;
  std::vector<spec::ShardProfile> profiles_;
  const storage::FileSystem* const files_;
  const spec::EarlierFit* const earlier_;
  spec::TableProfile result_;
  std::vector<spec::ColumnStats> features_, targets_;
  std::vector<std::vector<double>> sampled_targets_;  // ascending values of each target
  std::map<std::string, int64_t> labels_;             // training rows by class
  std::string single_;                                // note on classes with a single row
  std::string untrained_;                             // note on classes without training rows
  std::string written_;  // note on classes that are written as numbers or dates
  std::vector<std::map<std::string, int64_t>> categories_;
  spec::RowCounts alike_;
  spec::RowSample probe_;
  bool respelt_ = false;  // some category differs from its ClassText
  int64_t sampled_ = 0;   // columns of the sample
  bool bins_ = false;     // some feature has bins
  spec::StorageType storage_ = spec::StorageType::kUint8;
  double weight_ = 0;
  int64_t nonzeros_ = 0;
  size_t described_ = 0;
};

}  // namespace

Result<spec::TableProfile> MergeShardProfiles(const spec::InputPlan& plan, const spec::JobSpec& job,
                                              std::vector<spec::ShardProfile> profiles,
                                              const storage::FileSystem* files,
                                              const spec::EarlierFit* earlier) {
  return Merger(plan, job, std::move(profiles), files, earlier).Run();
}

}  // namespace espalier::data
