// Bearer tokens: secrets that people and services show instead of a certificate. A file of them has
// a line for each:
//
//   # role    name    SHA-256 of the token in hexadecimal, or the token itself
//   operator  ann     sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
//   reader    grafana 2vT0hq8WmZ4cXnJ6s1RkYd
//
// Workers have certificates, not tokens: a token shown to another worker would be that one's, too.
//
// Thread rule: values and pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/security/roles.h"

namespace espalier::security {

inline constexpr int64_t kTokensBytesMax = int64_t{1} << 20;
inline constexpr size_t kTokenBytesMin = 16, kTokenBytesMax = 512;

struct Token {
  Role role = Role::kReader;
  std::string name;
  std::string sha256;  // 64 lower-case hexadecimal digits
};

// Errors name file and line, and never show what stands there.
Result<std::vector<Token>> ParseTokens(std::string_view text, const std::string& path);

// What a client is given, by file or environment: spaces around it do not count. kInvalidArgument
// (`where` first) when it cannot be one; it is not shown.
Result<std::string> CleanToken(std::string_view text, const std::string& where);

// The entry of the token that was shown, or null. Takes as long for any token of its length.
const Token* FindToken(const std::vector<Token>& tokens, std::string_view shown);

}  // namespace espalier::security
