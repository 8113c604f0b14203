#include "src/model/line_search.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <limits>

namespace espalier::model {
namespace {

struct Curve {
  const char* name;
  std::function<double(double)> value, slope;
};

struct Found {
  SearchAnswer answer = SearchAnswer::kAsk;
  double t = 0;
  int evaluations = 0;
};

Found Search(const Curve& curve, double first, int64_t evaluations_max = 20) {
  LineSearch search = BeginSearch(curve.value(0), curve.slope(0), first);
  Found found;
  while (found.answer == SearchAnswer::kAsk) {
    ++found.evaluations;
    found.answer = Answer(search, curve.value(search.t), curve.slope(search.t), evaluations_max);
  }
  found.t = search.t;
  return found;
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

const Curve kCurves[] = {
    {"parabola", [](double t) { return (t - 3) * (t - 3); }, [](double t) { return 2 * (t - 3); }},
    {"quartic", [](double t) { return std::pow(t - 2, 4); },
     [](double t) { return 4 * std::pow(t - 2, 3); }},
    {"waves", [](double t) { return 0.05 * t * t - std::sin(3 * t); },
     [](double t) { return 0.1 * t - 3 * std::cos(3 * t); }},
    {"well with a wall", [](double t) { return t < 4 ? (t - 3) * (t - 3) : kInfinity; },
     [](double t) { return t < 4 ? 2 * (t - 3) : kInfinity; }},
    {"more and thuente 1", [](double t) { return -t / (t * t + 2); },
     [](double t) { return (t * t - 2) / ((t * t + 2) * (t * t + 2)); }},
};

TEST_CASE("a line search step meets both conditions from any start") {
  for (const Curve& curve : kCurves) {
    for (double first : {0.05, 0.3, 1.0, 2.9, 8.0, 100.0}) {
      INFO(curve.name << " from " << first);
      const Found found = Search(curve, first, 40);
      REQUIRE(found.answer == SearchAnswer::kTake);
      const double slope = curve.slope(0);
      CHECK(curve.value(found.t) <= curve.value(0) + 1e-4 * found.t * slope);
      CHECK(std::fabs(curve.slope(found.t)) <= 0.9 * std::fabs(slope));
    }
  }
}

TEST_CASE("a first step that meets both conditions is taken") {
  const Found found = Search(kCurves[0], 2.5);
  CHECK(found.evaluations == 1);
  CHECK(found.t == 2.5);
}

TEST_CASE("before the interval is found, each point is 1.5 times as far") {
  const Found found = Search(kCurves[0], 0.1);  // 0.1, 0.15, 0.225, 0.3375: slope 0.8875 of -6
  CHECK(found.evaluations == 4);
  CHECK(found.t == Approx(0.3375).epsilon(1e-15));
}

TEST_CASE("an endless search fails, and so does endless narrowing") {
  const Curve line = {"falls for ever", [](double t) { return -t; }, [](double) { return -1.0; }};
  CHECK(Search(line, 1).answer == SearchAnswer::kFail);
  CHECK(Search(line, 1).evaluations == 10);
  const Curve liar = {"rises, whatever its slope says", [](double t) { return t; },
                      [](double) { return -1.0; }};
  CHECK(Search(liar, 1).answer == SearchAnswer::kFail);
  CHECK(Search(liar, 1).evaluations == 11);  // the first finds the interval
  const Curve hole = {"nowhere but at its start", [](double t) { return t > 0 ? kInfinity : 0; },
                      [](double) { return -1.0; }};
  CHECK(Search(hole, 1).evaluations == 10);
  CHECK(Search(hole, 1, 6).evaluations == 3);
}

TEST_CASE("a direction that does not descend fails at once") {
  const Curve up = {"up", [](double t) { return t; }, [](double) { return 1.0; }};
  CHECK(Search(up, 1).answer == SearchAnswer::kFail);
  CHECK(Search(up, 1).evaluations == 1);
  const Curve flat = {"flat", [](double) { return 1; }, [](double) { return 0.0; }};
  CHECK(Search(flat, 1).answer == SearchAnswer::kFail);
  CHECK(Search(kCurves[0], kInfinity).answer == SearchAnswer::kFail);
}

}  // namespace
}  // namespace espalier::model
