#include "src/spec/input.h"

namespace espalier {

FeatureOptions OptionsOf(const FeatureSpec& features, const FeatureRule& rule) {
  FeatureOptions options;
  if (rule.group >= 0) options = features.groups[static_cast<size_t>(rule.group)];
  options.type = rule.type;
  const bool categorical = rule.type == FeatureType::kCategorical;
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

bool HasVocabulary(const FeatureSpec& features, const FeatureRule& rule) {
  return rule.type == FeatureType::kCategorical &&
         (rule.group < 0 || features.groups[static_cast<size_t>(rule.group)].hash == 0);
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
