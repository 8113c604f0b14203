#include "src/cluster/token_renewal.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "src/base/text.h"

namespace espalier::cluster {
namespace {

constexpr int64_t kPauseMs = 500;         // minimum between two attempts for one token
constexpr int64_t kRetryMs = 30'000;      // maximum after a failure
constexpr int64_t kFirstRetryMs = 5'000;  // while the expiry is unknown

// Returns "2026-01-31 14:03:22 UTC", for example.
std::string UtcTime(int64_t ms) {
  const std::time_t seconds = ms / 1000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[48];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts)};
}

}  // namespace

bool TokenRenewal::Begin(const std::string& file_system, int64_t now_ms) {
  Token& token = tokens_[file_system];
  if (token.working || now_ms < token.due_ms) return false;
  token.working = true;
  token.asked_ms = now_ms;
  return true;
}

void TokenRenewal::Succeed(const std::string& file_system, int64_t ends_ms, int64_t now_ms) {
  Token& token = tokens_[file_system];
  token.working = false;
  token.ends_ms = ends_ms;
  token.due_ms = now_ms + std::max(kPauseMs, (ends_ms - now_ms) * 2 / 3);
}

void TokenRenewal::Fail(const std::string& file_system, int64_t now_ms) {
  Token& token = tokens_[file_system];
  token.working = false;
  const int64_t wait = token.ends_ms == 0 ? kFirstRetryMs : (token.ends_ms - now_ms) / 4;
  token.due_ms = now_ms + std::clamp(wait, 2 * kPauseMs, kRetryMs);
}

bool TokenRenewal::Hasten(const std::string& file_system, int64_t now_ms) {
  const auto found = tokens_.find(file_system);
  if (found == tokens_.end()) return false;
  Token& token = found->second;
  token.due_ms = std::min(token.due_ms, std::max(now_ms, token.asked_ms + kPauseMs));
  return true;
}

bool TokenRenewal::SetTrouble(const std::string& file_system, std::string why) {
  std::string& trouble = tokens_[file_system].trouble;
  if (trouble == why) return false;
  trouble = std::move(why);
  return true;
}

std::string TokenRenewal::Trouble(int64_t now_ms) const {
  std::string text;
  for (const auto& [file_system, token] : tokens_) {
    if (token.trouble.empty()) continue;
    const std::string ends = token.ends_ms == 0        ? "at a time that only HDFS knows"
                             : token.ends_ms <= now_ms ? "now"
                                                       : "at " + UtcTime(token.ends_ms);
    text += (text.empty() ? "" : "; ") +
            ("its delegation token of " + Printable(file_system, 300)) + " ends " + ends +
            ", after which the job cannot read or write there unless this is fixed by then: " +
            token.trouble;
  }
  return text;
}

}  // namespace espalier::cluster
