#include "src/base/status.h"

#include <catch2/catch.hpp>

namespace espalier {
namespace {

TEST_CASE("an error shows its causes and its position") {
  const Status s = BadInput("not a number")
                       .At({.file = "a.csv", .row = 3, .column = "x", .offset = 17, .text = "q"})
                       .Wrap("profile of shard 2");
  CHECK(s.code() == StatusCode::kBadInput);
  CHECK(s.ToString() ==
        "profile of shard 2 <- not a number [a.csv, row 3, column x, byte offset 17, found 'q']");
}

TEST_CASE("a later position fills only what the earlier one left open") {
  const Status s = BadInput("bad").At({.row = 3}).At({.file = "a.csv"});
  CHECK(s.position()->file == "a.csv");
  CHECK(s.position()->row == 3);
}

Result<int> Half(int x) {
  if (x % 2 != 0) return InvalidArgument("odd");
  return x / 2;
}

Result<int> Quarter(int x) {
  ESPALIER_ASSIGN_OR_RETURN(const int half, Half(x));
  ESPALIER_ASSIGN_OR_RETURN(const int quarter, Half(half));
  return quarter;
}

TEST_CASE("results pass values and errors on") {
  CHECK(*Quarter(8) == 2);
  CHECK(Quarter(6).status().message() == "odd");
}

}  // namespace
}  // namespace espalier
