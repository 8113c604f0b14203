#include "tests/data/bad_input.h"

#include <set>

namespace espalier::data {
namespace {

// DIR for the fixture's own directory.
std::string Told(std::string text, const DataFixture& f) {
  const std::string& path = f.dir.path();
  for (size_t at = text.find(path); at != std::string::npos; at = text.find(path, at)) {
    text.replace(at, path.size(), "DIR");
  }
  return text;
}

}  // namespace

Status AnswerTo(DataFixture& f) {
  const auto profile = f.Profile();
  return profile.ok() ? Status() : profile.status();
}

void CheckAnswer(const BadCase& c, const DataFixture& f, const Status& error) {
  INFO(c.what << ": " << error.ToString());
  REQUIRE_FALSE(error.ok());
  CHECK(StatusCodeName(error.code()) == std::string(StatusCodeName(c.code)));
  CHECK(Told(error.message(), f) == c.message);
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
