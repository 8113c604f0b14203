// Audit lines for refused calls: one line each, bounded for each caller, for all unidentified
// callers together, and in total. A flood fills neither disk nor memory, and the calls of one
// caller do not hide those of another. The number of calls without a line is reported later.
// Private to rpc/.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace espalier::rpc {

// Thread rule: any thread.
class Refusals {
 public:
  // `noun`: what is refused, for the lines that count.
  explicit Refusals(std::string noun = "call") : noun_(std::move(noun)) {}

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

  const std::string noun_;
  std::mutex mutex_;  // guards what follows, which is of one second
  int64_t second_ = 0;
  int64_t lines_ = 0;
  std::map<std::string, Count> callers_;  // each had a line: at most kAllMax
  int64_t others_ = 0;                    // calls of callers who came later
};

// Writes to the audit that the server ends a connection; bounded by the host of `endpoint`, which
// is "host:port". Connections without a line are counted at the next one. Thread rule: any thread.
void LogEndedConnection(const std::string& endpoint, const std::string& why);

}  // namespace espalier::rpc
