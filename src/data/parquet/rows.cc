// Appends the good rows of a batch to the shard's rows.
#include <arrow/record_batch.h>

#include <algorithm>

#include "src/data/parquet/decoder.h"
#include "src/data/parquet/vectors.h"
#include "src/data/table/number_check.h"
#include "src/data/table/pack_sparse.h"
#include "src/data/table/transpose.h"

namespace espalier::data {

void ParquetDecoder::SkipZeros() {
  skips_zeros_ = true;
  for (DecodedRows& set : rows_->sets) set.sparse = true;
}

void ParquetDecoder::Reserve(int64_t rows) {
  double share[kSets] = {};
  share[static_cast<int>(role_)] = 1;
  if (role_ == spec::FileRole::kTrain && job_.data.validation.draws()) {
    share[kValidationSet] = job_.data.validation.share() * 1.03;
    share[kTrainSet] = std::min(1.0, (1 - job_.data.validation.share()) * 1.03);
  }
  const int64_t targets = classification_ ? 0 : static_cast<int64_t>(schema_.label.size());
  for (int i = 0; i < kSets; ++i) {
    DecodedRows& set = rows_->sets[i];
    const size_t n = static_cast<size_t>(static_cast<double>(rows) * share[i]);
    set.features.Reserve(n * schema_.features.size() * ElementBytes(type_));
    if (classification_) set.labels.Reserve(n);
    set.targets.Reserve(n * targets);
    if (schema_.weight >= 0) set.weights.Reserve(n);
  }
}

void ParquetDecoder::OfferRows() {
  int64_t train = rows_->sets[kTrainSet].rows;
  for (const int64_t r : good_) {
    if (set_of_[r] != kTrainSet) continue;
    const auto position = static_cast<uint64_t>(first_row_ + r);
    if (picker_.any()) picker_.Offer(file_, position, train);
    picker_.Probe(file_, position, train++);
  }
}

template <typename T>
Status ParquetDecoder::AppendFeatures() {
  const int64_t width = static_cast<int64_t>(schema_.features.size());
  const bool all = static_cast<int64_t>(good_.size()) == count_;
  scratch_.resize(count_ * width * sizeof(T));
  T* room = reinterpret_cast<T*>(scratch_.data());
  std::vector<Lane<T>> lanes;
  for (size_t i = 0; i < of_run_.size(); ++i) {
    const ParquetProjection::Run& run = projection_.features[i];
    const Numbers& numbers = of_run_[i];
    WithNative(numbers.native, [&](auto t) {
      using From = decltype(t);
      const From* values = numbers.as<From>() + run.element;
      if constexpr (std::is_same_v<From, T>) {
        lanes.push_back({values, numbers.width, run.slot, run.count});
        return;
      }
      lanes.push_back({room, run.count, run.slot, run.count});
      if (all && run.count == numbers.width) {
        for (int64_t i = 0; i < count_ * run.count; ++i) room[i] = static_cast<T>(values[i]);
      } else {
        for (const int64_t r : good_) {
          for (int64_t i = 0; i < run.count; ++i) {
            room[r * run.count + i] = static_cast<T>(values[r * numbers.width + i]);
          }
        }
      }
      room += count_ * run.count;
    });
  }
  int64_t more[kSets] = {};
  for (const int64_t r : good_) ++more[set_of_[r]];
  T* next[kSets];
  for (int i = 0; i < kSets; ++i) {
    DecodedRows& set = rows_->sets[i];
    const size_t old = set.features.size();
    ESPALIER_RETURN_IF_ERROR(set.features.Resize(old + more[i] * width * sizeof(T)));
    next[i] = reinterpret_cast<T*>(set.features.data() + old);
    set.rows += more[i];
  }
  std::vector<T*> targets(good_.size());
  for (size_t i = 0; i < good_.size(); ++i) {
    T*& target = next[set_of_[good_[i]]];
    targets[i] = target;
    target += width;
  }
  Transpose<T>(lanes, good_, targets.data());
  return {};
}

Status ParquetDecoder::AppendDense() {
  const bool all = static_cast<int64_t>(good_.size()) == count_;
  for (size_t i = 0; i < of_run_.size(); ++i) {
    const ParquetProjection::Run& run = projection_.features[i];
    const Numbers& numbers = of_run_[i];
    WithNative(numbers.native, [&](auto t) {
      const auto* values = numbers.as<decltype(t)>() + run.element;
      if (all && run.count == numbers.width) {
        type_ = TypeOf(values, count_ * run.count, type_);
        return;
      }
      for (const int64_t r : good_) type_ = TypeOf(values + r * numbers.width, run.count, type_);
    });
  }
  for (DecodedRows& set : rows_->sets) ESPALIER_RETURN_IF_ERROR(set.WidenTo(type_));
  OfferRows();
  if (type_ == spec::StorageType::kUint8) return AppendFeatures<uint8_t>();
  if (type_ == spec::StorageType::kFloat32) return AppendFeatures<float>();
  return AppendFeatures<double>();
}

void ParquetDecoder::FindEntries(int64_t row) {
  entry_slots_.clear();
  entries_.clear();
  for (size_t i = 0; i < of_run_.size(); ++i) {
    const ParquetProjection::Run& run = projection_.features[i];
    const Numbers& numbers = of_run_[i];
    const bool code = !run.plain && features_.is_category(static_cast<size_t>(run.slot));
    const auto add = [&](int64_t element, double value) {
      if (value == 0 && !code) return;
      entry_slots_.push_back(static_cast<int32_t>(run.slot + element - run.element));
      entries_.push_back(value);
    };
    const int64_t end = run.element + run.count;
    if (numbers.vectors != nullptr) {
      numbers.vectors->ForEntries(row, run.element, end, add);
    } else {
      for (int64_t e = run.element; e < end; ++e) add(e, numbers.At(row * numbers.width + e));
    }
  }
}

int64_t ParquetDecoder::CountEntries() {
  int64_t count = 0;
  for (const int64_t r : good_) {
    FindEntries(r);
    count += static_cast<int64_t>(entries_.size());
  }
  return count;
}

Status ParquetDecoder::KeepZeros() {
  skips_zeros_ = false;
  for (DecodedRows& set : rows_->sets) set.sparse = false;
  return ReadNumbers();
}

Status ParquetDecoder::AppendSparse() {
  for (const int64_t r : good_) {
    FindEntries(r);
    type_ = NarrowestType(entries_, type_);
    for (DecodedRows& set : rows_->sets) ESPALIER_RETURN_IF_ERROR(set.WidenTo(type_));
    ESPALIER_RETURN_IF_ERROR(rows_->sets[set_of_[r]].AppendSparse(entry_slots_, entries_));
  }
  return {};
}

Status ParquetDecoder::Append() {
  const auto width = static_cast<int64_t>(schema_.features.size());
  // Rows of a dense batch take less memory with their zeros than without them.
  if (skips_zeros_ && !has_rows_ &&
      !AreSparse(static_cast<int64_t>(good_.size()), CountEntries(), width)) {
    ESPALIER_RETURN_IF_ERROR(KeepZeros());
  }
  has_rows_ = has_rows_ || !good_.empty();
  ESPALIER_RETURN_IF_ERROR(skips_zeros_ ? AppendSparse() : AppendDense());
  for (const int64_t r : good_) {
    DecodedRows& set = rows_->sets[set_of_[r]];
    if (classification_) {
      ESPALIER_RETURN_IF_ERROR(set.labels.Add(label_of_[r]));
    } else {
      for (const int32_t source : projection_.label) {
        ESPALIER_RETURN_IF_ERROR(set.targets.Add(numbers_[source].At(r)));
      }
    }
    if (projection_.weight >= 0) {
      ESPALIER_RETURN_IF_ERROR(set.weights.Add(numbers_[projection_.weight].At(r)));
    }
  }
  return {};
}

}  // namespace espalier::data
