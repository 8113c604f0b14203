// Base64 (RFC 4648), of texts below 1 GiB. Thread rule: pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace espalier {

// With + and /, padded: section 4.
std::string Base64(std::string_view bytes);
// With - and _, without padding: section 5, as in URLs.
std::string Base64Url(std::string_view bytes);
// Of either alphabet, padded or not; nothing: the text is not Base64.
std::optional<std::string> FromBase64(std::string_view text);

}  // namespace espalier
