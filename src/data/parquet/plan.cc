#include "src/data/parquet/plan.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "src/base/in_order.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/data/parquet/columns.h"
#include "src/data/parquet/file.h"
#include "src/data/parquet/footer.h"
#include "src/data/table/advice.h"
#include "src/data/table/input_file.h"
#include "src/data/table/schema.h"

namespace espalier::data {
namespace {

constexpr int kFootersAtOnce = 16;  // each mostly waits for a remote file system

// Parts of a file that a plan uses. The parsed footer itself, which may be large, is freed.
struct Outline {
  std::vector<ParquetColumn> columns;
  std::vector<ParquetGroup> groups;
  int64_t footer_begin = 0;
  bool pages_have_checksums = false;
};

Result<Outline> OutlineOf(const storage::FileSystem& files, const spec::InputFile& file) {
  if (file.length == 0) return Outline{};  // no rows; Hive writes empty buckets as empty files
  ESPALIER_ASSIGN_OR_RETURN(const auto opened, OpenUnchanged(files, file));
  const auto parquet = ParquetFile::Open(*opened);
  // Comes after the footer, so that one read serves the head and the first page. Its error takes
  // precedence.
  ESPALIER_RETURN_IF_ERROR(CheckParquetHead(*opened));
  if (!parquet.ok()) return parquet.status();
  ESPALIER_ASSIGN_OR_RETURN(const bool checked, (*parquet)->PagesHaveChecksums());
  return Outline{(*parquet)->columns(), (*parquet)->groups(), (*parquet)->footer_begin(), checked};
}

class ParquetPlanner {
 public:
  ParquetPlanner(const storage::FileSystem& files, const spec::DataSpec& data, int64_t shard_bytes,
                 Partitions partitions, spec::InputPlan* plan)
      : files_(files),
        data_(data),
        shard_bytes_(shard_bytes),
        partitions_(std::move(partitions)),
        plan_(*plan) {
    FindDotted();
  }

  Status Plan() {
    ESPALIER_RETURN_IF_ERROR(InOrder<Result<Outline>>(
        static_cast<int64_t>(plan_.files.size()), kFootersAtOnce,
        [this](int64_t i) { return OutlineOf(files_, plan_.files[i]); },
        [this](int64_t i, Result<Outline> read) -> Status {
          ESPALIER_ASSIGN_OR_RETURN(const Outline outline, std::move(read));
          if (plan_.files[static_cast<size_t>(i)].length == 0) return {};
          return Add(static_cast<int32_t>(i), outline);
        }));
    if (first_path_.empty()) {
      const std::string& path = plan_.files.front().path;
      return DamagedParquet(path, "it has 0 bytes, and so have all files of the job");
    }
    return ExpandSchema();
  }

 private:
  Status Add(int32_t i, const Outline& outline) {
    const spec::InputFile& file = plan_.files[i];
    ESPALIER_ASSIGN_OR_RETURN(std::vector<ParquetColumn> own,
                              WithoutShadowed(outline.columns, file.path));
    ESPALIER_RETURN_IF_ERROR(
        IndexNames(WithPartitionColumns(std::move(own), partitions_.names), file.path));
    ESPALIER_RETURN_IF_ERROR(first_path_.empty() ? FixSchema(file.path) : Compare(file.path));
    ESPALIER_RETURN_IF_ERROR(FindWidths(file));
    if (!outline.pages_have_checksums) WarnOfPages(file.path);
    return Cut(outline, i);
  }

  // Collects the names in the spec that may be fields within structs.
  void FindDotted() {
    const auto note = [this](const auto& column) {
      const auto* name = std::get_if<std::string>(&column);
      if (name == nullptr || name->find('.') == std::string::npos) return;
      std::string vector;
      int64_t element = 0;
      dotted_.insert(*name);
      if (ParseElementName(*name, &vector, &element)) dotted_.insert(vector);
    };
    std::for_each(data_.label.begin(), data_.label.end(), note);
    if (data_.weight) note(*data_.weight);
    if (const auto& column = data_.validation.deciding()) note(*column);
    const spec::FeatureSpec& features = data_.features;
    std::for_each(features.columns.begin(), features.columns.end(), note);
    for (const spec::FeatureGroup& group : features.groups) {
      std::for_each(group.columns.begin(), group.columns.end(), note);
    }
  }

