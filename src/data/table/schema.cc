#include "src/data/table/schema.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "src/base/text.h"
#include "src/data/table/advice.h"
#include "src/data/table/number.h"
#include "src/data/table/row_words.h"
#include "src/storage/glob.h"

namespace espalier::data {
namespace {

constexpr size_t kColumnsListed = 10;

// Returns, for example, "the files have 3 columns: 'a', 'b', 'c'".
std::string ShownColumns(const std::vector<std::string>& names) {
  std::string out = "the files have " + Counted(std::ssize(names), "column") + ": ";
  for (size_t i = 0; i < names.size() && i < kColumnsListed; ++i) {
    out += (i ? ", " : "") + Quoted(names[i]);
  }
  return out + (names.size() > kColumnsListed ? ", ..." : "");
}

// Returns an error at the position of the whole record, about `column`.
Status RecordError(const HeaderRecord& record, const std::string& message,
                   const std::string& column = "") {
  InputPosition at = record.at;
  at.column = column;
  return InvalidArgument(message).At(std::move(at));
}

// Returns an error at the position of the record's field i, which holds `column`.
Status FieldError(const HeaderRecord& record, size_t i, const std::string& message,
                  const std::string& column) {
  InputPosition at = record.at;
  at.column = column;
  if (i < record.offsets.size()) at.offset = record.offsets[i];
  if (i < record.fields.size()) at.text = Printable(record.fields[i]);
  return InvalidArgument(message).At(std::move(at));
}

class Resolver {
 public:
  Resolver(const spec::DataSpec& data, const std::vector<std::string>& names,
           const HeaderRecord& record)
      : data_(data), names_(names), record_(record) {}

  Status IndexNames() {
    for (size_t i = 0; i < names_.size(); ++i) {
      const auto [at, added] = positions_.emplace(names_[i], static_cast<int32_t>(i));
      if (added) continue;
      if (names_[i].empty() && !IsBlankRun(names_[i])) {
        return Error(i, "the header has no name for columns " + std::to_string(at->second) +
                            " and " + std::to_string(i) + advice::kNoName.training);
      }
      return Error(
          i, "the header names " + Quoted(names_[i]) + " twice, in columns " +
                 std::to_string(at->second) + " and " + std::to_string(i) +
                 (IsBlankRun(names_[i]) ? std::string("; if runs of blanks divide the columns, ") +
                                              advice::kWhitespace.training
                                        : advice::kNamedTwice.training));
    }
    return {};
  }

  Result<int32_t> Find(const std::string& field, const spec::ColumnRef& column) const {
    if (const auto* position = std::get_if<int64_t>(&column)) return At(field, *position);
    const std::string& name = std::get<std::string>(column);
    if (const auto found = positions_.find(name); found != positions_.end()) return found->second;
    return RecordError(record_, field + ": " + NoSuchColumn(name, names_) + DelimiterHint(),
                       Printable(name));
  }

  Result<int32_t> At(const std::string& field, int64_t position) const {
    if (position >= 0 && position < static_cast<int64_t>(names_.size())) {
      return static_cast<int32_t>(position);
    }
    const std::string column = std::to_string(position);
    return RecordError(record_,
                       field + ": column " + column + " does not exist; the files have " +
                           Counted(std::ssize(names_), "column") + ", counted from 0",
                       column);
  }

  // Returns an error about a column of the files.
  Status Error(size_t column, const std::string& message) const {
    return FieldError(record_, column, message, Printable(names_[column]));
  }

