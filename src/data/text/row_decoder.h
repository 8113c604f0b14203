// Converts one text record into one row of numbers. It parses only the columns in use.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/data/features/feature_decoder.h"
#include "src/data/features/validation_column.h"
#include "src/data/features/validation_draw.h"
#include "src/data/table/decoded_rows.h"
#include "src/data/table/record_reader.h"
#include "src/data/table/row_sample.h"
#include "src/data/table/shard_reader.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"

namespace espalier::data {

// Reason why a row is bad. The caller turns it into a Status with the position of the row.
struct RowProblem {
  std::string message;
  int32_t column = -1;  // -1: the row as a whole
};

// Decodes the records of one shard. Results for unusual values:
//   feature: null (empty, kNullWords or data.null_values)      data.features.nulls, or the rule of
//                                                              its group
//   label, target, weight, validation mark, time: null         bad row
//   number: inf, or too large for a double, or for a float
//   where precision is float32                                 bad row
//   weight: negative                                           bad row
//   weight: 0, for training and validation                     dropped, whatever its other values
//   validation mark: other than 0, 1, true, false              bad row
//   time of validation: neither a date nor a number            bad row
//   too few or too many fields                                 bad row
//   CSV: the header again, or a byte order mark at its start   bad row
// For a schema without label columns, labels are 0. Labels (classification) and categories are the
// text without surrounding spaces. Labels that are numbers have a decimal point (PlainText).
// ValueRules decides which of them are null. Thread rule: one thread per decoder.
class RowDecoder {
 public:
  enum class Outcome : uint8_t { kRow, kDropped, kBad, kFailed };

  // `schema`: in the order of the file's columns. `room` may be null (see DecodedRows). `sparse`:
  // decodes sparse records into sparse rows. REQUIRES: `sparse` only if DecodesSparse
  // (sparse_choice.h).
  RowDecoder(const TableSource& table, const spec::Schema& schema, int32_t file, MemoryBudget* room,
             bool sparse);

  // Decodes the reader's record and adds it to its set. kBad: problem() has the reason. kFailed:
  // error() has the reason, which is missing memory.
  Outcome Add(const RecordReader& reader);

  // Makes labels and categories bad that are not UTF-8.
  void RequireUtf8() { features_.RequireUtf8(); }

  // Reads true and false (also as True and TRUE) as 1 and 0 in features that are numbers.
  void AcceptTruthWords() { truth_words_ = true; }

  // Reserves memory for the whole shard, as far as it is available. `done`: fraction of the shard
  // that the rows so far represent, in (0, 1].
  void Reserve(double done);

  const RowProblem& problem() const { return problem_; }
  const Status& error() const { return error_; }
  DecodedSets& sets() { return sets_; }
  const FeatureDecoder& features() const { return features_; }
  const ShardTexts& texts() const { return features_.texts(); }
  ShardTexts TakeTexts() { return std::move(features_.texts()); }
  // Starts the numbering of categories again.
  void ForgetCategories() { features_.ForgetCategories(); }
  // Returns the sample of the training rows so far, all of which are still in sets().
  spec::RowSample Sample() const {
    return picker_.Take(sets_[static_cast<size_t>(spec::FileRole::kTrain)]);
  }
  std::vector<ProbedRow> TakeProbed() { return picker_.TakeProbed(); }
  spec::RowSample TakePlaces() { return deciding_.TakePlaces(); }

 private:
  // Columns [column, column + count) are the features [slot, slot + count). All are plain.
  struct Run {
    int32_t column = 0, count = 0, slot = 0;
  };

  bool DecodeDigits(const RecordReader& reader);
  bool DecodeFeatures(const RecordReader& reader);
  bool DecodeEntries(const RecordReader& reader);
  bool DecodeFeature(const char* begin, const char* end, int32_t slot);
  bool DecodeOther(std::string_view text, int32_t slot);
  bool DecodeOthers(const RecordReader& reader);
  bool TakeNull(int32_t slot);
  bool DecodeLabel(const RecordReader& reader);
  bool DecodeWeight(const RecordReader& reader);
  std::string_view LabelText();
  // Returns the set of the row, which a hash or a column decides for training files. -1: the row is
  // bad.
  int SetOf(const RecordReader& reader, bool drops);
  bool Number(const RecordReader& reader, int32_t column, const char* what, double* value);
  bool Bad(std::string message, int32_t column);
  bool CheckFields(const RecordReader& reader);
  void FindFileStarts();
  // Reports a row that is the beginning of another file: a byte order mark, or the header again.
  bool CheckJoint(const RecordReader& reader);
  Status Append(DecodedRows* rows, bool digits);

  const spec::Schema& schema_;
  const spec::JobSpec& job_;
  const spec::FileRole role_;
  const int32_t file_;
  const bool classification_, float32_, sparse_;
  bool truth_words_ = false;
  int32_t empty_ = -1;                   // field that must be empty; -1: none
  std::array<bool, 256> starts_file_{};  // first bytes of rows that CheckJoint looks at
  size_t own_columns_ = 0;               // fields of the header; 0: no header
  ValidationDraw draw_;
  ValidationColumn deciding_;
  RowPicker picker_;
  FeatureDecoder features_;
  std::vector<Run> runs_;

  spec::StorageType type_ = spec::StorageType::kUint8;  // narrowest type for the rows so far
  std::vector<uint8_t> bytes_;        // the row, if all features are small integers
  std::vector<double> values_;        // the row otherwise
  std::vector<int32_t> slots_;        // sparse: feature of each column; -1: none
  std::vector<int32_t> entry_slots_;  // sparse: features of the row, nonzero or coded ...
  std::vector<double> entries_;       // ... and their values
  bool drops_ = false;                // a null drops the row
  int32_t label_ = 0;
  std::vector<double> targets_;
  double weight_ = 1;

  DecodedSets sets_;
  RowProblem problem_;
  Status error_;
};

}  // namespace espalier::data
