#include "src/data/table/class_text.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "src/data/table/number.h"

namespace espalier::data {

std::optional<int64_t> WholeNumber(const std::string& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (std::to_string(value) != text) return std::nullopt;
  return value;
}

std::string ClassText(const std::string& label) {
  const size_t point = label.find('.');
  if (point == std::string::npos) return label;
  if (label.find_first_not_of('0', point + 1) != std::string::npos) return label;
  std::string whole = label.substr(0, point);
  if (whole == "-0") whole = "0";
  return WholeNumber(whole) ? whole : label;
}

ClassIndex::ClassIndex(const std::vector<std::string>& classes) {
  for (size_t i = 0; i < classes.size(); ++i) {
    classes_.emplace_back(classes[i], static_cast<int32_t>(i));
  }
  std::sort(classes_.begin(), classes_.end());
}

int32_t ClassIndex::Of(const std::string& label) const {
  std::vector<std::string> names = {label, ClassText(label)};
  if (label == "true") names = {label, "True", "TRUE"};
  if (label == "false") names = {label, "False", "FALSE"};
  for (const std::string& name : names) {
    const auto found =
        std::lower_bound(classes_.begin(), classes_.end(), std::pair(name, int32_t{0}));
    if (found != classes_.end() && found->first == name) return found->second;
  }
  return -1;
}

bool JoinWholeNumbers(std::map<std::string, int64_t>* labels) {
  const auto is_number = [](const auto& entry) {
    double value = 0;
    return ParseNumberSlowly(entry.first, &value) == NumberKind::kNumber;
  };
  if (!std::all_of(labels->begin(), labels->end(), is_number)) return false;
  std::map<std::string, int64_t> joined;
  for (const auto& [text, count] : *labels) joined[ClassText(text)] += count;
  *labels = std::move(joined);
  return true;
}

}  // namespace espalier::data