  // Returns the columns of the features: those that the spec names, or all free ones. Then come
  // columns of groups that are not among them.
  Result<std::vector<int32_t>> Columns(const std::vector<bool>& taken) {
    std::vector<int32_t> found;
    ESPALIER_RETURN_IF_ERROR(FindGroups());
    ESPALIER_RETURN_IF_ERROR(FindExcluded());
    if (IsAuto(data_.features, names_)) {
      std::set<std::string> not_auto(record_.not_auto.begin(), record_.not_auto.end());
      not_auto.insert(record_.directory_texts.begin(), record_.directory_texts.end());
      for (size_t i = 0; i < names_.size(); ++i) {
        const bool grouped = group_of_[i] >= 0;
        const bool is_free = !taken[i] && !not_auto.contains(names_[i]) && !excluded_[i];
        if (grouped || is_free) found.push_back(static_cast<int32_t>(i));
      }
      return found;
    }
    ESPALIER_ASSIGN_OR_RETURN(found, Listed("data.features.columns", data_.features.columns));
    std::erase_if(found, [this](int32_t column) { return excluded_[static_cast<size_t>(column)]; });
    std::vector<bool> listed(names_.size());
    for (const int32_t column : found) listed[static_cast<size_t>(column)] = true;
    for (const int32_t column : grouped_) {
      if (!listed[static_cast<size_t>(column)]) found.push_back(column);
    }
    return found;
  }

  // Records why partitions with text are not features. `taken`: columns with another role.
  void AddLeftOut(const std::vector<bool>& taken, spec::Schema* schema) const {
    if (!IsAuto(data_.features, names_)) return;
    for (const std::string& name : record_.directory_texts) {
      const auto found = positions_.find(name);
      if (found == positions_.end()) continue;
      const auto c = static_cast<size_t>(found->second);
      if (taken[c] || excluded_[c] || group_of_[c] >= 0) continue;
      schema->left_out.push_back({found->second, spec::LeftOutReason::kDirectoryText});
    }
  }

  // Adds the features of the columns: one per column, or one per part of a date.
  void AddFeatures(const std::vector<int32_t>& columns, spec::Schema* schema) const {
    bool ruled = false;
    for (const int32_t column : columns) {
      const int32_t group = group_of_[static_cast<size_t>(column)];
      spec::FeatureRule rule{.group = group};
      std::vector<spec::DatePart> parts = {rule.part};
      if (group >= 0) {
        ruled = true;
        rule.type = data_.features.groups[static_cast<size_t>(group)].type;
        if (rule.type == spec::FeatureType::kDate) {
          parts = data_.features.groups[static_cast<size_t>(group)].parts;
        }
      }
      for (const spec::DatePart part : parts) {
        rule.part = part;
        schema->features.push_back(column);
        schema->rules.push_back(rule);
      }
    }
    if (!ruled) schema->rules.clear();
  }

  Result<std::vector<int32_t>> Listed(const std::string& field,
                                      const std::vector<spec::ColumnPattern>& entries) const {
    std::vector<int32_t> found;
    for (const auto& entry : entries) {
      if (found.size() > names_.size()) {  // ranges that overlap repeatedly
        return RecordError(record_, field + ": names columns more than once. Name each once");
      }
      if (const auto* range = std::get_if<spec::ColumnRange>(&entry)) {
        ESPALIER_ASSIGN_OR_RETURN(const int32_t first, At(field, range->first));
        ESPALIER_ASSIGN_OR_RETURN(const int32_t last, At(field, range->last));
        for (int32_t i = first; i <= last; ++i) found.push_back(i);
        continue;
      }
      const spec::ColumnRef column = std::holds_alternative<int64_t>(entry)
                                         ? spec::ColumnRef(std::get<int64_t>(entry))
                                         : spec::ColumnRef(std::get<std::string>(entry));
      ESPALIER_ASSIGN_OR_RETURN(const int32_t position, Find(field, column));
      found.push_back(position);
    }
    return found;
  }

  Status CheckFeatures(const spec::Schema& schema, const std::vector<int32_t>& columns) const {
    const std::string field = "data.features.columns: ";
    if (columns.empty()) {
      return RecordError(record_, field +
                                      "no column is left for features besides label, weight and "
                                      "validation marker; " +
                                      ShownColumns(names_));
    }
    std::vector<bool> seen(names_.size());
    for (const int32_t column : columns) {
      const std::string name = field + "column " + Quoted(names_[column]);
      if (seen[column]) return Error(column, name + " is named twice. Name it once");
      seen[column] = true;
      if (std::count(schema.label.begin(), schema.label.end(), column)) {
        return Error(column, name + " is the label. Leave it out");
      }
      if (column == schema.validation && data_.validation.column) {
        return Error(column,
                     name + " marks the validation rows (data.validation.column). Leave it out");
      }
    }
    return {};
  }

