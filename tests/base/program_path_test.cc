#include "src/base/program_path.h"

#include <sys/prctl.h>

#include <catch2/catch.hpp>
#include <filesystem>

namespace espalier {
namespace {

TEST_CASE("the path of a program does not depend on argv[0]") {
  const std::string own = std::filesystem::read_symlink("/proc/self/exe").string();
  CHECK(ProgramPath("espalier").value() == own);
  CHECK(ProgramPath("/somewhere/else").value() == own);
  CHECK(ProgramPath("").value() == own);
}

TEST_CASE("ps shows the file name in argv[0]") {
  char before[16], shown[16];
  prctl(PR_GET_NAME, before);
  ShowProgramName("/opt/espalier/bin/espalier-coordinator");
  prctl(PR_GET_NAME, shown);
  CHECK(std::string(shown) == "espalier-coordi");
  prctl(PR_SET_NAME, before);
}

}  // namespace
}  // namespace espalier
