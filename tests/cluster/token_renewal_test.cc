#include "src/cluster/token_renewal.h"

#include <catch2/catch.hpp>

namespace espalier::cluster {
namespace {

const std::string kHdfs = "hdfs://a:9870";

TEST_CASE("a renewal is due at once and after two thirds of the time") {
  TokenRenewal tokens;
  REQUIRE(tokens.Begin(kHdfs, 1000));
  CHECK_FALSE(tokens.Begin(kHdfs, 2000));  // in progress
  tokens.Succeed(kHdfs, 31'000, 1000);
  CHECK_FALSE(tokens.Begin(kHdfs, 20'999));
  CHECK(tokens.Begin(kHdfs, 21'000));
}

TEST_CASE("a failed renewal is tried again, sooner near the expiry") {
  TokenRenewal tokens;
  REQUIRE(tokens.Begin(kHdfs, 0));
  tokens.Fail(kHdfs, 0);  // the expiry is unknown
  CHECK_FALSE(tokens.Begin(kHdfs, 4999));
  REQUIRE(tokens.Begin(kHdfs, 5000));
  tokens.Succeed(kHdfs, 1'000'000, 5000);
  REQUIRE(tokens.Begin(kHdfs, 700'000));
  tokens.Fail(kHdfs, 700'000);  // far from the expiry
  CHECK_FALSE(tokens.Begin(kHdfs, 729'999));
  REQUIRE(tokens.Begin(kHdfs, 730'000));
  tokens.Fail(kHdfs, 996'000);
  CHECK_FALSE(tokens.Begin(kHdfs, 996'999));
  CHECK(tokens.Begin(kHdfs, 997'000));
}

TEST_CASE("a refused token is renewed sooner, but not at once again") {
  TokenRenewal tokens;
  CHECK_FALSE(tokens.Hasten(kHdfs, 0));
  REQUIRE(tokens.Begin(kHdfs, 1000));
  tokens.Succeed(kHdfs, 1'000'000, 1000);
  CHECK(tokens.Hasten(kHdfs, 1100));
  CHECK_FALSE(tokens.Begin(kHdfs, 1499));
  CHECK(tokens.Begin(kHdfs, 1500));
}

TEST_CASE("the trouble of a token says when the token ends") {
  TokenRenewal tokens;
  REQUIRE(tokens.Begin(kHdfs, 0));
  CHECK(tokens.SetTrouble(kHdfs, "refused"));
  CHECK_FALSE(tokens.SetTrouble(kHdfs, "refused"));
  CHECK(tokens.Trouble(0).find("at a time that only HDFS knows") != std::string::npos);
  tokens.Succeed(kHdfs, 86'400'000, 0);
  CHECK(tokens.Trouble(0).find("at 1970-01-02 00:00:00 UTC") != std::string::npos);
  CHECK(tokens.Trouble(86'400'000).find(" ends now") != std::string::npos);
  CHECK(tokens.SetTrouble(kHdfs, ""));
  CHECK(tokens.Trouble(0).empty());
}

}  // namespace
}  // namespace espalier::cluster
