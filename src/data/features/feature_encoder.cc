#include "src/data/features/feature_encoder.h"

#include <algorithm>
#include <type_traits>

#include "src/base/check.h"
#include "src/data/features/bins.h"
#include "src/data/table/pack_sparse.h"

namespace espalier::data {
namespace {

template <typename T>
void ScaleBytes(const uint8_t* in, const T* shift, const T* factor, int64_t count, T* out) {
  for (int64_t i = 0; i < count; ++i) out[i] = (static_cast<T>(in[i]) - shift[i]) * factor[i];
}

template <typename From, typename T>
void ScaleWide(const From* in, const double* shift, const double* factor, const double* null_values,
               int64_t count, T* out) {
  for (int64_t i = 0; i < count; ++i) {
    const double raw = static_cast<double>(in[i]);
    const double value = raw == raw ? raw : null_values[i];
    out[i] = static_cast<T>((value - shift[i]) * factor[i]);
  }
}

}  // namespace

FeatureEncoder::FeatureEncoder(const spec::Preprocessing& preprocessing)
    : features_(static_cast<int64_t>(preprocessing.features.size())) {
  int32_t vocabularies = 0;
  for (int64_t i = 0; i < features_; ++i) {
    const spec::FittedFeature& f = preprocessing.features[static_cast<size_t>(i)];
    float_scaling_.shift.push_back(static_cast<float>(f.shift));
    float_scaling_.factor.push_back(static_cast<float>(f.factor));
    double_scaling_.shift.push_back(f.shift);
    double_scaling_.factor.push_back(f.factor);
    null_values_.push_back(f.null_value);
    plain_ = plain_ && f.codes == 0 && !f.null_indicator && f.embedding == 0 && !f.smooth_clip;
    if (f.codes > 0) {
      coded_.push_back({i, static_cast<int32_t>(f.codes), f.hashed ? -1 : vocabularies++});
      coded_features_.push_back(static_cast<int32_t>(i));
      continue;
    }
    Number& number = numbers_.emplace_back(i, dense_, -1, f.smooth_clip, f.bin_edges);
    dense_ += f.embedding > 0 ? 0 : 1;
    if (f.null_indicator) number.indicator = dense_++;
  }
  for (Number& n : numbers_) {
    if (n.bin_edges.empty()) continue;
    n.input = dense_;
    dense_ += 2;
  }
}

template <>
const FeatureEncoder::Scaling<float>& FeatureEncoder::scaling<float>() const {
  return float_scaling_;
}
template <>
const FeatureEncoder::Scaling<double>& FeatureEncoder::scaling<double>() const {
  return double_scaling_;
}

template <>
const std::vector<float>& FeatureEncoder::base<float>() const {
  return float_base_;
}
template <>
const std::vector<double>& FeatureEncoder::base<double>() const {
  return double_base_;
}

void FeatureEncoder::PrepareSparse() {
  bool zeros = true;
  double_base_.assign(static_cast<size_t>(dense_), 0);
  place_.resize(static_cast<size_t>(features_));
  has_indicator_.resize(static_cast<size_t>(features_));
  for (const Number& n : numbers_) {
    const double shift = double_scaling_.shift[n.feature];
    const double factor = double_scaling_.factor[n.feature];
    const bool far = spec::IsFarFromZero(shift, factor);
    if (far) far_.push_back(static_cast<int32_t>(n.feature));
    double_base_[n.input] = far ? 0 : 0 - shift * factor;
    zeros = zeros && double_base_[n.input] == 0;
    place_[n.feature] = static_cast<int32_t>(n.input);
    has_indicator_[n.feature] = n.indicator >= 0;
  }
  for (size_t k = 0; k < coded_.size(); ++k) place_[coded_[k].feature] = ~static_cast<int32_t>(k);
  if (zeros) double_base_.clear();
  float_base_.assign(double_base_.begin(), double_base_.end());
}

template <typename T>
void FeatureEncoder::BeginSparse(spec::SparseRows<T>* rows) const {
  rows->Clear();
  rows->base = base<T>();
}

template <typename T>
void FeatureEncoder::EncodeSparse(spec::StorageType type, const SparseRecord& row,
                                  const CodeMaps* maps, spec::SparseRows<T>* rows,
                                  int32_t* codes) const {
  const double *shift = double_scaling_.shift.data(), *factor = double_scaling_.factor.data();
  const auto add = [rows](int32_t column, double input) {
    rows->columns.push_back(column);
    rows->values.push_back(static_cast<T>(input));
  };
  auto far = far_.begin();
  const auto add_far_zeros = [&](int64_t to) {  // those before feature `to`
    for (; far != far_.end() && *far < to; ++far) {
      add(place_[*far], (0 - shift[*far]) * factor[*far]);
    }
  };
  size_t codes_seen = 0;
  WithStorage(type, [&](auto number) {
    using From = decltype(number);
    const From* value = reinterpret_cast<const From*>(row.values);
    for (const int32_t feature : row.features) {
      const double raw = static_cast<double>(*value++);
      const int32_t place = place_[feature];
      if (place < 0) {
        codes[~place] = CodeOf(static_cast<size_t>(~place), static_cast<int32_t>(raw), maps);
        ++codes_seen;
        continue;
      }
      add_far_zeros(feature);
      const bool is_far = far != far_.end() && *far == feature;
      if (is_far) ++far;
      const bool null = raw != raw;
      const double x = null ? null_values_[feature] : raw;
      add(place, (is_far ? x - shift[feature] : x) * factor[feature]);
      if (null && has_indicator_[feature]) add(place + 1, 1);
    }
  });
  add_far_zeros(features_);
  ESPALIER_CHECK(codes_seen == coded_.size(), "a sparse row without all its codes");
  rows->ends.push_back(static_cast<int64_t>(rows->columns.size()));
}

template <typename T>
void FeatureEncoder::EncodeInDouble(const Number& number, double raw, T* out) const {
  const auto feature = static_cast<size_t>(number.feature);
  const double value = raw == raw ? raw : null_values_[feature];
  const double scaled = (value - double_scaling_.shift[feature]) * double_scaling_.factor[feature];
  out[0] = static_cast<T>(number.clips ? SmoothClip(scaled) : scaled);
  if (!number.bin_edges.empty()) out[1] = static_cast<T>(PlaceAmong(number.bin_edges, value));
}

template <typename From, typename T>
void FeatureEncoder::EncodeMixed(const From* row, T* inputs) const {
  for (const Number& n : numbers_) {
    const double* null = null_values_.data() + n.feature;
    T* out = inputs + n.input;
    if (n.clips || !n.bin_edges.empty()) {
      EncodeInDouble(n, static_cast<double>(row[n.feature]), out);
    } else if constexpr (std::is_same_v<From, uint8_t>) {
      ScaleBytes(row + n.feature, scaling<T>().shift.data() + n.feature,
                 scaling<T>().factor.data() + n.feature, 1, out);
    } else {
      ScaleWide(row + n.feature, double_scaling_.shift.data() + n.feature,
                double_scaling_.factor.data() + n.feature, null, 1, out);
    }
    if (n.indicator >= 0) inputs[n.indicator] = row[n.feature] == row[n.feature] ? T{0} : T{1};
  }
}

template <typename T>
void FeatureEncoder::EncodeNumbers(spec::StorageType type, const void* row, T* inputs) const {
  const double *shift = double_scaling_.shift.data(), *factor = double_scaling_.factor.data();
  switch (type) {
    case spec::StorageType::kUint8: {
      const auto* in = static_cast<const uint8_t*>(row);
      if (!plain_) return EncodeMixed(in, inputs);
      return ScaleBytes(in, scaling<T>().shift.data(), scaling<T>().factor.data(), features_,
                        inputs);
    }
    case spec::StorageType::kFloat32: {
      const auto* in = static_cast<const float*>(row);
      if (!plain_) return EncodeMixed(in, inputs);
      return ScaleWide(in, shift, factor, null_values_.data(), features_, inputs);
    }
    case spec::StorageType::kFloat64: {
      const auto* in = static_cast<const double*>(row);
      if (!plain_) return EncodeMixed(in, inputs);
      return ScaleWide(in, shift, factor, null_values_.data(), features_, inputs);
    }
  }
}

int32_t FeatureEncoder::CodeOf(size_t k, int32_t code, const CodeMaps* maps) const {
  if (maps != nullptr && coded_[k].vocabulary >= 0) {
    code = (*maps)[static_cast<size_t>(coded_[k].vocabulary)][static_cast<size_t>(code)];
  }
  return code < coded_[k].codes ? code : -1;
}

int32_t FeatureEncoder::DecodedCode(const DecodedRows& rows, int64_t row, size_t k) const {
  const int32_t feature = coded_features_[k];
  return WithStorage(rows.type, [&](auto number) {
    using From = decltype(number);
    if (!rows.sparse) {
      const auto* values = reinterpret_cast<const From*>(rows.features.data());
      return static_cast<int32_t>(values[row * features_ + feature]);
    }
    const SparseRecord record = SparseRowOf(rows, row);
    const auto at = std::lower_bound(record.features.begin(), record.features.end(), feature);
    ESPALIER_CHECK(at != record.features.end() && *at == feature, "a sparse row without its code");
    const auto* values = reinterpret_cast<const From*>(record.values);
    return static_cast<int32_t>(values[at - record.features.begin()]);
  });
}

void FeatureEncoder::EncodeCodes(spec::StorageType type, const void* row, const CodeMaps* maps,
                                 int32_t* codes) const {
  WithStorage(type, [&](auto number) {
    const auto* in = static_cast<const decltype(number)*>(row);
    for (size_t k = 0; k < coded_.size(); ++k) {
      codes[k] = CodeOf(k, static_cast<int32_t>(in[coded_[k].feature]), maps);
    }
  });
}

template <typename T>
void FeatureEncoder::Encode(spec::StorageType type, const void* row, T* inputs,
                            int32_t* codes) const {
  EncodeNumbers(type, row, inputs);
  EncodeCodes(type, row, nullptr, codes);
}

template <typename T>
void FeatureEncoder::EncodeRows(spec::StorageType job, const DecodedRows& rows,
                                const CodeMaps& maps, int64_t begin, int64_t count, T* inputs,
                                int32_t* codes) const {
  const int64_t row_bytes = features_ * ElementBytes(rows.type);
  std::vector<double> scratch(rows.type == job ? 0 : static_cast<size_t>(features_));
  for (int64_t r = begin; r < begin + count; ++r, inputs += dense_, codes += coded()) {
    const void* row = rows.features.data() + r * row_bytes;
    EncodeCodes(rows.type, row, &maps, codes);
    bool moved = rows.type < job;
    if (moved) Widen(rows.type, row, job, scratch.data(), features_);
    // The row itself may fit the narrower type.
    if (rows.type > job) moved = Narrow(rows.type, row, job, scratch.data());
    EncodeNumbers(moved ? job : rows.type, moved ? scratch.data() : row, inputs);
  }
}

template <typename T>
void FeatureEncoder::EncodeSparseRows(const DecodedRows& rows, const CodeMaps& maps, int64_t begin,
                                      int64_t count, spec::SparseRows<T>* out,
                                      int32_t* codes) const {
  if (rows.sparse) {
    for (int64_t r = begin; r < begin + count; ++r, codes += coded()) {
      EncodeSparse(rows.type, SparseRowOf(rows, r), &maps, out, codes);
    }
    return;
  }
  WithStorage(rows.type, [&](auto number) {
    using From = decltype(number);
    const auto* row = reinterpret_cast<const From*>(rows.features.data()) + begin * features_;
    Nonzeros<From> found;
    for (int64_t r = 0; r < count; ++r, row += features_, codes += coded()) {
      found.Find(row, features_, coded_features_);
      const auto* values = reinterpret_cast<const uint8_t*>(found.values.data());
      EncodeSparse(rows.type, {found.columns, values}, &maps, out, codes);
    }
  });
}

// Returns whether a row's numbers are exact in a narrower type, and if so stores them there. Codes
// are not included, because the codes in a piece of a table differ from those of the job.
bool FeatureEncoder::Narrow(spec::StorageType from, const void* row, spec::StorageType to,
                            void* out) const {
  return WithStorage(from, [&](auto wide) {
    const auto* in = static_cast<const decltype(wide)*>(row);
    return WithStorage(to, [&](auto narrow) {
      using To = decltype(narrow);
      auto* const numbers = static_cast<To*>(out);
      bool all = true;
      for (const Number& n : numbers_) {
        const double value = static_cast<double>(in[n.feature]);
        const bool null = value != value && !std::is_integral_v<To>;
        const bool in_range = !std::is_integral_v<To> || (value >= 0 && value <= 255);
        To& number = numbers[n.feature];
        number = in_range ? static_cast<To>(value) : To{0};
        all = all && (null || (in_range && static_cast<double>(number) == value));
      }
      return all;
    });
  });
}

#define ESPALIER_INSTANTIATE(T)                                                                   \
  template void FeatureEncoder::BeginSparse<T>(spec::SparseRows<T>*) const;                       \
  template void FeatureEncoder::EncodeSparse<T>(spec::StorageType, const SparseRecord&,           \
                                                const CodeMaps*, spec::SparseRows<T>*, int32_t*)  \
      const;                                                                                      \
  template void FeatureEncoder::Encode<T>(spec::StorageType, const void*, T*, int32_t*) const;    \
  template void FeatureEncoder::EncodeRows<T>(spec::StorageType, const DecodedRows&,              \
                                              const CodeMaps&, int64_t, int64_t, T*, int32_t*)    \
      const;                                                                                      \
  template void FeatureEncoder::EncodeSparseRows<T>(const DecodedRows&, const CodeMaps&, int64_t, \
                                                    int64_t, spec::SparseRows<T>*, int32_t*)      \
      const;
ESPALIER_INSTANTIATE(float)
ESPALIER_INSTANTIATE(double)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::data
