#include "src/data/parquet_plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "src/base/log.h"
#include "src/base/text.h"
#include "src/data/listing.h"
#include "src/data/parquet_columns.h"
#include "src/data/parquet_file.h"
#include "src/data/parquet_footer.h"
#include "src/data/schema.h"

namespace espalier {
namespace {

constexpr size_t kShardsMax = 10'000'000;

std::string Quoted(const std::string& text) { return "'" + Printable(text) + "'"; }

// What people call a column's values: "numbers", "lists of 3 numbers".
std::string Kind(const ParquetColumn& column) {
  static constexpr const char* kNames[] = {"numbers",     "booleans",     "text",      "dates",
                                           "time stamps", "times of day", "durations", "values"};
  const std::string name = kNames[static_cast<int>(column.family)];
  if (!column.vector) return name;
  return "lists of " + (column.width > 0 ? std::to_string(column.width) + " " : "") + name;
}

// "numbers (int32)".
std::string KindAndType(const ParquetColumn& column) {
  return Kind(column) + " (" + column.type + ")";
}

class ParquetPlanner {
 public:
  ParquetPlanner(const FileSystem& files, const DataSpec& data, int64_t shard_bytes,
                 InputPlan* plan)
      : files_(files), data_(data), shard_bytes_(shard_bytes), plan_(*plan) {}

  Status Plan() {
    for (size_t i = 0; i < plan_.files.size(); ++i) {
      const InputFile& file = plan_.files[i];
      if (FormatOf(data_, file.path) != DataFormat::kParquet) {
        return InvalidArgument("'" + file.path + "' is not named as a Parquet file, '" +
                               plan_.files[0].path +
                               "' is; all files of a job need one format (or set data.format)")
            .At({.file = file.path});
      }
      ESPALIER_ASSIGN_OR_RETURN(const auto opened, OpenUnchanged(files_, file));
      ESPALIER_RETURN_IF_ERROR(CheckParquetHead(*opened));
      ESPALIER_ASSIGN_OR_RETURN(const auto parquet, ParquetFile::Open(*opened));
      ESPALIER_RETURN_IF_ERROR(IndexNames(*parquet, file.path));
      if (i == 0) {
        ESPALIER_RETURN_IF_ERROR(FixSchema());
      } else {
        ESPALIER_RETURN_IF_ERROR(Compare(file.path));
      }
      ESPALIER_RETURN_IF_ERROR(FindWidths(*parquet, file.path));
      ESPALIER_RETURN_IF_ERROR(WarnOfPages(*parquet, file.path));
      ESPALIER_RETURN_IF_ERROR(Cut(*parquet, static_cast<int32_t>(i)));
    }
    return ExpandSchema();
  }

 private:
  Status IndexNames(const ParquetFile& parquet, const std::string& path) {
    columns_ = parquet.columns();
    index_.clear();
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (index_.emplace(columns_[i].name, i).second) continue;
      return BadInput("'" + path + "' names the column " + Quoted(columns_[i].name) +
                      " twice; write it again with different names")
          .At({.file = path, .column = Printable(columns_[i].name)});
    }
    if (!columns_.empty()) return {};
    return BadInput("'" + path + "' has no columns").At({.file = path});
  }

  // The vector, for the name of one of its elements; else the name itself.
  std::string WithoutElement(const std::string& name) const {
    std::string vector;
    int64_t element = 0;
    if (index_.contains(name) || !ParseElementName(name, &vector, &element)) return name;
    const auto found = index_.find(vector);
    return found != index_.end() && columns_[found->second].vector ? vector : name;
  }

