#include <catch2/catch.hpp>

#include "src/security/certificate.h"
#include "src/security/issue.h"
#include "src/security/tokens.h"
#include "tests/fuzz/mutate.h"
#include "tests/testing/scale.h"

namespace espalier {
namespace {

constexpr int64_t kNow = 1'800'000'000;

TEST_CASE("a mutated certificate is refused or equals the original") {
  const auto ca = security::MakeAuthority("Test CA", kNow);
  const auto issued = security::Issue(
      *ca, {security::Role::kWorker, "node-1", {"a.example.org", "10.0.0.1"}}, kNow);
  REQUIRE(issued.ok());
  const auto trust = security::Trust::Parse(ca->certificate_pem, "ca.crt");
  const std::string seed = issued->certificate_pem;
  int believed = 0;
  for (uint64_t i = 0; i < 1000 * FuzzScale(); ++i) {
    const std::string text = Mutated(seed, "ABCDEFGHabcdefgh0123+/=-\n", i);
    const Status status = trust->Verify(text, security::Purpose::kClient, kNow, "it");
    const auto names = security::ReadNames(text);
    (void)security::CheckHost(text, "a.example.org");
    (void)security::CheckKeyFits(text, issued->key_pem);
    if (status.ok()) {
      ++believed;
      REQUIRE(names->uris == std::vector<std::string>{"espalier://worker/node-1"});
      REQUIRE(names->common_name == "node-1");
    } else {
      REQUIRE_FALSE(status.message().empty());
    }
    (void)security::Trust::Parse(text, "ca.crt");
  }
  CHECK(believed > 0);  // an edit can be outside the certificate
}

TEST_CASE("a mutated token file is read or refused without its secrets") {
  const std::string seed =
      "# people\noperator ann S3CR3T-S3CR3T-S3CR3T\nreader bob sha256:"
      "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\n";
  const auto original = security::ParseTokens(seed, "tokens");
  REQUIRE(original.ok());
  REQUIRE(security::FindToken(*original, "S3CR3T-S3CR3T-S3CR3T") != nullptr);
  int read = 0, found = 0;
  for (uint64_t i = 0; i < 4000 * FuzzScale(); ++i) {
    const auto tokens = security::ParseTokens(Mutated(seed, "#\n \t:0af", i), "tokens");
    if (tokens.ok()) {
      ++read;
      found += security::FindToken(*tokens, "S3CR3T-S3CR3T-S3CR3T") != nullptr;
    } else {
      REQUIRE(tokens.status().message().starts_with("tokens: tokens:"));
      REQUIRE(tokens.status().message().find("S3CR3T") == std::string::npos);
    }
  }
  CHECK(read > 0);  // some edits keep it valid, for example in the comment
  CHECK(found > 0);
}

}  // namespace
}  // namespace espalier
