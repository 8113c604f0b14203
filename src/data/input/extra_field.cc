#include "src/data/input/extra_field.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <variant>
#include <vector>

#include "src/base/text.h"
#include "src/data/table/advice.h"
#include "src/data/table/number.h"

namespace espalier::data {
namespace {

// Returns the position that a text of digits means. -1: not a position.
int64_t PositionOf(const std::string& text) {
  int64_t position = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), position);
  return error == std::errc() && end == text.data() + text.size() ? position : -1;
}

bool AreDigits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Returns whether a key names the column at `position`, or a later one, in files without a header.
bool UsesColumn(const spec::DataSpec& data, int64_t position) {
  const auto reaches = [position](const auto& column) {
    using Column = std::decay_t<decltype(column)>;
    if constexpr (std::is_same_v<Column, spec::ColumnPattern>) {
      if (const auto* range = std::get_if<spec::ColumnRange>(&column)) {
        return range->last >= position;
      }
    }
    if (const auto* number = std::get_if<int64_t>(&column)) return *number >= position;
    const auto* text = std::get_if<std::string>(&column);
    return text != nullptr && PositionOf(*text) >= position;
  };
  const auto any = [&](const auto& columns) {
    for (const auto& column : columns) {
      if (reaches(column)) return true;
    }
    return false;
  };
  bool used = any(data.label) || any(data.features.columns) ||
              (data.weight && reaches(*data.weight)) ||
              (data.validation.deciding() && reaches(*data.validation.deciding()));
  for (const spec::FeatureGroup& group : data.features.groups) used = used || any(group.columns);
  return used;
}

Status Ambiguous(const HeaderRecord& record, size_t names, const FirstRecords& first) {
  InputPosition at = record.at;
  at.column = "";
  const std::string rows = "each of the first " + std::to_string(first.records()) + " rows has ";
  const std::string extra = first.ends_empty() ? "ends with a delimiter and starts with its number"
                            : first.may_split_number()
                                ? "has two fields that may be one number with a decimal comma"
                                : "has text in all of them";
  return InvalidArgument((first.records() == 1 ? "the first row has " : rows) +
                         std::to_string(names + 1) + " fields, the header has " +
                         std::to_string(names) + " names, and " +
                         (first.records() == 1 ? "the row " : "each row ") + extra +
                         advice::kExtraField.training)
      .At(std::move(at));
}

Status PositionsAndRowNames(const HeaderRecord& record) {
  InputPosition at = record.at;
  at.column = "";
  return InvalidArgument(
             "the rows start with a field without a name in the header (the row names of R), and "
             "the job specifies columns by position. Specify their names in data.label and "
             "data.features")
      .At(std::move(at));
}

}  // namespace

void FirstRecords::Add(const RecordReader& reader) {
  fields_ = records_ == 0 || fields_ == reader.fields() ? reader.fields() : 0;
  ends_empty_ = ends_empty_ && Trimmed(reader.field(reader.fields() - 1)).empty();
  const std::string_view field = reader.field(0);
  const int64_t number = PositionOf(std::string(Trimmed(field)));
  if (records_ == 0) first_number_ = number;
  const bool starts = first_number_ == 0 || first_number_ == 1;
  counted_ = counted_ && starts && number == first_number_ + records_;
  const bool quoted = reader.fields() > 1 && reader.field_offset(1) - reader.field_offset(0) ==
                                                 static_cast<int64_t>(field.size()) + 3;
  named_ = named_ && quoted && names_.emplace(field).second;
  if (counted_) AddPairs(reader);
  ++records_;
}

void FirstRecords::AddPairs(const RecordReader& reader) {
  pairs_.resize(reader.fields() - 1);
  for (size_t i = 1; i < pairs_.size(); ++i) {  // the first field is a row number
    Pair& pair = pairs_[i];
    std::string_view whole = reader.field(i), digits = reader.field(i + 1);
    if (whole.starts_with('-')) whole.remove_prefix(1);
    pair.digits = pair.digits && AreDigits(whole) && AreDigits(digits);
    if (!pair.digits) continue;
    pair.leads_with_zero = pair.leads_with_zero || (digits.size() > 1 && digits.front() == '0');
    if (records_ == 0) pair.length = digits.size();
    pair.same_length = pair.same_length && digits.size() == pair.length;
  }
}

// Decimals often have a fixed number of digits. Whole numbers of another column do not begin with
// zeros.
bool FirstRecords::may_split_number() const {
  if (!counted_ || pairs_.empty()) return false;
  return std::any_of(pairs_.begin() + 1, pairs_.end(), [](const Pair& pair) {
    return pair.digits && (pair.leads_with_zero || (pair.same_length && pair.length > 1));
  });
}

Result<Extra> FindExtraField(const spec::DataSpec& data, bool header, const HeaderRecord& record,
                             const FirstRecords& first) {
  const spec::ExtraField wanted = data.csv.extra_field;
  const size_t fields = record.fields.size();
  if (wanted == spec::ExtraField::kNone || fields < 2) return Extra::kNone;
  if (!header) {
    const bool used = UsesColumn(data, static_cast<int64_t>(fields) - 1);
    const bool open = first.fields() == fields && first.ends_empty() && !used;
    return open || wanted == spec::ExtraField::kLast ? Extra::kLast : Extra::kNone;
  }
  const bool open = Trimmed(record.fields.back()).empty();
  if (open && first.records() == 0) return Extra::kLast;
  const size_t names = open ? fields - 1 : fields;
  if (open && first.fields() == names) return Extra::kOpenHeader;
  if (first.fields() != names + 1) return Extra::kNone;
  if (wanted == spec::ExtraField::kLast) return Extra::kLast;
  if (wanted == spec::ExtraField::kAuto) {
    if (first.ends_empty() && (open || !first.is_counted())) return Extra::kLast;
    if (open) return Extra::kNone;
    const bool counted = first.is_counted() && !first.may_split_number();
    if (first.ends_empty() || !(counted || first.is_named())) {
      return Ambiguous(record, names, first);
    }
  }
  if (UsesPositions(data)) return PositionsAndRowNames(record);
  return Extra::kFirst;
}

std::string ExtraFieldText(const std::string& path, Extra extra) {
  const std::string which =
      extra == Extra::kFirst
          ? "the rows of " + QuotedPath(path) +
                " have one field more than the header has names; the first field, the row names "
                "of R, is left out"
          : "the lines of " + QuotedPath(path) +
                " end with a delimiter; the empty field after it is left out";
  return which + advice::kFieldLeftOut.training;
}

}  // namespace espalier::data
