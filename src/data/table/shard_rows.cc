#include "src/data/table/shard_rows.h"

#include <algorithm>

#include "src/base/text.h"
#include "src/data/table/advice.h"

namespace espalier::data {

bool ShardRows::spilled() const {
  return std::any_of(sets.begin(), sets.end(), [](const auto& set) { return set.spilled(); });
}

int64_t ShardRows::MemoryBytes() const {
  int64_t bytes = texts.labels.MemoryBytes();
  for (const LabelTexts& values : texts.categories) bytes += values.MemoryBytes();
  for (const DecodedRows& set : sets) bytes += set.MemoryBytes();
  return bytes;
}

Status EndedBy(const Status& bad) {
  return Status(bad.code(), ForTraining(bad.message()))
      .At(bad.position().value_or(InputPosition{}));
}

Status TooManySkipped(const spec::BadRows& policy, const Status& last) {
  return BadInput("more than " + Counted(policy.limit, "bad row") +
                  ", the limit of data.bad_rows; the last one: " + last.message())
      .At(last.position().value_or(InputPosition{}));
}

void UnusableRows::Reject(const Status& reject) {
  const Status scored(reject.code(), ForScoring(reject.message()));
  rejects_.push_back(scored.At(reject.position().value_or(InputPosition{})));
}

Status CheckLabels(size_t labels, const std::string& file, const std::string& column) {
  if (labels <= kClassesMax) return {};
  return BadInput("the label has more than " + std::to_string(kClassesMax) +
                  " different values. Set model.task: regression if it is a number, or choose "
                  "another label if it is an identifier")
      .At({.file = file, .column = column});
}

}  // namespace espalier::data
