// Files of a daemon's own that no path given by others may lead to: its key, its tokens.
//
// They are looked up at each question, for they may be replaced. Thread rule: const calls from any
// thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace espalier::storage {

class SecretFiles {
 public:
  // Files, or directories with all in them; absolute paths.
  explicit SecretFiles(std::vector<std::string> paths) : paths_(std::move(paths)) {}

  // Whether `path` leads to one of them, by whatever links.
  bool Has(const std::string& path) const;
  // Whether one of them lies in what `path` leads to.
  bool AnyWithin(const std::string& path) const;
  // Whether this file is one of them, under whatever name it was opened; or one without a name, of
  // this process's own (memory, a spill) and reached through /proc.
  bool HasOpened(int fd) const;

 private:
  const std::vector<std::string> paths_;
};

}  // namespace espalier::storage
