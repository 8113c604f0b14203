// The memory limit of a container.
#include "src/base/memory.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace espalier {
namespace {

namespace fs = std::filesystem;

TEST_CASE("the smallest limit of a control group and its parents wins") {
  const fs::path root = fs::path(std::getenv("TEST_TMPDIR")) / "groups";
  fs::remove_all(root);
  const auto put = [&root](const std::string& file, const std::string& text) {
    fs::create_directories((root / file).parent_path());
    std::ofstream(root / file) << text;
  };
  const auto bytes = [&root](const std::string& membership) {
    return ControlGroupMemoryBytes(membership, root.string(), 1000);
  };
  CHECK(bytes("") == 1000);
  CHECK(bytes("no groups at all\n0:\n") == 1000);
  CHECK(bytes("0::/a/b\n") == 1000);
  put("a/b/memory.max", "max\n");
  CHECK(bytes("0::/a/b\n") == 1000);
  put("a/memory.max", "700\n");
  CHECK(bytes("0::/a/b\n") == 700);
  put("a/b/memory.max", "900\n");
  CHECK(bytes("0::/a/b\n") == 700);
  CHECK(bytes("0::/other\n") == 1000);
  put("memory.max", "600\n");
  CHECK(bytes("0::/a/b\n") == 600);
  CHECK(bytes("0::/\n") == 600);
  // In version 1, "no limit" is a number larger than any memory. Both versions can be mounted.
  put("memory/memory.limit_in_bytes", "9223372036854771712\n");
  put("memory/c/memory.limit_in_bytes", "500\n");
  CHECK(bytes("4:cpu,memory:/c/d\n0::/\n") == 500);
  CHECK(bytes("4:cpu,memory:/x\n2:cpu:/c\n") == 1000);
  put("memory.max", "-1\n");
  CHECK(bytes("0::/\n") == 1000);
}

TEST_CASE("the physical memory is more than a megabyte") { CHECK(PhysicalMemoryBytes() > 1 << 20); }

}  // namespace
}  // namespace espalier
