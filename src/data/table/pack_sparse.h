// Rows with their zeros and without. Of features `coded`, ascending, which are codes of categories,
// all are kept. Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/base/status.h"
#include "src/data/table/decoded_rows.h"

namespace espalier::data {

// Whether few enough of the rows' numbers, `width` each, are not 0 (spec/sparse_rows.h).
bool AreSparse(const DecodedSets& sets, int64_t width, std::span<const int32_t> coded);
bool AreSparse(int64_t rows, int64_t nonzeros, int64_t width);

// The numbers of a row that are not 0, and all codes, in their order.
template <typename T>
struct Nonzeros {
  std::vector<int32_t> columns;
  std::vector<T> values;

  // Replaces what was there by those of the row's `width` numbers.
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

// Adds the numbers, and nothing else, of rows [begin, begin + count) with their zeros, `width`
// numbers each, to rows without. Errors and REQUIRES: as PackSparse.
Status PackNumbers(const DecodedRows& rows, int64_t begin, int64_t count, int64_t width,
                   std::span<const int32_t> coded, DecodedRows* sparse);

// Adds rows with their zeros, `width` numbers each, to rows without, with all that belongs to
// them. Errors: RowBytes'. REQUIRES: sparse.sparse; the type of `rows` is no narrower than that of
// rows that were added before.
Status PackSparse(const DecodedRows& rows, int64_t width, std::span<const int32_t> coded,
                  DecodedRows* sparse);

}  // namespace espalier::data
