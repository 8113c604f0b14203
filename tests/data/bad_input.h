// Cases of bad input, each with its one expected error and position.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/data/fixture.h"

namespace espalier::data {

// Writes the files of a job and sets its options.
using Given = std::function<void(DataFixture&)>;

struct BadCase {
  const char* what;
  Given given;
  StatusCode code;
  std::string message;                    // pattern for Says; DIR is the fixture's directory
  std::optional<InputPosition> position;  // position in the file; DIR as above
};

// Returns cases of bad rows, fields and records in text.
std::vector<BadCase> BadText();
// Returns cases of bad headers, columns and sets.
std::vector<BadCase> BadTables();
// Returns cases of bad files: compression, formats, names and permissions.
std::vector<BadCase> BadFiles();
// Returns cases of files that the user may not read. The process must not have root's rights.
std::vector<BadCase> ForbiddenFiles();

// Returns the error of profiling the fixture's job, or OK.
Status AnswerTo(DataFixture& f);
// Checks the code, the key words and the position, and that the message is one line.
void CheckAnswer(const BadCase& c, const DataFixture& f, const Status& error);
// Checks each case in a separate fixture. Returns the number of cases.
size_t CheckAnswers(const std::vector<BadCase>& all);

inline InputPosition InFile(std::string file = "DIR/train.csv") { return {.file = file}; }
inline InputPosition InColumn(std::string column) {
  return {.file = "DIR/train.csv", .column = column};
}
inline InputPosition At(int64_t row, std::string column, int64_t offset, std::string text,
                        std::string file = "DIR/train.csv") {
  return {file, row, column, offset, text};
}

inline void Append(std::vector<BadCase>* all, std::vector<BadCase> more) {
  for (BadCase& c : more) all->push_back(std::move(c));
}

// First 13 bytes of a good file: two features, a label and an empty line.
inline const std::string kStart = "a,b,y\n1,2,0\n\n";

inline Given Named(std::string name, std::string content) {
  return [=](DataFixture& f) { f.Train(content, name); };
}
inline Given Csv(std::string content) { return Named("train.csv", std::move(content)); }
inline Given With(Given given, std::function<void(spec::JobSpec&)> change) {
  return [=](DataFixture& f) {
    given(f);
    change(f.job);
  };
}
// The columns a and b are the features. a is categorical.
inline Given WithCategory(Given given) {
  return With(std::move(given), [](spec::JobSpec& job) {
    spec::FeatureGroup group;
    group.type = spec::FeatureType::kCategorical;
    group.columns = {std::string("a")};
    job.data.features.columns = {std::string("b")};
    job.data.features.groups = {group};
  });
}

}  // namespace espalier::data
