// CoordinatorCore: delegation tokens of jobs. The coordinator renews each token when it receives
// it, which reveals the expiry. It renews the token again after two thirds of the remaining time,
// and when the token was refused for a member. After a failure it retries repeatedly. The job
// continues as long as the old token lasts. The core writes a replaced token to the journal before
// it sends the token to any member.
#include <algorithm>
#include <ctime>
#include <utility>

#include "src/base/text.h"
#include "src/cluster/coordinator_core.h"

namespace espalier::cluster {
namespace {

constexpr int64_t kTokenPauseMs = 500;         // minimum between two attempts for one token
constexpr int64_t kTokenRetryMs = 30'000;      // maximum after a failure
constexpr int64_t kTokenFirstRetryMs = 5'000;  // while the expiry is unknown

// Returns "2026-01-31 14:03:22 UTC", for example, for milliseconds since 1970.
std::string UtcTime(int64_t ms) {
  const std::time_t seconds = ms / 1000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[48];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts)};
}

bool HasToken(const Submission& submission, const std::string& text) {
  return std::any_of(submission.tokens.begin(), submission.tokens.end(),
                     [&](const spec::StorageToken& token) { return token.text == text; });
}

}  // namespace

void CoordinatorCore::CheckTokens() {
  for (auto& [id, job] : jobs_) {
    if (spec::IsFinal(job.snapshot.state)) continue;
    for (const spec::StorageToken& token : job.submission.tokens) {
      TokenState& state = job.tokens[token.file_system];
      if (state.working || now_ms_ < state.due_ms) continue;
      state.working = true;
      state.asked_ms = now_ms_;
      out_.tokens.push_back({id, token, false});
    }
  }
}

void CoordinatorCore::On(const TokenKept& event) {
  JobRecord* job = FindJob(event.job);
  const bool over = job == nullptr || spec::IsFinal(job->snapshot.state);
  if (over) {  // a new token is useless now; clearing may need the old one
    if (event.result.ok() && (job == nullptr || !HasToken(job->submission, event.result->text))) {
      out_.tokens.push_back({event.job, {event.file_system, event.result->text}, true});
    }
    return;
  }
  TokenState& state = job->tokens[event.file_system];
  state.working = false;
  if (event.result.ok()) return TakeToken(*job, event.file_system, *event.result);
  const int64_t left = state.ends_ms - now_ms_;
  const int64_t wait = state.ends_ms == 0 ? kTokenFirstRetryMs : left / 4;
  state.due_ms = now_ms_ + std::clamp(wait, 2 * kTokenPauseMs, kTokenRetryMs);
  TokenTrouble(*job, event.file_system, event.result.status());
}

void CoordinatorCore::TakeToken(JobRecord& job, const std::string& file_system,
                                const KeptToken& kept) {
  TokenState& state = job.tokens[file_system];
  state.ends_ms = kept.ends_ms;
  state.due_ms = now_ms_ + std::max(kTokenPauseMs, (kept.ends_ms - now_ms_) * 2 / 3);
  const std::string which =
      ToString(job.snapshot.job) + ": the delegation token of " + Printable(file_system, 300);
  for (spec::StorageToken& token : job.submission.tokens) {
    if (token.file_system != file_system || token.text == kept.text) continue;
    token.text = kept.text;
    out_.persist.push_back(TokensReplaced{job.snapshot.job, job.submission.tokens});
    for (const auto& [id, worker] : workers_) {  // members, and workers that prepare to join
      if (worker.at.job == job.snapshot.job) SendTokens(job, worker);
    }
    Log(LogLevel::kInfo, which + " was replaced");
  }
  if (!kept.limit.ok()) return TokenTrouble(job, file_system, kept.limit);
  if (state.trouble.empty()) return;
  Log(LogLevel::kInfo, which + " is renewed again");
  state.trouble.clear();
  Changed(job);
}

// Logs each reason once.
void CoordinatorCore::TokenTrouble(JobRecord& job, const std::string& file_system,
                                   const Status& why) {
  TokenState& state = job.tokens[file_system];
  std::string words = why.ToString();
  if (std::exchange(state.trouble, words) == words) return;
  Log(LogLevel::kWarning, ToString(job.snapshot.job) + ": " + TroubleOf(job));
  Changed(job);
}

// Returns the problems of the job's tokens, for its owner.
std::string CoordinatorCore::TroubleOf(const JobRecord& job) const {
  std::string text;
  for (const auto& [file_system, state] : job.tokens) {
    if (state.trouble.empty()) continue;
    const std::string ends = state.ends_ms == 0         ? "at a time that only HDFS knows"
                             : state.ends_ms <= now_ms_ ? "now"
                                                        : "at " + UtcTime(state.ends_ms);
    text += (text.empty() ? "" : "; ") +
            ("its delegation token of " + Printable(file_system, 300)) + " ends " + ends +
            ", after which the job cannot read or write there unless this is fixed by then: " +
            state.trouble;
  }
  return text;
}

void CoordinatorCore::Obey(Worker& worker, const TokenRefused& message) {
  JobRecord* job = FindJob(message.job);
  if (job == nullptr || worker.at.job != message.job) return;
  const auto it = job->tokens.find(message.file_system);
  if (it == job->tokens.end()) return;
  it->second.due_ms =
      std::min(it->second.due_ms, std::max(now_ms_, it->second.asked_ms + kTokenPauseMs));
  SendTokens(*job, worker);  // tokens sent before it reconnected may be lost
}

void CoordinatorCore::SendTokens(const JobRecord& job, const Worker& worker) {
  if (job.submission.tokens.empty()) return;
  Send(worker.session, NewTokens{options_.incarnation, job.snapshot.job, job.submission.tokens});
}

void CoordinatorCore::CancelTokens(JobRecord& job) {
  for (spec::StorageToken& token : job.submission.tokens) {
    out_.tokens.push_back({job.snapshot.job, std::move(token), true});
  }
  job.submission.tokens.clear();
  job.tokens.clear();
}

// For a job that has ended, an empty token list in the journal means that it is cleared away. No
// clearing is possible without the tokens. A job that had no tokens is marked in the same way.
void CoordinatorCore::On(const JobCleared& event) {
  JobRecord* job = FindJob(event.job);
  if (job == nullptr || !spec::IsFinal(job->snapshot.state) || job->cleared) return;
  job->submission.tokens.clear();
  job->cleared = true;
  out_.persist.push_back(TokensReplaced{event.job, {}});
}

void CoordinatorCore::Recall(const TokensReplaced& e) {
  JobRecord* job = FindJob(e.job);
  if (job == nullptr) return;
  job->submission.tokens = e.tokens;
  job->cleared = spec::IsFinal(job->snapshot.state) && e.tokens.empty();
}

}  // namespace espalier::cluster
