// Small files that are read again after they were replaced: certificates, keys, tokens. Symlinks
// are followed, so changing a link to a directory replaces several files at once.
//
// Thread rule: pure functions, except for the file system.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/status.h"

namespace espalier::security {

// Largest file of certificates, revocation lists or a key.
inline constexpr int64_t kPemBytesMax = int64_t{1} << 20;
// Mode bits that a secret file must not have.
inline constexpr unsigned kSecretModeRefused = 0027;

// The protection that a file needs.
enum class Secrecy { kPublic, kSecret };

// Reads the whole file. kNotFound: it cannot be opened or read. kInvalidArgument: it is longer than
// `bytes_max` or not a file. kPermissionDenied: users other than the owner and the group can read a
// secret, or the group can write it. The message then contains the chmod command that fixes it.
// With `exposure`, this secret is read, and the error is stored there. The mode is that of the
// opened file, so it belongs to the returned text. `what` ("tls.key") starts the message.
Result<std::string> ReadSmallFile(const std::string& path, Secrecy secrecy, int64_t bytes_max,
                                  const std::string& what, Status* exposure = nullptr);

// Creates a file that must not exist yet and waits until it is on disk. Only the owner may read a
// secret. kAlreadyExists, kNotFound and other errors name the file.
Status WriteNewFile(const std::string& path, const std::string& text, Secrecy secrecy);

// Returns a stamp that changes when one of the files is replaced or written; "-" for an invisible
// file.
std::string StampOf(const std::vector<std::string>& paths);

}  // namespace espalier::security
