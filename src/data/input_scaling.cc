#include "src/data/input_scaling.h"

#include <type_traits>

namespace espalier {
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

// Whether all of them are whole numbers that a byte holds; then also stores them.
template <typename From>
bool ToBytes(const From* in, int64_t count, uint8_t* out) {
  bool all = true;
  for (int64_t i = 0; i < count; ++i) {
    const bool in_range = in[i] >= 0 && in[i] <= 255;  // false of NaN
    out[i] = in_range ? static_cast<uint8_t>(in[i]) : uint8_t{0};
    all = all && in_range && static_cast<From>(out[i]) == in[i];
  }
  return all;
}

}  // namespace

InputScaling::InputScaling(const std::vector<FittedFeature>& features) {
  for (const FittedFeature& f : features) {
    float_.shift.push_back(static_cast<float>(f.shift));
    float_.factor.push_back(static_cast<float>(f.factor));
    double_.shift.push_back(f.shift);
    double_.factor.push_back(f.factor);
    null_values_.push_back(f.null_value);
  }
}

template <typename T>
void InputScaling::Scale(StorageType stored, const char* values, T* out) const {
  switch (stored) {
    case StorageType::kUint8: {
      const uint8_t* in = reinterpret_cast<const uint8_t*>(values);
      if constexpr (std::is_same_v<T, float>) {
        return ScaleBytes(in, float_.shift.data(), float_.factor.data(), features(), out);
      } else {
        return ScaleBytes(in, double_.shift.data(), double_.factor.data(), features(), out);
      }
    }
    case StorageType::kFloat32:
      return ScaleWide(reinterpret_cast<const float*>(values), double_.shift.data(),
                       double_.factor.data(), null_values_.data(), features(), out);
    case StorageType::kFloat64:
      return ScaleWide(reinterpret_cast<const double*>(values), double_.shift.data(),
                       double_.factor.data(), null_values_.data(), features(), out);
  }
}

// A row that lies in another type than the job's rows.
template <typename T>
void InputScaling::ScaleOther(StorageType job, StorageType stored, const char* values,
                              T* out) const {
  if (stored == StorageType::kUint8) {  // of a job with wider numbers
    return ScaleWide(reinterpret_cast<const uint8_t*>(values), double_.shift.data(),
                     double_.factor.data(), null_values_.data(), features(), out);
  }
  if (job == StorageType::kUint8) {  // among rows that are wider than the job's
    std::vector<uint8_t> bytes(static_cast<size_t>(features()));
    const bool narrow =
        stored == StorageType::kFloat32
            ? ToBytes(reinterpret_cast<const float*>(values), features(), bytes.data())
            : ToBytes(reinterpret_cast<const double*>(values), features(), bytes.data());
    if (narrow) return Scale(job, reinterpret_cast<const char*>(bytes.data()), out);
  }
  Scale(stored, values, out);
}

template <typename T>
void InputScaling::ScaleRows(StorageType job, const DecodedRows& rows, int64_t begin, int64_t count,
                             T* out) const {
  const int64_t row_bytes = features() * ElementBytes(rows.type);
  const char* values = reinterpret_cast<const char*>(rows.features.data()) + begin * row_bytes;
  for (int64_t r = 0; r < count; ++r, values += row_bytes, out += features()) {
    if (rows.type == job) {
      Scale(job, values, out);
    } else {
      ScaleOther(job, rows.type, values, out);
    }
  }
}

template void InputScaling::Scale<float>(StorageType, const char*, float*) const;
template void InputScaling::Scale<double>(StorageType, const char*, double*) const;
template void InputScaling::ScaleRows<float>(StorageType, const DecodedRows&, int64_t, int64_t,
                                             float*) const;
template void InputScaling::ScaleRows<double>(StorageType, const DecodedRows&, int64_t, int64_t,
                                              double*) const;

}  // namespace espalier
