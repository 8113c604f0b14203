// Glob patterns over file names. Thread rule: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace espalier::storage {

// True when `text` holds one of * ? [ {.
bool HasGlob(std::string_view text);

// Writes out {a,b} (they may nest): "x{1,2}" -> "x1", "x2". At most 1000 patterns result.
Result<std::vector<std::string>> ExpandBraces(const std::string& pattern);

// Whether the whole of `name` matches `pattern`: * any run of bytes, ? any byte, [a-z] one of,
// [!a-z] none of, \ the next byte itself. Linear in name times number of stars.
bool GlobMatches(std::string_view pattern, std::string_view name);

// Names that listings leave out: `_SUCCESS`, `.part.crc`, `x._COPYING_`.
bool IsHiddenName(std::string_view name);

// Names of directories as Hive and Spark write partitions: `name=value`.
bool IsPartitionName(std::string_view name);

}  // namespace espalier::storage
