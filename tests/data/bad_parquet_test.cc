// Each kind of bad Parquet file has one clear error: file, row or row group, column, value and
// words. The cases are in bad_parquet_*.cc.
#include "tests/data/bad_parquet.h"

namespace espalier::data {
namespace {

TEST_CASE("each kind of bad Parquet file has one error") {
  std::vector<BadCase> all = BadParquetFiles();
  Append(&all, LyingParquetFiles());
  Append(&all, BadParquetTables());
  Append(&all, BadParquetRows());
  CHECK(CheckAnswers(all) >= 140);
}

}  // namespace
}  // namespace espalier::data
