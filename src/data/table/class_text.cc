#include "src/data/table/class_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
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

std::optional<std::string> PlainDecimal(std::string_view text) {
  constexpr int64_t kExponentMax = 400;
  double value = 0;
  if (text.size() > kExponentMax || ParseNumberSlowly(text, &value) != NumberKind::kNumber) {
    return std::nullopt;
  }
  text = Trimmed(text);
  const bool negative = text[0] == '-';
  if (negative || text[0] == '+') text.remove_prefix(1);
  int64_t exponent = 0;
  const size_t e = std::min(text.find_first_of("eE"), text.size());
  if (e < text.size()) {
    const char* begin = text.data() + e + (text[e + 1] == '+' ? 2 : 1);
    if (std::from_chars(begin, text.data() + text.size(), exponent).ec != std::errc() ||
        std::abs(exponent) > kExponentMax) {
      return std::nullopt;
    }
  }
  const std::string_view mantissa = text.substr(0, e);
  const size_t point = std::min(mantissa.find('.'), mantissa.size());
  if (point > 1 && mantissa[0] == '0') return std::nullopt;
  std::string digits(mantissa.substr(0, point));
  if (point < mantissa.size()) digits += mantissa.substr(point + 1);
  int64_t whole = static_cast<int64_t>(point) + exponent;  // digits before the point
  if (whole < 0) digits.insert(0, static_cast<size_t>(-whole), '0');
  whole = std::max<int64_t>(whole, 0);
  if (digits.size() < static_cast<size_t>(whole)) digits.resize(static_cast<size_t>(whole), '0');
  std::string before = digits.substr(0, static_cast<size_t>(whole));
  std::string after = digits.substr(static_cast<size_t>(whole));
  before.erase(0, std::min(before.find_first_not_of('0'), before.size()));
  after.erase(after.find_last_not_of('0') + 1);
  if (before.empty()) before = "0";
  if (before == "0" && after.empty()) return before;
  return (negative ? "-" : "") + before + (after.empty() ? "" : "." + after);
}

namespace {

// Time of a day that Parquet has as a time stamp.
constexpr std::string_view kMidnight = " 00:00:00";

// Truth values of one kind: texts for true, then as many texts for false. The first text of each
// half is its name.
using Truths = std::array<std::string_view, 12>;
constexpr Truths kTruths = {"true",  "True",  "TRUE",  "t", "T", "1",
                            "false", "False", "FALSE", "f", "F", "0"};
constexpr Truths kAnswers = {"yes", "Yes", "YES", "y", "Y", "yes",
                             "no",  "No",  "NO",  "n", "N", "no"};

// Returns the name of the truth value. A number has that of its canonical form: "1e0" is 1. Empty:
// the text is not one of this kind.
std::string_view NameOfTruth(const Truths& truths, std::string_view text) {
  const auto found = std::find(truths.begin(), truths.end(), text);
  if (found != truths.end()) return truths[found - truths.begin() < 6 ? 0 : 6];
  const auto plain = PlainDecimal(text);
  return plain && *plain != text ? NameOfTruth(truths, *plain) : std::string_view();
}

// Returns the kind that contains all texts except empty ones. Null: none.
template <typename Texts, typename F>
const Truths* KindOf(const Texts& texts, F text_of) {
  for (const Truths* kind : {&kTruths, &kAnswers}) {
    bool any = false, all = true;
    for (const auto& entry : texts) {
      const std::string& text = text_of(entry);
      if (text.empty()) continue;
      any = true;
      all = all && !NameOfTruth(*kind, text).empty();
    }
    if (any && all) return kind;
  }
  return nullptr;
}

// Returns the common form of all spellings of a label. Empty: the label has only one spelling.
std::string SpellingOf(bool truths, const std::string& label) {
  if (truths) {
    for (const Truths* kind : {&kTruths, &kAnswers}) {
      if (const auto name = NameOfTruth(*kind, label); !name.empty()) return std::string(name);
    }
  }
  return PlainDecimal(label).value_or("");
}

using Counts = std::map<std::string, int64_t>;

// Renames entries and adds up the counts of entries with the same new name.
template <typename F>
void Rename(Counts* counts, F name_of) {
  Counts joined;
  for (const auto& [text, count] : *counts) joined[text.empty() ? text : name_of(text)] += count;
  *counts = std::move(joined);
}

// Returns whether `name_of` maps two or more entries to one name.
template <typename F>
bool AnyShared(const Counts& counts, F name_of) {
  std::map<std::string, int> sharing;
  for (const auto& [text, count] : counts) {
    if (!text.empty() && ++sharing[name_of(text)] > 1) return true;
  }
  return false;
}

}  // namespace

ClassIndex::ClassIndex(const std::vector<std::string>& classes) {
  truths_ = KindOf(classes, [](const std::string& text) { return text; }) != nullptr;
  for (size_t i = 0; i < classes.size(); ++i) {
    const auto place = static_cast<int32_t>(i);
    classes_.emplace_back(classes[i], place);
    const std::string spelling = SpellingOf(truths_, classes[i]);
    if (spelling.empty()) continue;
    const auto [at, added] = spellings_.emplace(spelling, place);
    if (!added) at->second = -1;
  }
  std::sort(classes_.begin(), classes_.end());
}

int32_t ClassIndex::Of(const std::string& label) const {
  std::vector<std::string> names = {label, ClassText(label)};
  if (label == "true") names = {label, "True", "TRUE"};  // also among other words
  if (label == "false") names = {label, "False", "FALSE"};
  if (label.ends_with(kMidnight)) names.push_back(label.substr(0, label.size() - kMidnight.size()));
  for (const std::string& name : names) {
    const auto found =
        std::lower_bound(classes_.begin(), classes_.end(), std::pair(name, int32_t{0}));
    if (found != classes_.end() && found->first == name) return found->second;
  }
  if (spellings_.empty()) return -1;
  const auto found = spellings_.find(SpellingOf(truths_, label));
  return found == spellings_.end() ? -1 : found->second;
}

bool JoinSpellings(Counts* labels) {
  const auto is_number = [](const auto& entry) {
    double value = 0;
    return entry.first.empty() || ParseNumberSlowly(entry.first, &value) == NumberKind::kNumber;
  };
  if (std::all_of(labels->begin(), labels->end(), is_number)) {
    Rename(labels, [](const std::string& text) { return ClassText(text); });
    const auto plain = [](const std::string& text) { return PlainDecimal(text).value_or(text); };
    if (AnyShared(*labels, plain)) Rename(labels, plain);
    return true;
  }
  const Truths* kind = KindOf(*labels, [](const auto& entry) { return entry.first; });
  if (kind == nullptr) return false;
  const auto name = [kind](const std::string& text) {
    return std::string(NameOfTruth(*kind, text));
  };
  if (!AnyShared(*labels, name)) return false;
  Rename(labels, name);
  return true;
}

}  // namespace espalier::data
