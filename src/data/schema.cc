#include "src/data/schema.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "src/base/text.h"

namespace espalier {
namespace {

std::string Quoted(const std::string& text) { return "'" + Printable(text) + "'"; }

class Resolver {
 public:
  Resolver(const DataSpec& data, const std::vector<std::string>& names)
      : data_(data), names_(names) {}

  Status IndexNames() {
    for (size_t i = 0; i < names_.size(); ++i) {
      const auto [at, added] = positions_.emplace(names_[i], static_cast<int32_t>(i));
      if (added) continue;
      return InvalidArgument("the header names " + Quoted(names_[i]) + " twice, in columns " +
                             std::to_string(at->second) + " and " + std::to_string(i) +
                             "; rename one, or set csv.header: false if the first line is data");
    }
    return {};
  }

  Result<int32_t> Find(const std::string& field, const ColumnRef& column) const {
    if (const auto* position = std::get_if<int64_t>(&column)) return At(field, *position);
    const std::string& name = std::get<std::string>(column);
    if (const auto found = positions_.find(name); found != positions_.end()) return found->second;
    std::string message = field + ": there is no column " + Quoted(name) + "; ";
    if (const auto near = Nearest(name, names_)) {
      return InvalidArgument(message + "did you mean " + Quoted(*near) + "?");
    }
    message += "the files have " + std::to_string(names_.size()) + " columns: ";
    for (size_t i = 0; i < names_.size() && i < 12; ++i) {
      message += (i ? ", " : "") + Quoted(names_[i]);
    }
    return InvalidArgument(message + (names_.size() > 12 ? ", ..." : ""));
  }

  Result<int32_t> At(const std::string& field, int64_t position) const {
    if (position >= 0 && position < static_cast<int64_t>(names_.size())) {
      return static_cast<int32_t>(position);
    }
    return InvalidArgument(field + ": there is no column " + std::to_string(position) +
                           "; the files have " + std::to_string(names_.size()) +
                           " columns, counted from 0");
  }

  // The features the spec names, or all that are free.
  Result<std::vector<int32_t>> Features(const std::vector<bool>& taken) const {
    std::vector<int32_t> found;
    const std::string field = "data.features.columns";
    if (data_.features.columns.empty()) {
      for (size_t i = 0; i < names_.size(); ++i) {
        if (!taken[i]) found.push_back(static_cast<int32_t>(i));
      }
      return found;
    }
    for (const auto& entry : data_.features.columns) {
      if (const auto* range = std::get_if<ColumnRange>(&entry)) {
        ESPALIER_ASSIGN_OR_RETURN(const int32_t first, At(field, range->first));
        ESPALIER_ASSIGN_OR_RETURN(const int32_t last, At(field, range->last));
        for (int32_t i = first; i <= last; ++i) found.push_back(i);
        continue;
      }
      const ColumnRef column = std::holds_alternative<int64_t>(entry)
                                   ? ColumnRef(std::get<int64_t>(entry))
                                   : ColumnRef(std::get<std::string>(entry));
      ESPALIER_ASSIGN_OR_RETURN(const int32_t position, Find(field, column));
      found.push_back(position);
    }
    return found;
  }

 private:
  const DataSpec& data_;
  const std::vector<std::string>& names_;
  std::map<std::string, int32_t> positions_;
};

Status CheckFeatures(const Schema& schema) {
  const std::string field = "data.features.columns";
  if (schema.features.empty()) {
    return InvalidArgument(field + ": no column is left for features; the files have " +
                           std::to_string(schema.names.size()) + " columns");
  }
  std::vector<bool> seen(schema.names.size());
  for (const int32_t column : schema.features) {
    const std::string name = Quoted(schema.names[column]);
    if (seen[column]) return InvalidArgument(field + ": column " + name + " is named twice");
    seen[column] = true;
    if (std::count(schema.label.begin(), schema.label.end(), column)) {
      return InvalidArgument(field + ": column " + name + " is the label; leave it out");
    }
    if (column == schema.validation) {
      return InvalidArgument(field + ": column " + name +
                             " marks the validation rows (data.validation.column); leave it out");
    }
  }
  return {};
}

}  // namespace

Result<Schema> MakeSchema(const DataSpec& data, std::vector<std::string> names) {
  if (names.size() > kColumnsMax) {
    return InvalidArgument("the files have " + std::to_string(names.size()) + " columns; at most " +
                           std::to_string(kColumnsMax) + " are supported");
  }
  Schema schema;
  schema.names = std::move(names);
  Resolver resolver(data, schema.names);
  ESPALIER_RETURN_IF_ERROR(resolver.IndexNames());
  std::vector<bool> taken(schema.names.size());
  for (const ColumnRef& label : data.label) {
    ESPALIER_ASSIGN_OR_RETURN(const int32_t column, resolver.Find("data.label", label));
    if (taken[column]) {
      return InvalidArgument("data.label: column " + Quoted(schema.names[column]) +
                             " is named twice");
    }
    taken[column] = true;
    schema.label.push_back(column);
  }
  if (data.weight) {
    ESPALIER_ASSIGN_OR_RETURN(schema.weight, resolver.Find("data.weight", *data.weight));
    taken[schema.weight] = true;
  }
  if (data.validation.column) {
    ESPALIER_ASSIGN_OR_RETURN(schema.validation,
                              resolver.Find("data.validation.column", *data.validation.column));
    taken[schema.validation] = true;
  }
  ESPALIER_ASSIGN_OR_RETURN(schema.features, resolver.Features(taken));
  ESPALIER_RETURN_IF_ERROR(CheckFeatures(schema));
  return schema;
}

std::vector<std::string> PositionNames(size_t columns) {
  std::vector<std::string> names;
  names.reserve(columns);
  for (size_t i = 0; i < columns; ++i) names.push_back(std::to_string(i));
  return names;
}

Status CheckHeader(const Schema& schema, const std::vector<std::string>& names,
                   const std::string& first_file) {
  for (size_t i = 0; i < std::min(names.size(), schema.names.size()); ++i) {
    if (names[i] == schema.names[i]) continue;
    return InvalidArgument("the header has " + Quoted(names[i]) + " in column " +
                           std::to_string(i) + ", expected " + Quoted(schema.names[i]) +
                           " as in '" + first_file +
                           "'; all files need the same columns in the "
                           "same order");
  }
  if (names.size() == schema.names.size()) return {};
  return InvalidArgument("the header has " + std::to_string(names.size()) + " columns, expected " +
                         std::to_string(schema.names.size()) + " as in '" + first_file + "'");
}

}  // namespace espalier
