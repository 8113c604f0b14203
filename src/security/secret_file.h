// Small files that are read again when they were replaced: certificates, keys, tokens. Symlinks are
// followed, so that several files change at once when a link to their directory does.
//
// Thread rule: pure functions but for the file system.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/status.h"

namespace espalier::security {

// The bits of a secret's mode that must not be set.
inline constexpr unsigned kSecretModeRefused = 0027;

// Who may read it.
enum class Secrecy { kPublic, kSecret };

// The whole file. kNotFound: it cannot be opened; kInvalidArgument: longer than `bytes_max` or no
// file; kPermissionDenied: a secret that others than its owner and group may read, or that its
// group may write, with the chmod that mends it. `what` ("tls.key") starts the message.
Result<std::string> ReadSmallFile(const std::string& path, Secrecy secrecy, int64_t bytes_max,
                                  const std::string& what);

// Makes a file that must not exist yet, readable by its owner alone when it is a secret, and waits
// until it is on disk. kAlreadyExists, kNotFound and others name it.
Status WriteNewFile(const std::string& path, const std::string& text, Secrecy secrecy);

// What changes when one of the files is replaced or written to; of one that cannot be seen "-".
std::string StampOf(const std::vector<std::string>& paths);

}  // namespace espalier::security
