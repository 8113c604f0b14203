// Converts rows with zeros to rows without zeros. The features `coded` (ascending) are codes of
// categories, whose values are always kept. Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/base/status.h"
#include "src/data/table/decoded_rows.h"

namespace espalier::data {

// Returns whether few enough of the rows' numbers, `width` per row, are nonzero
// (spec/sparse_rows.h).
bool AreSparse(const DecodedSets& sets, int64_t width, std::span<const int32_t> coded);
bool AreSparse(int64_t rows, int64_t nonzeros, int64_t width);

// The nonzero numbers of a row and all codes, in order.
template <typename T>
struct Nonzeros {
  std::vector<int32_t> columns;
  std::vector<T> values;

  // Replaces the content with the nonzero numbers of a row with `width` numbers.
  void Find(const T* row, int64_t width, std::span<const int32_t> coded) {
    columns.clear();
    values.clear();
    int64_t i = 0;
    const auto add = [&] {
      columns.push_back(static_cast<int32_t>(i));
      values.push_back(row[i]);
    };
    for (const int32_t code : coded) {
      for (; i < code; ++i)
        if (row[i] != 0) add();
      add();
      ++i;
    }
    for (; i < width; ++i)
      if (row[i] != 0) add();
  }
};

// Adds only the numbers of the rows [begin, begin + count), `width` per row, to sparse rows. Errors
// and REQUIRES: as PackSparse.
Status PackNumbers(const DecodedRows& rows, int64_t begin, int64_t count, int64_t width,
                   std::span<const int32_t> coded, DecodedRows* sparse);

// Adds rows with zeros, `width` numbers per row, and their labels, targets and weights to sparse
// rows. Errors: as RowBytes. REQUIRES: sparse.sparse; the type of `rows` is not narrower than the
// type of rows that were added before.
Status PackSparse(const DecodedRows& rows, int64_t width, std::span<const int32_t> coded,
                  DecodedRows* sparse);

}  // namespace espalier::data
