#include "src/data/parquet/decoder.h"

#include <arrow/array.h>
#include <arrow/record_batch.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/base/text.h"
#include "src/data/parquet/features.h"
#include "src/data/parquet/vectors.h"
#include "src/data/table/number.h"
#include "src/data/table/number_check.h"
#include "src/data/table/row_words.h"

namespace espalier::data {

ParquetDecoder::ParquetDecoder(const TableSource& table, int32_t file, ParquetProjection projection,
                               ShardRows* rows, UnusableRows* unusable)
    : schema_(table.plan.schema),
      job_(table.job),
      path_(table.plan.files[file].path),
      role_(table.plan.files[file].role),
      file_(file),
      projection_(std::move(projection)),
      classification_(job_.model.task == spec::Task::kClassification),
      float32_(job_.model.precision == spec::Precision::kFloat32),
      draw_(job_, file),
      deciding_(job_, schema_, file),
      picker_(job_, schema_),
      rows_(rows),
      unusable_(unusable),
      features_(job_.data, schema_, false) {
  small_labels_.fill(-1);
}

void ParquetDecoder::Bad(int64_t row, std::string message, int32_t column, int32_t source,
                         int64_t element) {
  if (states_[row] == State::kBad || states_[row] == State::kAbsent) return;
  states_[row] = State::kBad;
  problems_[row] = {std::move(message), column, source, element};
}

Status ParquetDecoder::ReadNumbers() {
  std::vector<bool> wanted(projection_.columns.size()), words(wanted.size());
  for (const auto& run : projection_.features) wanted[run.source] = run.plain || wanted[run.source];
  if (!classification_) {
    for (const int32_t source : projection_.label) {
      wanted[source] = true;
      words[source] = job_.model.task == spec::Task::kMultilabel;
    }
  }
  numbers_.assign(wanted.size(), {});
  ESPALIER_RETURN_IF_ERROR(ReadWeights());
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i]) continue;
    const arrow::Array& column = *batch_->column(static_cast<int>(i));
    ESPALIER_ASSIGN_OR_RETURN(numbers_[i],
                              projection_.vectors[i]
                                  ? VectorNumbers(column, projection_.widths[i], !skips_zeros_)
                                  : NumbersOf(column, words[i], features_.rules()));
  }
  of_run_.assign(projection_.features.size(), {});
  for (size_t i = 0; i < of_run_.size(); ++i) {
    const ParquetProjection::Run& run = projection_.features[i];
    if (run.plain) {
      of_run_[i] = numbers_[run.source];
      continue;
    }
    const int32_t column = schema_.features[run.slot];
    Result<Numbers> decoded = DecodeColumn(
        *batch_->column(run.source), static_cast<size_t>(run.slot), &features_,
        [&](int64_t r, std::string problem) { Bad(r, std::move(problem), column, run.source); });
    if (!decoded.ok()) {
      return decoded.status().At({.file = path_, .column = schema_.names[column]});
    }
    of_run_[i] = *std::move(decoded);
  }
  return {};
}

void ParquetDecoder::CheckFeature(const ParquetProjection::Run& run, int64_t row, int64_t i,
                                  double value) {
  const int32_t column = schema_.features[run.slot + i];
  const int64_t element = projection_.vectors[run.source] ? run.element + i : -1;
  if (std::isnan(value)) {
    const spec::NullKind nulls = features_.nulls(static_cast<size_t>(run.slot + i));
    if (nulls == spec::NullKind::kFail) {
      Bad(row, FeatureFault(Fault::kMissing), column, run.source, element);
    } else if (nulls == spec::NullKind::kDrop && states_[row] == State::kGood) {
      states_[row] = State::kDropped;
    }
  } else if (std::isinf(value)) {
    Bad(row, FeatureFault(Fault::kInfinite), column, run.source, element);
  } else if (float32_ && std::isinf(static_cast<float>(value))) {
    Bad(row, FeatureFault(Fault::kTooLarge), column, run.source, element);
  }
}

void ParquetDecoder::CheckVectors(const ParquetProjection::Run& run, const SparkVectors& vectors) {
  for (int64_t r = 0; r < count_; ++r) {
    if (states_[r] == State::kBad) continue;
    vectors.ForEntries(r, run.element, run.element + run.count, [&](int64_t i, double value) {
      if (!AllFinite(&value, 1, float32_)) CheckFeature(run, r, i - run.element, value);
    });
  }
}