 private:
  // Finds the columns of features.exclude. Each entry must match a column.
  Status FindExcluded() {
    const std::string field = "data.features.exclude";
    excluded_.assign(names_.size(), false);
    for (const spec::ColumnPattern& entry : data_.features.exclude) {
      const auto* name = std::get_if<std::string>(&entry);
      std::vector<int32_t> columns;
      if (name != nullptr && !positions_.contains(*name) && IsPattern(*name)) {
        columns = Matching(*name);
        if (columns.empty()) {
          return RecordError(record_, field + ": no column matches " + Quoted(*name) + "; " +
                                          ShownColumns(names_));
        }
      } else {
        ESPALIER_ASSIGN_OR_RETURN(columns, Listed(field, {entry}));
      }
      for (const int32_t column : columns) {
        const auto c = static_cast<size_t>(column);
        excluded_[c] = true;
        if (group_of_[c] < 0) continue;
        return Error(c, field + ": column " + Quoted(names_[c]) + " is in groups[" +
                            std::to_string(group_of_[c]) + "]. Take it out of one of them");
      }
    }
    return {};
  }

  static bool IsPattern(const std::string& name) {
    return name.find_first_of("*?") != std::string::npos;
  }

  std::vector<int32_t> Matching(const std::string& name) const {
    std::string pattern;  // a bracket belongs to the name of a vector element
    for (const char c : name)
      pattern += c == '[' || c == '\\' ? std::string{'\\', c} : std::string{c};
    std::vector<int32_t> found;
    for (size_t i = 0; i < names_.size(); ++i) {
      if (storage::GlobMatches(pattern, names_[i])) found.push_back(static_cast<int32_t>(i));
    }
    return found;
  }

  // Returns whether the name is the empty text between two delimiters that are blanks.
  bool IsBlankRun(const std::string& name) const {
    const char delimiter = data_.csv.delimiter;
    return name.empty() && (delimiter == ' ' || delimiter == '\t') &&
           spec::FormatOf(data_) == spec::DataFormat::kCsv;
  }

  // Returns whether a first line of one field is not a header: the rows after it have several
  // fields, and not as many as the line has words.
  bool IsTitle(std::string_view line) const {
    const auto words = static_cast<size_t>(std::count(line.begin(), line.end(), ' ')) + 1;
    return record_.row_fields > 1 && words != record_.row_fields;
  }

  static std::string Shown(char delimiter) {
    if (delimiter == spec::CsvOptions::kBlanks) return "whitespace";
    return delimiter == '\t'     ? "\"\\t\""
           : delimiter == '\x01' ? "\"\\x01\""
                                 : "\"" + std::string(1, delimiter) + "\"";
  }

  // Returns a suggestion if each delimiter of the line is written twice: "a||b||c".
  static std::string DoubledHint(std::string_view line, char delimiter) {
    const std::string two(2, delimiter);
    int64_t pairs = 0;
    for (size_t at = line.find(two); at != line.npos; at = line.find(two, at + 2)) ++pairs;
    if (delimiter == ' ' || pairs == 0 || 2 * pairs != std::ranges::count(line, delimiter)) {
      return "";
    }
    return "; the delimiter seems to be \"" + two +
           "\", but only single bytes are supported. Write the file with another delimiter";
  }