  // The columns in use, with vectors as one column.
  Status FixSchema() {
    first_ = columns_;
    first_path_ = plan_.files[0].path;
    DataSpec whole = data_;
    whole.features.columns.clear();
    std::set<std::string> seen;
    for (auto entry : data_.features.columns) {
      if (auto* name = std::get_if<std::string>(&entry)) {
        const std::string vector = WithoutElement(*name);
        const bool element = vector != *name;
        *name = vector;
        if (element && !seen.insert(vector).second) continue;  // a further element of it
      }
      whole.features.columns.push_back(std::move(entry));
    }
    std::vector<std::string> names;
    for (const ParquetColumn& column : columns_) names.push_back(column.name);
    ESPALIER_ASSIGN_OR_RETURN(schema_,
                              MakeSchema(whole, std::move(names), {.at = {.file = first_path_}}));
    for (const int32_t c : schema_.features) used_.emplace(c, "data.features.columns");
    for (const int32_t c : schema_.label) used_.emplace(c, "data.label");
    if (schema_.weight >= 0) used_.emplace(schema_.weight, "data.weight");
    if (schema_.validation >= 0) used_.emplace(schema_.validation, "data.validation.column");
    for (const auto& [column, field] : used_) ESPALIER_RETURN_IF_ERROR(CheckUse(column, field));
    return {};
  }

  Status CheckUse(int32_t position, const std::string& field) const {
    const ParquetColumn& column = first_[position];
    const bool feature = field == "data.features.columns";
    if (column.family != ColumnFamily::kUnsupported && (feature || !column.vector)) return {};
    return InvalidArgument(
               field + ": column " + Quoted(column.name) + " of '" + first_path_ +
               "' has the type " + column.type + "; expected " +
               (feature ? "numbers, booleans, text, dates or lists of numbers: name the columns to "
                          "use in data.features.columns"
                        : "one number, boolean or text a row"))
        .At({.file = first_path_, .column = Printable(column.name)});
  }

  Status Differs(const std::string& path, const std::string& column,
                 const std::string& what) const {
    return BadInput("column " + Quoted(column) + " of '" + path + "' " + what + " '" + first_path_ +
                    "'; all files need the same columns, in any order")
        .At({.file = path, .column = Printable(column)});
  }

  Status Compare(const std::string& path) {
    for (const auto& [position, field] : used_) {
      const ParquetColumn& wanted = first_[position];
      const auto found = index_.find(wanted.name);
      if (found == index_.end()) {
        return Differs(path, wanted.name, "is missing, which is in");
      }
      const ParquetColumn& column = columns_[found->second];
      const bool same = column.family == wanted.family && column.vector == wanted.vector;
      const bool widths = column.width == wanted.width || column.width == 0 || wanted.width == 0;
      if (same && widths) continue;
      return Differs(path, wanted.name,
                     "holds " + KindAndType(column) + ", but " + KindAndType(wanted) + " in");
    }
    if (!data_.features.columns.empty()) return {};
    for (const ParquetColumn& column : columns_) {
      const auto same = [&](const ParquetColumn& c) { return c.name == column.name; };
      if (std::none_of(first_.begin(), first_.end(), same)) {
        return Differs(path, column.name, "is not in");
      }
    }
    return {};
  }

  // The widths of vectors in use that are not known yet.
  Status FindWidths(ParquetFile& parquet, const std::string& path) {
    for (const auto& [position, field] : used_) {
      ParquetColumn& wanted = first_[position];
      if (!wanted.vector || wanted.width > 0) continue;
      const size_t here = index_.at(wanted.name);
      wanted.width = columns_[here].width;
      if (wanted.width == 0) {
        ESPALIER_ASSIGN_OR_RETURN(wanted.width, parquet.FirstWidth(static_cast<int>(here)));
      }
      if (wanted.width <= static_cast<int64_t>(kColumnsMax)) continue;
      return BadInput("the first list in column " + Quoted(wanted.name) + " of '" + path +
                      "' has " + std::to_string(wanted.width) + " numbers; at most " +
                      std::to_string(kColumnsMax) + " are supported")
          .At({.file = path, .column = Printable(wanted.name)});
    }
    return {};
  }

