// Every kind of bad Parquet file and the one answer to it, in the form of bad_input.h.
#pragma once

#include "tests/data/bad_input.h"
#include "tests/data/crafted_parquet.h"
#include "tests/data/parquet_fixture.h"

namespace espalier::data {

// What is damaged, cut or no Parquet file at all.
std::vector<BadCase> BadParquetFiles();
// Whole files whose footer or pages say what is not so, or is not supported.
std::vector<BadCase> LyingParquetFiles();
// Columns: names, types, files that differ.
std::vector<BadCase> BadParquetTables();
// Rows: values, nulls, lists.
std::vector<BadCase> BadParquetRows();

inline constexpr const char* kParquet = "DIR/t.parquet";

inline Given Parquet(std::string text) { return Named("t.parquet", std::move(text)); }

// A file whose label is a number to be predicted.
inline Given Regression(Given given) {
  return With(std::move(given), [](spec::JobSpec& job) {
    job.model.task = spec::Task::kRegression;
    job.model.target_scale = spec::TargetScale::kNone;
  });
}

// Columns of it, beside a label 0, 1, 2 ...
inline Given Fields(std::vector<ParquetField> fields) {
  return [=](DataFixture& f) {
    std::vector<ParquetField> all = fields;
    all.push_back(Y(static_cast<int>(fields[0].values->length())));
    Regression(Parquet(ParquetText(all)))(f);
  };
}

// Two files, the first of which has the numbers `a` and `y`.
inline Given Second(std::vector<ParquetField> fields) {
  return [=](DataFixture& f) {
    Regression(Parquet(ParquetText({Json("a", arrow::int32(), "[1, 2]"), Y(2)})))(f);
    f.job.data.train.push_back(f.dir.Put("second.parquet", ParquetText(fields)));
  };
}

// No whole Parquet file, for this reason, told with the column if it is one's.
inline BadCase NotWhole(const char* what, std::string file, const std::string& why,
                        std::string column = "") {
  return {what, Regression(Parquet(std::move(file))), StatusCode::kBadInput,
          "'DIR/t.parquet' ... not a whole Parquet file: " + why + " ... copy the file again",
          InputPosition{.file = kParquet, .column = std::move(column)}};
}

}  // namespace espalier::data
