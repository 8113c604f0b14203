// Bearer tokens: secrets that people and services present instead of a certificate. A token file
// has one line for each token:
//
//   # role    name    SHA-256 of the token in hexadecimal, or the token itself
//   operator  ann     sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
//   reader    grafana 2vT0hq8WmZ4cXnJ6s1RkYd
//
// Workers have certificates, not tokens. A worker that receives another worker's token could use
// it.
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

// Parses a token file. Errors name file and line, and never show the content.
Result<std::vector<Token>> ParseTokens(std::string_view text, const std::string& path);

// Returns the token from a client's file or environment, without surrounding spaces.
// kInvalidArgument (starting with `where`) if it cannot be a token. The error does not show the
// text.
Result<std::string> CleanToken(std::string_view text, const std::string& where);

// Returns the entry of the presented token, or null. The time depends only on the token's length.
const Token* FindToken(const std::vector<Token>& tokens, std::string_view shown);

}  // namespace espalier::security
