#include "src/storage/uri.h"

#include <unistd.h>

#include <catch2/catch.hpp>

#include "tests/storage/temporary_directory.h"

namespace espalier::storage {
namespace {

TEST_CASE("a URI is parsed and its path is not decoded") {
  struct Case {
    std::string text, prefix, host;
    int port;
    std::string path;
  };
  const std::vector<Case> cases = {
      {"hdfs://nn:8020/a/b", "hdfs://nn:8020", "nn", 8020, "/a/b"},
      {"hdfs://ns-1/a%20b?c#d", "hdfs://ns-1", "ns-1", 0, "/a%20b?c#d"},
      {"hdfs:///a//b/", "hdfs://", "", 0, "/a/b"},
      {"hdfs:/a", "hdfs://", "", 0, "/a"},
      {"hdfs://h/", "hdfs://h", "h", 0, "/"},
      {"webhdfs://[::1]:9870/x", "webhdfs://[::1]:9870", "::1", 9870, "/x"},
  };
  for (const Case& c : cases) {
    INFO(c.text);
    const auto uri = ParseUri(c.text);
    REQUIRE(uri.ok());
    CHECK(uri->kind != Uri::Kind::kLocal);
    CHECK(uri->prefix == c.prefix);
    CHECK(uri->host == c.host);
    CHECK(uri->port == c.port);
    CHECK(uri->path == c.path);
  }
}

TEST_CASE("local paths stay unchanged") {
  for (const char* text : {"/a//b/", "a/../b", "a:b", "C:\\x", "hdfs", "x:y/z", ":"}) {
    INFO(text);
    CHECK(ParseUri(text)->kind == Uri::Kind::kLocal);
    CHECK(ParseUri(text)->path == text);
  }
  for (const char* text : {"file:/a", "file:///a", "file://localhost/a"}) {
    CHECK(ParseUri(text)->path == "/a");
  }
}

TEST_CASE("unknown schemes and malformed addresses are refused") {
  for (const char* text :
       {"s3a://b/k", "http://h/p", "swebhdfs:///p", "gs://b", "hdfs://h:0/p", "hdfs://h:99999/p",
        "hdfs://h:x/p", "hdfs://u@h/p", "hdfs://h", "hdfs://h/a/../b", "hdfs://h/./b",
        "webhdfs:///p", "hdfs://[::1/p", "hdfs://h p/x", "file://host/p", ""}) {
    INFO(text);
    const Status status = ParseUri(text).status();
    CHECK(status.code() == StatusCode::kInvalidArgument);
    CHECK_THAT(status.message(), Catch::Contains("expected") || Catch::Contains("does not know"));
  }
  CHECK(ParseUri(std::string("/a\0b", 4)).status().code() == StatusCode::kInvalidArgument);
}

TEST_CASE("equivalent paths have one canonical form") {
  const TemporaryDirectory dir;
  REQUIRE(MakeFileSystem()->MakeDirectory(dir / "a/b").ok());
  REQUIRE(symlink((dir / "a").c_str(), (dir / "link").c_str()) == 0);
  const std::string place = CanonicalPath(dir / "a/new");
  for (const char* name : {"a/new/", "a//new", "a/./new", "a/b/../new", "link/new", "link/b/../new",
                           "a/none/../new"}) {
    CHECK(CanonicalPath(dir / name) == place);
    CHECK(CanonicalPath("file://" + dir / name) == place);
  }
  REQUIRE(symlink((dir / "a/new").c_str(), (dir / "output").c_str()) == 0);
  CHECK(CanonicalPath(dir / "output") == dir / "output");  // a broken link
  REQUIRE(MakeFileSystem()->MakeDirectory(dir / "a/new").ok());
  CHECK(CanonicalPath(dir / "output") == place);
  CHECK(CanonicalPath(dir / "a/newer") != place);
  CHECK(CanonicalPath("hdfs://ns/a//c/") == "hdfs://ns/a/c");
  CHECK(CanonicalPath("ftp://x/y") == "ftp://x/y");
  CHECK(CanonicalPath("/") == "/");
}

}  // namespace
}  // namespace espalier::storage
