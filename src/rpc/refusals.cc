#include "src/rpc/refusals.h"

#include <grpc/support/time.h>

#include <utility>

#include "src/base/audit.h"

namespace espalier::rpc {
namespace {

std::string More(int64_t count, const std::string& noun, const std::string& whose) {
  return "audit: " + std::to_string(count) + " more " + noun + (count == 1 ? "" : "s") + whose +
         (count == 1 ? " was refused" : " were refused");
}

}  // namespace

std::vector<std::string> Refusals::Tell(const std::string& caller, const std::string& what,
                                        int64_t now_s) {
  std::vector<std::string> out;
  MutexLock lock(mutex_);
  RestLocked(now_s, &out);
  const bool room = lines_ < kAllMax;
  if (!room && !callers_.contains(caller)) {
    ++others_;
    return out;
  }
  Count& count = callers_[caller];
  ++count.calls;
  if (!room || count.lines >= kCallerMax) return out;
  ++count.lines;
  ++lines_;
  out.push_back("audit: refused " + what);
  return out;
}

std::vector<std::string> Refusals::Rest(int64_t now_s) {
  std::vector<std::string> out;
  MutexLock lock(mutex_);
  RestLocked(now_s, &out);
  return out;
}

void Refusals::RestLocked(int64_t now_s, std::vector<std::string>* out) {
  if (now_s == second_) return;
  for (const auto& [caller, count] : callers_) {
    if (count.calls == count.lines) continue;
    out->push_back(More(count.calls - count.lines, noun_,
                        caller.empty() ? " of unidentified callers" : " of " + caller));
  }
  if (others_ > 0) out->push_back(More(others_, noun_, " of others"));
  second_ = now_s;
  lines_ = others_ = 0;
  callers_.clear();
}

void LogEndedConnection(const std::string& endpoint, const std::string& why) {
  static Refusals refusals("connection");
  const int64_t now_s = gpr_now(GPR_CLOCK_MONOTONIC).tv_sec;
  const std::string host = endpoint.substr(0, endpoint.rfind(':'));
  for (const std::string& line :
       refusals.Tell(host, "connection of " + endpoint + ": " + why, now_s)) {
    LogAudit(line);
  }
}

}  // namespace espalier::rpc
