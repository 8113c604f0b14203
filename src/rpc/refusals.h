// Audit lines for refused calls, one line for each call. The number of lines is limited for each
// caller, for all unidentified callers together, and in total. A flood fills neither disk nor
// memory, and the calls of one caller do not hide those of another. The number of calls without a
// line is reported later. Private to rpc/.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "src/base/mutex.h"

namespace espalier::rpc {

// Thread rule: any thread.
class Refusals {
 public:
  // `noun` names the refused things, for the lines with counts.
  explicit Refusals(std::string noun = "call") : noun_(std::move(noun)) {}

  // Limits of lines for each second.
  static constexpr int64_t kCallerMax = 10, kAllMax = 100;

  // Returns the lines to write for a call that was refused at `now_s`. `caller` is the key for the
  // count. Empty: an unidentified caller.
  std::vector<std::string> Tell(const std::string& caller, const std::string& what, int64_t now_s);
  // Returns the remaining lines of an earlier second: the number of calls that had no line.
  std::vector<std::string> Rest(int64_t now_s);

 private:
  struct Count {
    int64_t calls = 0, lines = 0;
  };
  void RestLocked(int64_t now_s, std::vector<std::string>* out) REQUIRES(mutex_);

  const std::string noun_;
  Mutex mutex_;
  // The counts of one second.
  int64_t second_ GUARDED_BY(mutex_) = 0;
  int64_t lines_ GUARDED_BY(mutex_) = 0;
  std::map<std::string, Count> callers_ GUARDED_BY(mutex_);  // callers with a line: at most kAllMax
  int64_t others_ GUARDED_BY(mutex_) = 0;                    // calls of later callers
};

// Writes to the audit log that the server ends a connection. The lines are limited for each host of
// `endpoint`, which is "host:port". Connections without a line are counted at the next line. Thread
// rule: any thread.
void LogEndedConnection(const std::string& endpoint, const std::string& why);

}  // namespace espalier::rpc
