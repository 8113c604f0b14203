#include "src/coordinator/fair_pool.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <future>

#include "src/base/queue.h"

namespace espalier::coordinator {
namespace {

constexpr auto kPatience = std::chrono::seconds(20);

TEST_CASE("the work of one group leaves threads to others") {
  std::promise<void> storage_answers;
  const std::shared_future<void> answer = storage_answers.get_future().share();
  Queue<int> began, ended;
  FairPool pool(4);
  for (int i = 0; i < 100; ++i) {
    pool.Submit({"owner ann", i % 2 == 0 ? "file system a" : "file system b"}, [&, i] {
      began.Push(i);
      answer.wait();
      ended.Push(i);
    });
  }
  pool.Submit({"owner bob", "file system c"}, [&] { ended.Push(-1); });
  CHECK(ended.PopFor(kPatience) == -1);
  CHECK(began.PopFor(kPatience).has_value());
  CHECK(began.PopFor(kPatience).has_value());
  CHECK(began.size() == 0);  // half of the threads
  storage_answers.set_value();
  for (int i = 0; i < 100; ++i) CHECK(ended.PopFor(kPatience).has_value());
}

TEST_CASE("a pool runs its waiting work before it ends") {
  int ran = 0;
  {
    FairPool pool(1);
    for (int i = 0; i < 10; ++i) pool.Submit({"one"}, [&] { ++ran; });
  }
  CHECK(ran == 10);
}

}  // namespace
}  // namespace espalier::coordinator
