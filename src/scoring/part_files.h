// The files of a prediction's output:
//
//   OUT/part-00000.csv (.parquet)   rows of shard 0, in their order
//   OUT/part-00000_0001.csv         more of them, if one file would become too large
//   OUT/_rejects/part-00000.csv     with on_bad_row reject: rows of shard 0 that could not be
//                                   scored: file, row, offset, column, text, reason
//   OUT/_SUCCESS                    written last: the output is complete
//
// The parts, sorted bytewise, contain the rows in the order of the input. Each part is written
// under a hidden name and then renamed, so a part with its final name is complete. A shard without
// rows for a part has no part. Programs that read the directory as a table ignore names that start
// with `_` or `.`.
//
// Thread rule: one thread per object. The functions are re-entrant.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/data/table/passthrough_columns.h"
#include "src/spec/scoring_spec.h"
#include "src/storage/file_system.h"

namespace espalier::scoring {

inline constexpr const char* kSuccessFile = "_SUCCESS";
inline constexpr const char* kRejectsDirectory = "_rejects";
// Prefixes of temporary names that jobs create in an output (staging.h).
inline constexpr const char* kFillingMark = ".filling-";
inline constexpr const char* kProbeName = "._SUCCESS.tmp-probe-";
// Size limit of a part, before compression, in bytes.
inline constexpr int64_t kPartBytes = int64_t{64} << 20;

// Returns "part-00003.csv", "part-00003_0001.csv". Numbers are wider if there are more shards than
// digits.
std::string PartName(int64_t shard, int64_t shards, int64_t piece, spec::PartFormat format);

// Returns OK if the output does not exist or is an empty directory. With `overwrite`, it may also
// be the output of an earlier prediction, or the remains of an interrupted job. kAlreadyExists,
// kInvalidArgument: the output contains something else, which the message names.
Status CheckPredictions(const storage::FileSystem& files, const std::string& output,
                        bool overwrite);
// Creates the directory, or empties an existing one without removing it (it may be a link, or have
// its own owners and quotas). Returns whether it created the directory. REQUIRES: CheckPredictions
// has just permitted it.
Result<bool> BeginPredictions(const storage::FileSystem& files, const std::string& output);
// Returns whether a name in an output belongs to predictions, including names in use during
// writing.
bool IsPredictionName(const std::string& name);
// Removes everything that predictions have written to the output, except `keep`. Other files
// remain. With `directory`, removes the directory and everything in it.
Status DropPredictions(const storage::FileSystem& files, const std::string& output, bool directory,
                       const std::string& keep = {});
// Marks the output as complete.
Status EndPredictions(const storage::FileSystem& files, const std::string& output);

// The columns of an output row, in order.
struct PartColumns {
  std::vector<std::string> kept;
  std::string word;                  // name of the class column; empty: no class column
  std::vector<std::string> words;    // the classes
  std::vector<std::string> numbers;  // names of the numeric columns
  std::string reason;                // name of the column of reasons; empty: no column of reasons
  // Numbers are floats, and CSV uses the shortest text for a float.
  bool narrow = false;
  bool spreadsheet_safe = false;  // CSV: puts an apostrophe before text that may be a formula
};

// Consecutive rows of output.
struct PartRows {
  const data::PassthroughColumns& kept;
  int64_t first = 0;  // index in `kept` of the first row
  int64_t rows = 0;
  std::span<const int32_t> word_of = {};      // [rows], -1 for none; may be empty
  std::span<const double> numbers = {};       // [rows, columns.numbers], NaN for none
  std::span<const std::string> reasons = {};  // [rows]; empty: no row has a reason
};

// Converts rows to the bytes of a file.
class PartTable {
 public:
  static std::unique_ptr<PartTable> Make(spec::PartFormat format, const PartColumns& columns);
  virtual ~PartTable() = default;
  virtual Status Add(const PartRows& rows) = 0;
  virtual int64_t bytes() const = 0;
  virtual int64_t rows() const = 0;
  // Returns the bytes of the file and clears the table. Without rows, the file has only its header.
  virtual Result<std::string> Take() = 0;
};

// Writes the parts of one shard. Writes a part when it is full.
class PartWriter {
 public:
  PartWriter(const storage::FileSystem& files, std::string directory, int64_t shard, int64_t shards,
             spec::PartFormat format, const PartColumns& columns, int64_t part_bytes = kPartBytes);
  Status Add(const PartRows& rows);
  // Writes the remaining rows. `even_empty`: if there are none and no part was written, writes a
  // part with only a header.
  Status Finish(bool even_empty = false);
  int64_t parts() const { return parts_; }

 private:
  const storage::FileSystem& files_;
  const std::string directory_;
  const int64_t shard_, shards_, part_bytes_;
  const spec::PartFormat format_;
  const std::unique_ptr<PartTable> table_;
  int64_t parts_ = 0;
};

// Returns why a row has no prediction, on one line: "COLUMN: MESSAGE (found 'TEXT')".
std::string ReasonOf(const Status& reject);

// The columns of rejects, their number, and the conversion of a reject to a row.
inline constexpr size_t kRejectColumns = 6;
PartColumns RejectColumns(bool spreadsheet_safe);
void AddReject(const Status& reject, data::PassthroughColumns* row);

}  // namespace espalier::scoring