  // Suggests a reading of a file whose header is one field: a comment, a title, or names that
  // another delimiter separates.
  std::string DelimiterHint() const {
    const bool csv = spec::FormatOf(data_) == spec::DataFormat::kCsv;
    if (names_.size() != 1 || !csv || !data_.csv.header) return "";
    std::string_view line = names_[0];
    if (line.starts_with('#') && line.find_first_of(";\t|,") == line.npos) {
      return std::string("; the first line seems to be a comment") + advice::kComment.training;
    }
    if (line.find(data_.csv.delimiter) != line.npos) {
      return "; the whole line is one field in quotes. Take the quotes around the lines out of the "
             "file";
    }
    for (const char delimiter : {';', '\t', '|', ',', '\x01', '^', '~', ':', ' '}) {
      if (line.find(delimiter) == line.npos) continue;
      if (std::string hint = DoubledHint(line, delimiter); !hint.empty()) return hint;
      if (delimiter == ' ' && IsTitle(line)) break;
      const bool runs = line.find("  ") != line.npos || line.find(" \t") != line.npos;
      if (delimiter == ' ' && runs) {
        return std::string("; runs of blanks seem to divide the columns: ") +
               advice::kWhitespace.training;
      }
      return "; the delimiter seems to be " + Shown(delimiter) + ", not " +
             Shown(data_.csv.delimiter) + advice::kDelimiter.training;
    }
    if (!IsTitle(line)) return "";
    return "; the rows after the first line have " + std::to_string(record_.row_fields) +
           " fields, so it seems to be a title. Take it out of the file";
  }

  // Finds the group of each column.
  Status FindGroups() {
    group_of_.assign(names_.size(), -1);
    for (size_t g = 0; g < data_.features.groups.size(); ++g) {
      const std::string field = "data.features.groups[" + std::to_string(g) + "].columns";
      ESPALIER_ASSIGN_OR_RETURN(const std::vector<int32_t> columns,
                                Listed(field, data_.features.groups[g].columns));
      for (const int32_t column : columns) {
        int32_t& group = group_of_[static_cast<size_t>(column)];
        if (group >= 0) {
          return Error(static_cast<size_t>(column),
                       field + ": column " + Quoted(names_[static_cast<size_t>(column)]) +
                           " is already in groups[" + std::to_string(group) +
                           "]. Name it in one group, once");
        }
        group = static_cast<int32_t>(g);
        grouped_.push_back(column);
      }
    }
    return {};
  }

