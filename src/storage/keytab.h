// Whose keys a keytab holds, in the format of MIT's and Heimdal's programs, big-endian:
//   5, 2; then entries, each a length (of 32 bits; a negative one is a hole of that many bytes, 0
//   the end) and so many bytes:
//     number of components (16 bits), realm, the components: each a length (16 bits) and bytes
//     more, about one key: type of the name, time, version, the key; not looked at
// Nothing of a key is kept, and no error tells a byte of one. Thread rule: a pure function.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace espalier::storage {

inline constexpr size_t kKeytabBytesMax = 1 << 20;

// The principals, "name/host@REALM", in order and each once: who proves by a keytab who he is, and
// names no principal, is the first one. kInvalidArgument: the bytes are no keytab, or an empty one;
// `shown` names the file.
Result<std::vector<std::string>> KeytabPrincipals(std::string_view bytes, const std::string& shown);

}  // namespace espalier::storage
