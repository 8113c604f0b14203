#include "src/cluster/profiling_shards.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "src/base/text.h"

namespace espalier::cluster {
namespace {

// More rows, or numbers other than 0, than any shard has. Sums over all shards of a job, fewer than
// 2^20, stay in range. So do products with the columns of a shard.
constexpr int64_t kRowsMax = int64_t{1} << 40;
// The first totals of an evaluation (model/metrics.h).
enum TotalsIndex : size_t { kRows = 0, kWeight = 1, kTotalsMin = 2 };
constexpr size_t kColumnBytes = sizeof(spec::ColumnStats);

bool InRange(int64_t count) { return count >= 0 && count <= kRowsMax; }

Status CheckColumns(const char* what, const std::vector<spec::ColumnStats>& columns,
                    size_t expected, int64_t rows) {
  if (columns.size() != expected) {
    return FailedPrecondition("it has statistics of " + std::to_string(columns.size()) + " " +
                              what + " columns, expected " + std::to_string(expected));
  }
  for (size_t i = 0; i < columns.size(); ++i) {
    const spec::ColumnStats& c = columns[i];
    const bool counts = InRange(c.count) && InRange(c.nulls) && c.count + c.nulls <= rows;
    // Moments may overflow. The merge decides whether they are needed.
    const bool moments = (c.count == 0 || c.min <= c.max) && (c.m2 >= 0 || !std::isfinite(c.m2));
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

Status CheckEvidence(const spec::Schema& schema, const std::vector<spec::ColumnEvidence>& all) {
  for (const spec::ColumnEvidence& e : all) {
    for (const int64_t n : {e.rows, e.nulls, e.numbers, e.truths, e.days, e.months, e.texts.rows}) {
      if (!InRange(n)) return FailedPrecondition("its evidence counts " + std::to_string(n));
    }
    if (static_cast<size_t>(e.column) >= schema.names.size() || e.nulls > e.rows ||
        std::max({e.truths, e.days, e.months}) > e.numbers || e.low > e.high) {
      return FailedPrecondition("its evidence is out of range");
    }
    ESPALIER_RETURN_IF_ERROR(CheckLabels(e.texts.counts, e.texts.rows));
  }
  return Status::Ok();
}

// Checks the rows that serve only for warnings.
Status CheckWarnings(const spec::ShardProfile& s) {
  const size_t rows = s.probe.keys.size(), values = s.probe.values.size();
  if (static_cast<int64_t>(rows) > s.train_rows || (rows > 0 && values % rows != 0) ||
      (rows == 0 && values > 0)) {
    return FailedPrecondition("its probe has " + std::to_string(rows) + " rows with " +
                              std::to_string(values) + " values");
  }
  for (size_t i = 0; i < s.alike.hashes.size(); ++i) {
    const int64_t train = s.alike.train[i], validation = s.alike.validation[i];
    if (train > s.train_rows || validation > s.validation_rows) {
      return FailedPrecondition("it counts more rows that are alike than it has");
    }
  }
  return Status::Ok();
}

Status CheckPlaces(const spec::ShardProfile& s) {
  const size_t rows = s.places.keys.size();
  const bool finite = std::all_of(s.places.values.begin(), s.places.values.end(),
                                  [](double place) { return std::isfinite(place); });
  const bool sampled =
      rows == 0 || (s.places.bins && static_cast<int64_t>(rows) <= spec::SampledRowsMax(1, true) &&
                    std::is_sorted(s.places.keys.begin(), s.places.keys.end()));
  if (finite && sampled && rows == s.places.values.size() &&
      static_cast<int64_t>(rows) <= s.train_rows) {
    return Status::Ok();
  }
  return FailedPrecondition("its places are not those of its training rows");
}

Status CheckShard(const spec::InputPlan& input, const spec::ShardProfile& s) {
  const spec::Schema& schema = input.schema;
  if (!input.provisional && !(s.evidence.empty() && s.failure.ok())) {
    return FailedPrecondition("it judges a plan that is not provisional");
  }
  ESPALIER_RETURN_IF_ERROR(CheckEvidence(schema, s.evidence));
  if (!s.failure.ok()) return Status::Ok();  // the rest of the profile is not used
  for (int64_t n : {s.train_rows, s.validation_rows, s.test_rows, s.dropped_rows, s.skipped_rows}) {
    if (!InRange(n)) return FailedPrecondition("a row count is " + std::to_string(n));
  }
  ESPALIER_RETURN_IF_ERROR(CheckWarnings(s));
  ESPALIER_RETURN_IF_ERROR(CheckPlaces(s));
  if (static_cast<int64_t>(s.skipped.size()) > s.skipped_rows) {
    return FailedPrecondition("it lists more skipped rows than it counts");
  }
  if (s.storage > spec::StorageType::kFloat64)
    return FailedPrecondition("its storage type is unknown");
  if (!std::isfinite(s.train_weight) || s.train_weight < 0) {
    return FailedPrecondition("its training weight is out of range");
  }
  const int64_t numbers = (s.train_rows + s.validation_rows + s.test_rows) *
                          static_cast<int64_t>(schema.features.size());
  if (!InRange(s.nonzeros) || s.nonzeros > numbers) {
    return FailedPrecondition("it counts " + std::to_string(s.nonzeros) +
                              " numbers that are not 0, of " + std::to_string(numbers));
  }
  ESPALIER_RETURN_IF_ERROR(
      CheckColumns("feature", s.features, schema.features.size(), s.train_rows));
  if (!s.targets.empty()) {
    ESPALIER_RETURN_IF_ERROR(CheckColumns("target", s.targets, schema.label.size(), s.train_rows));
  }
  const size_t rows = s.sample.keys.size(), values = s.sample.values.size();
  if (static_cast<int64_t>(rows) > s.train_rows ||
      values > rows * (schema.features.size() + schema.label.size()) ||
      (rows > 0 && (values == 0 || values % rows != 0))) {
    return FailedPrecondition("its sample has " + std::to_string(rows) + " rows with " +
                              std::to_string(values) + " values");
  }
  if (s.categories.size() > schema.features.size()) {
    return FailedPrecondition("it has more categorical columns than the job has features");
  }
  for (const auto& values : s.categories) {
    ESPALIER_RETURN_IF_ERROR(CheckLabels(values, s.train_rows));
  }
  ESPALIER_RETURN_IF_ERROR(CheckLabels(s.labels, s.train_rows));
  return CheckLabels(s.evaluation_labels, s.validation_rows + s.test_rows);
}

Status CheckCounts(std::initializer_list<int64_t> counts) {
  for (const int64_t n : counts) {
    if (!InRange(n)) return FailedPrecondition("a count of its score is " + std::to_string(n));
  }
  return Status::Ok();
}

Status CheckScored(const spec::ShardScore& s, const spec::PredictedShard& files) {
  ESPALIER_RETURN_IF_ERROR(CheckCounts({files.parts, files.reject_parts}));
  // A part has at least one row.
  if (files.parts <= s.rows + s.rejected && files.reject_parts <= s.rejected) return Status::Ok();
  return FailedPrecondition("its score reports more files than rows");
}

Status CheckScored(const spec::ShardScore&, const spec::EvaluatedShard& sums) {
  if (sums.totals.size() < kTotalsMin) return FailedPrecondition("its score has too few totals");
  // The losses may have any value. These two are counts and must be plausible numbers of rows.
  const double rows = sums.totals[kRows], weight = sums.totals[kWeight];
  if (rows >= 0 && rows <= static_cast<double>(kRowsMax) && weight >= 0 && std::isfinite(weight)) {
    return Status::Ok();
  }
  return FailedPrecondition("its score counts " + ShortestDouble(rows) + " rows of weight " +
                            ShortestDouble(weight));
}

Status CheckShard(const spec::InputPlan&, const spec::ShardScore& s) {
  ESPALIER_RETURN_IF_ERROR(CheckCounts({s.rows, s.rejected}));
  for (const auto& [column, rows] : s.unseen) {
    if (rows > 0 && rows <= s.rows + s.rejected) continue;
    return FailedPrecondition("its score counts " + std::to_string(rows) +
                              " rows with unseen values");
  }
  const auto described = static_cast<int64_t>(s.first_rejects.size());
  if (described != std::min<int64_t>(s.rejected, spec::kRejectsKept)) {
    return FailedPrecondition("its score counts " + std::to_string(s.rejected) +
                              " rejected rows and describes " + std::to_string(described));
  }
  for (const Status& reject : s.first_rejects) {
    if (reject.ok()) return FailedPrecondition("its score rejects a row without a reason");
  }
  return std::visit([&](const auto& work) { return CheckScored(s, work); }, s.work);
}

}  // namespace

std::vector<std::vector<int32_t>> AssignShards(const std::vector<spec::Shard>& shards,
                                               int members) {
  std::vector<std::vector<int32_t>> runs(static_cast<size_t>(members));
  double total = 0;
  for (const spec::Shard& s : shards) total += static_cast<double>(s.end - s.begin);
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

std::vector<size_t> PlaceRuns(const spec::InputPlan& input,
                              const std::vector<std::vector<int32_t>>& runs,
                              const std::vector<std::vector<std::string>>& names) {
  std::vector<size_t> place;
  std::vector<bool> taken(names.size(), false);
  for (const std::vector<int32_t>& run : runs) {
    std::map<std::string, int64_t> bytes;  // indexed by host
    for (int32_t k : run) {
      const auto shard = static_cast<size_t>(k);
      if (shard >= input.hosts.size()) continue;
      for (const std::string& host : input.hosts[shard]) {
        bytes[host] += input.shards[shard].end - input.shards[shard].begin;
      }
    }
    size_t best = names.size();
    int64_t best_bytes = -1;
    for (size_t w = 0; w < names.size(); ++w) {
      if (taken[w]) continue;
      int64_t held = 0;
      for (const std::string& name : names[w]) {
        const auto found = bytes.find(name);
        if (found != bytes.end()) held = std::max(held, found->second);
      }
      if (held > best_bytes) {
        best = w;
        best_bytes = held;
      }
    }
    taken[best] = true;
    place.push_back(best);
  }
  return place;
}

Status CheckProfile(const spec::InputPlan& input, spec::JobKind kind,
                    const std::vector<int32_t>& given, const ShardResults& found) {
  for (const auto& result : found) {
    const std::string shard = "shard " + std::to_string(spec::ShardOf(*result));
    if (!std::binary_search(given.begin(), given.end(), spec::ShardOf(*result))) {
      return FailedPrecondition("it profiled " + shard + ", which it was not given");
    }
    if (spec::KindOf(*result) != kind) {
      return FailedPrecondition("the result of " + shard + " is not of this kind of job");
    }
    const Status s = std::visit([&](const auto& r) { return CheckShard(input, r); }, *result);
    if (!s.ok()) return s.Wrap("profile of " + shard);
  }
  return Status::Ok();
}

namespace {

size_t StatusBytes(const std::vector<Status>& list) {
  size_t bytes = 0;
  for (const Status& s : list) bytes += sizeof(Status) + s.ToString().size();
  return bytes;
}

size_t BytesOf(const spec::ShardScore& score) {
  size_t bytes = StatusBytes(score.first_rejects);
  if (score.evaluated() != nullptr) bytes += score.evaluated()->totals.size() * sizeof(double);
  for (const auto& [column, rows] : score.unseen) bytes += spec::kCountBytes + column.size();
  return bytes;
}

size_t BytesOf(const spec::ShardProfile& profile) {
  size_t bytes = (profile.features.size() + profile.targets.size()) * kColumnBytes;
  const auto add = [&bytes](const std::map<std::string, int64_t>& counts) {
    for (const auto& [text, count] : counts) bytes += spec::kCountBytes + text.size();
  };
  add(profile.labels);
  add(profile.evaluation_labels);
  for (const auto& values : profile.categories) add(values);
  bytes +=
      static_cast<size_t>(spec::MemoryBytes(profile.sample) + spec::MemoryBytes(profile.probe) +
                          spec::MemoryBytes(profile.places) + spec::MemoryBytes(profile.alike));
  for (const spec::ColumnEvidence& e : profile.evidence) {
    bytes += sizeof(e);
    add(e.texts.counts);
  }
  return bytes + StatusBytes(profile.skipped);
}

}  // namespace

int64_t MemoryBytes(const spec::ShardResult& result) {
  const size_t parts = std::visit([](const auto& r) { return BytesOf(r); }, result);
  return static_cast<int64_t>(sizeof result + parts);
}

Status CheckProfileSize(const spec::InputPlan& input, int64_t bytes_max) {
  const size_t columns = input.schema.features.size() + input.schema.label.size();
  const double bytes = static_cast<double>(input.shards.size()) * static_cast<double>(columns) *
                       static_cast<double>(kColumnBytes);
  if (bytes <= static_cast<double>(bytes_max)) return Status::Ok();
  return InvalidArgument(
      "data.shard_bytes: " + HumanCount(static_cast<int64_t>(input.shards.size())) + " shards of " +
      HumanCount(static_cast<int64_t>(columns)) + " columns have statistics of " +
      HumanBytes(static_cast<uint64_t>(bytes)) + ", more than the " +
      HumanBytes(static_cast<uint64_t>(bytes_max)) +
      " that this coordinator has room for (profile_bytes_max); use fewer, larger shards");
}

}  // namespace espalier::cluster
