#include "src/cluster/survey_shards.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace espalier {
namespace {

// Rows of one shard cannot be more than its bytes; this bound also keeps sums of counts in range.
constexpr int64_t kRowsMax = int64_t{1} << 48;

bool InRange(int64_t count) { return count >= 0 && count <= kRowsMax; }

Status CheckColumns(const char* what, const std::vector<ColumnStats>& columns, size_t expected,
                    int64_t rows) {
  if (columns.size() != expected) {
    return FailedPrecondition("it has statistics of " + std::to_string(columns.size()) + " " +
                              what + " columns, expected " + std::to_string(expected));
  }
  for (size_t i = 0; i < columns.size(); ++i) {
    const ColumnStats& c = columns[i];
    const bool counts = InRange(c.count) && InRange(c.nulls) && c.count + c.nulls <= rows;
    const bool moments = std::isfinite(c.mean) && std::isfinite(c.m2) && c.m2 >= 0 &&
                         (c.count == 0 || c.min <= c.max);
    if (!counts || !moments) {
      return FailedPrecondition("its statistics of " + std::string(what) + " " + std::to_string(i) +
                                " are out of range");
    }
  }
  return Status::Ok();
}

Status CheckLabels(const std::map<std::string, int64_t>& labels, int64_t rows) {
  int64_t sum = 0;
  for (const auto& [text, count] : labels) {
    if (count < 0 || count > rows - sum) {
      return FailedPrecondition("it counts more labels than its " + std::to_string(rows) + " rows");
    }
    sum += count;
  }
  return Status::Ok();
}

Status CheckShard(const Schema& schema, const ShardSurvey& s) {
  for (int64_t n : {s.train_rows, s.validation_rows, s.test_rows, s.dropped_rows, s.skipped_rows}) {
    if (!InRange(n)) return FailedPrecondition("a row count is " + std::to_string(n));
  }
  if (static_cast<int64_t>(s.skipped.size()) > s.skipped_rows) {
    return FailedPrecondition("it lists more skipped rows than it counts");
  }
  if (s.storage > StorageType::kFloat64) return FailedPrecondition("its storage type is unknown");
  if (!std::isfinite(s.train_weight) || s.train_weight < 0) {
    return FailedPrecondition("its training weight is out of range");
  }
  ESPALIER_RETURN_IF_ERROR(
      CheckColumns("feature", s.features, schema.features.size(), s.train_rows));
  if (!s.targets.empty()) {
    ESPALIER_RETURN_IF_ERROR(CheckColumns("target", s.targets, schema.label.size(), s.train_rows));
  }
  ESPALIER_RETURN_IF_ERROR(CheckLabels(s.labels, s.train_rows));
  return CheckLabels(s.evaluation_labels, s.validation_rows + s.test_rows);
}

}  // namespace

std::vector<std::vector<int32_t>> AssignShards(const std::vector<Shard>& shards, int members) {
  std::vector<std::vector<int32_t>> runs(static_cast<size_t>(members));
  double total = 0;
  for (const Shard& s : shards) total += static_cast<double>(s.end - s.begin);
  double before = 0;
  for (size_t i = 0; i < shards.size(); ++i) {
    const double bytes = static_cast<double>(shards[i].end - shards[i].begin);
    const double middle =
        total > 0 ? (before + bytes / 2) / total : (static_cast<double>(i) + 0.5) / shards.size();
    const int member = std::clamp(static_cast<int>(middle * members), 0, members - 1);
    runs[static_cast<size_t>(member)].push_back(static_cast<int32_t>(i));
    before += bytes;
  }
  return runs;
}

Status CheckSurvey(const InputPlan& input, const std::vector<int32_t>& expected,
                   const std::vector<ShardSurvey>& found) {
  if (found.size() != expected.size()) {
    return FailedPrecondition("the survey has " + std::to_string(found.size()) +
                              " shards, expected " + std::to_string(expected.size()));
  }
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i].shard != expected[i]) {
      return FailedPrecondition("the survey has shard " + std::to_string(found[i].shard) +
                                " in the place of shard " + std::to_string(expected[i]));
    }
    if (Status s = CheckShard(input.schema, found[i]); !s.ok()) {
      return s.Wrap("survey of shard " + std::to_string(found[i].shard));
    }
  }
  return Status::Ok();
}

}  // namespace espalier
