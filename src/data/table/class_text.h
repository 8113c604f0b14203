// From the texts of labels to classes. Thread rule: pure functions and a value.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace espalier::data {

// The number that `text` spells in the one usual way ("-3", "0", "12"; not "03", "+3").
std::optional<int64_t> WholeNumber(const std::string& text);

// The class that a label belongs to when it is not itself one: "3" of "3.0" and "3.", "0" of
// "-0.0"; of any other text the text.
std::string ClassText(const std::string& label);

// The classes of a job or a model, to be found by label.
class ClassIndex {
 public:
  ClassIndex() = default;
  explicit ClassIndex(const std::vector<std::string>& classes);
  // The class that is called so, else the one called as the label's ClassText; of "true", which
  // Parquet's booleans are, also "True" or "TRUE", as CSV files write it, and so of "false"; -1:
  // there is none.
  int32_t Of(const std::string& label) const;

 private:
  std::vector<std::pair<std::string, int32_t>> classes_;  // sorted
};

// When all labels are numbers, counts those that have the same ClassText together. False: they are
// not, and nothing is changed.
bool JoinWholeNumbers(std::map<std::string, int64_t>* labels);

}  // namespace espalier::data
