#include "src/worker/bundle_writer.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

namespace espalier {
namespace {

namespace fs = std::filesystem;

// A directory of its own, removed at the end.
struct Scratch {
  fs::path path;
  Scratch() {
    std::string pattern = (fs::temp_directory_path() / "espalier-bundle-XXXXXX").string();
    path = mkdtemp(pattern.data());
  }
  ~Scratch() { fs::remove_all(path); }
};

Result<std::string> Write(const fs::path& output, bool overwrite, float first_weight) {
  const NetworkShape shape = *MakeNetworkShape(ModelSpec{}, 3, 2);
  AlignedVector<float> parameters(ParameterCount(shape), 0.5f);
  parameters[0] = first_weight;
  ModelDocument document;
  document.job.output = {output.string(), overwrite};
  return WriteBundle<float>(*MakeFileSystem(), document, shape, parameters, {}, {{1}, {1}, 0});
}

std::vector<std::string> Names(const fs::path& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

TEST_CASE("a bundle appears whole, and nothing else is left") {
  const Scratch scratch;
  const auto sha = Write(scratch.path / "deep" / "model", false, 1);
  REQUIRE(sha.ok());
  CHECK(sha->size() == 64);
  CHECK(Names(scratch.path / "deep") == std::vector<std::string>{"model"});
  CHECK(Names(scratch.path / "deep" / "model") ==
        std::vector<std::string>{"README.md", "history.csv", "model.json", "weights.safetensors"});
}

TEST_CASE("an output that came into being meanwhile is not touched") {
  const Scratch scratch;
  fs::create_directory(scratch.path / "model");
  std::ofstream(scratch.path / "model" / "mine") << "precious";
  const auto written = Write(scratch.path / "model", false, 1);
  CHECK(written.status().code() == StatusCode::kAlreadyExists);
  CHECK(Names(scratch.path) == std::vector<std::string>{"model"});
  CHECK(Names(scratch.path / "model") == std::vector<std::string>{"mine"});
}

TEST_CASE("with overwrite the new bundle replaces the old one") {
  const Scratch scratch;
  const auto first = Write(scratch.path / "model", true, 1);
  const auto second = Write(scratch.path / "model/", true, 2);
  REQUIRE(second.ok());
  CHECK(*first != *second);
  CHECK(Names(scratch.path) == std::vector<std::string>{"model"});
}

TEST_CASE("a directory that cannot be made is told with what it means") {
  const Scratch scratch;
  std::ofstream(scratch.path / "file") << "x";
  const auto written = Write(scratch.path / "file" / "model", false, 1);
  CHECK(written.status().ToString().find("the model is trained, but its bundle could not be "
                                         "written to " +
                                         (scratch.path / "file" / "model").string()) == 0);
}

}  // namespace
}  // namespace espalier
