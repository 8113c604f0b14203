// From the texts of labels to classes. Thread rule: pure functions and a value.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::data {

// The number that `text` spells in the one usual way ("-3", "0", "12"; not "03", "+3").
std::optional<int64_t> WholeNumber(const std::string& text);

// The class that a label belongs to when it is not itself one: "3" of "3.0" and "3.", "0" of
// "-0.0"; of any other text the text.
std::string ClassText(const std::string& label);

// The one way to write a number as a decimal: "12.5" of "+12.50" and "1.25e1". Absent: the text is
// not a number, or has leading zeros, as identifiers have.
std::optional<std::string> PlainDecimal(std::string_view text);

// The classes of a job or a model, or the values of a category, to be found by text.
class ClassIndex {
 public:
  ClassIndex() = default;
  explicit ClassIndex(const std::vector<std::string>& classes);
  // The class that is called so, or as the label's ClassText; otherwise the one that spells the
  // same number (PlainDecimal) or, where all classes are truth values, the same truth value: true,
  // True, TRUE, t, T and 1 are one, and so are yes, Yes, YES, y and Y. -1: there is none.
  int32_t Of(const std::string& label) const;

 private:
  std::vector<std::pair<std::string, int32_t>> classes_;  // sorted
  std::map<std::string, int32_t> spellings_;              // of one class each; -1: of several
  bool truths_ = false;                                   // all are truth values of one kind
};

// Counts labels together that are numbers with the same ClassText or PlainDecimal, when all are
// numbers, or the same truth value, when all are truth values of one kind, under one of their
// spellings. The empty text does not count. False: nothing is changed.
bool JoinSpellings(std::map<std::string, int64_t>* labels);

}  // namespace espalier::data
