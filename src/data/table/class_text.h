// Maps the texts of labels to classes. Thread rule: pure functions and a value.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::data {

// Returns the integer that `text` spells in its canonical form ("-3", "0", "12", but not "03" or
// "+3").
std::optional<int64_t> WholeNumber(const std::string& text);

// Returns the class of a label that is not itself a class: "3" for "3.0" and "3.", "0" for "-0.0".
// Returns any other text unchanged.
std::string ClassText(const std::string& label);

// Returns the canonical decimal form of a number: "12.5" for "+12.50" and "1.25e1". Absent: the
// text is not a number, or it has leading zeros as identifiers do.
std::optional<std::string> PlainDecimal(std::string_view text);

// Finds the classes of a job or a model, or the values of a category, by their text.
class ClassIndex {
 public:
  ClassIndex() = default;
  explicit ClassIndex(const std::vector<std::string>& classes);
  // Returns the class whose name is the label or its ClassText, or its day: "2024-02-29" for
  // "2024-02-29 00:00:00". Otherwise returns the class that spells the same number (PlainDecimal).
  // If all classes are truth values, returns the class with the same truth value: true, True, TRUE,
  // t, T and 1 (also as 1.0e+00) are equal, as are yes, Yes, YES, y and Y. -1: not found.
  int32_t Of(const std::string& label) const;

 private:
  std::vector<std::pair<std::string, int32_t>> classes_;  // sorted
  std::map<std::string, int32_t> spellings_;              // class by spelling; -1: several classes
  bool truths_ = false;                                   // all are truth values of one kind
};

// Merges the counts of labels that mean the same, under one of their spellings. If all labels are
// numbers, these are the labels with the same ClassText or PlainDecimal. If all are truth values of
// one kind, these are the labels with the same truth value. Empty texts are ignored. False: no
// change.
bool JoinSpellings(std::map<std::string, int64_t>* labels);

}  // namespace espalier::data
