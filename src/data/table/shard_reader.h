// The common interface that turns the shards of a table into rows, for training and for scoring, in
// any format. data/text and data/parquet implement it. data/profile/make_shard_reader.h selects
// one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "src/base/status.h"
#include "src/data/table/passthrough_columns.h"
#include "src/data/table/shard_rows.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"
#include "src/storage/file_system.h"

namespace espalier::data {

// A table: its files, its plan (shards and columns), and the rules that turn values into numbers.
// All three must outlive the readers of the table.
struct TableSource {
  const storage::FileSystem& files;
  const spec::InputPlan& plan;
  const spec::JobSpec& job;
};

struct ReadOptions {
  // Budget for rows and for reading them. Null: memory without a limit.
  MemoryBudget* room = nullptr;
  RowRules rules = RowRules::kTraining;
  // Size of a piece in bytes of features or of kept fields. 0: each row of text is a piece. A piece
  // of Parquet is always a batch.
  size_t piece_bytes = 512 << 10;
  // Schema positions of the columns that pieces also keep unchanged from the input. The positions
  // must outlive the reader.
  std::span<const int32_t> kept = {};
  // Allows text and Spark vectors to be decoded without zeros (features/sparse_choice.h).
  bool sparse = true;
  // In text, true and false are 1 and 0 for a number, which may have been a Parquet boolean.
  bool truth_words = false;
};

// Input positions of the rows of a piece. Valid as long as the piece.
class RowPlaces {
 public:
  virtual ~RowPlaces() = default;
  // Returns the position of a row of RowPiece::rows. Reads text again up to that row. REQUIRES:
  // RowRules::kScoring.
  virtual InputPosition OfRow(int64_t row) = 0;
  // Returns the position and the text of a row's label in one set. Also reads text again. REQUIRES:
  // piece_bytes is 0; the job is a classification.
  virtual InputPosition OfLabel(int set, int64_t row) = 0;
};

// The rows after those of the last piece, in file order. Valid during the call.
struct RowPiece {
  const DecodedSets& sets;
  // Labels of this and earlier pieces. Categories: the same, but with kScoring only of this piece.
  const ShardTexts& texts;
  const PassthroughColumns& kept;  // kScoring: columns of rows and rejects, in input order
  // kScoring: errors of the rows since the last piece that could not be decoded. For text, they
  // include the line only in the first 64 MiB, because counting lines reads the text again.
  const std::vector<Status>& rejects;
  // kScoring: number of each row among rows and rejects, in input order.
  std::span<const int64_t> slots;
  RowPlaces& places;

  // Returns the rows of a table that is scored. All its files have the role kTest.
  const DecodedRows& rows() const { return sets[kTestSet]; }
};
using TakePiece = std::function<Status(const RowPiece& piece)>;

// Thread rule: re-entrant.
class ShardReader {
 public:
  ShardReader(const TableSource& table, const ReadOptions& options)
      : table_(table), options_(options) {}
  virtual ~ShardReader() = default;

  const TableSource& table() const { return table_; }
  const ReadOptions& options() const { return options_; }

  // Reads a shard and returns all its rows. Whole shards are decoded without zeros only if their
  // first rows are sparse. A keyed hash of (file ordinal, byte offset of the row | Parquet row
  // index) selects validation rows by fraction. The selection therefore does not depend on the
  // division into shards.
  //
  // Errors:
  //   kBadInput           the first bad row, with file, row, column, byte offset and text; with
  //                       data.bad_rows skip, the first one above the limit; kScoring has rejects
  //   kDataLoss           the file changed since it was listed
  //   kResourceExhausted  the memory budget is used up
  // REQUIRES: `shard` indexes plan.shards.
  Result<ShardRows> Read(int shard) const { return Read(shard, nullptr); }

  // Reads a shard in pieces. `take` receives the rows, so the result has neither rows nor texts. An
  // error from `take` ends the read. Null: as Read(shard).
  virtual Result<ShardRows> Read(int shard, const TakePiece& take) const = 0;

 private:
  const TableSource table_;
  const ReadOptions options_;
};

}  // namespace espalier::data
