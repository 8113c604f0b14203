#include "src/security/tokens.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <sstream>

#include "src/base/checksum.h"
#include "src/base/text.h"

namespace espalier::security {
namespace {

constexpr std::string_view kHashed = "sha256:";

bool IsToken(std::string_view text) {
  return text.size() >= kTokenBytesMin && text.size() <= kTokenBytesMax &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7F; });
}

bool IsHash(std::string_view text) {
  return text.size() == 64 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

const char* ExpectedToken() { return "16 to 512 printable ASCII characters without spaces"; }

Result<Token> ParseLine(const std::string& line) {
  std::istringstream words(line);
  std::string role, secret, more;
  Token token;
  if (!(words >> role >> token.name >> secret) || words >> more) {
    return InvalidArgument("expected three words: role, name, and a token or sha256:HASH");
  }
  // The text may be a misplaced token, so the error does not show it.
  const Result<Role> parsed = ParseRole(role);
  if (!parsed.ok() || *parsed == Role::kWorker || *parsed == Role::kCoordinator) {
    return InvalidArgument(
        "expected admin, operator or reader as the first word; daemons have certificates");
  }
  token.role = *parsed;
  if (!CheckRoleName(token.name).ok()) {
    return InvalidArgument(
        "expected a name of 1 to 64 letters, digits and . _ - @ as the second "
        "word");
  }
  if (secret.starts_with(kHashed)) {
    token.sha256 = secret.substr(kHashed.size());
    if (IsHash(token.sha256)) return token;
    return InvalidArgument("expected 64 lower-case hexadecimal digits after sha256:");
  }
  if (!IsToken(secret))
    return InvalidArgument(std::string("expected a token of ") + ExpectedToken());
  token.sha256 = Sha256Hex(secret);
  return token;
}

}  // namespace

Result<std::vector<Token>> ParseTokens(std::string_view text, const std::string& path) {
  std::vector<Token> out;
  std::istringstream lines{std::string(text)};
  int64_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string::npos || line[begin] == '#') continue;
    Result<Token> token = ParseLine(line);
    if (!token.ok()) {
      return InvalidArgument("tokens: " + Printable(path, 1024) + ":" + std::to_string(number) +
                             ": " + token.status().message());
    }
    out.push_back(*std::move(token));
  }
  return out;
}

Result<std::string> CleanToken(std::string_view text, const std::string& where) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  const size_t end = text.find_last_not_of(" \t\r\n");
  const std::string_view token =
      begin == std::string_view::npos ? "" : text.substr(begin, end - begin + 1);
  if (IsToken(token)) return std::string(token);
  return InvalidArgument(where + " holds no token: expected " + ExpectedToken());
}

const Token* FindToken(const std::vector<Token>& tokens, std::string_view shown) {
  if (!IsToken(shown)) return nullptr;
  const std::string hash = Sha256Hex(shown);
  const Token* found = nullptr;
  for (const Token& token : tokens) {
    if (CRYPTO_memcmp(token.sha256.data(), hash.data(), hash.size()) == 0) found = &token;
  }
  return found;
}

}  // namespace espalier::security
