// Runs the seeds and kept inputs of all fuzz targets, once each. A target ends the process if the
// code breaks a promise.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "src/base/base64.h"
#include "tests/fuzz_targets/targets.h"

namespace espalier::fuzz {
namespace {

// Reads a corpus file. Lines that start with # are comments. Each other line is an input in Base64.
std::vector<std::string> KeptInputs(const std::string& target) {
  std::ifstream file("tests/fuzz_targets/corpus/" + target + ".txt");
  INFO(target << " has no corpus file");
  REQUIRE(file.is_open());
  std::vector<std::string> inputs;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    const auto input = FromBase64(line);
    INFO(target << ": not Base64: " << line);
    REQUIRE(input.has_value());
    inputs.push_back(*input);
  }
  return inputs;
}

TEST_CASE("each kept input of a fuzz target keeps its promises") {
  for (const Target& target : Targets()) {
    size_t number = 0;
    for (const std::string& input : KeptInputs(target.name)) {
      // After a crash, this line is the only trace of the input.
      std::cerr << target.name << ' ' << ++number << '\n';
      target.run(input);
    }
    CHECK(number > 0);
  }
}

TEST_CASE("each corpus file belongs to a fuzz target") {
  size_t files = 0;
  for (const auto& file : std::filesystem::directory_iterator("tests/fuzz_targets/corpus")) {
    INFO(file.path().string());
    CHECK(FindTarget(file.path().stem().string()) != nullptr);
    ++files;
  }
  CHECK(files == Targets().size());
}

TEST_CASE("each seed of a fuzz target keeps its promises") {
  for (const Target& target : Targets()) {
    const auto seeds = target.seeds();
    CHECK_FALSE(seeds.empty());
    for (const std::string& seed : seeds) target.run(seed);
  }
}

}  // namespace
}  // namespace espalier::fuzz
