// CoordinatorCore: delegation tokens of jobs. TokenRenewal decides when to renew each of them. A
// job continues as long as its old token lasts. The core writes a replaced token to the journal
// before it sends the token to any member.
#include <algorithm>
#include <utility>

#include "src/base/text.h"
#include "src/cluster/coordinator_core.h"

namespace espalier::cluster {
namespace {

bool HasToken(const Submission& submission, const std::string& text) {
  return std::any_of(submission.tokens.begin(), submission.tokens.end(),
                     [&](const spec::StorageToken& token) { return token.text == text; });
}

}  // namespace

void CoordinatorCore::CheckTokens() {
  for (auto& [id, job] : jobs_) {
    if (spec::IsFinal(job.snapshot.state)) continue;
    for (const spec::StorageToken& token : job.submission.tokens) {
      if (!job.tokens.Begin(token.file_system, now_ms_)) continue;
      out_.tokens.push_back({id, token, false, job.submission.owner});
    }
  }
}

void CoordinatorCore::On(const TokenKept& event) {
  JobRecord* job = FindJob(event.job);
  const bool over = job == nullptr || spec::IsFinal(job->snapshot.state);
  if (over) {  // a new token is useless now; clearing may need the old one
    if (event.result.ok() && (job == nullptr || !HasToken(job->submission, event.result->text))) {
      out_.tokens.push_back({event.job,
                             {event.file_system, event.result->text},
                             true,
                             job == nullptr ? "" : job->submission.owner});
    }
    return;
  }
  if (event.result.ok()) return TakeToken(*job, event.file_system, *event.result);
  job->tokens.Fail(event.file_system, now_ms_);
  TokenTrouble(*job, event.file_system, event.result.status());
}

void CoordinatorCore::TakeToken(JobRecord& job, const std::string& file_system,
                                const KeptToken& kept) {
  job.tokens.Succeed(file_system, kept.ends_ms, now_ms_);
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
  if (!job.tokens.SetTrouble(file_system, "")) return;
  Log(LogLevel::kInfo, which + " is renewed again");
  Changed(job);
}

// Logs each reason once.
void CoordinatorCore::TokenTrouble(JobRecord& job, const std::string& file_system,
                                   const Status& why) {
  if (!job.tokens.SetTrouble(file_system, why.ToString())) return;
  Log(LogLevel::kWarning, ToString(job.snapshot.job) + ": " + job.tokens.Trouble(now_ms_));
  Changed(job);
}

void CoordinatorCore::Obey(Worker& worker, const TokenRefused& message) {
  JobRecord* job = FindJob(message.job);
  if (job == nullptr || worker.at.job != message.job) return;
  if (!job->tokens.Hasten(message.file_system, now_ms_)) return;
  SendTokens(*job, worker);  // tokens sent before it reconnected may be lost
}

void CoordinatorCore::SendTokens(const JobRecord& job, const Worker& worker) {
  if (job.submission.tokens.empty()) return;
  Send(worker.session, NewTokens{options_.incarnation, job.snapshot.job, job.submission.tokens});
}

void CoordinatorCore::CancelTokens(JobRecord& job) {
  for (spec::StorageToken& token : job.submission.tokens) {
    out_.tokens.push_back({job.snapshot.job, std::move(token), true, job.submission.owner});
  }
  job.submission.tokens.clear();
  job.tokens.Clear();
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
