// Decodes batches of columns into rows of numbers, by the same rules as RowDecoder (row_decoder.h)
// applies to CSV: which values are null, bad or dropped, the set of a row, and the narrowest type.
//
// A batch is checked column by column. Then its good rows are transposed into the shard's rows.
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

// Decodes the batches of one shard, in file order. Thread rule: one thread per decoder. `rows` and
// `unusable` must outlive it.
class ParquetDecoder {
 public:
  ParquetDecoder(const TableSource& table, int32_t file, ParquetProjection projection,
                 ShardRows* rows, UnusableRows* unusable);

  // Decodes rows without their zeros and does not expand Spark vectors. If the rows of the first
  // nonempty batch are not sparse (pack_sparse.h), the decoder returns to rows with zeros.
  // REQUIRES: no row was added; MayBeSparse (sparse_choice.h).
  void SkipZeros();
  // Makes labels and categories bad that are not UTF-8.
  void RequireUtf8() { features_.RequireUtf8(); }
  bool skips_zeros() const { return skips_zeros_; }
  // Reserves memory for the whole shard, as far as it is available. REQUIRES: zeros are kept.
  void Reserve(int64_t rows);

  // Starts a row group, which begins with this row of the file. It applies to the batches that
  // follow.
  void BeginGroup(int64_t first_row) { group_ = first_row; }
  // Adds the rows of a batch with the columns of the projection. Errors: that of UnusableRows for a
  // bad row, with its position. kResourceExhausted: the memory budget is used up.
  Status Add(const arrow::RecordBatch& batch, int64_t first_row);

  const FeatureDecoder& features() const { return features_; }
  const ShardTexts& texts() const { return features_.texts(); }
  ShardTexts TakeTexts() { return std::move(features_.texts()); }
  // Starts the numbering of categories again.
  void ForgetCategories() { features_.ForgetCategories(); }
  // Returns the sample of the training rows so far, all of which are still in the shard's rows.
  spec::RowSample Sample() const {
    return picker_.Take(rows_->sets[static_cast<size_t>(spec::FileRole::kTrain)]);
  }
  std::vector<ProbedRow> TakeProbed() { return picker_.TakeProbed(); }
  spec::RowSample TakePlaces() { return deciding_.TakePlaces(); }
  // Returns the rows of the last batch that were added.
  const std::vector<int64_t>& good() const { return good_; }
  // Returns the position of one of these rows.
  InputPosition PlaceOf(int64_t good) const {
    return {.file = path_, .row = first_row_ + good_[static_cast<size_t>(good)] + 1};
  }
  // Returns the position and the text of a row's label, by its set and its number in the last
  // batch. REQUIRES: the batch is still valid.
  InputPosition PlaceOfLabel(int set, int64_t row) const;

 private:
  struct Problem {
    std::string message;
    int32_t column = 0;  // in the schema
    int32_t source = -1;
    int64_t element = -1;
  };
  // kAbsent: the weight is 0, and the other values do not matter.
  enum class State : uint8_t { kGood, kDropped, kAbsent, kBad };

  Status ReadNumbers();
  void Bad(int64_t row, std::string message, int32_t column, int32_t source, int64_t element = -1);
  void CheckFeatures();
  void CheckVectors(const ParquetProjection::Run& run, const SparkVectors& vectors);
  template <typename T>
  void CheckRun(const ParquetProjection::Run& run, const Numbers& numbers);
  void CheckFeature(const ParquetProjection::Run& run, int64_t row, int64_t element, double value);
  void CheckNumber(int32_t source, int32_t column, const char* what, bool is_weight);
  Status ReadWeights();
  Status ReadLabels();
  Status ChooseSets();
  // Collects the rows to append and reports the others.
  Status TakeStates();
  InputPosition PlaceOf(int64_t row, int32_t column, int32_t source, int64_t element) const;
  Status Append();
  void OfferRows();
  Status AppendDense();
  template <typename T>
  Status AppendFeatures();
  // Replaces entry_slots_ and entries_ with the nonzero numbers of the row and its codes.
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
  int64_t group_ = 0;  // first row of the group

  // State of the current batch:
  const arrow::RecordBatch* batch_ = nullptr;
  int64_t first_row_ = 0, count_ = 0;
  std::vector<Numbers> numbers_;         // by source
  std::vector<Numbers> of_run_;          // by run of features; may point into numbers_
  std::vector<State> states_;            // by row
  std::map<int64_t, Problem> problems_;  // first problem of each bad row
  std::vector<int32_t> label_of_;        // by row
  std::vector<uint8_t> set_of_;          // by row
  std::vector<int64_t> good_;            // rows to append
  std::vector<char> scratch_;            // converted columns
  std::vector<int32_t> entry_slots_;     // features of a row's entries
  std::vector<double> entries_;

  bool skips_zeros_ = false, has_rows_ = false;
  spec::StorageType type_ = spec::StorageType::kUint8;  // narrowest type for the rows so far
  FeatureDecoder features_;
  std::array<int32_t, 256> small_labels_;  // label index of integers 0 to 255; -1: not seen yet
};

}  // namespace espalier::data
