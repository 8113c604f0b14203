#include "tests/data/bad_input.h"

#include <set>

#include "tests/testing/says.h"

namespace espalier::data {
namespace {

// Replaces the path of the fixture's directory with DIR.
std::string Told(std::string text, const DataFixture& f) {
  const std::string& path = f.dir.path();
  for (size_t at = text.find(path); at != std::string::npos; at = text.find(path, at)) {
    text.replace(at, path.size(), "DIR");
  }
  return text;
}

bool Has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

Status AnswerTo(DataFixture& f) {
  const auto profile = f.Profile();
  return profile.ok() ? Status() : profile.status();
}

void CheckAnswer(const BadCase& c, const DataFixture& f, const Status& error) {
  INFO(c.what << ": " << error.ToString());
  REQUIRE_FALSE(error.ok());
  CHECK(StatusCodeName(error.code()) == std::string(StatusCodeName(c.code)));
  const std::string told = Told(error.message(), f);
  CHECK_THAT(told, Says(c.message));
  // Each of these hints is right for some inputs only. Other inputs must not get it.
  for (const char* hint :
       {"data.csv.escape", "data.csv.delimiter", "did you mean", "(it has", "(this file has"}) {
    CHECK(Has(told, hint) == Has(c.message, hint));
  }
  CHECK(error.ToString().find('\n') == std::string::npos);
  REQUIRE(error.position().has_value() == c.position.has_value());
  if (!c.position) return;
  InputPosition at = *error.position();
  at.file = Told(at.file, f);
  CHECK(at == *c.position);
}

size_t CheckAnswers(const std::vector<BadCase>& all) {
  std::set<std::string> kinds;
  for (const BadCase& c : all) {
    CHECK(kinds.insert(c.what).second);
    DataFixture f;
    c.given(f);
    CheckAnswer(c, f, AnswerTo(f));
  }
  return kinds.size();
}

}  // namespace espalier::data
