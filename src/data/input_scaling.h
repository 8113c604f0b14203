// The fitted preprocessing of features: from values as they were decoded to the network's inputs.
//
//   input = (value - shift) * factor, nulls replaced first
//
// Bytes are computed in T, wider numbers in double and then rounded to T (row_store.h says why).
// Which of them a value is must not depend on the rows beside it: a job has one type for all its
// rows, and who reads other rows later names that type.
//
// Thread rule: const and safe from any number of threads.
#pragma once

#include <cstdint>
#include <vector>

#include "src/base/aligned.h"
#include "src/data/decoded_rows.h"
#include "src/spec/input.h"

namespace espalier {

class InputScaling {
 public:
  InputScaling() = default;
  explicit InputScaling(const std::vector<FittedFeature>& features);

  int64_t features() const { return static_cast<int64_t>(null_values_.size()); }

  // One row of `stored` elements, which lie without alignment where they are bytes. T is float or
  // double.
  template <typename T>
  void Scale(StorageType stored, const char* values, T* out) const;

  // Rows [begin, begin + count) of `rows` to `out` [count, features], the same bits as a row store
  // gives in a job whose rows are of type `job`: values that such a store could not hold are
  // computed as the wider numbers that they are.
  template <typename T>
  void ScaleRows(StorageType job, const DecodedRows& rows, int64_t begin, int64_t count,
                 T* out) const;

 private:
  template <typename T>
  struct Terms {
    AlignedVector<T> shift, factor;
  };
  template <typename T>
  void ScaleOther(StorageType job, StorageType stored, const char* values, T* out) const;

  Terms<float> float_;
  Terms<double> double_;
  AlignedVector<double> null_values_;
};

}  // namespace espalier
