// What the audit says of calls that were refused: a line each, bounded for each caller, for all
// whom nobody knows together, and in all. So a flood fills neither disk nor memory, and one
// caller's does not hide another's calls; how many went without a line is said. Private to rpc/.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace espalier::rpc {

// Thread rule: any thread.
class Refusals {
 public:
  // Lines a second.
  static constexpr int64_t kCallerMax = 10, kAllMax = 100;

  // The lines to write for a call that was refused at `now_s`. `caller`: by whom it is counted; "":
  // somebody.
  std::vector<std::string> Tell(const std::string& caller, const std::string& what, int64_t now_s);
  // Those that are left of a second before: how many calls had none.
  std::vector<std::string> Rest(int64_t now_s);

 private:
  struct Count {
    int64_t calls = 0, lines = 0;
  };
  void RestLocked(int64_t now_s, std::vector<std::string>* out);

  std::mutex mutex_;  // guards what follows, which is of one second
  int64_t second_ = 0;
  int64_t lines_ = 0;
  std::map<std::string, Count> callers_;  // each had a line: at most kAllMax
  int64_t others_ = 0;                    // calls of callers who came later
};

// Writes to the audit that the server ends a connection; bounded by the host of `endpoint`, which
// is "host:port". Thread rule: any thread.
void LogEndedConnection(const std::string& endpoint, const std::string& why);

}  // namespace espalier::rpc