  // Returns the columns that the directories do not provide. Includes fields within structs only if
  // the spec names them. Stores their positions in the file in places_.
  Result<std::vector<ParquetColumn>> WithoutShadowed(const std::vector<ParquetColumn>& columns,
                                                     const std::string& path) {
    std::vector<ParquetColumn> own;
    places_.clear();
    for (size_t i = 0; i < columns.size(); ++i) {
      const std::string& name = columns[i].name;
      if (columns[i].nested && !dotted_.contains(name)) continue;
      if (!std::binary_search(partitions_.names.begin(), partitions_.names.end(), name)) {
        own.push_back(columns[i]);
        places_.push_back(static_cast<int>(i));
        continue;
      }
      if (UsesPositions(data_)) return PositionsAreAmbiguous(path, name);
      if (noted_.insert(name).second) plan_.notes.push_back(ShadowedText(path, name));
    }
    return own;
  }

  Status IndexNames(const std::vector<ParquetColumn>& columns, const std::string& path) {
    columns_ = columns;
    index_.clear();
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (index_.emplace(columns_[i].name, i).second) continue;
      return BadInput(QuotedPath(path) + " names the column " + Quoted(columns_[i].name) +
                      " twice. Write it again with different names")
          .At({.file = path, .column = Printable(columns_[i].name)});
    }
    if (!columns_.empty()) return {};
    return BadInput(QuotedPath(path) + " has no columns").At({.file = path});
  }

  // Returns the vector for the name of one of its elements. Otherwise returns the name itself.
  std::string WithoutElement(const std::string& name) const {
    std::string vector;
    int64_t element = 0;
    if (index_.contains(name) || !ParseElementName(name, &vector, &element)) return name;
    const auto found = index_.find(vector);
    return found != index_.end() && columns_[found->second].vector ? vector : name;
  }

  // Finds the columns in use. A vector is one column.
  Status FixSchema(const std::string& path) {
    first_ = columns_;
    first_path_ = path;
    spec::DataSpec whole = data_;
    std::set<std::string> seen;
    const auto join = [&](std::vector<spec::ColumnPattern>& columns) {
      std::erase_if(columns, [&](spec::ColumnPattern& entry) {
        auto* name = std::get_if<std::string>(&entry);
        if (name == nullptr) return false;
        const std::string vector = WithoutElement(*name);
        const bool element = vector != *name;
        *name = vector;
        return element && !seen.insert(vector).second;  // a further element of the same vector
      });
    };
    join(whole.features.columns);
    for (spec::FeatureGroup& group : whole.features.groups) join(group.columns);
    std::erase_if(whole.features.exclude, [&](const spec::ColumnPattern& entry) {
      const auto* name = std::get_if<std::string>(&entry);  // an element may be excluded alone
      return name != nullptr && WithoutElement(*name) != *name;
    });
    ESPALIER_ASSIGN_OR_RETURN(schema_, MakeSchema(whole, NamesOf(columns_), Record()));
    for (const int32_t c : schema_.features) used_.emplace(c, "data.features.columns");
    for (const int32_t c : schema_.label) used_.emplace(c, "data.label");
    if (schema_.weight >= 0) used_.emplace(schema_.weight, "data.weight");
    if (schema_.validation >= 0) used_.emplace(schema_.validation, data_.validation.deciding_key());
    for (const auto& [column, field] : used_) ESPALIER_RETURN_IF_ERROR(CheckUse(column, field));
    const size_t own = first_.size() - partitions_.names.size();
    if (used_.begin()->first < static_cast<int32_t>(own)) return {};
    return InvalidArgument(
               "data.features.columns: all columns of the job are names of directories (expected "
               "at least one column of the files). Add one")
        .At({.file = first_path_});
  }

  static std::vector<std::string> NamesOf(const std::vector<ParquetColumn>& columns) {
    std::vector<std::string> names;
    for (const ParquetColumn& column : columns) names.push_back(column.name);
    return names;
  }

  HeaderRecord Record() const {
    HeaderRecord record = {.at = {.file = first_path_},
                           .directory_texts = {partitions_.texts.begin(), partitions_.texts.end()}};
    const auto is_nested = [](const ParquetColumn& column) {
      return column.family == ColumnFamily::kUnsupported;
    };
    // If these are the only columns, an error names the first of them with its type.
    const auto others = std::count_if(first_.begin(), first_.end(), std::not_fn(is_nested));
    const auto roles = static_cast<int64_t>(data_.label.size()) + (data_.weight ? 1 : 0) +
                       (data_.validation.deciding() ? 1 : 0);
    for (const ParquetColumn& column : first_) {
      if (is_nested(column) && others > roles) record.not_auto.push_back(column.name);
    }
    return record;
  }

