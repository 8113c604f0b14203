#include "src/cli/learning_curve.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "src/base/text.h"
#include "src/cli/result_view.h"
#include "tests/cli/jobs.h"

namespace espalier::cli {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

std::vector<CurvePoint> Falling(int count) {
  std::vector<CurvePoint> points;
  for (int i = 1; i <= count; ++i) points.push_back({1.0 * i, 1.0 / i, 0.5 / i});
  return points;
}

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

TEST_CASE("a learning curve in ASCII has axes, marks and a legend") {
  const std::string text = LearningCurve({{1, 1.0, 0.5}, {2, 0.5, 0.25}, {3, 0, 0}}, {});
  CHECK(text ==
        "loss by epoch: * training, o validation, @ both\n"
        "  1.0000 |*\n"
        "         |\n"
        "         |\n"
        "         |\n"
        "         |o           *\n"
        "         |            o\n"
        "         |\n"
        "  0.0000 |                       @\n"
        "         +------------------------\n"
        "          1                      3\n");
}

TEST_CASE("a learning curve has color and Unicode if requested") {
  const std::string plain = LearningCurve(Falling(30), {});
  CHECK(std::all_of(plain.begin(), plain.end(), [](char c) { return c == '\n' || c >= ' '; }));
  const std::string unicode = LearningCurve(Falling(30), {.unicode = true});
  CHECK_THAT(unicode, Catch::Contains("●") && Catch::Contains("○") && !Catch::Contains("\x1b"));
  CHECK_THAT(LearningCurve(Falling(30), {.color = true}), Catch::Contains("\x1b[36m*\x1b[0m"));
}

TEST_CASE("a learning curve fits the terminal") {
  for (const int width : {24, 40, 79, 80, 200}) {
    for (const int count : {2, 24, 1000}) {
      const std::string text = LearningCurve(Falling(count), {.unicode = true, .width = width});
      const std::vector<std::string> lines = LinesOf(text);
      REQUIRE(lines.size() == kCurveRows + 3);
      for (size_t i = 1; i < lines.size(); ++i) {
        CHECK(DisplayColumns(lines[i]) <= static_cast<size_t>(std::min(width, 80)));
      }
    }
  }
  CHECK(LearningCurve(Falling(9), {.width = 12}).empty());
}

TEST_CASE("losses that are not finite leave gaps") {
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(LearningCurve({}, {}).empty());
  CHECK(LearningCurve({{1, 0.5, kNone}}, {}).empty());
  CHECK(LearningCurve({{1, kNone, infinity}, {2, 0.5, kNone}}, {}).empty());
  CHECK(LearningCurve({{1, -1e308, kNone}, {2, 1e308, kNone}}, {}).empty());
  const std::string text =
      LearningCurve({{1, 0.5, kNone}, {2, infinity, kNone}, {3, 0.5, kNone}}, {});
  CHECK_THAT(text, Catch::StartsWith("loss by epoch: * training\n") &&
                       Catch::Contains("  0.5000 |*                      *\n"));
}

TEST_CASE("UTF-8 is found in a locale in any spelling") {
  CHECK(NamesUtf8("de_DE.UTF-8"));
  CHECK(NamesUtf8("C.utf8"));
  CHECK_FALSE(NamesUtf8("de_DE.ISO-8859-1"));
  CHECK_FALSE(NamesUtf8("C"));
  CHECK_FALSE(NamesUtf8(""));
}

TEST_CASE("a result ends with commands that have its paths") {
  spec::JobSpec spec;
  spec.data.train = {"/tables/new rows.csv"};
  const std::string text =
      ResultText(SucceededJob(), 0, {.curve = Falling(5), .job = &spec, .directory = "/models"});
  CHECK_THAT(text,
             Catch::Contains("loss by epoch: * training") &&
                 Catch::Contains("  evaluate  espalier evaluate digits '/tables/new rows.csv' "
                                 "--report report.html\n"
                                 "  predict   espalier predict digits '/tables/new rows.csv' "
                                 "--output scored\n"
                                 "  export    espalier export digits --output model.onnx\n"));
  CHECK_THAT(ResultText(SucceededJob(), 0),
             Catch::Contains("espalier evaluate /models/digits TABLE ") &&
                 !Catch::Contains("loss by epoch"));
}

}  // namespace
}  // namespace espalier::cli
