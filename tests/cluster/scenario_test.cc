// Plays tests/scenarios/*.txt and compares the results. With ESPALIER_WRITE_SCENARIOS=DIR in the
// environment, writes the current results to DIR. Review them before they replace the old scripts.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/cluster/coordinator_player.h"
#include "tests/cluster/worker_player.h"

namespace espalier::cluster::script {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> Scripts(const std::string& prefix) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator("tests/scenarios")) {
    if (entry.path().filename().string().starts_with(prefix)) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

template <typename P>
void PlayAll(const std::string& prefix) {
  const std::vector<fs::path> paths = Scripts(prefix);
  REQUIRE(!paths.empty());
  for (const fs::path& path : paths) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    P player;
    const std::string played = Replay(text.str(), player);
    if (const char* dir = std::getenv("ESPALIER_WRITE_SCENARIOS")) {
      std::ofstream(fs::path(dir) / path.filename()) << played;
    }
    INFO(path);
    CHECK(played == text.str());
  }
}

TEST_CASE("the coordinator plays its scenarios as written") {
  PlayAll<CoordinatorPlayer>("coordinator_");
}

TEST_CASE("the worker plays its scenarios as written") { PlayAll<WorkerPlayer>("worker_"); }

}  // namespace
}  // namespace espalier::cluster::script
