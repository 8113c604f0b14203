#include "src/storage/webhdfs_protocol.h"

#include <catch2/catch.hpp>

#include "src/storage/retry.h"

namespace espalier::storage {
namespace {

TEST_CASE("any name is percent-encoded") {
  CHECK(OperationUrl({"h", 1}, false, "/a b/%20+;?#\xC3\xA9", "OPEN",
                     {{"offset", "5"}, {"u", "a&b=c"}}) ==
        "http://h:1/webhdfs/v1/a%20b/%2520%2B%3B%3F%23%C3%A9?op=OPEN&offset=5&u=a%26b%3Dc");
  CHECK(OperationUrl({"::1", 9870}, false, "/", "X", {}) == "http://[::1]:9870/webhdfs/v1/?op=X");
}

TEST_CASE("redirects are parsed and never downgrade to http") {
  CHECK(RedirectTarget("http://h:9864/webhdfs/v1/x?delegation=t", false).value() ==
        HostPort{"h", 9864});
  CHECK(RedirectTarget("http://h:1/webhdfs/v1/x..y/...?a=/../b", false).ok());
  CHECK(RedirectTarget("https://[::1]/webhdfs/v1/x", true).value() == HostPort{"::1", 443});
  CHECK_FALSE(RedirectTarget("http://h:1/webhdfs/v1/x", true).ok());
  for (const char* bad :
       {"", "/webhdfs/v1/x", "ftp://h/webhdfs/v1/x", "http://", "http://h:0/webhdfs/v1/x",
        "http://u:p@h/webhdfs/v1/x", "http://h:1", "http://h:1/", "http://h:1/latest/meta-data/",
        "http://h:1?/webhdfs/v1/x", "http://h:1/x/webhdfs/v1/y", "http://h:1/webhdfs/v1",
        "http://h:1/webhdfs/v1/../../latest/meta-data", "http://h:1/webhdfs/v1/%2e%2E/x",
        "http://h:1/webhdfs/v1/x/.%2e?op=OPEN", "http://h:1/webhdfs/v1/..\\x"}) {
    CHECK_FALSE(RedirectTarget(bad, false).ok());
  }
}

TEST_CASE("exceptions keep the first line of their message") {
  const auto e = ParseRemoteException(
      R"({"RemoteException":{"exception":"X","javaClassName":"y","message":"a\n\tat b"}})");
  CHECK(e.name == "X");
  CHECK(e.message == "a");
  for (const char* bad : {"", "[]", "7", "{", R"({"RemoteException":7})", "\xFF"}) {
    CHECK(ParseRemoteException(bad).name.empty());
  }
}

TEST_CASE("listings are read in both forms") {
  const std::string entry =
      R"({"pathSuffix":"f","type":"FILE","length":3,"modificationTime":9},)"
      R"({"pathSuffix":"d","type":"DIRECTORY","length":0,"modificationTime":8})";
  const auto whole = ParseListing(R"({"FileStatuses":{"FileStatus":[)" + entry + "]}}");
  REQUIRE(whole.ok());
  CHECK(whole->remaining == 0);
  REQUIRE(whole->entries.size() == 2);
  CHECK(whole->entries[0].path == "f");
  CHECK(whole->entries[0].length == 3);
  CHECK(whole->entries[1].is_directory);
  const auto part =
      ParseListing(R"({"DirectoryListing":{"partialListing":{"FileStatuses":{"FileStatus":[)" +
                   entry + R"(]}},"remainingEntries":4}})");
  REQUIRE(part.ok());
  CHECK(part->remaining == 4);
}

TEST_CASE("malformed replies are errors") {
  const std::string deep = std::string(1000, '[') + std::string(1000, ']');
  for (const std::string& bad :
       {std::string(), std::string("null"), std::string("{}"), std::string("[]"), deep,
        std::string(R"({"boolean":"true"})"), std::string(R"({"FileStatus":[]})"),
        std::string(R"({"FileStatus":{"type":"ODD","length":1,"modificationTime":1}})"),
        std::string(R"({"FileStatus":{"type":"FILE","length":1e30,"modificationTime":1}})"),
        std::string(R"({"FileStatus":{"type":"FILE","length":18446744073709551615,)"
                    R"("modificationTime":1}})"),
        std::string(R"({"FileStatuses":{"FileStatus":{}}})"),
        std::string(R"({"FileStatuses":{"FileStatus":[{"pathSuffix":"a/b","type":"FILE",)"
                    R"("length":1,"modificationTime":1}]}})"),
        std::string(R"({"BlockLocations":{"BlockLocation":[{"offset":-1,"length":1}]}})"),
        std::string(R"({"LocatedBlocks":{"locatedBlocks":[{"locations":[{"xferPort":0}]}]}})")}) {
    INFO(bad);
    CHECK_FALSE(ParseFileStatus(bad).ok());
    CHECK_FALSE(ParseListing(bad).ok());
    CHECK_FALSE(ParseBoolean(bad).ok());
    CHECK_FALSE(ParseBlockLocations(bad).ok());
  }
}

TEST_CASE("a data node's HTTP address leads to its transfer name") {
  const auto blocks = ParseBlockLocations(
      R"({"LocatedBlocks":{"locatedBlocks":[{"startOffset":0,"block":{"numBytes":1},"locations":[)"
      R"({"ipAddr":"10.0.0.1","hostName":"a","xferPort":1,"infoPort":2},)"
      R"({"ipAddr":"10.0.0.1","hostName":"a","xferPort":3,"infoPort":4}]}]}})");
  REQUIRE(blocks.ok());
  CHECK(DataNodeName(*blocks, {"a", 4}) == "10.0.0.1:3");
  CHECK(DataNodeName(*blocks, {"10.0.0.1", 2}) == "10.0.0.1:1");
  CHECK(DataNodeName(*blocks, {"b", 2}).empty());
}

TEST_CASE("retries back off and end by count or by time") {
  const RetryOptions options{.wait_ms = 100,
                             .wait_max_ms = 1000,
                             .give_up_ms = 10'000,
                             .first_contact_ms = 500,
                             .attempts_max = 30};
  RetryBudget budget(options, 7);
  int64_t last = 0;
  for (int i = 0; i < 4; ++i) {
    const auto wait = budget.NextWait(true, false);
    REQUIRE(wait.has_value());
    CHECK(*wait > last);
    CHECK(*wait <= 100 << i);
    last = *wait;
  }
  budget.Spend(9'000);
  while (budget.NextWait(true, false)) CHECK(budget.spent_ms() <= 10'000);
  budget.Restart();
  int tries = 1;
  while (budget.NextWait(true, true)) ++tries;
  CHECK(tries == 30);
  RetryBudget first(options, 7);
  while (first.NextWait(false, false)) CHECK(first.spent_ms() <= 500);
  CHECK(first.attempts() < 10);
}

}  // namespace
}  // namespace espalier::storage
