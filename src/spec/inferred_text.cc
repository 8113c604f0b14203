#include "src/spec/inferred_text.h"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

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

}  // namespace espalier::spec