template <typename T>
void ParquetDecoder::CheckRun(const ParquetProjection::Run& run, const Numbers& numbers) {
  const T* values = numbers.as<T>();
  if (AllFinite(values, count_ * numbers.width, float32_)) return;
  for (int64_t r = 0; r < count_; ++r) {
    const T* row = values + r * numbers.width + run.element;
    for (int64_t i = 0; i < run.count; ++i) {
      const double value = static_cast<double>(row[i]);
      const bool odd = !(std::fabs(float32_ ? static_cast<float>(value) : value) <=
                         std::numeric_limits<double>::max());
      if (odd) CheckFeature(run, r, i, value);
    }
  }
}

void ParquetDecoder::CheckFeatures() {
  for (size_t i = 0; i < of_run_.size(); ++i) {
    const ParquetProjection::Run& run = projection_.features[i];
    const Numbers& numbers = of_run_[i];
    for (const auto& [row, length] : numbers.wrong_lengths) {
      Bad(row,
          "the list has " + std::to_string(length) + (length == 1 ? " value" : " values") +
              ", expected " + std::to_string(numbers.width) +
              " as in the first row. All lists of a vector column "
              "need one length",
          schema_.features[run.slot], run.source);
    }
    for (const int64_t row : numbers.faults) {
      Bad(row, VectorFault(), schema_.features[run.slot], run.source);
    }
    for (const int64_t row : numbers.not_numbers) {
      Bad(row, FeatureFault(Fault::kNotNumber), schema_.features[run.slot], run.source);
    }
    if (numbers.vectors != nullptr) {
      CheckVectors(run, *numbers.vectors);
      continue;
    }
    WithNative(numbers.native, [&](auto t) { CheckRun<decltype(t)>(run, numbers); });
  }
}

void ParquetDecoder::CheckNumber(int32_t source, int32_t column, const char* what, bool is_weight) {
  const Numbers& numbers = numbers_[source];
  for (const int64_t row : numbers.not_numbers) {
    Bad(row, NumberFault(what, Fault::kNotNumber), column, source);
  }
  for (int64_t r = 0; r < count_; ++r) {
    const double value = numbers.At(r);
    if (std::isnan(value)) {
      Bad(r, NumberFault(what, Fault::kMissing), column, source);
    } else if (std::isinf(value)) {
      Bad(r, NumberFault(what, Fault::kInfinite), column, source);
    } else if (float32_ && std::isinf(static_cast<float>(value))) {
      Bad(r, NumberFault(what, Fault::kTooLarge), column, source);
    } else if (is_weight && value < 0) {
      Bad(r, NumberFault(what, Fault::kNegative), column, source);
    } else if (is_weight && float32_ && spec::VanishesInFloat(value)) {
      Bad(r, NumberFault(what, Fault::kTooSmall), column, source);
    }
  }
}

// Treats rows with weight 0 as absent. For rows that are only evaluated it makes no difference.
Status ParquetDecoder::ReadWeights() {
  if (projection_.weight < 0) return {};
  const arrow::Array& column = *batch_->column(projection_.weight);
  ESPALIER_ASSIGN_OR_RETURN(numbers_[projection_.weight],
                            NumbersOf(column, false, features_.rules()));
  CheckNumber(projection_.weight, schema_.weight, "weight", true);
  if (role_ == spec::FileRole::kTest) return {};
  const Numbers& weights = numbers_[projection_.weight];
  for (int64_t r = 0; r < count_; ++r) {
    if (states_[r] == State::kGood && weights.At(r) == 0) states_[r] = State::kAbsent;
  }
  return {};
}

Status ParquetDecoder::ReadLabels() {
  if (!classification_) {
    for (size_t i = 0; i < projection_.label.size(); ++i) {
      CheckNumber(projection_.label[i], schema_.label[i], "label", false);
      if (job_.model.task != spec::Task::kMultilabel) continue;
      for (int64_t r = 0; r < count_; ++r) {
        const double value = numbers_[projection_.label[i]].At(r);
        if (value == 0 || value == 1) continue;
        Bad(r, NumberFault("label", Fault::kNotBinary), schema_.label[i], projection_.label[i]);
      }
    }
    return {};
  }
  label_of_.assign(count_, 0);
  if (projection_.label.empty()) return {};
  const int32_t source = projection_.label[0], column = schema_.label[0];
  ESPALIER_ASSIGN_OR_RETURN(const auto texts, ColumnTexts::Make(*batch_->column(source)));
  std::string scratch;
  const Numbers* whole = texts->whole();
  for (int64_t r = 0; r < count_; ++r) {
    if (states_[r] == State::kBad || states_[r] == State::kAbsent) continue;
    int32_t* small = nullptr;
    if (const double value = whole != nullptr ? whole->At(r) : -1; value >= 0 && value < 256) {
      small = &small_labels_[static_cast<size_t>(value)];
      label_of_[r] = *small;
      if (*small >= 0) continue;
    }
    const auto found = texts->At(r, &scratch);
    const std::string_view text = found ? Trimmed(*found) : std::string_view();
    if (text.empty() || text.size() > kLabelBytesMax) {
      Bad(r, LabelFault(text.size(), !found), column, source);
    } else if (features_.rules().IsNullLabel(text)) {
      Bad(r, MissingLabelFault(text), column, source);
    } else {
      LabelTexts& known = features_.texts().labels;
      label_of_[r] = known.Find(text);
      if (label_of_[r] < 0) {  // a text is checked when it is new
        if (auto fault = features_.NameFault(text)) {
          Bad(r, *std::move(fault), column, source);
          continue;
        }
        label_of_[r] = known.IndexOf(text);
      }
      if (small != nullptr) *small = label_of_[r];
    }
  }
  return {};
}

