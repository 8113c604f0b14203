// The spellings of one class and of one category.
#include "src/data/table/class_text.h"

#include <catch2/catch.hpp>

namespace espalier::data {
namespace {

using Counts = std::map<std::string, int64_t>;

Counts Joined(Counts counts) {
  JoinSpellings(&counts);
  return counts;
}

TEST_CASE("a number has one plain decimal form") {
  for (const char* text : {"12.5", "+12.50", "1.25e1", "125E-1", "12.500", " 12.5 "}) {
    INFO(text);
    CHECK(PlainDecimal(text) == "12.5");
  }
  CHECK(PlainDecimal("1e-05") == "0.00001");
  CHECK(PlainDecimal("1e3") == "1000");
  CHECK(PlainDecimal("-0.0") == "0");
  CHECK(PlainDecimal("-.50") == "-0.5");
  CHECK(PlainDecimal("3.") == "3");
  CHECK(PlainDecimal("123456789012345678901234567890.10") == "123456789012345678901234567890.1");
  for (const char* text : {"01234", "00", "x", "", "NA", "inf", "1e999", "1,5"}) {
    INFO(text);
    CHECK_FALSE(PlainDecimal(text));
  }
}

TEST_CASE("labels of one number or one truth value are counted together") {
  CHECK(Joined({{"3", 1}, {"3.0", 2}, {"4", 1}}) == Counts{{"3", 3}, {"4", 1}});
  CHECK(Joined({{"1.5", 1}, {"1.50", 2}, {"0.25", 1}}) == Counts{{"0.25", 1}, {"1.5", 3}});
  CHECK(Joined({{"1.50", 2}, {"0.25", 1}}) == Counts{{"0.25", 1}, {"1.50", 2}});
  CHECK(Joined({{"01", 1}, {"1", 2}}) == Counts{{"01", 1}, {"1", 2}});
  CHECK(Joined({{"true", 1}, {"True", 2}, {"FALSE", 3}}) == Counts{{"true", 3}, {"false", 3}});
  CHECK(Joined({{"t", 1}, {"1", 2}, {"f", 3}}) == Counts{{"true", 3}, {"false", 3}});
  CHECK(Joined({{"Yes", 1}, {"yes", 2}, {"No", 3}}) == Counts{{"yes", 3}, {"no", 3}});
  CHECK(Joined({{"True", 2}, {"False", 3}}) == Counts{{"True", 2}, {"False", 3}});
  const Counts mixed = {{"True", 2}, {"true", 2}, {"maybe", 3}}, kinds = {{"yes", 1}, {"true", 1}};
  CHECK(Joined({{"0", 1}, {"1", 2}, {"1.0e+00", 4}}) == Counts{{"0", 1}, {"1", 6}});
  CHECK(Joined({{"-0", 1}, {"0", 2}, {"+1", 4}}) == Counts{{"0", 3}, {"1", 4}});
  CHECK(Joined({{"true", 1}, {"false", 2}, {"1e0", 4}}) == Counts{{"true", 5}, {"false", 2}});
  CHECK(Joined(mixed) == mixed);
  CHECK(Joined(kinds) == kinds);
}

TEST_CASE("a class is found by each of its spellings") {
  const ClassIndex words({"False", "True"}), numbers({"0", "1"}), answers({"no", "yes"});
  for (const char* text : {"true", "True", "TRUE", "t", "T", "1", "1.0", "1e0", "+1", "10e-1",
                           "1.000000000000000000e+00"}) {
    INFO(text);
    CHECK(words.Of(text) == 1);
    CHECK(numbers.Of(text) == 1);
    CHECK(answers.Of(text) == -1);
  }
  for (const char* text : {"false", "f", "0", "-0", "0.0", "0e0", "0.000000000000000000e+00"}) {
    INFO(text);
    CHECK(words.Of(text) == 0);
    CHECK(numbers.Of(text) == 0);
  }
  for (const char* text : {"01", "2", "1.5", "1e1", "-1"}) {
    INFO(text);
    CHECK(words.Of(text) == -1);
    CHECK(numbers.Of(text) == -1);
  }
  CHECK(answers.Of("Yes") == 1);
  CHECK(answers.Of("N") == 0);
  CHECK(ClassIndex({"a", "true"}).Of("True") == -1);
  CHECK(ClassIndex({"2024-02-28", "2024-02-29"}).Of("2024-02-29 00:00:00") == 1);
  CHECK(ClassIndex({"2024-02-28", "2024-02-29"}).Of("2024-02-29 00:00:01") == -1);
  CHECK(ClassIndex({"2024-02-29", "2024-02-29 00:00:00"}).Of("2024-02-29 00:00:00") == 1);
  CHECK(ClassIndex({"1.5", "2"}).Of("1.50") == 0);
  CHECK(ClassIndex({"1.50", "2"}).Of("1.5") == 0);
  CHECK(ClassIndex({"01", "2"}).Of("1") == -1);
  CHECK(ClassIndex({"01", "2"}).Of("2.0") == 1);
  CHECK(ClassIndex({"", "true", "false"}).Of("TRUE") == 1);
}

}  // namespace
}  // namespace espalier::data
