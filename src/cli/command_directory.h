// A private directory of this user for the duration of one command. It is locked while in use. The
// next command removes directories that killed commands left behind.
#pragma once

#include <string>

#include "src/base/status.h"

namespace espalier::cli {

// Thread rule: one thread; after Make, path and Remove also from other threads.
class CommandDirectory {
 public:
  static constexpr size_t kNameBytes = 22;  // bytes that Make appends to `parent`, with the '/'

  CommandDirectory() = default;
  ~CommandDirectory();  // calls Remove
  CommandDirectory(const CommandDirectory&) = delete;
  CommandDirectory& operator=(const CommandDirectory&) = delete;

  // Removes the directories that killed commands left in `parent`.
  static void RemoveOrphans(const std::string& parent);
  // Creates the directory. Returns kResourceExhausted on failure. REQUIRES: called at most once.
  Status Make(const std::string& parent);
  bool made() const { return !path_.empty(); }
  const std::string& path() const { return path_; }
  // Removes the directory and its contents, but not those of another directory that has taken its
  // path. The next command removes the rest if that fails. The path stays, because another thread
  // may be reading it.
  void Remove();

 private:
  std::string path_;
  int directory_ = -1;  // the opened directory, which holds the lock
};

}  // namespace espalier::cli
