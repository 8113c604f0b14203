#include "src/bundle/output.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace espalier {
namespace {

namespace fs = std::filesystem;

struct Scratch {
  fs::path path;
  Scratch() {
    std::string pattern = (fs::temp_directory_path() / "espalier-output-XXXXXX").string();
    path = mkdtemp(pattern.data());
  }
  ~Scratch() { fs::remove_all(path); }
};

Status Check(const fs::path& path, bool overwrite) {
  return CheckOutput(*MakeFileSystem(), {path.string(), overwrite});
}

TEST_CASE("an output that is not there is fine, one that is there needs overwrite") {
  const Scratch s;
  CHECK(Check(s.path / "new", false).ok());
  CHECK(Check(s.path / "new", true).ok());
  CHECK(Check(s.path, false).code() == StatusCode::kAlreadyExists);
  CHECK(Check(s.path, true).ok());  // empty
}

TEST_CASE("overwrite replaces a bundle and nothing else") {
  const Scratch s;
  std::ofstream(s.path / "model.json") << "{}";
  std::ofstream(s.path / "weights.safetensors") << "";
  CHECK(Check(s.path, true).ok());
  std::ofstream(s.path / ".hidden") << "precious";
  const Status refused = Check(s.path, true);
  CHECK(refused.code() == StatusCode::kInvalidArgument);
  CHECK(refused.message() == "output: " + s.path.string() +
                                 " holds '.hidden', which is no part of a bundle; overwrite "
                                 "replaces only a bundle: name another place for the output");
}

TEST_CASE("neither a file nor a README alone is taken for a bundle") {
  const Scratch s;
  std::ofstream(s.path / "README.md") << "mine";
  CHECK(Check(s.path, true).code() == StatusCode::kInvalidArgument);
  CHECK(Check(s.path / "README.md", true).code() == StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace espalier
