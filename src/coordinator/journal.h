// What the coordinator must remember over a restart. Append returns when the entries are as safe as
// this journal makes them; only then are they acted on.
#pragma once

#include <memory>
#include <vector>

#include "src/base/ids.h"
#include "src/base/status.h"
#include "src/cluster/coordinator_actions.h"

namespace espalier {

// Thread rule: one thread.
class Journal {
 public:
  virtual ~Journal() = default;
  // An error means that the coordinator must not go on: it would promise what it may forget.
  virtual Status Append(const std::vector<JournalEntry>& entries) = 0;
};

// Keeps nothing: jobs do not outlive the process.
std::unique_ptr<Journal> MakeForgetfulJournal();

// The durable number of this life of the coordinator: more than any before it. Without a state
// directory the time (microseconds since 1970, `now_us`) is the number; with one, the number is
// also more than the one kept there, which it replaces.
Result<Incarnation> NextIncarnation(const std::string& state_directory, int64_t now_us);

// Holds a state directory for one process; released when the lock is destroyed.
class DirectoryLock {
 public:
  // Makes the directory when it is not there. kFailedPrecondition: another process holds it.
  static Result<std::unique_ptr<DirectoryLock>> Take(const std::string& directory);
  ~DirectoryLock();
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

 private:
  explicit DirectoryLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace espalier
