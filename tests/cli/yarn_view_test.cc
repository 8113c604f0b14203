#include "src/cli/yarn_view.h"

#include <catch2/catch.hpp>

namespace espalier::cli {
namespace {

TEST_CASE("who stops waiting for a service is told that it goes on and how it ends") {
  for (const Status& error : {Cancelled("interrupted"), DeadlineExceeded("--wait ran out"),
                              PermissionDenied("a wrong certificate")}) {
    CHECK(GoesOnNote(error, "mnist") ==
          "note: the service mnist continues in YARN; `espalier yarn down mnist` ends it\n");
  }
  CHECK(GoesOnNote(Aborted("YARN ended the service"), "mnist").empty());
}

TEST_CASE("who waits for a service is told how far YARN is") {
  yarn::YarnService service;
  service.state = "ACCEPTED";
  CHECK(YarnProgress(service) == "YARN: ACCEPTED");
  service.components = {{"coordinator", "", 1, {}},
                        {"worker", "", 2, {{"id", "worker-0", "", ""}}}};
  CHECK(YarnProgress(service) == "YARN: ACCEPTED; containers: coordinator 0 of 1, worker 1 of 2");
}

}  // namespace
}  // namespace espalier::cli
