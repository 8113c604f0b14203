// From rows with their zeros to rows without them. Thread rule: pure functions.
#pragma once

#include <cstdint>

#include "src/base/status.h"
#include "src/data/decoded_rows.h"

namespace espalier {

// Adds rows with their zeros, `width` numbers each, to rows without, with all that belongs to
// them. Errors: RowBytes'. REQUIRES: sparse.sparse; the type of `rows` is no narrower than that of
// rows that were added before.
Status PackSparse(const DecodedRows& rows, int64_t width, DecodedRows* sparse);

}  // namespace espalier
