// Cases of bad Parquet files, in the form of bad_input.h.
#pragma once

#include "tests/data/bad_input.h"
#include "tests/data/crafted_parquet.h"
#include "tests/data/parquet_fixture.h"

namespace espalier::data {

// Returns cases of damaged, truncated and foreign files.
std::vector<BadCase> BadParquetFiles();
// Returns cases of whole files with a false or unsupported footer or page header.
std::vector<BadCase> LyingParquetFiles();
// Returns cases of bad columns: names, types and files that differ.
std::vector<BadCase> BadParquetTables();
// Returns cases of bad rows: values, nulls and lists.
std::vector<BadCase> BadParquetRows();

inline constexpr const char* kParquet = "DIR/t.parquet";

inline Given Parquet(std::string text) { return Named("t.parquet", std::move(text)); }

// Makes the job a regression.
inline Given Regression(Given given) {
  return With(std::move(given), [](spec::JobSpec& job) {
    job.model.task = spec::Task::kRegression;
    job.model.target_scale = spec::TargetScale::kNone;
  });
}

// Returns a file with these columns and the label 0, 1, 2 ...
inline Given Fields(std::vector<ParquetField> fields) {
  return [=](DataFixture& f) {
    std::vector<ParquetField> all = fields;
    all.push_back(Y(static_cast<int>(fields[0].values->length())));
    Regression(Parquet(ParquetText(all)))(f);
  };
}

// Returns a good first file with the numbers `a` and `y`, and a second file with these columns.
inline Given Second(std::vector<ParquetField> fields) {
  return [=](DataFixture& f) {
    Regression(Parquet(ParquetText({Json("a", arrow::int32(), "[1, 2]"), Y(2)})))(f);
    f.job.data.train.push_back(f.dir.Put("second.parquet", ParquetText(fields)));
  };
}

// Returns the case of an incomplete Parquet file. An error of one column names `column`.
inline BadCase NotWhole(const char* what, std::string file, const std::string& why,
                        std::string column = "") {
  return {what, Regression(Parquet(std::move(file))), StatusCode::kBadInput,
          "'DIR/t.parquet' ... not a whole Parquet file: " + why + " ... copy the file again",
          InputPosition{.file = kParquet, .column = std::move(column)}};
}

}  // namespace espalier::data