  std::vector<int32_t> group_of_;  // by column; -1: none
  std::vector<int32_t> grouped_;   // columns, in the order of the groups
  std::vector<bool> excluded_;     // by column
  const spec::DataSpec& data_;
  const std::vector<std::string>& names_;
  const HeaderRecord& record_;
  std::map<std::string, int32_t> positions_;
};

}  // namespace

std::string NoSuchColumn(const std::string& name, const std::vector<std::string>& names) {
  const auto near = Nearest(name, names);
  return "column " + Quoted(name) + " does not exist; " + ShownColumns(names) +
         (near ? "; did you mean " + Quoted(*near) + "?" : "");
}

Result<spec::Schema> MakeSchema(const spec::DataSpec& data, std::vector<std::string> names,
                                const HeaderRecord& record) {
  if (names.size() > kColumnsMax) {
    return RecordError(record, "the files have " + std::to_string(names.size()) +
                                   " columns; at most " + std::to_string(kColumnsMax) +
                                   " are supported: is this a table, one row per line?");
  }
  spec::Schema schema;
  schema.names = std::move(names);
  Resolver resolver(data, schema.names, record);
  ESPALIER_RETURN_IF_ERROR(resolver.IndexNames());
  std::vector<bool> taken(schema.names.size());
  for (const spec::ColumnRef& label : data.label) {
    ESPALIER_ASSIGN_OR_RETURN(const int32_t column, resolver.Find("data.label", label));
    if (taken[column]) {
      return resolver.Error(column, "data.label: column " + Quoted(schema.names[column]) +
                                        " is named twice. Name it once");
    }
    taken[column] = true;
    schema.label.push_back(column);
  }
  if (data.weight) {
    ESPALIER_ASSIGN_OR_RETURN(schema.weight, resolver.Find("data.weight", *data.weight));
    taken[schema.weight] = true;
  }
  if (const auto& column = data.validation.deciding()) {
    ESPALIER_ASSIGN_OR_RETURN(schema.validation,
                              resolver.Find(data.validation.deciding_key(), *column));
    taken[schema.validation] = true;
  }
  ESPALIER_ASSIGN_OR_RETURN(const std::vector<int32_t> columns, resolver.Columns(taken));
  ESPALIER_RETURN_IF_ERROR(resolver.CheckFeatures(schema, columns));
  resolver.AddFeatures(columns, &schema);
  resolver.AddLeftOut(taken, &schema);
  return schema;
}

std::optional<size_t> OnlyText(const std::vector<std::string>& names) {
  std::optional<size_t> text;
  for (size_t i = 0; i < names.size(); ++i) {
    double value = 0;
    if (ParseNumberSlowly(names[i], &value) != NumberKind::kNotNumber) continue;
    if (text) return std::nullopt;
    text = i;
  }
  return text;
}

Status CheckHeaderTexts(const HeaderRecord& header) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  for (size_t i = 0; i < header.fields.size(); ++i) {
    const std::string& name = header.fields[i];
    if (const auto fault = Utf8Fault(name)) {
      return FieldError(header, i, "the header: " + *fault, Printable(name));
    }
    if (name.starts_with(kMark)) {
      return FieldError(header, i,
                        "the name of a column starts with a byte order mark, as if the file had "
                        "two. Take this mark out of the file",
                        Printable(name));
    }
    if (name.find('\r') != std::string::npos && name.find('\n') == std::string::npos) {
      return FieldError(header, i,
                        "the name of a column contains a carriage return, as if the file mixed "
                        "line ends. Write all line ends in the same way",
                        Printable(name));
    }
  }
  return {};
}

Status CheckHeaderNames(const spec::DataSpec& data, const HeaderRecord& header) {
  const std::vector<std::string>& names = header.fields;
  size_t numbers = 0, texts = 0;
  for (const std::string& name : names) {
    double value = 0;
    const NumberKind kind = ParseNumberSlowly(name, &value);
    texts += kind == NumberKind::kNotNumber;
    if (texts > (header.text_recurs ? 1 : 0)) return {};
    numbers += kind == NumberKind::kNumber;
  }
  const bool positions = names.size() > 2 && names == PositionNames(names.size());  // as in pandas
  if (numbers == 0 || positions) return {};
  const auto is_used = [&names](const auto& column) {
    const auto* name = std::get_if<std::string>(&column);
    return name != nullptr && std::count(names.begin(), names.end(), *name) > 0;
  };
  const auto& columns = data.features.columns;
  if (std::any_of(data.label.begin(), data.label.end(), is_used) ||
      std::any_of(columns.begin(), columns.end(), is_used)) {
    return {};
  }
  return RecordError(header, std::string("the first line names columns with numbers") +
                                 (texts > 0 ? " and a value of a column" : " only") +
                                 ", so it seems to be data" + advice::kNoHeader.training);
}

bool IsAuto(const spec::FeatureSpec& features, const std::vector<std::string>& names) {
  const std::vector<spec::ColumnPattern>& columns = features.columns;
  if (columns.empty()) return true;
  const std::string word = "auto";
  return columns.size() == 1 && columns[0] == spec::ColumnPattern(word) &&
         std::find(names.begin(), names.end(), word) == names.end();
}

std::vector<std::string> PositionNames(size_t columns) {
  std::vector<std::string> names;
  names.reserve(columns);
  for (size_t i = 0; i < columns; ++i) names.push_back(std::to_string(i));
  return names;
}

