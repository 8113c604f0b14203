#include "src/bundle/output.h"

#include <catch2/catch.hpp>

#include "tests/storage/temporary_directory.h"

namespace espalier {
namespace {

Status Check(const std::string& path, bool overwrite) {
  return CheckOutput(*MakeFileSystem(), {path, overwrite});
}

TEST_CASE("an output that is not there is fine, one that is there needs overwrite") {
  const TemporaryDirectory s;
  CHECK(Check(s / "new", false).ok());
  CHECK(Check(s / "new", true).ok());
  CHECK(Check(s.path(), false).code() == StatusCode::kAlreadyExists);
  CHECK(Check(s.path(), true).ok());  // empty
}

TEST_CASE("overwrite replaces a bundle and nothing else") {
  const TemporaryDirectory s;
  s.Put("model.json", "{}");
  s.Put("weights.safetensors", "");
  CHECK(Check(s.path(), true).ok());
  s.Put(".hidden", "precious");
  const Status refused = Check(s.path(), true);
  CHECK(refused.code() == StatusCode::kInvalidArgument);
  CHECK(refused.message() == "output: " + s.path() +
                                 " holds '.hidden', which is no part of a bundle; overwrite "
                                 "replaces only a bundle: name another place for the output");
}

TEST_CASE("neither a file nor a README alone is taken for a bundle") {
  const TemporaryDirectory s;
  s.Put("README.md", "mine");
  CHECK(Check(s.path(), true).code() == StatusCode::kInvalidArgument);
  CHECK(Check(s / "README.md", true).code() == StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace espalier
