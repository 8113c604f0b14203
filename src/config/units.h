// Amounts with units, as written in YAML and on command lines. Each returns nothing when the text
// is not such an amount. Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "src/spec/job_spec.h"

namespace espalier::config {

// A decimal number, finite: "3", "-0.5", "1e-3".
std::optional<double> ParseReal(std::string_view text);
// A whole number in the range of the type, no fraction and no exponent.
std::optional<int64_t> ParseWhole(std::string_view text);
std::optional<uint64_t> ParseUnsigned(std::string_view text);
// "30s", "5 min", "1.5 h"; units ms, s, min, h, d. In milliseconds, rounded.
std::optional<int64_t> ParseDuration(std::string_view text);
// The same, or a whole number alone, which is milliseconds: for keys and flags that end in _ms.
std::optional<int64_t> ParseMilliseconds(std::string_view text);
// "64MiB", "1 GB"; units B, KiB, MiB, GiB, TiB and kB, MB, GB, TB. In bytes, rounded. A whole
// number alone is bytes.
std::optional<int64_t> ParseBytes(std::string_view text);
// "1 epoch", "2.5 epochs", "100 steps".
std::optional<spec::Span> ParseSpan(std::string_view text);

}  // namespace espalier::config
