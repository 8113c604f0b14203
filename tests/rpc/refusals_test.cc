#include "src/rpc/refusals.h"

#include <catch2/catch.hpp>

namespace espalier::rpc {
namespace {

using Lines = std::vector<std::string>;

TEST_CASE("a refused call is one line of the audit") {
  Refusals refusals;
  CHECK(refusals.Tell("reader 'bob'", "/Cancel: may not", 5) ==
        Lines{"audit: refused /Cancel: may not"});
  CHECK(refusals.Rest(6).empty());
}

TEST_CASE("a flood of refusals is counted and hides no other caller") {
  Refusals refusals;
  int64_t lines = 0;
  for (int i = 0; i < 1000; ++i) lines += static_cast<int64_t>(refusals.Tell("", "x", 5).size());
  CHECK(lines == Refusals::kCallerMax);
  CHECK(refusals.Tell("reader 'bob'", "/Submit", 5) == Lines{"audit: refused /Submit"});
  CHECK(refusals.Rest(5).empty());  // the same second
  CHECK(refusals.Rest(6) == Lines{"audit: 990 more calls of unidentified callers were refused"});
  CHECK(refusals.Rest(6).empty());
  for (int i = 0; i < 11; ++i) (void)refusals.Tell("reader 'bob'", "y", 6);
  CHECK(refusals.Tell("", "z", 7) ==
        Lines{"audit: 1 more call of reader 'bob' was refused", "audit: refused z"});
}

TEST_CASE("the log of refusals is bounded for any number of callers") {
  Refusals refusals;
  int64_t lines = 0;
  for (int i = 0; i < 10'000; ++i) {
    lines +=
        static_cast<int64_t>(refusals.Tell("reader '" + std::to_string(i) + "'", "x", 5).size());
  }
  CHECK(lines == Refusals::kAllMax);
  // A caller that has a line is counted by name, even if a second line does not fit.
  CHECK(refusals.Tell("reader '0'", "x", 5).empty());
  CHECK(refusals.Rest(6) == Lines{"audit: 1 more call of reader '0' was refused",
                                  "audit: 9900 more calls of others were refused"});
  CHECK(refusals.Tell("reader '10001'", "x", 6).size() == 1);
}

}  // namespace
}  // namespace espalier::rpc