  Status CheckUse(int32_t position, const std::string& field) const {
    const ParquetColumn& column = first_[position];
    const bool feature = field == "data.features.columns";
    if (column.family != ColumnFamily::kUnsupported && (feature || !column.vector)) return {};
    return InvalidArgument(
               field + ": column " + Quoted(column.name) + " of " + QuotedPath(first_path_) +
               " has the type " + column.type + " (expected " +
               (feature ? std::string("numbers, booleans, text, dates or lists of numbers)") +
                              advice::kUnsupported.training
                        : "one number, boolean or text per row)"))
        .At({.file = first_path_, .column = Printable(column.name)});
  }

  Status Differs(const std::string& path, const std::string& column, const std::string& what,
                 const std::string& more = "", const char* needed = "columns, in any order") const {
    return BadInput("column " + Quoted(column) + " of " + QuotedPath(path) + " " + what + " " +
                    QuotedPath(first_path_) + more + ". All files need the same " + needed)
        .At({.file = path, .column = Printable(column)});
  }

  Status Compare(const std::string& path) {
    for (const auto& [position, field] : used_) {
      const ParquetColumn& wanted = first_[position];
      const auto found = index_.find(wanted.name);
      if (found == index_.end()) {
        const auto near = Nearest(wanted.name, NamesOf(columns_));
        return Differs(path, wanted.name, "is missing, which is in",
                       near ? " (this file has " + Quoted(*near) + ")" : "");
      }
      const ParquetColumn& column = columns_[found->second];
      if (column.family == ColumnFamily::kNull && !wanted.vector) continue;
      if (wanted.family == ColumnFamily::kNull && !column.vector) {
        first_[position] = column;
        ESPALIER_RETURN_IF_ERROR(CheckUse(position, field));
        continue;
      }
      const bool same = column.family == wanted.family && column.vector == wanted.vector;
      const bool widths = column.width == wanted.width || column.width == 0 || wanted.width == 0;
      if (same && widths) continue;
      return Differs(path, wanted.name,
                     "holds " + KindAndType(column) + ", but " + KindAndType(wanted) + " in", "",
                     "kinds of columns");
    }
    std::vector<std::string> names;
    for (const ParquetColumn& column : columns_) names.push_back(column.name);
    if (!IsAuto(data_.features, names)) return {};
    for (const ParquetColumn& column : columns_) {
      if (column.family == ColumnFamily::kUnsupported) continue;
      const auto same = [&](const ParquetColumn& c) { return c.name == column.name; };
      if (std::none_of(first_.begin(), first_.end(), same)) {
        return Differs(path, column.name, "is not in");
      }
    }
    return {};
  }

  // Finds the widths of vectors in use that are not known yet.
  Status FindWidths(const spec::InputFile& file) {
    for (const auto& [position, field] : used_) {
      ParquetColumn& wanted = first_[position];
      if (!wanted.vector) continue;
      const size_t here = index_.at(wanted.name);
      if (wanted.width == 0) wanted.width = columns_[here].width;
      if (wanted.width == 0) {
        ESPALIER_ASSIGN_OR_RETURN(wanted.width, FirstWidth(file, places_[here]));
      }
      if (wanted.width <= static_cast<int64_t>(kColumnsMax)) continue;
      return BadInput("a list in column " + Quoted(wanted.name) + " of " + QuotedPath(file.path) +
                      " has " + std::to_string(wanted.width) + " numbers; at most " +
                      std::to_string(kColumnsMax) + " are supported")
          .At({.file = file.path, .column = Printable(wanted.name)});
    }
    return {};
  }

  // Returns the width of lists with variable length. Few files need a read of the column.
  Result<int64_t> FirstWidth(const spec::InputFile& file, int column) const {
    ESPALIER_ASSIGN_OR_RETURN(const auto opened, OpenUnchanged(files_, file));
    ESPALIER_ASSIGN_OR_RETURN(const auto parquet, ParquetFile::Open(*opened));
    return parquet->FirstWidth(column);
  }

  // Warns once. Without checksums, a flipped bit in a page can pass for a value.
  void WarnOfPages(const std::string& path) {
    if (std::exchange(warned_, true)) return;
    LogWarning("the pages of " + QuotedPath(path) +
               " have no checksums: damage inside them may go unnoticed (writers have a switch "
               "for them, such as parquet.page.write-checksum.enabled)");
  }

  Status Cut(const Outline& outline, int32_t file) {
    int64_t begin = 0;
    const std::vector<ParquetGroup>& groups = outline.groups;
    for (size_t i = 0; i < groups.size(); ++i) {
      const bool last = i + 1 == groups.size();
      const int64_t end = last ? outline.footer_begin : groups[i + 1].begin;
      if (!last && (end - begin < shard_bytes_ || end == groups[i].begin)) continue;
      plan_.shards.push_back({file, begin, end});
      begin = end;
    }
    return CheckShardCount(plan_.shards.size(), shard_bytes_);
  }

