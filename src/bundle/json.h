// JSON helpers of this room.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/spec/metrics.h"

namespace espalier::bundle {

// JSON whose keys keep their order of insertion, for readers.
using Json = nlohmann::ordered_json;

// ParseJson parses a file that anyone may have edited. It returns a discarded value if the text is
// not JSON or is nested too deep. TextToJson returns a JSON string, or {"hex": "ff00"} for bytes
// that are not UTF-8 (class names may contain any bytes).
Json ParseJson(std::string_view text);
Json TextToJson(std::string_view text);
Result<std::string> TextFromJson(const Json& json, const std::string& path);

// Returns a number, without a fraction if it is an integer, or null if it is not finite.
Json NumberToJson(double value);

Json MetricsToJson(const spec::Metrics& metrics, std::span<const std::string> classes);

}  // namespace espalier::bundle
