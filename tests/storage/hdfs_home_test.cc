#include "src/storage/hdfs_home.h"

#include <catch2/catch.hpp>

namespace espalier::storage {
namespace {

std::string Body(const std::string& path) { return "{\"Path\":\"" + path + "\"}"; }

TEST_CASE("the home directory is the path that the NameNode returns") {
  CHECK(ParseHdfsHome(Body("/user/ann")).value() == "/user/ann");
  CHECK(ParseHdfsHome(Body("/people/x/ann.b-c_d")).value() == "/people/x/ann.b-c_d");
}

TEST_CASE("an invalid home directory is refused") {
  for (const char* body : {"", "[]", "{}", "{\"Path\":7}"}) {
    INFO(body);
    CHECK(ParseHdfsHome(body).status().code() == StatusCode::kUnavailable);
  }
  for (const char* path : {"", "/", "user/a", "/user/", "/user/../a", "/user//a", "/user/a b",
                           "/user/a\\n", "/user/$(a)", "/user/a'b"}) {
    INFO(path);
    CHECK(ParseHdfsHome(Body(path)).status().code() == StatusCode::kUnavailable);
  }
  CHECK_FALSE(ParseHdfsHome(Body("/" + std::string(2000, 'a'))).ok());
}

}  // namespace
}  // namespace espalier::storage
