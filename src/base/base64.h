// Base64 (RFC 4648) for texts below 1 GiB.
//
// Thread rule: pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace espalier {

// Encodes with + and / and padding (section 4).
std::string Base64(std::string_view bytes);
// Encodes with - and _ and without padding (section 5), as in URLs.
std::string Base64Url(std::string_view bytes);
// Decodes either alphabet, padded or not. Returns nothing if the text is not Base64.
std::optional<std::string> FromBase64(std::string_view text);

}  // namespace espalier
