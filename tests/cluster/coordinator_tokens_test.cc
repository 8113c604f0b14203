// Delegation tokens of jobs in CoordinatorCore: renewed in time, persisted before they are sent,
// never shown, and cancelled at the end.
#include <catch2/catch.hpp>

#include "src/cluster/coordinator_core.h"

namespace espalier::cluster {
namespace {

constexpr const char* kFiles = "hdfs://ns";
constexpr SessionId kSession{1};

class TokensOfAJob {
 public:
  explicit TokensOfAJob(const CoordinatorCoreOptions& options = Options()) : core_(options) {
    Feed(SessionOpened{kSession, "peer"});
    Hello hello;
    hello.version = kVersion;
    hello.arithmetic_id = "a";
    hello.session = "s";
    hello.name = "w";
    hello.address = "w:1";
    Feed(WorkerMessage{kSession, hello});
  }

  static CoordinatorCoreOptions Options() {
    CoordinatorCoreOptions options;
    options.incarnation = {1};
    options.liveness_limit_ms = 86'400'000;
    return options;
  }

  CoordinatorActions Feed(const CoordinatorEvent& event) {
    CoordinatorActions actions = core_.Step(event, now_ms_);
    for (const JournalEntry& entry : actions.persist) journal_.push_back(entry);
    for (const LogLine& line : actions.log) log_ += line.text + "\n";
    return actions;
  }
  // Passes time in ticks and returns the requested work.
  std::vector<TokenWork> Pass(int64_t ms) {
    std::vector<TokenWork> work;
    for (int64_t end = now_ms_ + ms; now_ms_ < end;) {
      now_ms_ += 250;
      for (const TokenWork& w : Feed(Tick{}).tokens) work.push_back(w);
    }
    return work;
  }
  CoordinatorActions Submit(spec::JobKind kind = spec::JobKind::kTrain,
                            spec::StorageTokens tokens = {{kFiles, "first"}},
                            int64_t workers_min = 1) {
    Submission s;
    if (kind != spec::JobKind::kTrain) s.work = ScoringSubmission{kind};
    s.client_request_id = "id-" + std::to_string(journal_.size());
    s.job_yaml = "yaml";
    s.output = "out";
    s.workers_min = s.workers_max = workers_min;
    auto input = std::make_shared<spec::InputPlan>();
    input->files.push_back({"f", 10, 1, spec::FileRole::kTrain, {}});
    input->shards.push_back({0, 0, 10});
    s.input = input;
    s.tokens = std::move(tokens);
    return Feed(espalier::cluster::Submit{{1}, s});
  }
  CoordinatorActions Kept(const std::string& text, int64_t for_ms, Status limit = {}) {
    return Feed(TokenKept{{1}, kFiles, KeptToken{text, now_ms_ + for_ms, std::move(limit)}});
  }

