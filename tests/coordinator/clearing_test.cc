// Order, repetition and end of clearing what jobs have left.
#include "src/coordinator/clearing.h"

#include <catch2/catch.hpp>
#include <deque>
#include <map>

namespace espalier::coordinator {
namespace {

// Clearing whose merge thread and clock the test runs.
class ClearingByHand {
 public:
  ClearingByHand()
      : clearing_(
            {.now_ms = [this] { return now_ms_; },
             .submit = [this](spec::JobKind, auto work) { pool_.push_back(std::move(work)); },
             .clear =
                 [this](const cluster::ClearWork& work) {
                   tried_.push_back(work.job.value);
                   return answers_[work.job.value];
                 },
             .over = [this](const cluster::ClearWork& work) { over_.push_back(work.job.value); }}) {
  }

  void Add(uint64_t job, const std::string& output, bool again = false, bool succeeded = false) {
    clearing_.Add({.job = {job},
                   .output = output,
                   .request_id = "r",
                   .succeeded = succeeded,
                   .again = again});
  }
  // Does all work of this span. Returns the jobs whose clearing was tried.
  std::vector<uint64_t> Pass(int64_t ms) {
    tried_.clear();
    for (const int64_t end = now_ms_ + ms;; now_ms_ += 100) {
      clearing_.Continue();
      CHECK(pool_.size() <= 1);
      while (!pool_.empty()) {
        const auto work = std::move(pool_.front());
        pool_.pop_front();
        work();
      }
      if (now_ms_ >= end) return tried_;
    }
  }

  std::map<uint64_t, Status> answers_;
  std::vector<uint64_t> tried_, over_;
  int64_t now_ms_ = 1000;
  std::deque<std::function<void()>> pool_;
  Clearing clearing_;
};

using Jobs = std::vector<uint64_t>;

TEST_CASE("jobs of this process come first, then unsuccessful ones") {
  ClearingByHand t;
  t.Add(1, "/a", true, true);  // in progress when the others arrive
  t.Add(2, "/b", true, true);
  t.Add(3, "/c", true);
  t.Add(4, "/d", false, true);
  CHECK(t.clearing_.open());
  CHECK(t.Pass(0) == Jobs{1, 4, 3, 2});
  CHECK(t.over_ == Jobs{1, 4, 3, 2});
  CHECK_FALSE(t.clearing_.open());
}

TEST_CASE("a failed clearing is soon tried again") {
  ClearingByHand t;
  t.answers_[1] = Unavailable("a worker still writes");
  t.Add(1, "/a");
  CHECK(t.Pass(0) == Jobs{1});
  CHECK(t.clearing_.open());
  CHECK(t.Pass(kClearSoonMs - 100).empty());
  t.answers_[1] = {};
  CHECK(t.Pass(100) == Jobs{1});
  CHECK(t.over_ == Jobs{1});
}

TEST_CASE("clearing is given up after some seconds") {
  ClearingByHand t;
  t.answers_[1] = PermissionDenied("not yours");
  t.Add(1, "/a");
  CHECK(t.Pass(kClearTriesMs).size() == 21);
  CHECK(t.over_ == Jobs{1});
  CHECK_FALSE(t.clearing_.open());
  t.answers_[2] = PermissionDenied("not yours");
  t.Add(2, "/a", true);
  CHECK(t.Pass(0) == Jobs{2});
  CHECK(t.over_ == Jobs{1, 2});
}

TEST_CASE("an unreachable file system is tried for one job at a time") {
  ClearingByHand t;
  for (uint64_t job = 1; job <= 50; ++job) {
    t.answers_[job] = Unavailable("no NameNode answers");
    t.Add(job, "hdfs://ns/out" + std::to_string(job), true);
  }
  t.Add(99, "hdfs://other/out", true);
  CHECK(t.Pass(1000) == Jobs{1, 99});
  CHECK_FALSE(t.clearing_.open());  // shutdown does not wait for these jobs
  t.Add(100, "hdfs://other/out");   // other jobs continue meanwhile
  CHECK(t.Pass(0) == Jobs{100});
  CHECK(t.Pass(kClearAwayMs).size() == 1);
  for (auto& [job, answer] : t.answers_) answer = {};
  CHECK(t.Pass(kClearAwayMs).size() == 50);
  CHECK(t.over_.size() == 52);
}

TEST_CASE("a new job waits for its file system, too, until the end") {
  ClearingByHand t;
  t.answers_[1] = Unavailable("no NameNode answers");
  t.Add(1, "hdfs://ns/out");
  CHECK(t.Pass(kClearTriesMs).size() == 21);
  CHECK(t.over_.empty());
  CHECK(t.Pass(kClearAwayMs) == Jobs{1});
  t.clearing_.Close();
  t.answers_[1] = {};
  CHECK(t.Pass(kClearAwayMs).empty());
}

TEST_CASE("an output in use delays only its job's clearing") {
  ClearingByHand t;
  t.answers_[1] = ResourceExhausted("another job is filling it");
  t.Add(1, "hdfs://one/a", true);
  t.Add(2, "hdfs://one/b", true);
  CHECK(t.Pass(100) == Jobs{1, 2});
  CHECK(t.over_ == Jobs{2});
  t.answers_[1] = Status();
  CHECK(t.Pass(kClearAwayMs - 1'000) == Jobs{});
  CHECK(t.Pass(2'000) == Jobs{1});
  CHECK(t.over_ == Jobs{2, 1});
}

TEST_CASE("a clearing interrupted by shutdown is not done") {
  ClearingByHand t;
  t.answers_[1] = Cancelled("the process ends");
  t.Add(1, "/a", true);
  t.clearing_.Close();
  CHECK(t.Pass(100) == Jobs{1});
  CHECK(t.over_ == Jobs{});
}

}  // namespace
}  // namespace espalier::coordinator