  // Said once: without checksums a flipped bit in a page can pass for a value.
  Status WarnOfPages(const ParquetFile& parquet, const std::string& path) {
    if (warned_) return {};
    ESPALIER_ASSIGN_OR_RETURN(const bool checked, parquet.PagesHaveChecksums());
    if (checked) return {};
    warned_ = true;
    LogWarning("the pages of '" + path +
               "' have no checksums: damage inside them may go unnoticed (writers have a switch "
               "for them, such as parquet.page.write-checksum.enabled)");
    return {};
  }

  Status Cut(const ParquetFile& parquet, int32_t file) {
    int64_t begin = 0;
    const std::vector<ParquetGroup>& groups = parquet.groups();
    for (size_t i = 0; i < groups.size(); ++i) {
      const bool last = i + 1 == groups.size();
      const int64_t end = last ? parquet.footer_begin() : groups[i + 1].begin;
      if (!last && (end - begin < shard_bytes_ || end == groups[i].begin)) continue;
      plan_.shards.push_back({file, begin, end});
      begin = end;
    }
    if (plan_.shards.size() <= kShardsMax) return {};
    return InvalidArgument("data.shard_bytes: " + std::to_string(shard_bytes_) +
                           " bytes give more than " + std::to_string(kShardsMax) +
                           " shards; choose larger ones");
  }

  // Vectors become their elements, and the spec is resolved against the result.
  Status ExpandSchema() {
    std::vector<std::string> names;
    std::vector<ColumnRange> places;  // by column of the first file
    for (const ParquetColumn& column : first_) {
      const int64_t begin = static_cast<int64_t>(names.size());
      if (!column.vector || column.width == 0) {
        names.push_back(column.name);
      } else {
        for (int64_t i = 0; i < column.width; ++i) names.push_back(ElementName(column.name, i));
      }
      places.push_back({begin, static_cast<int64_t>(names.size()) - 1});
    }
    for (const auto& [position, field] : used_) {
      if (!first_[position].vector || first_[position].width > 0) continue;
      return BadInput("column " + Quoted(first_[position].name) + " of '" + first_path_ +
                      "' holds lists, all of them empty or missing; expected lists of numbers")
          .At({.file = first_path_, .column = Printable(first_[position].name)});
    }
    DataSpec data = data_;
    std::map<std::string, size_t> by_name;
    for (size_t i = 0; i < first_.size(); ++i) by_name.emplace(first_[i].name, i);
    const auto place = [&](ColumnRef& ref) {
      if (auto* p = std::get_if<int64_t>(&ref)) *p = places[*p].first;
    };
    for (ColumnRef& label : data.label) place(label);
    if (data.weight) place(*data.weight);
    if (data.validation.column) place(*data.validation.column);
    for (auto& entry : data.features.columns) {
      if (auto* range = std::get_if<ColumnRange>(&entry)) {
        entry = ColumnRange{places[range->first].first, places[range->last].last};
      } else if (auto* p = std::get_if<int64_t>(&entry)) {
        entry = ColumnRange(places[*p]);
      } else if (const auto found = by_name.find(std::get<std::string>(entry));
                 found != by_name.end() && first_[found->second].vector) {
        entry = ColumnRange(places[found->second]);
      }
    }
    ESPALIER_ASSIGN_OR_RETURN(plan_.schema,
                              MakeSchema(data, std::move(names), {.at = {.file = first_path_}}));
    return {};
  }

  const FileSystem& files_;
  const DataSpec& data_;
  const int64_t shard_bytes_;
  InputPlan& plan_;
  std::vector<ParquetColumn> columns_;             // of the file at hand
  std::unordered_map<std::string, size_t> index_;  // of its names
  std::vector<ParquetColumn> first_;               // of the first file, with widths as found
  std::string first_path_;
  Schema schema_;                        // over first_, vectors being one column
  std::map<int32_t, std::string> used_;  // position in first_, field of the spec
  bool warned_ = false;
};

}  // namespace

Status PlanParquet(const FileSystem& files, const DataSpec& data, int64_t shard_bytes,
                   InputPlan* plan) {
  return ParquetPlanner(files, data, shard_bytes, plan).Plan();
}

}  // namespace espalier
