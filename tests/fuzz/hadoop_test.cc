#include <catch2/catch.hpp>

#include "src/base/base64.h"
#include "src/storage/hadoop_config.h"
#include "src/storage/hadoop_token.h"
#include "src/storage/keytab.h"
#include "src/storage/webhdfs_protocol.h"
#include "src/storage/webhdfs_verdict.h"
#include "tests/fuzz/mutate.h"
#include "tests/storage/keytab_sample.h"
#include "tests/testing/scale.h"

namespace espalier {
namespace {

Result<std::string> NoInclude(const void*, const std::string& name) {
  return NotFound(name + " is not there");
}

TEST_CASE("mutated Hadoop XML is read or refused without a hang") {
  const std::string seed = R"(<?xml version="1.0"?>
<configuration>
  <property><name>a</name><value>hdfs://${b}:${c}</value><final>true</final></property>
  <property><name>b</name><value>h${c}</value></property>
  <property><name>c</name><value>8020 &lt;</value><description>x</description></property>
</configuration>)";
  int read = 0;
  for (uint64_t i = 0; i < 4000 * FuzzScale(); ++i) {
    storage::HadoopConfig config;
    const std::string text = Mutated(seed, "<>/&;${}abc\"'= \n!-[]", i);
    const Status status =
        storage::ParseHadoopXml(text, "core-site.xml", NoInclude, nullptr, &config);
    read += status.ok() ? 1 : 0;
    if (!status.ok()) REQUIRE_FALSE(status.message().empty());
    for (const char* name : {"a", "b", "c"}) (void)config.Get(name);
  }
  CHECK(read > 0);  // some edits keep it valid
}

TEST_CASE("mutated WebHDFS replies are parsed or refused in bounds") {
  const std::string file = R"({"length":5,"modificationTime":1,"pathSuffix":"a b","type":"FILE"})";
  const std::string files = R"({"FileStatuses":{"FileStatus":[)" + file + "," + file + "]}}";
  const std::string seeds[] = {
      R"({"FileStatus":)" + file + "}",
      files,
      R"({"DirectoryListing":{"partialListing":)" + files + R"(,"remainingEntries":2}})",
      R"({"boolean":true})",
      R"({"RemoteException":{"exception":"StandbyException","message":"READ is not supported"}})",
      R"({"BlockLocations":{"BlockLocation":[{"corrupt":false,"hosts":["h1","h2"],)"
      R"("length":134217728,"names":["10.0.0.1:9866","10.0.0.2:9866"],"offset":0}]}})",
  };
  int statuses = 0, listings = 0, locations = 0, booleans = 0, exceptions = 0;
  for (uint64_t i = 0; i < 6000 * FuzzScale(); ++i) {
    const std::string& seed = seeds[i % 6];
    const bool original = i < 6;
    const std::string body =
        original ? seed : Mutated(seed, "{}[]\":,0123456789-.eEtruefalsn\\u", i);
    if (const auto status = storage::ParseFileStatus(body); status.ok()) {
      ++statuses;
      REQUIRE(status->length >= 0);
    }
    if (const auto listing = storage::ParseListing(body); listing.ok()) {
      ++listings;
      REQUIRE(listing->remaining >= 0);
      for (const storage::FileInfo& f : listing->entries) REQUIRE(f.length >= 0);
    }
    if (const auto blocks = storage::ParseBlockLocations(body); blocks.ok()) {
      ++locations;
      for (const storage::LocatedBlock& b : *blocks)
        REQUIRE((b.where.offset >= 0 && b.where.length >= 0));
    }
    booleans += storage::ParseBoolean(body).ok();
    const storage::RemoteException exception = storage::ParseRemoteException(body);
    exceptions += !exception.name.empty();
    REQUIRE(exception.message.size() <= 300);
  }
  // The original replies are read. Some edits of their texts and numbers keep a reply valid.
  CHECK(statuses > 1);
  CHECK(listings > 2);
  CHECK(locations > 1);
  CHECK(booleans > 0);
  CHECK(exceptions > 1);
}

TEST_CASE("a mutated redirect is parsed or refused and stays secret") {
  const std::string seed =
      "http://dn1.example:9864/webhdfs/v1/a?op=OPEN&delegation=SECRET&offset=0";
  REQUIRE(storage::RedirectTarget(seed, false).ok());
  REQUIRE_FALSE(storage::RedirectTarget(seed, true).ok());
  int read = 0;
  for (uint64_t i = 0; i < 4000 * FuzzScale(); ++i) {
    const auto target =
        storage::RedirectTarget(Mutated(seed, ":/?@[]%#.0123456789s", i), i % 2 == 0);
    if (target.ok()) {
      ++read;
      REQUIRE_FALSE(target->host.empty());
      REQUIRE((target->port >= 0 && target->port <= 65535));
    } else {
      REQUIRE(target.status().message().find("SECRET") == std::string::npos);
    }
  }
  CHECK(read > 0);  // some edits keep it valid, for example in the query
}

TEST_CASE("mutated tokens and credential files are read or refused") {
  const storage::HadoopToken token{std::string("\0\5alice\2me\0\x8A\1\2\3\4\5\6\0", 18), "secret",
                                   "HDFS_DELEGATION_TOKEN", "10.0.0.1:8020"};
  const std::string bytes = FromBase64(storage::TokenText(token)).value();
  const std::string writable = std::string("HDTS\0\1\1a", 8) + bytes + '\0';
  const std::string proto =
      std::string("HDTS\1\x16\x0A\x14\x0A\1a\x12\x0F\x0A\1i\x12\1p\x1A\1k", 22) +
      std::string("\x22\4h:80", 6);
  int read = 0;
  for (uint64_t i = 0; i < 6000 * FuzzScale(); ++i) {
    const std::string& seed = i % 2 == 0 ? writable : proto;
    const auto tokens =
        storage::ParseTokenFile(Mutated(seed, std::string("\0\1\x7F\x80\x8F\xFF\x0A", 7), i));
    if (!tokens.ok()) continue;
    ++read;
    for (const storage::HadoopToken& t : *tokens) {
      REQUIRE(t.identifier.size() <= seed.size() + 64);
      (void)storage::ParseTokenIdentity(t);
      REQUIRE(storage::ParseTokenText(storage::TokenText(t)).value() == t);
    }
    (void)storage::ParseTokenText(Mutated(storage::TokenText(token), "AZaz09-_=+/", i));
  }
  CHECK(read > 0);
}

TEST_CASE("mutated keytabs are read or refused, within bounds") {
  int read = 0;
  for (uint64_t i = 0; i < 6000 * FuzzScale(); ++i) {
    const auto principals = storage::KeytabPrincipals(
        Mutated(storage::SampleKeytab(), std::string("\0\1\xff\x80", 4), i), "k");
    read += principals.ok() ? 1 : 0;
    if (principals.ok()) REQUIRE_FALSE(principals->empty());
  }
  CHECK(read > 0);
}

}  // namespace
}  // namespace espalier
