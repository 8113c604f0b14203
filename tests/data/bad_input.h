// Every kind of bad input and the one answer to it: what is said, and where it points.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/data/fixture.h"

namespace espalier::data {

// Writes the files of a job and sets what is special about it.
using Given = std::function<void(DataFixture&)>;

struct BadCase {
  const char* what;
  Given given;
  StatusCode code;
  std::string message;                    // what it Says; DIR stands for the fixture's directory
  std::optional<InputPosition> position;  // in the file, DIR as above
};

// Rows, fields, records: what is wrong inside of text.
std::vector<BadCase> BadText();
// Headers, columns, sets: what is wrong with a table.
std::vector<BadCase> BadTables();
// Compressed files, other formats, names, rights: what is wrong with a file.
std::vector<BadCase> BadFiles();
// Files that their owner keeps to himself; for a process that is not root.
std::vector<BadCase> ForbiddenFiles();

// What the profile of a fixture's job says; OK when it finds no fault.
Status AnswerTo(DataFixture& f);
// Checks code, key words, place, and that it is one line.
void CheckAnswer(const BadCase& c, const DataFixture& f, const Status& error);
// The same for each case in a fixture of its own. Returns how many kinds there are.
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

// A file whose first 13 bytes are good: two features, a label, an empty line.
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

}  // namespace espalier::data
