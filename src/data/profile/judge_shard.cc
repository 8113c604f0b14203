#include "src/data/profile/judge_shard.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "src/base/text.h"
#include "src/data/features/dates.h"
#include "src/data/features/feature_decoder.h"
#include "src/data/input/infer_features.h"
#include "src/data/parquet/columns.h"
#include "src/data/parquet/file.h"
#include "src/data/profile/make_shard_reader.h"
#include "src/data/table/input_file.h"
#include "src/data/table/value_rules.h"
#include "src/spec/shard_sums.h"

namespace espalier::data {
namespace {

// Evidence from one column.
class EvidenceColumn {
 public:
  // `label`: treats all values as texts.
  EvidenceColumn(int32_t column, bool label) : label_(label) { found_.column = column; }

  void Add(std::string_view text, const ValueRules& rules, const DateFormat* format) {
    ++found_.rows;
    text = Trimmed(text);
    double value = 0;
    const NumberKind kind = rules.ParseNumber(text, &value);
    if (label_ ? rules.IsNullLabel(text) : kind == NumberKind::kNull) {
      ++found_.nulls;
    } else if (label_ || kind != NumberKind::kNumber || IsAddress(text) ||
               (format != nullptr && format->Parse(text))) {
      AddText(text);
    } else {
      AddNumber(value);
    }
  }

  spec::ColumnEvidence Take() {
    spec::TextCounts texts;
    spec::AddTexts(found_.texts, &texts);  // keeps those with the smallest hashes
    found_.texts = std::move(texts);
    return std::move(found_);
  }

 private:
  static constexpr size_t kTextBytes = 256;  // of a longer text, the hash is kept too

  void AddText(std::string_view text) {
    std::string kept(text.substr(0, kTextBytes));
    if (text.size() > kTextBytes) kept += "#" + std::to_string(spec::HashOfText(std::string(text)));
    spec::AddText(kept, 1, &found_.texts);
  }
  void AddNumber(double value) {
    found_.low = found_.numbers == 0 ? value : std::min(found_.low, value);
    found_.high = found_.numbers == 0 ? value : std::max(found_.high, value);
    ++found_.numbers;
    found_.truths += value == 0 || value == 1;
    found_.days += IsDayNumber(value);
    found_.months += IsMonthNumber(value);
  }

  const bool label_;
  spec::ColumnEvidence found_;
};

// Returns the names of the text columns of a Parquet file.
Result<std::set<std::string>> TextColumns(const storage::FileSystem& files,
                                          const spec::InputFile& file) {
  ESPALIER_ASSIGN_OR_RETURN(const auto opened, OpenUnchanged(files, file));
  ESPALIER_ASSIGN_OR_RETURN(const auto parquet, ParquetFile::Open(*opened));
  std::set<std::string> names;
  for (const ParquetColumn& c : parquet->columns()) {
    if (!c.vector && c.family == ColumnFamily::kText) names.insert(c.name);
  }
  return names;
}

// Returns a plan with a single shard, in which no column is decoded.
spec::InputPlan Undecoded(const spec::InputPlan& plan, int shard) {
  const spec::Shard& range = plan.shards[static_cast<size_t>(shard)];
  spec::InputPlan alone;
  alone.files = {plan.files[static_cast<size_t>(range.file)]};
  alone.files[0].role = spec::FileRole::kTest;
  alone.shards = {{0, range.begin, range.end}};
  alone.schema = plan.schema;
  alone.schema.features.clear();
  alone.schema.rules.clear();
  alone.schema.label.clear();
  alone.schema.weight = alone.schema.validation = -1;
  return alone;
}

}  // namespace

Result<std::vector<spec::ColumnEvidence>> JudgeShard(const TableSource& table, int shard,
                                                     MemoryBudget* room) {
  const spec::InputPlan plan = Undecoded(table.plan, shard);
  const spec::Schema& schema = table.plan.schema;
  const spec::DataFormat format = spec::FormatOf(table.job.data, plan.files[0].path);
  const bool parquet = format == spec::DataFormat::kParquet;
  std::set<std::string> texts;
  if (parquet) {
    ESPALIER_ASSIGN_OR_RETURN(texts, TextColumns(table.files, plan.files[0]));
  }
  std::vector<bool> open = OpenColumns(table.job.data, schema);
  const int32_t label = schema.label.size() == 1 ? schema.label.front() : -1;
  if (label >= 0) open[static_cast<size_t>(label)] = true;
  const size_t own = open.size() - static_cast<size_t>(schema.partitions);
  std::vector<int32_t> kept;
  std::vector<EvidenceColumn> columns;
  for (size_t c = 0; c < open.size(); ++c) {
    const auto column = static_cast<int32_t>(c);
    if (!open[c] || (parquet && c < own && !texts.contains(schema.names[c]))) continue;
    kept.push_back(column);
    columns.emplace_back(column, column == label);
  }
  if (kept.empty()) return std::vector<spec::ColumnEvidence>();
  if (schema.weight >= 0) kept.push_back(schema.weight);
  const ValueRules rules(table.job.data, format == spec::DataFormat::kCsv);
  const ValueRules directory_rules(table.job.data, false);
  const auto rules_of = [&](int32_t column) -> const ValueRules& {
    return static_cast<size_t>(column) < own ? rules : directory_rules;
  };
  std::optional<DateFormat> dates;
  const std::string& date_format = table.job.data.features.date_format;
  if (!date_format.empty() && date_format != "auto") dates.emplace(date_format);
  const auto look = [&](const RowPiece& piece) -> Status {
    std::string scratch;
    const auto rows = static_cast<int64_t>(piece.slots.size() + piece.rejects.size());
    for (int64_t r = 0; r < rows; ++r) {
      const bool weighted = schema.weight >= 0;
      if (weighted &&
          IsZeroWeight(piece.kept.Text(r, columns.size(), &scratch), rules_of(schema.weight))) {
        continue;  // as if absent
      }
      for (size_t c = 0; c < columns.size(); ++c) {
        columns[c].Add(piece.kept.Text(r, c, &scratch), rules_of(kept[c]),
                       dates ? &*dates : nullptr);
      }
    }
    return {};
  };
  const TableSource shown{table.files, plan, table.job};
  const ReadOptions options{.room = room, .rules = RowRules::kScoring, .kept = kept};
  ESPALIER_RETURN_IF_ERROR(MakeShardReader(shown, options)->Read(0, look).status());
  std::vector<spec::ColumnEvidence> found;
  for (EvidenceColumn& column : columns) found.push_back(column.Take());
  return found;
}

}  // namespace espalier::data
