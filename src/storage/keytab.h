// Principals in a keytab, in the format of MIT's and Heimdal's programs, big-endian:
//   5, 2; then entries, each a length (32 bits; a negative one is a hole of that many bytes, 0 the
//   end) and that many bytes:
//     number of components (16 bits), realm, the components: each a length (16 bits) and bytes
//     then, about one key: type of the name, time, version, the key; not read
//
// Keys are never kept, and errors contain no byte of one.
//
// Thread rule: a pure function.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace espalier::storage {

inline constexpr size_t kKeytabBytesMax = 1 << 20;

// Returns the principals, "name/host@REALM", in order and without duplicates. The first one is the
// default principal of programs that use the keytab without naming one. kInvalidArgument: the bytes
// are not a keytab, or it is empty. `shown` names the file.
Result<std::vector<std::string>> KeytabPrincipals(std::string_view bytes, const std::string& shown);

}  // namespace espalier::storage
