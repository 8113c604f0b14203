#include "src/data/table/decoded_rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "src/base/check.h"

namespace espalier::data {
namespace {

template <typename From, typename To>
void Convert(const void* from, void* to, int64_t count) {
  const From* in = static_cast<const From*>(from);
  To* out = static_cast<To*>(to);
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<To>(in[i]);
}

}  // namespace

spec::StorageType NarrowestType(std::span<const double> values, spec::StorageType least) {
  bool bytes = least == spec::StorageType::kUint8, floats = least != spec::StorageType::kFloat64;
  for (size_t i = 0; i < values.size() && floats; ++i) {
    const double v = values[i];
    const bool is_byte = v >= 0 && v <= 255 && v == static_cast<double>(static_cast<uint8_t>(v));
    bytes = bytes && is_byte;
    floats =
        is_byte || std::isnan(v) ||
        (std::fabs(v) <= 3.4028234663852886e38 && v == static_cast<double>(static_cast<float>(v)));
  }
  return !floats ? spec::StorageType::kFloat64
         : bytes ? spec::StorageType::kUint8
                 : spec::StorageType::kFloat32;
}

void Widen(spec::StorageType from_type, const void* from, spec::StorageType to_type, void* to,
           int64_t count) {
  ESPALIER_CHECK(from_type <= to_type, "numbers can only be widened");
  if (count == 0) return;
  if (from_type == to_type) {
    std::memcpy(to, from, count * ElementBytes(to_type));
  } else if (from_type == spec::StorageType::kFloat32) {
    Convert<float, double>(from, to, count);
  } else if (to_type == spec::StorageType::kFloat32) {
    Convert<uint8_t, float>(from, to, count);
  } else {
    Convert<uint8_t, double>(from, to, count);
  }
}

Status DecodedRows::WidenTo(spec::StorageType to) {
  if (to <= type) return {};
  const int64_t count = static_cast<int64_t>(features.size()) / ElementBytes(type);
  RowBytes wide(features.room());
  wide.Reserve(features.capacity() / ElementBytes(type) * ElementBytes(to));
  ESPALIER_RETURN_IF_ERROR(wide.Resize(count * ElementBytes(to)));
  Widen(type, features.data(), to, wide.data(), count);
  features = std::move(wide);
  type = to;
  return {};
}

Status DecodedRows::AppendBytes(std::span<const uint8_t> row) {
  ++rows;
  return features.Append(row);
}

Status DecodedRows::AppendDoubles(std::span<const double> row) {
  const size_t old = features.size();
  ESPALIER_RETURN_IF_ERROR(features.Resize(old + row.size() * ElementBytes(type)));
  uint8_t* out = features.data() + old;
  if (type == spec::StorageType::kFloat64) {
    std::memcpy(out, row.data(), row.size_bytes());
  } else if (type == spec::StorageType::kFloat32) {
    Convert<double, float>(row.data(), out, row.size());
  } else {
    Convert<double, uint8_t>(row.data(), out, row.size());
  }
  ++rows;
  return {};
}

Status DecodedRows::AppendSparse(std::span<const int32_t> of, std::span<const double> values) {
  ESPALIER_RETURN_IF_ERROR(AppendDoubles(values));
  ESPALIER_RETURN_IF_ERROR(columns.Append(of));
  return ends.Add(static_cast<int64_t>(columns.size()));
}

void DecodedRows::Expand(int64_t row, int64_t width, void* out) const {
  WithStorage(type, [&](auto number) {
    using T = decltype(number);
    const T* values = reinterpret_cast<const T*>(features.data());
    std::fill_n(static_cast<T*>(out), width, T{0});
    for (int64_t e = begin(row); e < ends[row]; ++e) static_cast<T*>(out)[columns[e]] = values[e];
  });
}

int64_t DecodedRows::Nonzeros(int64_t width, std::span<const int32_t> coded) const {
  if (sparse) return static_cast<int64_t>(columns.size());
  return WithStorage(type, [&](auto number) {
    using T = decltype(number);
    const T* values = reinterpret_cast<const T*>(features.data());
    int64_t zeros = std::count(values, values + rows * width, T{0});
    for (const int32_t feature : coded) {
      for (int64_t r = 0; r < rows; ++r) zeros -= values[r * width + feature] == 0;
    }
    return rows * width - zeros;
  });
}

void DecodedRows::Clear() {
  rows = 0;
  features.Clear();
  columns.Clear();
  ends.Clear();
  labels.Clear();
  targets.Clear();
  weights.Clear();
}

bool DecodedRows::spilled() const {
  return features.spilled() || columns.bytes().spilled() || ends.bytes().spilled() ||
         labels.bytes().spilled() || targets.bytes().spilled() || weights.bytes().spilled();
}

int64_t DecodedRows::MemoryBytes() const {
  return static_cast<int64_t>(features.capacity() + columns.bytes().capacity() +
                              ends.bytes().capacity() + labels.bytes().capacity() +
                              targets.bytes().capacity() + weights.bytes().capacity());
}

}  // namespace espalier::data
