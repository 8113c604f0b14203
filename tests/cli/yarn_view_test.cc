#include "src/cli/yarn_view.h"

#include <catch2/catch.hpp>

namespace espalier::cli {
namespace {

TEST_CASE("a stopped wait says how to end the YARN service") {
  for (const Status& error : {Cancelled("interrupted"), DeadlineExceeded("--wait ran out"),
                              PermissionDenied("a wrong certificate")}) {
    CHECK(GoesOnNote(error, "mnist") ==
          "note: the service mnist continues in YARN; `espalier yarn down mnist` ends it\n");
  }
  CHECK(GoesOnNote(Aborted("YARN ended the service"), "mnist").empty());
}

TEST_CASE("a wait for a service shows YARN's progress") {
  yarn::YarnService service;
  service.state = "ACCEPTED";
  CHECK(YarnProgress(service) == "YARN: ACCEPTED");
  service.components = {{"coordinator", "", 1, {}},
                        {"worker", "", 2, {{"id", "worker-0", "", ""}}}};
  CHECK(YarnProgress(service) == "YARN: ACCEPTED; containers: coordinator 0 of 1, worker 1 of 2");
}

}  // namespace
}  // namespace espalier::cli
