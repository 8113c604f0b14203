// Untrusted JSON from the network or a file. Missing members and members of another type read as
// empty values.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace espalier::storage {

// Returns whether lists and objects are nested deeper than any document that is read here. Do not
// parse text like this: code that copies and writes the parsed values recurses to the same depth.
bool NestedTooDeep(std::string_view text);
// Parses an object. Returns an empty object for any other text, including text that is nested too
// deep.
nlohmann::json ParseJsonObject(std::string_view text);
// Returns the member, or null.
const nlohmann::json& JsonMember(const nlohmann::json& json, const char* name);
// Returns the string, or "".
std::string JsonText(const nlohmann::json& json);
// Returns the number, or -1 unless it is an integer from 0 to 2^60.
int64_t JsonCount(const nlohmann::json& json);

}  // namespace espalier::storage
