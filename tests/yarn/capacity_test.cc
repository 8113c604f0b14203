#include "src/yarn/capacity.h"

#include <catch2/catch.hpp>

#include "tests/testing/says.h"

namespace espalier::yarn {
namespace {

YarnNode Node(int64_t memory_mb, int64_t cores) {
  return {.host = "n", .http = "n:8042", .memory_mb = memory_mb, .cores = cores};
}

YarnRequest Request(int64_t memory_mb, int64_t cores) {
  YarnRequest request;
  request.worker = {memory_mb, cores};
  return request;
}

TEST_CASE("nodes count for a worker by their memory and by their vcores") {
  const std::vector<YarnNode> nodes = {Node(8192, 2), Node(8192, 8), Node(2048, 8), Node(0, 0)};
  CHECK(CountWorkerNodes(nodes, Request(1024, 1)).value() == 3);
  CHECK(CountWorkerNodes(nodes, Request(8192, 2)).value() == 2);
  CHECK(CountWorkerNodes(nodes, Request(1024, 4)).value() == 2);
  CHECK(CountWorkerNodes(nodes, Request(8192, 8)).value() == 1);
  CHECK(CountWorkerNodes({Node(8192, 2), Node(2048, 8)}, Request(8192, 8)).value() == 0);
}

TEST_CASE("a container that is larger than every node is told by its flag") {
  const std::vector<YarnNode> nodes = {Node(4096, 2), Node(2048, 8)};
  const auto words = [&nodes](const YarnRequest& request) {
    const Status status = CountWorkerNodes(nodes, request).status();
    CHECK(status.code() == StatusCode::kInvalidArgument);
    return status.message();
  };
  CHECK_THAT(words(Request(4097, 1)),
             Says("--memory: found 4097 MiB ... largest node ... 4096 MiB"));
  CHECK_THAT(words(Request(1024, 9)), Catch::StartsWith("--vcores: found 9 vcores"));
  YarnRequest request = Request(1024, 1);
  request.coordinator = {5000, 1};
  CHECK_THAT(words(request), Catch::StartsWith("--coordinator-memory: found 5000 MiB"));
  request.coordinator = {1024, 9};
  CHECK_THAT(words(request), Catch::StartsWith("--coordinator-vcores: found 9 vcores"));
  CHECK(CountWorkerNodes({}, request).status().code() == StatusCode::kUnavailable);
}

}  // namespace
}  // namespace espalier::yarn