Status ParquetDecoder::ChooseSets() {
  set_of_.assign(count_, static_cast<uint8_t>(role_));
  if (role_ != spec::FileRole::kTrain) return {};
  if (draw_.active()) {
    const std::vector<std::string>& labels = texts().labels.texts();
    for (int64_t r = 0; r < count_; ++r) {
      if (states_[r] != State::kGood) continue;
      const bool drawn = !draw_.by_part()      ? draw_.Draws(static_cast<uint64_t>(first_row_ + r))
                         : !draw_.stratified() ? draw_.Draws(group_, 0, {})
                         : classification_
                             ? draw_.Draws(group_, label_of_[r], labels[label_of_[r]])
                             : draw_.Draws(group_, numbers_[projection_.label.front()].At(r));
      set_of_[r] = drawn ? kValidationSet : kTrainSet;
    }
    return {};
  }
  if (!deciding_.active()) return {};
  const int32_t source = projection_.validation;
  ESPALIER_ASSIGN_OR_RETURN(const auto texts, ColumnTexts::Make(*batch_->column(source)));
  std::string scratch;
  for (int64_t r = 0; r < count_; ++r) {
    if (states_[r] == State::kBad || states_[r] == State::kAbsent) continue;
    const auto found = texts->At(r, &scratch);
    const std::string_view text = found ? Trimmed(*found) : std::string_view();
    const bool dropped = states_[r] == State::kDropped;
    if (const auto role = deciding_.RoleOf(text, static_cast<uint64_t>(first_row_ + r), dropped)) {
      set_of_[r] = static_cast<uint8_t>(*role);
    } else {
      Bad(r, deciding_.fault(), schema_.validation, source);
    }
  }
  return {};
}

InputPosition ParquetDecoder::PlaceOf(int64_t row, int32_t column, int32_t source,
                                      int64_t element) const {
  return {.file = path_,
          .row = first_row_ + row + 1,
          .column = schema_.names[column],
          .text = ShownValue(*batch_->column(source), row, element)};
}

InputPosition ParquetDecoder::PlaceOfLabel(int set, int64_t row) const {
  const auto in_batch = std::find_if(good_.begin(), good_.end(),
                                     [&](int64_t r) { return set_of_[r] == set && row-- == 0; });
  return PlaceOf(*in_batch, schema_.label[0], projection_.label[0], -1);
}

Status ParquetDecoder::TakeStates() {
  good_.clear();
  for (int64_t r = 0; r < count_; ++r) {
    if (states_[r] == State::kGood) {
      good_.push_back(r);
    } else if (states_[r] != State::kBad) {
      unusable_->TakeDropped(
          [&] { return BadInput(DroppedFault()).At({.file = path_, .row = first_row_ + r + 1}); });
    } else {
      const Problem& p = problems_.at(r);
      ESPALIER_RETURN_IF_ERROR(unusable_->TakeBad(
          [&] { return BadInput(p.message).At(PlaceOf(r, p.column, p.source, p.element)); }));
    }
  }
  return {};
}

Status ParquetDecoder::Add(const arrow::RecordBatch& batch, int64_t first_row) {
  batch_ = &batch;
  first_row_ = first_row;
  count_ = batch.num_rows();
  states_.assign(count_, State::kGood);
  problems_.clear();
  ESPALIER_RETURN_IF_ERROR(ReadNumbers());
  CheckFeatures();
  ESPALIER_RETURN_IF_ERROR(ReadLabels());
  ESPALIER_RETURN_IF_ERROR(ChooseSets());
  ESPALIER_RETURN_IF_ERROR(TakeStates());
  if (Status appended = Append(); !appended.ok()) return appended.At({.file = path_});
  return {};
}

}  // namespace espalier::data
