#include "src/cli/yarn_view.h"

#include <catch2/catch.hpp>

namespace espalier {
namespace {

TEST_CASE("who stops waiting for a service is told that it goes on and how it ends") {
  for (const Status& error : {Cancelled("interrupted"), DeadlineExceeded("--wait ran out"),
                              PermissionDenied("a wrong certificate")}) {
    CHECK(GoesOnNote(error, "mnist") ==
          "note: the service mnist goes on in YARN; `espalier yarn down mnist` ends it\n");
  }
  CHECK(GoesOnNote(Aborted("YARN ended the service"), "mnist").empty());
}

}  // namespace
}  // namespace espalier
