// Rows with their zeros and without. Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "src/base/status.h"
#include "src/data/decoded_rows.h"

namespace espalier {

// Whether few enough of the rows' numbers, `width` each, are not 0 (spec/sparse_rows.h).
bool AreSparse(const DecodedSets& sets, int64_t width);
bool AreSparse(int64_t rows, int64_t nonzeros, int64_t width);

// The numbers of a row that are not 0, in their order.
template <typename T>
struct Nonzeros {
  std::vector<int32_t> columns;
  std::vector<T> values;

  // Replaces what was there by those of the row's `width` numbers.
  void Find(const T* row, int64_t width) {
    columns.clear();
    values.clear();
    for (int64_t i = 0; i < width; ++i) {
      if (row[i] == 0) continue;
      columns.push_back(static_cast<int32_t>(i));
      values.push_back(row[i]);
    }
  }
};

// Adds the numbers, and nothing else, of rows [begin, begin + count) with their zeros, `width`
// numbers each, to rows without. Errors and REQUIRES: as PackSparse.
Status PackNumbers(const DecodedRows& rows, int64_t begin, int64_t count, int64_t width,
                   DecodedRows* sparse);

// Adds rows with their zeros, `width` numbers each, to rows without, with all that belongs to
// them. Errors: RowBytes'. REQUIRES: sparse.sparse; the type of `rows` is no narrower than that of
// rows that were added before.
Status PackSparse(const DecodedRows& rows, int64_t width, DecodedRows* sparse);

}  // namespace espalier
