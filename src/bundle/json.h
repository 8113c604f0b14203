// JSON within this room. Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/spec/metrics.h"

namespace espalier::bundle {

// Keys stay in the order they were given, which is the order for readers.
using Json = nlohmann::ordered_json;

// A JSON string, or {"hex": "ff00"} for bytes that are not UTF-8 (class names may be anything).
// Of a file that anybody may have edited; discarded if it is no JSON, or nested too deep.
Json ParseJson(std::string_view text);
Json TextToJson(std::string_view text);
Result<std::string> TextFromJson(const Json& json, const std::string& path);

// A number, without fraction when it is whole; null when it is not finite.
Json NumberToJson(double value);

Json MetricsToJson(const spec::Metrics& metrics, std::span<const std::string> classes);

}  // namespace espalier::bundle
