// JSON objects of the program's output, and those of errors.
//
// Thread rule: pure functions.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "src/base/ids.h"
#include "src/base/status.h"

namespace espalier::cli {

using Json = nlohmann::ordered_json;

// Returns one line that ends with '\n'. Bytes that are not UTF-8 are replaced, because JSON cannot
// contain them.
std::string JsonLine(const Json& json);

// Returns null for empty text, which means "unknown".
inline Json TextOrNull(const std::string& text) { return text.empty() ? Json() : Json(text); }

template <typename T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

// Returns an error:
//   {"status":"FAILED","job":..,"error":{"code":"NOT_FOUND","message":..,"file":..,"row":..,
//    "column":..,"offset":..}}
// Unknown members are null. status is "CANCELLED" for kCancelled.
Json ErrorJson(std::optional<JobId> job, const Status& error);

}  // namespace espalier::cli
