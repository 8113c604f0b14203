#include "src/worker/program.h"

#include <catch2/catch.hpp>
#include <fstream>

#include "tests/storage/temporary_directory.h"

namespace espalier::worker {
namespace {

TEST_CASE("the mark of lack of memory is taken once") {
  const storage::TemporaryDirectory directory;
  CHECK(!TakeOutOfMemoryMark(""));
  CHECK(!TakeOutOfMemoryMark(directory.path()));
  std::ofstream(directory.path() + "/oom-kill");
  CHECK(TakeOutOfMemoryMark(directory.path()));
  CHECK(!TakeOutOfMemoryMark(directory.path()));
}

}  // namespace
}  // namespace espalier::worker
