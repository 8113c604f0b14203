#include "src/worker/bundle_writer.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/storage/temporary_directory.h"
#include "tests/testing/says.h"

namespace espalier::worker {
namespace {

namespace fs = std::filesystem;

Result<std::string> Write(const std::string& output, bool overwrite, float first_weight) {
  const model::NetworkShape shape = *model::MakeNetworkShape(spec::ModelSpec{}, 3, 2);
  AlignedVector<float> parameters(model::ParameterCount(shape), 0.5f);
  parameters[0] = first_weight;
  bundle::ModelDocument document;
  document.job.output = {output, overwrite};
  static uint64_t jobs = 0;
  bundle::OutputWriter writer;
  writer.name = {{++jobs}, {1}, 0, static_cast<int64_t>(jobs)};
  writer.submission = std::to_string(jobs);
  const auto files = storage::MakeFileSystem();
  (void)bundle::ReserveOutput(*files, output, writer.name);
  return WriteBundle<float>(*files, document, shape, parameters, {}, writer, {});
}

std::vector<std::string> Names(const fs::path& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

TEST_CASE("a bundle appears whole and no other file is left") {
  const storage::TemporaryDirectory scratch;
  const auto sha = Write(scratch / "deep/model", false, 1);
  REQUIRE(sha.ok());
  CHECK(sha->size() == 64);
  CHECK(Names(scratch / "deep") == std::vector<std::string>{"model"});
  CHECK(Names(scratch / "deep/model") == std::vector<std::string>{bundle::kWriterFile, "README.md",
                                                                  "history.csv", "model.json",
                                                                  "weights.safetensors"});
}

TEST_CASE("an output that appeared during the job is not changed") {
  const storage::TemporaryDirectory scratch;
  fs::create_directory(scratch / "model");
  scratch.Put("model/mine", "precious");
  const auto written = Write(scratch / "model", false, 1);
  CHECK(written.status().code() == StatusCode::kAlreadyExists);
  CHECK(Names(scratch.path()) == std::vector<std::string>{"model"});
  CHECK(Names(scratch / "model") == std::vector<std::string>{"mine"});
}

TEST_CASE("with overwrite the new bundle replaces the old one") {
  const storage::TemporaryDirectory scratch;
  const auto first = Write(scratch / "model", true, 1);
  const auto second = Write(scratch / "model/", true, 2);
  REQUIRE(second.ok());
  CHECK(*first != *second);
  CHECK(Names(scratch.path()) == std::vector<std::string>{"model"});
}

TEST_CASE("a directory that cannot be created is reported with advice") {
  const storage::TemporaryDirectory scratch;
  scratch.Put("file", "x");
  const auto written = Write(scratch / "file/model", false, 1);
  CHECK_THAT(written.status().ToString(),
             Says("the model is trained, but its bundle ... " + (scratch / "file/model")));
}

}  // namespace
}  // namespace espalier::worker
