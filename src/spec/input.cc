#include "src/spec/input.h"

#include <algorithm>

namespace espalier::spec {

FeatureOptions OptionsOf(const FeatureSpec& features, const FeatureRule& rule) {
  FeatureOptions options;
  if (rule.group >= 0) options = features.groups[static_cast<size_t>(rule.group)];
  options.type = rule.type;
  const bool categorical = rule.type == FeatureType::kCategorical;
  if (rule.group < 0 && categorical) static_cast<CategoryOptions&>(options) = features.categories;
  if (options.date_format.empty()) options.date_format = features.date_format;
  if (!options.scale) options.scale = categorical ? Scale{ScaleKind::kNone} : features.scale;
  if (!options.nulls)
    options.nulls = categorical ? NullPolicy{NullKind::kCategory} : features.nulls;
  return options;
}

Status CheckRules(const FeatureSpec& features, const Schema& schema) {
  if (!schema.rules.empty() && schema.rules.size() != schema.features.size()) {
    return BadInput("schema.rules: found " + std::to_string(schema.rules.size()) +
                    ", expected none or one for each of " + std::to_string(schema.features.size()) +
                    " features");
  }
  const auto groups = static_cast<int64_t>(features.groups.size());
  for (const FeatureRule& rule : schema.rules) {
    if (rule.group < -1 || rule.group >= groups) {
      return BadInput("schema.rules: found group " + std::to_string(rule.group) + " among " +
                      std::to_string(groups));
    }
    if (rule.group >= 0 && features.groups[static_cast<size_t>(rule.group)].type != rule.type) {
      return BadInput("schema.rules: found a feature of another type than that of its group " +
                      std::to_string(rule.group));
    }
  }
  return {};
}

bool IsPlain(const FeatureSpec& features, const FeatureRule& rule) {
  return rule.type == FeatureType::kNumeric &&
         (rule.group < 0 || !features.groups[static_cast<size_t>(rule.group)].log1p);
}

bool IsRobust(const FeatureSpec& features, const FeatureRule& rule) {
  const ScaleKind kind = OptionsOf(features, rule).scale->kind;
  return kind == ScaleKind::kRobust || kind == ScaleKind::kRobustSmoothClip;
}

bool IsBinned(const FeatureSpec& features, const FeatureRule& rule) {
  return rule.type != FeatureType::kCategorical &&
         features.numbers.embedding == NumberEmbedding::kPiecewiseLinear;
}

bool IsSampled(const FeatureSpec& features, const FeatureRule& rule) {
  return IsRobust(features, rule) || IsBinned(features, rule) ||
         OptionsOf(features, rule).nulls->kind == NullKind::kMedian;
}

bool SamplesTargets(const ModelSpec& model) {
  if (!model.start_at_constant) return false;
  const Loss loss = EffectiveLoss(model);
  return loss == Loss::kMae || loss == Loss::kHuber || loss == Loss::kQuantile;
}

int64_t SampledRowsMax(int64_t columns) {
  constexpr int64_t kNumbers = 64 << 10;
  // Limited by the message, which also carries statistics.
  constexpr int64_t kNumbersMost = 4 << 20;
  if (columns == 0) return 0;
  const int64_t rows = std::clamp(kNumbers / columns, kSampledRowsGood, kSampledRowsMost);
  return std::max(std::min(rows, kNumbersMost / columns), kSampledRowsMin);
}

int64_t SampledRowsMax(int64_t columns, bool bins) {
  constexpr int64_t kNumbers = 2 << 20;
  if (!bins || columns == 0) return SampledRowsMax(columns);
  return std::max(std::min(kNumbers / columns, kSampledRowsOfBins), SampledRowsMax(columns));
}

bool HasVocabulary(const FeatureSpec& features, const FeatureRule& rule) {
  return rule.type == FeatureType::kCategorical && OptionsOf(features, rule).hash == 0;
}

std::vector<std::string> ClassNames(Task task, const Preprocessing& preprocessing) {
  if (task != Task::kMultilabel) return preprocessing.classes;
  std::vector<std::string> names;
  for (const FittedTarget& target : preprocessing.targets) names.push_back(target.name);
  return names;
}

int64_t AnswersOf(Task task, const Preprocessing& preprocessing) {
  const bool classes = task == Task::kClassification;
  return static_cast<int64_t>(classes ? preprocessing.classes.size()
                                      : preprocessing.targets.size());
}

bool SoundBins(const FittedFeature& feature) {
  const std::vector<double>& edges = feature.bin_edges;
  if (feature.codes > 0) return edges.empty() && !feature.smooth_clip;
  return feature.embedding >= 0 && feature.embedding <= kNumberWidthMax &&
         (feature.embedding > 0) == !edges.empty() &&
         static_cast<int64_t>(edges.size()) <= kBinsMax + 1 &&
         std::adjacent_find(edges.begin(), edges.end(), std::greater_equal<>()) == edges.end();
}

bool SoundRange(const FittedTarget& target) {
  return target.range.empty() || (target.range.size() == 2 && target.range[0] <= target.range[1]);
}

int64_t InputShape::width() const {
  int64_t count = dense + numbers.count * numbers.width;
  for (const CodedInput& c : coded) count += c.embedding == 0 ? c.codes : c.embedding;
  return count;
}

InputShape InputsOf(const Preprocessing& preprocessing) {
  InputShape shape;
  for (const FittedFeature& feature : preprocessing.features) {
    if (feature.codes > 0) {
      shape.coded.push_back({feature.codes, feature.embedding});
    } else if (feature.embedding > 0) {
      shape.dense += feature.null_indicator;
      const auto edges = static_cast<int64_t>(feature.bin_edges.size());
      shape.numbers = {shape.numbers.count + 1,
                       std::max({int64_t{1}, shape.numbers.bins, edges - 1}), feature.embedding};
    } else {
      shape.dense += feature.null_indicator ? 2 : 1;
    }
  }
  return shape;
}

}  // namespace espalier::spec
