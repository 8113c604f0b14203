#include "src/cluster/job_history.h"

#include <catch2/catch.hpp>

namespace espalier::cluster {
namespace {

constexpr int64_t kMany = 100;

spec::HistoryRow Row(int64_t step, double loss = 1) {
  spec::HistoryRow row;
  row.step = step;
  row.train.loss = loss;
  return row;
}

JobHistory Rows(int64_t count, int64_t rows_max = kMany) {
  JobHistory history;
  for (int64_t i = 0; i < count; ++i) history.Set(i, Row(10 * i), rows_max);
  return history;
}

TEST_CASE("the oldest rows are dropped and numbers stay") {
  const JobHistory history = Rows(5, 3);
  CHECK(history.begin() == 2);
  CHECK(history.end() == 5);
  CHECK(history.rows().front().step == 20);
  CHECK(history.From(4).size() == 1);
  CHECK(history.From(0).size() == 3);
  CHECK(history.From(9).empty());
}

TEST_CASE("a row with a known number replaces the earlier one") {
  JobHistory history = Rows(3);
  history.Set(1, Row(10, 2), kMany);
  CHECK(history.end() == 3);
  CHECK(history.rows()[1].train.loss == 2);
  history.Set(7, Row(70), kMany);  // the rows in between are lost
  CHECK(history.begin() == 7);
  CHECK(history.end() == 8);
  history.Set(2, Row(20), kMany);
  CHECK(history.begin() == 7);
}

TEST_CASE("a row counts again only with other values of a new state") {
  const JobHistory history = Rows(3);
  CHECK(history.Knows(1, Row(10), false));
  CHECK_FALSE(history.Knows(1, Row(10, 2), false));
  CHECK(history.Knows(1, Row(10, 2), true));
  CHECK_FALSE(history.Knows(3, Row(30), true));
  CHECK(Rows(5, 3).Knows(0, Row(0, 2), false));  // no longer kept
}

TEST_CASE("rows after the last step are dropped") {
  JobHistory history = Rows(4);
  history.EndAt(15);
  CHECK(history.end() == 2);
  history.EndAt(-1);
  CHECK(history.empty());
}

}  // namespace
}  // namespace espalier::cluster