  CoordinatorCore core_;
  int64_t now_ms_ = 1'000'000;
  std::vector<JournalEntry> journal_;
  std::string log_;
};

template <typename T>
std::vector<T> Sent(const CoordinatorActions& actions) {
  std::vector<T> found;
  for (const SendToWorker& send : actions.send) {
    if (const auto* m = std::get_if<T>(&send.message)) found.push_back(*m);
  }
  return found;
}

TEST_CASE("members get the job's tokens with their first order") {
  TokensOfAJob t;
  const auto orders = Sent<StartProfiling>(t.Submit());
  REQUIRE(orders.size() == 1);
  CHECK(orders[0].tokens == spec::StorageTokens{{kFiles, "first"}});
}

TEST_CASE("tokens of a job are kept until its output is cleared") {
  TokensOfAJob t;
  t.Submit(spec::JobKind::kPredict);
  t.Pass(250);
  const CoordinatorActions ended = t.Feed(CancelJob{{2}, {1}});
  REQUIRE(ended.clear.size() == 1);
  CHECK(ended.clear[0].tokens == spec::StorageTokens{{kFiles, "first"}});
  CHECK(ended.tokens.empty());
  // The first token was renewed meanwhile and is still needed. The second one is not.
  CHECK(t.Kept("first", 90'000).tokens.empty());
  const auto unused = t.Kept("second", 90'000).tokens;
  REQUIRE(unused.size() == 1);
  CHECK(unused[0].token.text == "second");
  CHECK(unused[0].cancel);
  for (const std::vector<JournalEntry>& past : {t.journal_, t.core_.Remember()}) {
    CoordinatorCore next(TokensOfAJob::Options(), past);
    const auto begun = next.Step(Tick{}, t.now_ms_);
    REQUIRE(begun.clear.size() == 1);
    CHECK(begun.clear[0].again);
    CHECK(begun.clear[0].tokens == spec::StorageTokens{{kFiles, "first"}});
    const auto cleared = next.Step(JobCleared{{1}}, t.now_ms_);
    REQUIRE(cleared.persist.size() == 1);
    CHECK(std::get<TokensReplaced>(cleared.persist[0]).tokens.empty());
    CHECK(next.Step(JobCleared{{1}}, t.now_ms_).persist.empty());
  }
  t.Feed(JobCleared{{1}});
  for (const std::vector<JournalEntry>& past : {t.journal_, t.core_.Remember()}) {
    CoordinatorCore next(TokensOfAJob::Options(), past);
    CHECK(next.Step(Tick{}, t.now_ms_).clear.empty());
    CHECK(next.Job({1})->state == spec::JobState::kCancelled);
  }
}

TEST_CASE("a job to be cleared is not forgotten for other ended jobs") {
  CoordinatorCoreOptions options = TokensOfAJob::Options();
  options.jobs_kept_max = 1;
  TokensOfAJob t(options);
  t.Submit(spec::JobKind::kPredict);
  REQUIRE(t.Feed(CancelJob{{2}, {1}}).clear.size() == 1);
  for (uint64_t job = 2; job <= 4; ++job) {  // these jobs never start
    t.Submit(spec::JobKind::kTrain, {}, 2);
    t.Feed(CancelJob{{2}, {job}});
    CHECK(t.core_.Job({1}).has_value());
    CHECK(t.core_.Job({job}).has_value());
    CHECK(t.core_.Job({job - 1}).has_value() == (job == 2));
  }
  t.Feed(JobCleared{{1}});
  t.Submit(spec::JobKind::kTrain, {}, 2);
  t.Feed(CancelJob{{2}, {5}});
  CHECK_FALSE(t.core_.Job({1}).has_value());
}

TEST_CASE("a cleared job stays cleared across restarts") {
  TokensOfAJob t;
  t.Submit(spec::JobKind::kPredict, {});
  REQUIRE(t.Feed(CancelJob{{2}, {1}}).clear.size() == 1);
  const auto clears = [&t](const std::vector<JournalEntry>& past) {
    return CoordinatorCore(TokensOfAJob::Options(), past).Step(Tick{}, t.now_ms_).clear.size();
  };
  CHECK(clears(t.journal_) == 1);
  CHECK(clears(t.core_.Remember()) == 1);
  t.Feed(JobCleared{{1}});
  CHECK(clears(t.journal_) == 0);
  CHECK(clears(t.core_.Remember()) == 0);
  // The entries of Remember are all that a later coordinator gets.
  CHECK(clears(CoordinatorCore(TokensOfAJob::Options(), t.journal_).Remember()) == 0);
}

TEST_CASE("a token is renewed at once and after two thirds of its time") {
  TokensOfAJob t;
  t.Submit();
  auto work = t.Pass(250);
  REQUIRE(work.size() == 1);
  CHECK(work[0].token == spec::StorageToken{kFiles, "first"});
  CHECK_FALSE(work[0].cancel);
  CHECK(t.Pass(60'000).empty());  // one request at a time
  t.Kept("first", 90'000);
  CHECK(t.Pass(59'750).empty());
  CHECK(t.Pass(500).size() == 1);
}

TEST_CASE("a replaced token is persisted, then sent, after restarts too") {
  TokensOfAJob t;
  t.Submit();
  t.Pass(250);
  const CoordinatorActions actions = t.Kept("second", 90'000);
  REQUIRE(actions.persist.size() == 1);
  CHECK(std::get<TokensReplaced>(actions.persist[0]).tokens ==
        spec::StorageTokens{{kFiles, "second"}});
  const auto told = Sent<NewTokens>(actions);
  REQUIRE(told.size() == 1);
  CHECK(told[0].tokens == spec::StorageTokens{{kFiles, "second"}});
  CHECK(t.Kept("second", 90'000).persist.empty());

  for (const std::vector<JournalEntry>& past : {t.journal_, t.core_.Remember()}) {
    CoordinatorCore next(TokensOfAJob::Options(), past);
    const auto work = next.Step(Tick{}, t.now_ms_).tokens;
    REQUIRE(work.size() == 1);
    CHECK(work[0].token.text == "second");
  }
}

TEST_CASE("a member with a refused token gets the newest one") {
  TokensOfAJob t;
  t.Submit();
  t.Pass(250);
  t.Kept("first", 90'000);
  t.Pass(1000);
  const CoordinatorActions actions = t.Feed(WorkerMessage{kSession, TokenRefused{{1}, kFiles}});
  CHECK(Sent<NewTokens>(actions).size() == 1);
  CHECK(t.Pass(250).size() == 1);
  CHECK(Sent<NewTokens>(t.Feed(WorkerMessage{kSession, TokenRefused{{2}, kFiles}})).empty());
  CHECK(Sent<NewTokens>(t.Feed(WorkerMessage{kSession, TokenRefused{{1}, "hdfs://x"}})).empty());
}

TEST_CASE("failed renewals are repeated in time and reported once") {
  TokensOfAJob t;
  t.Submit();
  t.Pass(250);
  t.Kept("first", 9'000, PermissionDenied("espalier may not act for alice"));
  CHECK(t.log_.find("job-1: its delegation token of hdfs://ns ends at 1970-01-") !=
        std::string::npos);
  CHECK_THAT(t.core_.Job({1})->trouble,
             Catch::StartsWith("its delegation token of hdfs://ns ends at 1970-01-") &&
                 Catch::EndsWith("unless this is fixed by then: espalier may not act for alice"));
  CHECK(t.Pass(6'000).size() == 1);
  t.log_.clear();
  t.Feed(TokenKept{{1}, kFiles, Unavailable("no KDC answers")});
  CHECK(t.log_.find("no KDC answers") != std::string::npos);
  CHECK_THAT(t.core_.Job({1})->trouble, Catch::Contains("no KDC answers"));
  t.log_.clear();
  CHECK(t.Pass(1'250).size() == 1);
  t.Feed(TokenKept{{1}, kFiles, Unavailable("no KDC answers")});
  CHECK(t.log_.empty());
  t.Kept("first", 9'000);
  CHECK(t.log_.find("is renewed again") != std::string::npos);
  CHECK(t.core_.Job({1})->trouble.empty());
}

TEST_CASE("a waiting job that ends has its tokens cancelled") {
  TokensOfAJob t;
  t.Submit(spec::JobKind::kTrain, {{kFiles, "first"}}, 2);
  t.Pass(250);
  const CoordinatorActions actions = t.Feed(CancelJob{{2}, {1}, "enough"});
  REQUIRE(actions.tokens.size() == 1);
  CHECK(actions.tokens[0].cancel);
  CHECK(actions.tokens[0].token.text == "first");
  const CoordinatorActions late = t.Kept("second", 90'000);
  REQUIRE(late.tokens.size() == 1);
  CHECK(late.tokens[0].cancel);
  CHECK(late.tokens[0].token.text == "second");
  CHECK(t.Pass(120'000).empty());
  for (const JournalEntry& entry : t.core_.Remember()) {
    if (const auto* accepted = std::get_if<JobAccepted>(&entry)) {
      CHECK(accepted->submission.tokens.empty());
    }
  }
}

TEST_CASE("no log line holds a token") {
  TokensOfAJob t;
  t.Submit();
  t.Pass(250);
  t.Kept("second", 3'000, Unavailable("why"));
  t.Pass(10'000);
  CHECK(t.log_.find("first") == std::string::npos);
  CHECK(t.log_.find("second") == std::string::npos);
}

}  // namespace
}  // namespace espalier::cluster
