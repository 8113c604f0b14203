// Batches of columns to rows of numbers, by the same rules as RowDecoder (row_decoder.h) has for
// CSV: what is null, bad or dropped, which set a row belongs to, and which type is narrow enough.
//
// A batch is checked column by column, then its good rows are transposed into the shard's rows.
#pragma once

#include <arrow/type_fwd.h>

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "src/data/features/feature_decoder.h"
#include "src/data/features/validation_column.h"
#include "src/data/features/validation_draw.h"
#include "src/data/parquet/numbers.h"
#include "src/data/parquet/projection.h"
#include "src/data/table/row_sample.h"
#include "src/data/table/shard_reader.h"
#include "src/data/table/shard_rows.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"

namespace espalier::data {

// Decodes the batches of one shard, in the order of the file. Thread rule: one thread a decoder.
// `rows` and `unusable` must outlive it.
class ParquetDecoder {
 public:
  ParquetDecoder(const TableSource& table, int32_t file, ParquetProjection projection,
                 ShardRows* rows, UnusableRows* unusable);

  // Rows are without their zeros, and Spark's vectors are not spelled out, unless the rows of the
  // first batch that has any are not sparse (pack_sparse.h). REQUIRES: no row was added;
  // MayBeSparse (sparse_choice.h).
  void SkipZeros();
  bool skips_zeros() const { return skips_zeros_; }
  // Makes room for the whole shard, as far as there is memory. REQUIRES: zeros are kept.
  void Reserve(int64_t rows);

  // The batches until the next call are of the row group that begins with this row of the file.
  void BeginGroup(int64_t first_row) { group_ = first_row; }
  // Adds the rows of a batch, whose columns are the projection's. Errors: that of UnusableRows for
  // a bad row, with its position; kResourceExhausted: the memory budget is used up.
  Status Add(const arrow::RecordBatch& batch, int64_t first_row);

  const FeatureDecoder& features() const { return features_; }
  const ShardTexts& texts() const { return features_.texts(); }
  ShardTexts TakeTexts() { return std::move(features_.texts()); }
  // From now on categories are numbered anew.
  void ForgetCategories() { features_.ForgetCategories(); }
  // Of the training rows so far, all of which are still in the shard's rows.
  spec::RowSample Sample() const {
    return picker_.Take(rows_->sets[static_cast<size_t>(spec::FileRole::kTrain)]);
  }
  std::vector<ProbedRow> TakeProbed() { return picker_.TakeProbed(); }
  spec::RowSample TakePlaces() { return deciding_.TakePlaces(); }
  // Those of the last batch that became rows.
  const std::vector<int64_t>& good() const { return good_; }
  // Where one of these stands.
  InputPosition PlaceOf(int64_t good) const {
    return {.file = path_, .row = first_row_ + good_[static_cast<size_t>(good)] + 1};
  }
  // The position and the text of the label of a row of the last batch, by set and number in it.
  // REQUIRES: the batch is still there.
  InputPosition PlaceOfLabel(int set, int64_t row) const;

 private:
  struct Problem {
    std::string message;
    int32_t column = 0;  // in the schema
    int32_t source = -1;
    int64_t element = -1;
  };
  enum class State : uint8_t { kGood, kDropped, kBad };

  Status ReadNumbers();
  void Bad(int64_t row, std::string message, int32_t column, int32_t source, int64_t element = -1);
  void CheckFeatures();
  void CheckVectors(const ParquetProjection::Run& run, const SparkVectors& vectors);
  template <typename T>
  void CheckRun(const ParquetProjection::Run& run, const Numbers& numbers);
  void CheckFeature(const ParquetProjection::Run& run, int64_t row, int64_t element, double value);
  void CheckNumber(int32_t source, int32_t column, const char* what, bool is_weight);
  void DropWeightless();
  Status ReadLabels();
  Status ChooseSets();
  // Finds the rows to append and reports the others.
  Status TakeStates();
  InputPosition PlaceOf(int64_t row, int32_t column, int32_t source, int64_t element) const;
  Status Append();
  void OfferRows();
  Status AppendDense();
  template <typename T>
  Status AppendFeatures();
  // Replaces entry_slots_ and entries_ by the row's numbers that are not 0, and its codes.
  void FindEntries(int64_t row);
  int64_t CountEntries();
  Status KeepZeros();
  Status AppendSparse();

  const spec::Schema& schema_;
  const spec::JobSpec& job_;
  const std::string& path_;
  const spec::FileRole role_;
  const int32_t file_;
  const ParquetProjection projection_;
  const bool classification_, float32_;
  ValidationDraw draw_;
  ValidationColumn deciding_;
  RowPicker picker_;
  ShardRows* const rows_;
  UnusableRows* const unusable_;
  int64_t group_ = 0;  // its first row

  // Of the batch:
  const arrow::RecordBatch* batch_ = nullptr;
  int64_t first_row_ = 0, count_ = 0;
  std::vector<Numbers> numbers_;         // by source
  std::vector<Numbers> of_run_;          // by run of features; they may lie in numbers_
  std::vector<State> states_;            // by row
  std::map<int64_t, Problem> problems_;  // of bad rows: the first one of each
  std::vector<int32_t> label_of_;        // by row
  std::vector<uint8_t> set_of_;          // by row
  std::vector<int64_t> good_;            // rows to append
  std::vector<char> scratch_;            // converted columns
  std::vector<int32_t> entry_slots_;     // of a row
  std::vector<double> entries_;

  bool skips_zeros_ = false, has_rows_ = false;
  spec::StorageType type_ = spec::StorageType::kUint8;  // of the rows so far
  FeatureDecoder features_;
  std::array<int32_t, 256> small_labels_;  // of whole numbers: in labels_, -1 before it is met
};

}  // namespace espalier::data
