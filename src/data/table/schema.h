// Selects the columns of the files that a job uses. Thread rule: pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"

namespace espalier::data {

// Maximum number of columns. A file with more is not considered a table.
inline constexpr size_t kColumnsMax = 1 << 20;

// First record of a file and its position. Errors about columns refer to it.
struct HeaderRecord {
  std::vector<std::string> fields;
  std::vector<int64_t> offsets;  // byte offset of each field in the file
  InputPosition at;              // position of the record
  // Names of further columns that `columns: auto` leaves out: Parquet columns that do not have
  // exactly one value per row, and partitions that are not numbers.
  std::vector<std::string> not_auto = {}, directory_texts = {};
  // The field OnlyText is also a value of its column in the first rows.
  bool text_recurs = false;
  size_t row_fields = 0;  // number of fields in each of the first rows; 0: unknown, or they differ
};

// Returns the message for a column that is not among the columns of the files: it lists them, and
// suggests the nearest one.
std::string NoSuchColumn(const std::string& name, const std::vector<std::string>& names);

// Resolves the spec's columns against the header. A text is a name if the file has a header. An
// integer is always a 0-based position. `columns: auto` selects every column that is not a label,
// the weight or the validation marker.
//
// Errors (kInvalidArgument): duplicate names, missing or out-of-range columns, a feature named
// twice, the label or the validation marker among the features, no features. The message contains
// the nearest name if one is close. The error carries the position of the record or of the faulty
// field, the column and the text found there.
Result<spec::Schema> MakeSchema(const spec::DataSpec& data, std::vector<std::string> names,
                                const HeaderRecord& record = {});

// Returns whether data.features.columns is auto: it is empty, or it is the text "auto" and no
// column has that name. JSON has no other way to write the keyword.
bool IsAuto(const spec::FeatureSpec& features, const std::vector<std::string>& names);

// Returns the position of the only name that is not a number, if all others are. Otherwise nothing.
std::optional<size_t> OnlyText(const std::vector<std::string>& names);

// Returns kInvalidArgument for a name that is not UTF-8, or has a byte order mark or a carriage
// return that is not part of a line break.
Status CheckHeaderTexts(const HeaderRecord& header);

// Returns kInvalidArgument if the names are numbers, so that the header appears to be a row of
// data. One name may be a text if it recurs in its column, such as the label. The names "0", "1",
// "2" and so on are valid, as are names that the spec uses.
Status CheckHeaderNames(const spec::DataSpec& data, const HeaderRecord& header);

// Returns the names for files without a header: "0", "1", ...
std::vector<std::string> PositionNames(size_t columns);

// Maps another file's columns to the schema by name. Returns the schema position of each column of
// the file (InputFile::columns), or nothing if the order is the same. The header must have the same
// names, each once, in any order. The error names the column that is missing, unknown or duplicate.
Result<std::vector<int32_t>> MatchHeader(const spec::Schema& schema, const HeaderRecord& header,
                                         const std::string& first_file);

// Removes the columns `names` from a header, because the file's directories also provide them.
// Returns their positions, ascending.
std::vector<size_t> TakeColumns(HeaderRecord* header, const std::vector<std::string>& names);

// Adds the positions that TakeColumns returned to InputFile::columns, as kLeftOut. `columns`:
// positions of the other `count` fields; empty: they are in schema order.
std::vector<int32_t> WithTakenColumns(std::vector<int32_t> columns, size_t count,
                                      const std::vector<size_t>& taken);

// Returns whether the spec names a column by its position.
bool UsesPositions(const spec::DataSpec& data);

// Returns the schema in the column order of a file with these InputFile::columns. Columns that the
// schema does not use get names that cannot occur in a file.
spec::Schema InFileOrder(const spec::Schema& schema, const std::vector<int32_t>& columns);

}  // namespace espalier::data
