// From the texts of labels to classes. Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace espalier {

// The number that `text` spells in the one usual way ("-3", "0", "12"; not "03", "+3").
std::optional<int64_t> WholeNumber(const std::string& text);

// The class that a label belongs to when it is not itself one: "3" of "3.0" and "3.", "0" of
// "-0.0"; of any other text the text.
std::string ClassText(const std::string& label);

// When all labels are numbers, counts those that have the same ClassText together. False: they are
// not, and nothing is changed.
bool JoinWholeNumbers(std::map<std::string, int64_t>* labels);

}  // namespace espalier
