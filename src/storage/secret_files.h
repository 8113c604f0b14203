// A daemon's own files that no external path may reach: its key, its tokens.
//
// Each check resolves the paths again, because the files may be replaced.
//
// Thread rule: const calls from any thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace espalier::storage {

class SecretFiles {
 public:
  // `paths` are files, or directories with their contents, as absolute paths.
  explicit SecretFiles(std::vector<std::string> paths) : paths_(std::move(paths)) {}

  // Returns whether `path` leads to one of them, through any links.
  bool Has(const std::string& path) const;
  // Returns whether the target of `path` contains one of them.
  bool AnyWithin(const std::string& path) const;
  // Returns whether this open file is one of them, under any name. Also returns true for a file of
  // this process without a name (memory, a spill), which is reachable through /proc.
  bool HasOpened(int fd) const;

 private:
  const std::vector<std::string> paths_;
};

}  // namespace espalier::storage