  // Replaces vectors in use by their elements, and resolves the spec against the result.
  Status ExpandSchema() {
    std::vector<std::string> names;
    std::vector<spec::ColumnRange> places;  // by column of the first file
    for (size_t c = 0; c < first_.size(); ++c) {
      const ParquetColumn& column = first_[c];
      const int64_t begin = static_cast<int64_t>(names.size());
      if (!column.vector || column.width == 0 || !used_.contains(static_cast<int32_t>(c))) {
        names.push_back(column.name);
      } else {
        for (int64_t i = 0; i < column.width; ++i) names.push_back(ElementName(column.name, i));
      }
      places.push_back({begin, static_cast<int64_t>(names.size()) - 1});
      if (names.size() > kColumnsMax) {
        return BadInput("the columns of " + QuotedPath(first_path_) +
                        ", with the elements of their lists, are more than the " +
                        std::to_string(kColumnsMax) + " that are supported" +
                        advice::kManyElements.training)
            .At({.file = first_path_, .column = Printable(column.name)});
      }
    }
    for (const auto& [position, field] : used_) {
      if (!first_[position].vector || first_[position].width > 0) continue;
      return BadInput("column " + Quoted(first_[position].name) + " of " + QuotedPath(first_path_) +
                      " holds lists, all of them empty or missing (expected lists of numbers)")
          .At({.file = first_path_, .column = Printable(first_[position].name)});
    }
    spec::DataSpec data = data_;
    std::map<std::string, size_t> by_name;
    for (size_t i = 0; i < first_.size(); ++i) by_name.emplace(first_[i].name, i);
    const auto place = [&](spec::ColumnRef& ref) {
      if (auto* p = std::get_if<int64_t>(&ref)) *p = places[*p].first;
    };
    for (spec::ColumnRef& label : data.label) place(label);
    if (data.weight) place(*data.weight);
    for (auto* column : {&data.validation.column, &data.validation.group, &data.validation.time}) {
      if (*column) place(**column);
    }
    const auto expand = [&](std::vector<spec::ColumnPattern>& columns) {
      for (spec::ColumnPattern& entry : columns) {
        if (auto* range = std::get_if<spec::ColumnRange>(&entry)) {
          entry = spec::ColumnRange{places[range->first].first, places[range->last].last};
        } else if (auto* p = std::get_if<int64_t>(&entry)) {
          entry = spec::ColumnRange(places[*p]);
        } else if (const auto found = by_name.find(std::get<std::string>(entry));
                   found != by_name.end() && first_[found->second].vector) {
          entry = spec::ColumnRange(places[found->second]);
        }
      }
    };
    expand(data.features.columns);
    expand(data.features.exclude);
    for (spec::FeatureGroup& group : data.features.groups) expand(group.columns);
    const bool is_auto = IsAuto(data.features, names);
    std::vector<spec::LeftOutColumn> left_out;
    ESPALIER_ASSIGN_OR_RETURN(plan_.schema, MakeSchema(data, std::move(names), Record()));
    plan_.schema.partitions = static_cast<int32_t>(partitions_.names.size());
    for (size_t c = 0; is_auto && c < first_.size(); ++c) {
      if (first_[c].family != ColumnFamily::kUnsupported) continue;
      left_out.push_back({static_cast<int32_t>(places[c].first), spec::LeftOutReason::kNested});
    }
    // Partitions come after the columns of the files.
    plan_.schema.left_out.insert(plan_.schema.left_out.begin(), left_out.begin(), left_out.end());
    return {};
  }

  const storage::FileSystem& files_;
  const spec::DataSpec& data_;
  const int64_t shard_bytes_;
  Partitions partitions_;
  spec::InputPlan& plan_;
  std::vector<ParquetColumn> columns_;             // columns of the current file
  std::unordered_map<std::string, size_t> index_;  // index of their names
  std::vector<int> places_;           // positions in the file, without partition columns
  std::set<std::string> noted_;       // columns of ShadowedText
  std::set<std::string> dotted_;      // names from FindDotted
  std::vector<ParquetColumn> first_;  // columns of the first file, with the widths found so far
  std::string first_path_;
  spec::Schema schema_;                  // over first_, where a vector is one column
  std::map<int32_t, std::string> used_;  // position in first_, field of the spec
  bool warned_ = false;
};

}  // namespace

Status PlanParquet(const storage::FileSystem& files, const spec::DataSpec& data,
                   int64_t shard_bytes, Partitions partitions, spec::InputPlan* plan) {
  return ParquetPlanner(files, data, shard_bytes, std::move(partitions), plan).Plan();
}

}  // namespace espalier::data
