// Number of places for workers of one certificate.
#include <catch2/catch.hpp>
#include <string>

#include "src/cluster/coordinator_core.h"

namespace espalier::cluster {
namespace {

CoordinatorActions Attach(CoordinatorCore& core, uint64_t session, const std::string& name,
                          const std::string& arithmetic = "a") {
  Hello hello;
  hello.version = kVersion;
  hello.arithmetic_id = arithmetic;
  hello.session = "session " + std::to_string(session);
  hello.name = name;
  hello.address = "host:" + std::to_string(session);
  core.Step(SessionOpened{{session}, "peer"}, 1000);
  return core.Step(WorkerMessage{{session}, hello}, 1000);
}

TEST_CASE("one certificate cannot take all worker places") {
  CoordinatorCoreOptions options;
  options.incarnation = {1};
  options.workers_a_name_max = 2;
  CoordinatorCore core(options);
  CHECK(Attach(core, 1, "node-1:1").close.empty());
  CHECK(Attach(core, 2, "node-1:2").close.empty());
  const CoordinatorActions third = Attach(core, 3, "node-1:3");
  REQUIRE(third.close.size() == 1);
  CHECK(third.close[0].why.code() == StatusCode::kResourceExhausted);
  CHECK(third.send.empty());  // Refused would be final
  CHECK(Attach(core, 4, "node-11").close.empty());
  core.Step(SessionClosed{{1}, Status::Ok()}, 1000);
  CHECK(Attach(core, 5, "node-1").close.empty());
}

TEST_CASE("a coordinator with an arithmetic takes no other worker") {
  CoordinatorCoreOptions options;
  options.incarnation = {1};
  options.arithmetic_id = "a";
  CoordinatorCore core(options);
  const CoordinatorActions first = Attach(core, 1, "b", "b");
  REQUIRE(first.close.size() == 1);
  CHECK(first.close[0].why.code() == StatusCode::kUnavailable);  // the worker tries again
  CHECK(first.close[0].why.message().starts_with(
      "the worker's arithmetic is 'b', expected 'a' (arithmetic of the coordinator)"));
  CHECK(first.send.empty());
  CHECK(Attach(core, 2, "a", "a").close.empty());
}

}  // namespace
}  // namespace espalier::cluster
