// Files of a test: its directory, and the content of a file.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace espalier::coordinator {

// Returns a path in the test's temporary directory, after removing what is there.
inline std::string Directory(const std::string& name) {
  const std::string path = std::string(std::getenv("TEST_TMPDIR")) + "/" + name;
  std::filesystem::remove_all(path);
  return path;
}

// Returns the bytes of a file. Empty: the file does not exist.
inline std::string Read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace espalier::coordinator
