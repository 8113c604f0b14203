// Delegation tokens in Hadoop's formats: in WebHDFS URLs, and in the files that YARN gives to
// containers. A token is SECRET, because its holder can act as its owner.
//
// Numbers have the format of Hadoop's WritableUtils: one byte, or a byte with length and sign
// followed by the magnitude, big-endian. Texts are a number of bytes and the bytes.
//   token       identifier, password: each a length and bytes; kind, service: texts
//   identifier  a byte 0; owner, renewer, real user: texts; issued, ends: ms; further numbers
//   file        "HDTS", a byte 0; number of tokens, each a text (its alias) and a token; secret
//               keys, which are not read. With a byte 1: a length and protobuf's CredentialsProto
//
// "Base64 of a token", for URLs, is the form in URLs (Hadoop's urlString). All parts are checked
// against the available bytes. An invalid part is kInvalidArgument, and the message contains no
// byte of the token.
//
// Thread rule: pure functions.
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
// Kinds of delegation tokens that HDFS accepts.
inline constexpr std::array<std::string_view, 3> kHdfsTokenKinds = {
    "HDFS_DELEGATION_TOKEN", "WEBHDFS delegation", "SWEBHDFS delegation"};

std::string TokenText(const HadoopToken& token);
Result<HadoopToken> ParseTokenText(std::string_view text);

// Claims in an HDFS delegation token. The NameNode also keeps an earlier end, which renewal extends
// and which the token does not contain.
struct TokenIdentity {
  std::string owner, renewer, real_user;
  int64_t issued_ms = 0;  // ms since 1970
  int64_t ends_ms = 0;    // ms since 1970; limit of renewals
};
Result<TokenIdentity> ParseTokenIdentity(const HadoopToken& token);

// Returns the tokens in the bytes of a credentials file.
Result<std::vector<HadoopToken>> ParseTokenFile(std::string_view bytes);

// Returns the HDFS token for a NameNode or name service with one of the names `services`
// ("ha-hdfs:ns", "ip:port", "host:port"), or null.
const HadoopToken* TokenFor(const std::vector<HadoopToken>& tokens,
                            const std::vector<std::string>& services);

}  // namespace espalier::storage
