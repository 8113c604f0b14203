#include "src/cli/cores.h"

#include <catch2/catch.hpp>
#include <cstdint>

namespace espalier::cli {
namespace {

using Cores = std::vector<int>;

TEST_CASE("workers that use the whole machine share its cores") {
  CHECK(ShareOfCores({0, 1}, 2, 1, 0) == Cores{0});
  CHECK(ShareOfCores({0, 1}, 2, 1, 1) == Cores{1});
  CHECK(ShareOfCores({2, 3, 6, 7, 9}, 2, 2, 0) == Cores{2, 3});
  CHECK(ShareOfCores({2, 3, 6, 7, 9}, 2, 2, 1) == Cores{6, 7, 9});
  CHECK(ShareOfCores({0, 1, 2}, 1, 3, 0) == Cores{0, 1, 2});
}

TEST_CASE("workers are not tied to cores if some are free or missing") {
  CHECK(ShareOfCores({0, 1, 2, 3}, 2, 1, 0).empty());
  CHECK(ShareOfCores({0, 1}, 3, 1, 2).empty());
  CHECK(ShareOfCores({0}, 1, 2, 0).empty());
}

TEST_CASE("every core is in one share, with a core for each thread") {
  Cores cores;
  for (int c = 0; c < 40; ++c) {
    cores.push_back(3 * c);
    for (int workers = 1; workers <= 40; ++workers) {
      for (int threads = 1; threads <= 40; ++threads) {
        Cores all;
        for (int i = 0; i < workers; ++i) {
          const Cores share = ShareOfCores(cores, workers, threads, i);
          if (!share.empty()) REQUIRE(static_cast<int>(share.size()) >= threads);
          all.insert(all.end(), share.begin(), share.end());
        }
        REQUIRE((all.empty() || all == cores));
      }
    }
  }
}

}  // namespace
}  // namespace espalier::cli
