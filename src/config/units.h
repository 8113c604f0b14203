// Amounts with units, as in YAML and on command lines. Each function returns nothing if the text is
// not a valid amount.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "src/spec/job_spec.h"

namespace espalier::config {

// Parses a finite decimal number: "3", "-0.5", "1e-3".
std::optional<double> ParseReal(std::string_view text);
// Parses an integer in the range of the type, without fraction and exponent.
std::optional<int64_t> ParseWhole(std::string_view text);
std::optional<uint64_t> ParseUnsigned(std::string_view text);
// Parses "30s", "5 min", "1.5 h" with units ms, s, min, h, d. Returns milliseconds, rounded.
std::optional<int64_t> ParseDuration(std::string_view text);
// Like ParseDuration, but a bare integer is milliseconds. For keys and flags that end in _ms.
std::optional<int64_t> ParseMilliseconds(std::string_view text);
// Parses "64MiB", "1 GB" with units B, KiB, MiB, GiB, TiB and kB, MB, GB, TB. Returns bytes,
// rounded. A bare integer is bytes.
std::optional<int64_t> ParseBytes(std::string_view text);
// Parses "1 epoch", "2.5 epochs", "100 steps".
std::optional<spec::Span> ParseSpan(std::string_view text);

}  // namespace espalier::config
