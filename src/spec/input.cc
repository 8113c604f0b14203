#include "src/spec/input.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>

#include "src/spec/names.h"

namespace espalier::spec {

namespace {

constexpr size_t kShown = 20;

const char* Words(LeftOutReason reason) {
  switch (reason) {
    case LeftOutReason::kEmpty:
      return "empty";
    case LeftOutReason::kConstant:
      return "constant";
    case LeftOutReason::kDifferent:
      return "different in nearly every row";
    case LeftOutReason::kRowNumber:
      return "numbers the rows";
    case LeftOutReason::kNested:
      return "not one value per row";
    case LeftOutReason::kDirectoryText:
      return "text in directory names, used if data.features.groups names it";
    case LeftOutReason::kIndex:
      break;
  }
  return "index of a data frame";
}

std::string LeftOutText(const Schema& schema) {
  std::string text;
  const std::vector<LeftOutColumn>& all = schema.left_out;
  for (size_t i = 0; i < std::min(all.size(), kShown); ++i) {
    const std::string& name = schema.names[static_cast<size_t>(all[i].column)];
    text += (i == 0 ? "left out: " : ", ") + (name.empty() ? "the unnamed column" : name) + " (" +
            Words(all[i].reason) + ")";
  }
  if (all.size() > kShown) text += " and " + std::to_string(all.size() - kShown) + " more";
  return text;
}

}  // namespace

std::string InferredText(const Schema& schema) {
  constexpr std::array kTypes = {FeatureType::kCategorical, FeatureType::kDate,
                                 FeatureType::kBoolean};
  std::map<FeatureType, std::vector<int32_t>> columns;
  for (size_t i = 0; i < schema.features.size(); ++i) {
    const FeatureRule rule = schema.rule(i);
    std::vector<int32_t>& of_type = columns[rule.type];
    const int32_t column = schema.features[i];  // the parts of a date are adjacent
    if (rule.group < 0 && (of_type.empty() || of_type.back() != column)) of_type.push_back(column);
  }
  std::string text;
  for (const FeatureType type : kTypes) {
    const std::vector<int32_t>& found = columns[type];
    if (found.empty()) continue;
    text += (text.empty() ? "" : "; ") + std::string(NameOf(type)) + ": ";
    for (size_t i = 0; i < std::min(found.size(), kShown); ++i) {
      text += (i == 0 ? "" : ", ") + schema.names[static_cast<size_t>(found[i])];
    }
    if (found.size() > kShown) text += " and " + std::to_string(found.size() - kShown) + " more";
  }
  const std::string left_out = LeftOutText(schema);
  const size_t numeric = columns[FeatureType::kNumeric].size();
  if (numeric > 0 && !(text.empty() && left_out.empty())) {
    text += (text.empty() ? "numeric: " : "; numeric: ") + std::to_string(numeric) +
            (numeric == 1 ? " other" : " others");
  }
  return text + (text.empty() || left_out.empty() ? "" : "; ") + left_out;
}

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
