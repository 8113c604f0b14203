#include "src/coordinator/journal.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>

namespace espalier {
namespace {

std::string Directory(const std::string& name) {
  return std::string(std::getenv("TEST_TMPDIR")) + "/" + name;
}

TEST_CASE("every life of a coordinator has a higher number, whatever the clock says") {
  const std::string directory = Directory("lives");
  REQUIRE(DirectoryLock::Take(directory).ok());
  CHECK(NextIncarnation(directory, 500)->value == 500);
  CHECK(NextIncarnation(directory, 400)->value == 501);
  CHECK(NextIncarnation(directory, 400)->value == 502);
  CHECK(NextIncarnation(directory, 900)->value == 900);
  CHECK(NextIncarnation("", 7)->value == 7);
}

TEST_CASE("a damaged incarnation file is an error, not a new beginning") {
  const std::string directory = Directory("damaged");
  REQUIRE(DirectoryLock::Take(directory).ok());
  for (const char* text : {"", "12", "x\n", "12 \n"}) {
    std::ofstream(directory + "/incarnation") << text;
    CHECK(NextIncarnation(directory, 1).status().code() == StatusCode::kDataLoss);
  }
}

TEST_CASE("a state directory belongs to one coordinator at a time") {
  const std::string directory = Directory("locked");
  {
    const auto lock = DirectoryLock::Take(directory);
    REQUIRE(lock.ok());
    CHECK(DirectoryLock::Take(directory).status().code() == StatusCode::kFailedPrecondition);
  }
  CHECK(DirectoryLock::Take(directory).ok());
}

}  // namespace
}  // namespace espalier
