// The one way from the shards of a table to rows, for training and for scoring, in any format.
//
// data/text and data/parquet implement it; data/profile/make_shard_reader.h chooses between them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "src/base/status.h"
#include "src/data/table/kept_columns.h"
#include "src/data/table/shard_rows.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"
#include "src/storage/file_system.h"

namespace espalier::data {

// A table: its files, their shards and columns, and how values become numbers. All three must
// outlive what reads the table.
struct TableSource {
  const storage::FileSystem& files;
  const spec::InputPlan& plan;
  const spec::JobSpec& job;
};

struct ReadOptions {
  // Budget for rows and for reading them; null: memory without a limit.
  MemoryBudget* room = nullptr;
  RowRules rules = RowRules::kTraining;
  // Bytes of features, or of kept fields, that make a piece. 0: each row of text is a piece. A
  // piece of Parquet is a batch in any case.
  size_t piece_bytes = 512 << 10;
  // Positions in the schema of the columns that pieces also keep as they are in the input. The
  // positions must outlive the reader.
  std::span<const int32_t> kept = {};
  // Text and Spark's vectors may be decoded without zeros (features/sparse_choice.h).
  bool sparse = true;
};

// Where the rows of a piece are in the input. Valid as long as the piece.
class RowPlaces {
 public:
  virtual ~RowPlaces() = default;
  // Returns the position of a row of RowPiece::rows. Reads text again up to that row.
  // REQUIRES: RowRules::kScoring.
  virtual InputPosition OfRow(int64_t row) = 0;
  // Returns the position and the text of the label of a row of one set. Reads text again, too.
  // REQUIRES: piece_bytes is 0; the job is a classification.
  virtual InputPosition OfLabel(int set, int64_t row) = 0;
};

// The rows that follow those of the last piece, in the order of the file. Valid during the call.
struct RowPiece {
  const DecodedSets& sets;
  // Labels of this and earlier pieces. Categories also, but kScoring: of this piece alone.
  const ShardTexts& texts;
  const KeptColumns& kept;  // kScoring: columns of rows and rejects, in the order of the input
  // kScoring: rows since the last piece that have no numbers. Those of text have their line in its
  // first 64 MiB only, because counting lines reads the text again.
  const std::vector<Status>& rejects;
  // kScoring: the number of each row among rows and rejects, in the order of the input.
  std::span<const int64_t> slots;
  RowPlaces& places;

  // The rows of a table that is scored, whose files all have the role kTest.
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

  // Reads a shard and returns all of its rows. Whole shards are decoded without zeros only if their
  // first rows are sparse. Validation rows by fraction are chosen by a keyed hash of (file ordinal,
  // byte offset of the row | Parquet row index), so not by how shards are cut.
  //
  // Errors: the first bad row (kBadInput, with file, row, column, byte offset and text), or with
  // data.bad_rows skip one more than the limit; with kScoring there are rejects instead. kDataLoss:
  // the file changed since it was listed. kResourceExhausted: the room is used up.
  // REQUIRES: `shard` indexes plan.shards.
  Result<ShardRows> Read(int shard) const { return Read(shard, nullptr); }

  // Reads a shard in pieces: `take` gets the rows, and the result has neither rows nor texts. An
  // error of `take` ends the reading. Null: as Read(shard).
  virtual Result<ShardRows> Read(int shard, const TakePiece& take) const = 0;

 private:
  const TableSource table_;
  const ReadOptions options_;
};

}  // namespace espalier::data
