// The files of a prediction's output:
//
//   OUT/part-00000.csv (.parquet)   the rows of shard 0, in their order
//   OUT/part-00000_0001.csv         more of them, where one file would grow too large
//   OUT/_rejects/part-00000.csv     with on_bad_row reject: the rows of shard 0 that could not be
//                                   scored, and why: file, row, offset, column, text, reason
//   OUT/_SUCCESS                    written last: the output is whole
//
// Bytewise sorted, the parts give the rows in the order of the input. Each is written under a
// hidden name and renamed, so that one that has its name is whole. A shard without such rows has
// no part. What starts with `_` or `.` is left out by those who read the directory as a table.
//
// Thread rule: one thread an object; the functions are re-entrant.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/data/table/kept_columns.h"
#include "src/spec/scoring_spec.h"
#include "src/storage/file_system.h"

namespace espalier::scoring {

inline constexpr const char* kSuccessFile = "_SUCCESS";
inline constexpr const char* kRejectsDirectory = "_rejects";
// What jobs put into an output for a while, names of their own after it (staging.h).
inline constexpr const char* kFillingMark = ".filling-";
inline constexpr const char* kProbeName = "._SUCCESS.tmp-probe-";
// What a part is cut at, before compression.
inline constexpr int64_t kPartBytes = int64_t{64} << 20;

// "part-00003.csv", "part-00003_0001.csv"; wider numbers where there are more shards than digits.
std::string PartName(int64_t shard, int64_t shards, int64_t piece, spec::PartFormat format);

// OK when nothing is there or an empty directory, or with `overwrite` the output of an earlier
// prediction, or what a job that broke off has left of it. kAlreadyExists, kInvalidArgument:
// something else is there; the message names it.
Status CheckPredictions(const storage::FileSystem& files, const std::string& output,
                        bool overwrite);
// Makes the directory, or empties the one that is there, which stays (it may be a link, or have
// owners and quotas of its own). Returns whether it made it. REQUIRES: CheckPredictions has just
// allowed it.
Result<bool> BeginPredictions(const storage::FileSystem& files, const std::string& output);
// Whether a name in an output is one that predictions have, also while they are written.
bool IsPredictionName(const std::string& name);
// Removes what predictions have written to the output, and nothing else, nor what is called `keep`;
// with `directory` it itself and all that is in it.
Status DropPredictions(const storage::FileSystem& files, const std::string& output, bool directory,
                       const std::string& keep = {});
// Says that the output is whole.
Status EndPredictions(const storage::FileSystem& files, const std::string& output);

// What stands in a row of output, in order.
struct PartColumns {
  std::vector<std::string> kept;
  std::string word;                  // of the column with the class; empty: there is none
  std::vector<std::string> words;    // the classes
  std::vector<std::string> numbers;  // of the columns of numbers
  std::string reason;                // of the column with reasons; empty: there is none
  bool narrow = false;               // numbers are floats: in CSV as short as that allows
  bool spreadsheet_safe = false;     // CSV: an apostrophe before text that may be a formula
};

// A run of rows of output.
struct PartRows {
  const data::KeptColumns& kept;
  int64_t first = 0;  // which row of `kept` is the first of these
  int64_t rows = 0;
  std::span<const int32_t> word_of = {};      // [rows], -1 for none; or empty
  std::span<const double> numbers = {};       // [rows, columns.numbers], NaN for none
  std::span<const std::string> reasons = {};  // [rows]; or empty: no row has one
};

// One row after the other, made into the bytes of a file.
class PartTable {
 public:
  static std::unique_ptr<PartTable> Make(spec::PartFormat format, const PartColumns& columns);
  virtual ~PartTable() = default;
  virtual Status Add(const PartRows& rows) = 0;
  virtual int64_t bytes() const = 0;
  virtual int64_t rows() const = 0;
  // The file; then it is empty again.
  virtual Result<std::string> Take() = 0;
};

// Writes the parts of one shard, as they get full.
class PartWriter {
 public:
  PartWriter(const storage::FileSystem& files, std::string directory, int64_t shard, int64_t shards,
             spec::PartFormat format, const PartColumns& columns, int64_t part_bytes = kPartBytes);
  Status Add(const PartRows& rows);
  // Writes what is left.
  Status Finish();
  int64_t parts() const { return parts_; }

 private:
  const storage::FileSystem& files_;
  const std::string directory_;
  const int64_t shard_, shards_, part_bytes_;
  const spec::PartFormat format_;
  const std::unique_ptr<PartTable> table_;
  int64_t parts_ = 0;
};

// Why a row has no prediction, in one line: "COLUMN: MESSAGE (found 'TEXT')".
std::string ReasonOf(const Status& reject);

// The columns of rejects, how many they are, and a reject as a row of them.
inline constexpr size_t kRejectColumns = 6;
PartColumns RejectColumns(bool spreadsheet_safe);
void AddReject(const Status& reject, data::KeptColumns* row);

}  // namespace espalier::scoring
