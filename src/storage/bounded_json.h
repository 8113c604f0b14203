// JSON of others, from the network or a file: nothing in it is believed before it is looked at.
// Missing members and members of another type read as nothing. Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace espalier::storage {

// Whether lists and objects lie within each other deeper than anything that is read here. Such text
// is not to be parsed: what copies and writes the parsed values calls itself as deep.
bool NestedTooDeep(std::string_view text);
// The object that the text is; an empty one for anything else, also for one nested too deep.
nlohmann::json ParseJsonObject(std::string_view text);
// The member, or null.
const nlohmann::json& JsonMember(const nlohmann::json& json, const char* name);
// The string, or "".
std::string JsonText(const nlohmann::json& json);
// -1 unless the number is whole and from 0 to 2^60.
int64_t JsonCount(const nlohmann::json& json);

}  // namespace espalier::storage
