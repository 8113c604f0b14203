#include "src/storage/keytab.h"

#include <catch2/catch.hpp>

#include "tests/storage/keytab_sample.h"

namespace espalier::storage {
namespace {

using Principals = std::vector<std::string>;

std::string Refusal(const std::string& bytes) {
  const auto read = KeytabPrincipals(bytes, "'k.keytab'");
  REQUIRE_FALSE(read.ok());
  CHECK(read.status().code() == StatusCode::kInvalidArgument);
  CHECK_THAT(read.status().message(), Catch::StartsWith("'k.keytab': found ") &&
                                          Catch::Contains("expected a keytab, as ktutil"));
  return read.status().message();
}

TEST_CASE("the principals of a keytab are read in order, each once") {
  CHECK(KeytabPrincipals(SampleKeytab(), "k").value() ==
        Principals{"ann/yarn@EXAMPLE.COM", "bob@EXAMPLE.COM"});
}

TEST_CASE("holes and the final zero are not principals") {
  const std::string sample = SampleKeytab(), head = sample.substr(0, 2), keys = sample.substr(2);
  const std::string hole = std::string("\xff\xff\xff\xfd", 4) + "abc", end(4, '\0');
  CHECK(KeytabPrincipals(head + hole + keys + end + "what a writer left", "k").value().size() == 2);
  CHECK_THAT(Refusal(head + hole), Catch::Contains("a keytab without a key"));
}

TEST_CASE("separators within a name are escaped") {
  std::string sample = SampleKeytab();
  sample.replace(sample.find("yarn"), 4, "a/@\\");
  CHECK(KeytabPrincipals(sample, "k").value().front() == "ann/a\\/\\@\\\\@EXAMPLE.COM");
}

TEST_CASE("a file that is not a keytab is described") {
  const std::string sample = SampleKeytab();
  CHECK_THAT(Refusal(""), Catch::Contains("an empty file"));
  CHECK_THAT(Refusal("-----BEGIN"), Catch::Contains("not begin as a keytab"));
  CHECK_THAT(Refusal("\x05\x01 old"), Catch::Contains("of the old version 1"));
  CHECK_THAT(Refusal("\x05\x07"), Catch::Contains("of an unknown version"));
  CHECK_THAT(Refusal("\x05\x02"), Catch::Contains("a keytab without a key"));
  CHECK_THAT(Refusal(std::string("\x05\x02\x80\0\0\0", 6)), Catch::Contains("is cut off"));
  CHECK_THAT(Refusal(std::string("\x05\x02\0\0\0\1a", 7)), Catch::Contains("is damaged"));
  int cut = 0;
  for (size_t size = 3; size < sample.size(); ++size) {
    cut += KeytabPrincipals(sample.substr(0, size), "k").ok() ? 0 : 1;
  }
  CHECK(cut == static_cast<int>(sample.size()) - 3 - 2);  // two cuts are at the end of an entry
}

}  // namespace
}  // namespace espalier::storage
