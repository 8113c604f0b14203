#include "src/storage/hadoop_token.h"

#include <catch2/catch.hpp>

#include "src/base/base64.h"
#include "src/storage/kerberos.h"
#include "src/storage/token_store.h"
#include "tests/testing/says.h"

namespace espalier::storage {
namespace {

// The answer of a NameNode of Hadoop 3.4.2 to GETDELEGATIONTOKEN&renewer=espalier from alice.
constexpr const char* kText =
    "IQAFYWxpY2UIZXNwYWxpZXIAigGiAWj3p4oBogFpRccCAhSMoFZ5VbMwj66JufmUPh0tTVLUchJXRUJIREZTIGRlbGVn"
    "YXRpb24PMTI3LjAuMC4xOjI5MzYw";

void PutVarint(uint64_t n, std::string* out) {
  for (; n > 127; n >>= 7) *out += static_cast<char>(n & 127 | 128);
  *out += static_cast<char>(n);
}

std::string Field(int number, const std::string& value) {
  std::string out;
  PutVarint(number << 3 | 2, &out);
  PutVarint(value.size(), &out);
  return out + value;
}

TEST_CASE("a Hadoop token is read and written unchanged") {
  const auto token = ParseTokenText(kText);
  REQUIRE(token.ok());
  CHECK(token->kind == "WEBHDFS delegation");
  CHECK(token->service == "127.0.0.1:29360");
  CHECK(TokenText(*token) == kText);
  const auto identity = ParseTokenIdentity(*token);
  REQUIRE(identity.ok());
  CHECK(identity->owner == "alice");
  CHECK(identity->renewer == "espalier");
  CHECK(identity->real_user.empty());
  CHECK(identity->ends_ms - identity->issued_ms == 20'000);
}

TEST_CASE("damaged tokens are refused and not shown") {
  const std::string text = kText;
  for (const std::string& bad : {std::string(), std::string("garbage!"), text.substr(1),
                                 text.substr(0, 40), text + "AAAA", std::string(20'000, 'A')}) {
    const Status status = ParseTokenText(bad).status();
    CHECK(status.code() == StatusCode::kInvalidArgument);
    CHECK_THAT(status.message(), Says("a delegation token is damaged"));
  }
  CHECK_FALSE(ParseTokenIdentity({.identifier = std::string("\0", 1)}).ok());
  CHECK_FALSE(ParseTokenIdentity({.identifier = std::string("\1\1a\0\0\0\0", 7)}).ok());
}

TEST_CASE("credential files are read in both formats") {
  const HadoopToken token{"identifier", std::string(300, 'p'), "HDFS_DELEGATION_TOKEN",
                          "ha-hdfs:ns"};
  std::string writable("HDTS\0", 5);
  writable += '\1';
  writable += "\5alias" + FromBase64(TokenText(token)).value() + '\1' + "\1k\2vv";
  const auto read = ParseTokenFile(writable);
  REQUIRE(read.ok());
  CHECK(*read == std::vector{token});

  const std::string inner = Field(1, token.identifier) + Field(2, token.password) +
                            Field(3, token.kind) + Field(4, token.service);
  const std::string message =
      Field(1, Field(1, "alias") + Field(2, inner)) + Field(2, Field(1, "k") + Field(3, "vv"));
  std::string proto("HDTS\1", 5);
  PutVarint(message.size(), &proto);
  const auto again = ParseTokenFile(proto + message);
  REQUIRE(again.ok());
  CHECK(*again == std::vector{token});

  for (const std::string& whole : {writable, proto + message}) {
    const size_t needed = whole == writable ? whole.size() - 6 : whole.size();
    for (size_t i = 0; i < needed; ++i) CHECK_FALSE(ParseTokenFile(whole.substr(0, i)).ok());
  }
  CHECK_FALSE(ParseTokenFile(std::string("HDTS\2\0", 6)).ok());
}

TEST_CASE("the token of the file system is chosen") {
  const std::vector<HadoopToken> tokens = {{"", "", "YARN_AM_RM_TOKEN", "10.0.0.1:8020"},
                                           {"", "", "HDFS_DELEGATION_TOKEN", "10.0.0.2:8020"},
                                           {"", "", "HDFS_DELEGATION_TOKEN", "10.0.0.1:8020"}};
  CHECK(TokenFor(tokens, {"nn:8020", "10.0.0.1:8020"}) == &tokens[2]);
  CHECK(TokenFor(tokens, {"10.0.0.3:8020"}) == nullptr);
}

TEST_CASE("Base64 is written and read back in both alphabets") {
  std::string bytes;
  for (int i = 0; i < 256; ++i) {
    CHECK(FromBase64(Base64(bytes)).value() == bytes);
    CHECK(FromBase64(Base64Url(bytes)).value() == bytes);
    bytes += static_cast<char>(i * 7);
  }
  CHECK(Base64("\xFF\xFE") == "//4=");
  CHECK(Base64Url("\xFF\xFE") == "__4");
  CHECK(FromBase64("-_+/").value() == "\xFB\xFF\xBF");
  CHECK(FromBase64("QQ").value() == "A");
  for (const char* wrong : {"a", "ab cd", "QUJD\n", " QUJD", "QUJDR", "QQ==QQ==", "=QUJ", "QUJ*"}) {
    INFO(wrong);
    CHECK_FALSE(FromBase64(wrong).has_value());
  }
  CHECK_FALSE(FromBase64(std::string("QU\0D", 4)).has_value());
}

TEST_CASE("a refused token is replaced if another one is available") {
  TokenStore alone;
  CHECK(alone.Find("hdfs://a").empty());
  alone.Put("hdfs://a", "1");
  CHECK_FALSE(alone.Refused("hdfs://a", "1"));
  alone.Put("hdfs://a", "2");
  CHECK(alone.Refused("hdfs://a", "1"));
  CHECK(alone.Find("hdfs://a") == "2");
  std::string asked;
  TokenStore asking([&](const std::string& prefix) { asked += prefix; });
  asking.Put("hdfs://b", "1");
  CHECK(asking.Refused("hdfs://b", "1"));
  CHECK(asked == "hdfs://b");
}

// The messages are those of MIT's library and of Java. tests/e2e/kerberos_test.py provokes them.
TEST_CASE("each Kerberos failure is reported with its own advice") {
  struct Case {
    const char* words;
    StatusCode code;
    const char* told;
  };
  for (const Case& c : {
           Case{"x; Server HTTP/10.0.0.1@R not found in Kerberos database",
                StatusCode::kPermissionDenied, "knows no service of that host name"},
           Case{"x; Client 'a@R' not found in Kerberos database", StatusCode::kPermissionDenied,
                "the principal of the keytab or ticket"},
           Case{"x; Clock skew too great", StatusCode::kPermissionDenied, "set them by NTP"},
           Case{"Failure unspecified at GSS-API level (Mechanism level: Clock skew too great (37))",
                StatusCode::kPermissionDenied, "set them by NTP"},
           Case{"x; Ticket expired", StatusCode::kPermissionDenied,
                "ticket has expired; get a new"},
           Case{"x; Cannot contact any KDC for realm 'R'", StatusCode::kUnavailable,
                "no KDC answers; is it up"},
           Case{"x; No Kerberos credentials available (default cache: FILE:/tmp/c)",
                StatusCode::kPermissionDenied, "neither a Kerberos ticket nor a keytab"},
           Case{"x; Decrypt integrity check failed", StatusCode::kPermissionDenied,
                "export the keytab again"},
       }) {
    const Status status = KerberosProblem("do it", c.words);
    INFO(status.ToString());
    CHECK(status.code() == c.code);
    CHECK(status.message().starts_with("cannot do it: "));
    CHECK(status.message().find(c.told) != std::string::npos);
    CHECK(status.message().find(c.words) != std::string::npos);
  }
}

}  // namespace
}  // namespace espalier::storage
