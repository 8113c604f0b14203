// Delegation tokens as Hadoop writes them: in addresses of WebHDFS, and in the files that YARN
// gives to containers. A token is SECRET: whoever has it acts as its owner.
//
// Numbers are those of Hadoop's WritableUtils (one byte, or a byte that tells length and sign
// followed by the magnitude, big-endian), texts a number of bytes and the bytes.
//   token       identifier, password: each a length and bytes; kind, service: texts
//   identifier  a byte 0; owner, renewer, real user: texts; issued, ends: ms; numbers of its own
//   file        "HDTS", a byte 0; number of tokens, each a text (its alias) and a token; secret
//               keys, which are not read. With a byte 1: a length and protobuf's CredentialsProto.
// "Base64 of a token", for URLs, is what addresses carry (Hadoop's urlString).
// Everything is checked against what is there; a part that is wrong is kInvalidArgument, in words
// without a byte of the token. Thread rule: pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace espalier::storage {

struct HadoopToken {
  std::string identifier, password;
  std::string kind;     // "HDFS_DELEGATION_TOKEN", "WEBHDFS delegation"
  std::string service;  // "127.0.0.1:8020", "ha-hdfs:ns"
  bool operator==(const HadoopToken&) const = default;
};

inline constexpr size_t kTokenTextBytesMax = 16 << 10;
inline constexpr size_t kTokenFileBytesMax = 4 << 20;
inline constexpr int64_t kTokenFileTokensMax = 10'000;
inline constexpr std::string_view kTokenFileMagic = "HDTS";
// The kinds of delegation tokens that HDFS takes.
inline constexpr std::array<std::string_view, 3> kHdfsTokenKinds = {
    "HDFS_DELEGATION_TOKEN", "WEBHDFS delegation", "SWEBHDFS delegation"};

std::string TokenText(const HadoopToken& token);
Result<HadoopToken> ParseTokenText(std::string_view text);

// What a delegation token of HDFS says of itself. The first of its two ends, which renewing moves,
// is known to the NameNode alone.
struct TokenIdentity {
  std::string owner, renewer, real_user;
  int64_t issued_ms = 0;  // since 1970
  int64_t ends_ms = 0;    // not to be renewed beyond
};
Result<TokenIdentity> ParseTokenIdentity(const HadoopToken& token);

// The tokens in a credentials file's bytes.
Result<std::vector<HadoopToken>> ParseTokenFile(std::string_view bytes);

// The token of HDFS for the NameNode or name service that goes by one of `services`
// ("ha-hdfs:ns", "ip:port", "host:port"), or null.
const HadoopToken* TokenFor(const std::vector<HadoopToken>& tokens,
                            const std::vector<std::string>& services);

}  // namespace espalier::storage
