#include "src/base/thread_pool.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <new>
#include <stdexcept>

#include "src/base/memory.h"

namespace espalier {
namespace {

TEST_CASE("ParallelFor rethrows an exception and stays usable") {
  for (const int threads : {1, 2, 4}) {
    ComputePool pool(threads);
    CHECK_THROWS_AS(pool.ParallelFor(100,
                                     [](int64_t i) {
                                       if (i % 10 == 3) throw std::out_of_range("a body");
                                     }),
                    std::out_of_range);
    std::atomic<int> ran{0};
    pool.ParallelFor(100, [&](int64_t) { ++ran; });
    CHECK(ran == 100);
  }
}

TEST_CASE("a failed allocation on a pool thread becomes a status") {
  ComputePool pool(3);
  const Status failed = CatchOutOfMemory([&] {
    pool.ParallelFor(3, [](int64_t) { throw std::bad_alloc(); });
    return Status::Ok();
  });
  CHECK(failed.code() == StatusCode::kResourceExhausted);
  CHECK(CatchOutOfMemory([] { return Status::Ok(); }).ok());
}

}  // namespace
}  // namespace espalier
