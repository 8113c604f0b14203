// Which columns of the files a job uses. Thread rule: pure functions.
#pragma once

#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"

namespace espalier::data {

// A file with more columns is taken for something else than a table.
inline constexpr size_t kColumnsMax = 1 << 20;

// The first record of a file, and where it is: what errors about columns point at.
struct HeaderRecord {
  std::vector<std::string> fields;
  std::vector<int64_t> offsets;  // of each field, bytes in the file
  InputPosition at;              // of the record
  // Names of further columns that `columns: auto` leaves out: partitions that are not numbers, and
  // columns of Parquet that have not one value a row.
  std::vector<std::string> not_auto = {};
};

// Resolves the spec's columns against the header: text is a name where there is a header, an
// integer a 0-based position always. `columns: auto` takes every column that is not label, weight
// or validation marker. Errors (kInvalidArgument, with the nearest name where one is near): names
// that occur twice, columns that are missing or out of range, a feature named twice, the label or
// the validation marker among the features, no features. They carry the place of the record, or of
// its field that is at fault, the column and the text found there.
Result<spec::Schema> MakeSchema(const spec::DataSpec& data, std::vector<std::string> names,
                                const HeaderRecord& record = {});

// Whether data.features.columns is auto: it is empty, or it is the text "auto" and no column has
// that name. JSON has no other way to write the keyword.
bool IsAuto(const spec::FeatureSpec& features, const std::vector<std::string>& names);

// kInvalidArgument: the names are numbers, so that the header seems to be a row. "0", "1", "2" and
// so on are names, and so are those that the spec uses.
Status CheckHeaderNames(const spec::DataSpec& data, const HeaderRecord& header);

// Names for files without header: "0", "1", ...
std::vector<std::string> PositionNames(size_t columns);

// How a further file's columns stand in the schema, by name: for each column of the file its
// position there (InputFile::columns); empty when the order is the same. The header must have the
// same names, each once, in any order; the error says which is missing, unknown or there twice.
Result<std::vector<int32_t>> MatchHeader(const spec::Schema& schema, const HeaderRecord& header,
                                         const std::string& first_file);

// Takes the columns `names` out of a header: fields that the file's directories give too. Returns
// their positions, ascending.
std::vector<size_t> TakeColumns(HeaderRecord* header, const std::vector<std::string>& names);

// Adds the positions that TakeColumns returned to InputFile::columns, as kLeftOut. `columns`: those
// of the other fields, or nothing for their order, of which there are `count`.
std::vector<int32_t> WithTakenColumns(std::vector<int32_t> columns, size_t count,
                                      const std::vector<size_t>& taken);

// Whether the spec names a column by its position.
bool UsesPositions(const spec::DataSpec& data);

// The schema as it is for a file with these InputFile::columns. Columns that it does not use have
// names that no file can have.
spec::Schema InFileOrder(const spec::Schema& schema, const std::vector<int32_t>& columns);

}  // namespace espalier::data
