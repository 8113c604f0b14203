// Which columns of the files a job uses. Thread rule: pure functions.
#pragma once

#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"

namespace espalier {

// A file with more columns is taken for something else than a table.
inline constexpr size_t kColumnsMax = 1 << 20;

// Resolves the spec's columns against the header: text is a name where there is a header, an
// integer a 0-based position always. `columns: auto` takes every column that is not label, weight
// or validation marker. Errors (kInvalidArgument, with the nearest name where one is near): names
// that occur twice, columns that are missing or out of range, a feature named twice, the label or
// the validation marker among the features, no features.
Result<Schema> MakeSchema(const DataSpec& data, std::vector<std::string> names);

// Names for files without header: "0", "1", ...
std::vector<std::string> PositionNames(size_t columns);

// OK when a further file's header is the same. The message says where they part.
Status CheckHeader(const Schema& schema, const std::vector<std::string>& names,
                   const std::string& first_file);

}  // namespace espalier
