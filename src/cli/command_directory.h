// A directory of this user alone for the time of one command. It is locked while it is in use: one
// that a killed command left is removed by the next.
#pragma once

#include <string>

#include "src/base/status.h"

namespace espalier::cli {

// Thread rule: one thread; path and Remove of one that is made also from others.
class CommandDirectory {
 public:
  static constexpr size_t kNameBytes = 22;  // of what Make adds to `parent`, with the '/'

  CommandDirectory() = default;
  ~CommandDirectory();  // as Remove
  CommandDirectory(const CommandDirectory&) = delete;
  CommandDirectory& operator=(const CommandDirectory&) = delete;

  // Removes what killed commands left in `parent`.
  static void RemoveOrphans(const std::string& parent);
  // kResourceExhausted when it cannot be made. REQUIRES: made at most once.
  Status Make(const std::string& parent);
  bool made() const { return !path_.empty(); }
  const std::string& path() const { return path_; }
  // With all that is in it; what cannot be removed now is removed by the next command.
  void Remove();

 private:
  std::string path_;
  int lock_ = -1;
};

}  // namespace espalier::cli
