// Glob patterns over file names. Thread rule: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace espalier::storage {

// Returns whether `text` contains * ? [ or {.
bool HasGlob(std::string_view text);

// Returns kInvalidArgument with advice if a segment of the pattern is `**`. Wildcards match within
// one directory level. `shown`: the pattern as the user wrote it.
Status CheckLevels(std::string_view pattern, const std::string& shown);

// Expands {a,b}, which may be nested: "x{1,2}" -> "x1", "x2". Returns at most 1000 patterns.
Result<std::vector<std::string>> ExpandBraces(const std::string& pattern);

// Returns whether the whole `name` matches `pattern`. * is any sequence of bytes, ? any byte, [a-z]
// one of these, [!a-z] none of these, \ the next byte itself. Time is linear in the length of the
// name times the number of stars.
bool GlobMatches(std::string_view pattern, std::string_view name);

// Returns whether listings skip the name: `_SUCCESS`, `.part.crc`, `x._COPYING_`.
bool IsHiddenName(std::string_view name);

// Returns whether the name is a partition directory, as Hive and Spark write it: `name=value`.
bool IsPartitionName(std::string_view name);

}  // namespace espalier::storage
