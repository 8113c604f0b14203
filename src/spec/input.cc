#include "src/spec/input.h"

namespace espalier {

FeatureGroup OptionsOf(const FeatureSpec& features, const FeatureRule& rule) {
  FeatureGroup group;
  if (rule.group >= 0) group = features.groups[static_cast<size_t>(rule.group)];
  group.type = rule.type;
  const bool categorical = rule.type == FeatureType::kCategorical;
  if (!group.scale) group.scale = categorical ? Scale{ScaleKind::kNone} : features.scale;
  if (!group.nulls) group.nulls = categorical ? NullPolicy{NullKind::kCategory} : features.nulls;
  return group;
}

bool IsPlain(const FeatureSpec& features, const FeatureRule& rule) {
  return rule.type == FeatureType::kNumeric &&
         (rule.group < 0 || !features.groups[static_cast<size_t>(rule.group)].log1p);
}

bool HasVocabulary(const FeatureSpec& features, const FeatureRule& rule) {
  return rule.type == FeatureType::kCategorical &&
         (rule.group < 0 || features.groups[static_cast<size_t>(rule.group)].hash == 0);
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

InputShape InputsOf(const Preprocessing& preprocessing) {
  InputShape shape;
  for (const FittedFeature& feature : preprocessing.features) {
    if (feature.codes > 0) {
      shape.coded.push_back({feature.codes, feature.embedding});
    } else {
      shape.dense += feature.null_indicator ? 2 : 1;
    }
  }
  return shape;
}

}  // namespace espalier