Result<std::vector<int32_t>> MatchHeader(const spec::Schema& schema, const HeaderRecord& header,
                                         const std::string& first_file) {
  const std::vector<std::string>& names = header.fields;
  if (names == schema.names) return std::vector<int32_t>();
  std::map<std::string_view, int32_t> positions;
  for (size_t i = 0; i < schema.names.size(); ++i) {
    positions.emplace(schema.names[i], static_cast<int32_t>(i));
  }
  std::vector<int32_t> columns;
  std::vector<int32_t> found(schema.names.size(), -1);
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string has =
        "the header has " + Quoted(names[i]) + " in column " + std::to_string(i);
    const auto at = positions.find(names[i]);
    if (at == positions.end()) {
      const auto near = Nearest(names[i], schema.names);
      return FieldError(header, i,
                        has + ", which " + QuotedPath(first_file) + " does not have" +
                            (near ? " (it has " + Quoted(*near) + ")" : "") +
                            ". All files need the same columns, in any order",
                        Printable(names[i]));
    }
    int32_t& place = found[at->second];
    if (place >= 0) {
      return FieldError(header, i,
                        has + " and in column " + std::to_string(place) +
                            ". All files need the same columns, each once",
                        Printable(names[i]));
    }
    place = static_cast<int32_t>(i);
    columns.push_back(at->second);
  }
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i] >= 0) continue;
    return RecordError(header,
                       "the header has no column " + Quoted(schema.names[i]) + ", which " +
                           QuotedPath(first_file) +
                           " has. All files need the same columns, in any order",
                       Printable(schema.names[i]));
  }
  return columns;
}

std::vector<size_t> TakeColumns(HeaderRecord* header, const std::vector<std::string>& names) {
  std::vector<size_t> taken;
  std::vector<std::string> fields;
  std::vector<int64_t> offsets;
  for (size_t i = 0; i < header->fields.size(); ++i) {
    if (std::binary_search(names.begin(), names.end(), header->fields[i])) {
      taken.push_back(i);
      continue;
    }
    fields.push_back(std::move(header->fields[i]));
    if (i < header->offsets.size()) offsets.push_back(header->offsets[i]);
  }
  header->fields = std::move(fields);
  header->offsets = std::move(offsets);
  return taken;
}

std::vector<int32_t> WithTakenColumns(std::vector<int32_t> columns, size_t count,
                                      const std::vector<size_t>& taken) {
  if (taken.empty()) return columns;
  if (columns.empty()) {
    for (size_t i = 0; i < count; ++i) columns.push_back(static_cast<int32_t>(i));
  }
  for (const size_t i : taken) {
    columns.insert(columns.begin() + static_cast<int64_t>(i), spec::InputFile::kLeftOut);
  }
  return columns;
}

bool UsesPositions(const spec::DataSpec& data) {
  const auto position = [](const auto& column) {
    return !std::holds_alternative<std::string>(column);
  };
  const auto any = [&](const auto& columns) {
    return std::any_of(columns.begin(), columns.end(), position);
  };
  return any(data.label) || any(data.features.columns) || (data.weight && position(*data.weight)) ||
         (data.validation.deciding() && position(*data.validation.deciding())) ||
         std::any_of(data.features.groups.begin(), data.features.groups.end(),
                     [&](const spec::FeatureGroup& group) { return any(group.columns); });
}

spec::Schema InFileOrder(const spec::Schema& schema, const std::vector<int32_t>& columns) {
  if (columns.empty()) return schema;
  std::vector<int32_t> place(columns.size());
  spec::Schema out;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i] < 0) {
      out.names.emplace_back(1, '\0');
      continue;
    }
    place[columns[i]] = static_cast<int32_t>(i);
    out.names.push_back(schema.names[columns[i]]);
  }
  const auto moved = [&place](int32_t column) { return column < 0 ? column : place[column]; };
  for (const int32_t column : schema.features) out.features.push_back(moved(column));
  out.rules = schema.rules;
  for (const int32_t column : schema.label) out.label.push_back(moved(column));
  out.weight = moved(schema.weight);
  out.validation = moved(schema.validation);
  out.partitions = schema.partitions;
  return out;
}

}  // namespace espalier::data
