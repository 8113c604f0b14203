#include "src/base/in_order.h"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <latch>
#include <string>
#include <vector>

namespace espalier {
namespace {

TEST_CASE("items made concurrently are taken in order") {
  for (const int threads : {1, 2, 16}) {
    std::vector<int64_t> taken;
    const Status done = InOrder<int64_t>(
        1000, threads, [](int64_t i) { return i * i; },
        [&](int64_t i, int64_t made) {
          CHECK(made == i * i);
          taken.push_back(i);
          return Status::Ok();
        });
    CHECK(done.ok());
    CHECK(taken.size() == 1000);
    CHECK(std::is_sorted(taken.begin(), taken.end()));
  }
  CHECK(InOrder<int>(
            0, 4, [](int64_t) { return 1; }, [](int64_t, int) { return Internal("none"); })
            .ok());
}

TEST_CASE("all threads make items, at most twice that number ahead") {
  constexpr int kThreads = 4;
  std::latch together(kThreads);  // opens when four items are being made
  std::atomic<int64_t> begun{0};
  int64_t lead = 0;
  const Status done = InOrder<int>(
      200, kThreads,
      [&](int64_t i) {
        ++begun;
        if (i < kThreads) together.arrive_and_wait();
        return 0;
      },
      [&](int64_t i, int) {
        lead = std::max(lead, begun - i);
        return Status::Ok();
      });
  CHECK(done.ok());
  CHECK(lead >= kThreads);
  CHECK(lead <= 2 * kThreads);
}

TEST_CASE("the error with the lowest index is returned") {
  for (const int threads : {1, 3, 8}) {
    std::latch later(1);
    std::atomic<int> made{0};
    const Status error = InOrder<Status>(
        1000, threads,
        [&](int64_t i) {
          ++made;
          if (i == 4 && threads > 1) later.wait();
          if (i == 5) later.count_down();
          return i == 4 || i == 5 ? Internal("no " + std::to_string(i)) : Status();
        },
        [](int64_t, Status s) { return s; });
    CHECK(error.message() == "no 4");
    CHECK(made <= 4 + 2 * threads);
  }
}

}  // namespace
}  // namespace espalier
