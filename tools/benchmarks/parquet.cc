// Measures the conversion of Parquet to the row store, compared with Arrow's own reader and the
// same transposition. Both use the same number of threads. A thread handles one row group or shard
// at a time.
//
// usage: parquet KIND ROWS DIRECTORY [REPEATS [THREADS [ours]]]
// KIND: digits   784 columns of bytes, four fifths zeros, and a label; snappy
//       floats   784 columns of normal float32; snappy
//       narrow   8 columns of float64 with short decimals, a ninth of whole numbers; zstd
//       vectors  one column with lists of 784 float32; snappy
// Writes DIRECTORY/KIND-ROWS.parquet if it does not exist: row groups of 5,000 rows, or 200,000 for
// `narrow`, and pages with checksums. `ours` leaves Arrow out, for use with a profiler. Prints JSON
// lines: one for each repeat, then one with the best time of each side ("best": true). Fields:
//   kind, rows, bytes, storage
//   ours_s                  plan, profile, merge and load
//   plan_s, profiling_s, load_s
//   arrow_s                 read with verified checksums, and transpose; 0 with `ours`
//   ratio                   arrow_s / ours_s
//   mb_per_s, rows_per_s    of ours_s, in bytes of the file
//   peak_mb                 peak memory of the process so far
#include <arrow/array.h>
#include <arrow/array/builder_nested.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/io/file.h>
#include <arrow/table.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/writer.h>
#include <parquet/file_reader.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "src/data/input/listing.h"
#include "src/data/profile/merge.h"
#include "src/data/profile/profile_shard.h"
#include "src/data/profile/row_store.h"
#include "src/data/table/transpose.h"
#include "src/storage/file_system.h"
#include "tools/benchmarks/profile_all.h"

namespace espalier {
namespace {

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void Require(const arrow::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

template <typename Builder, typename F>
std::shared_ptr<arrow::Array> Column(int64_t rows, F&& value) {
  Builder builder;
  Require(builder.Reserve(rows));
  for (int64_t r = 0; r < rows; ++r) builder.UnsafeAppend(value());
  return *builder.Finish();
}

std::shared_ptr<arrow::Array> Vectors(int64_t rows, int width, std::mt19937& random) {
  std::normal_distribution<float> normal;
  const auto values = std::make_shared<arrow::FloatBuilder>();
  arrow::FixedSizeListBuilder lists(arrow::default_memory_pool(), values, width);
  for (int64_t r = 0; r < rows; ++r) {
    Require(lists.Append());
    for (int i = 0; i < width; ++i) Require(values->Append(normal(random)));
  }
  return *lists.Finish();
}

std::shared_ptr<arrow::Table> MakeTable(const std::string& kind, int64_t rows) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  arrow::FieldVector fields;
  arrow::ArrayVector columns;
  const auto add = [&](const std::string& name, std::shared_ptr<arrow::Array> values) {
    fields.push_back(arrow::field(name, values->type()));
    columns.push_back(std::move(values));
  };
  add("label", Column<arrow::UInt8Builder>(rows, [&] { return random() % 10; }));
  const int width = kind == "narrow" ? 8 : kind == "vectors" ? 0 : 784;
  for (int c = 0; c < width; ++c) {
    const std::string name = "c" + std::to_string(c);
    if (kind == "digits") {
      add(name,
          Column<arrow::UInt8Builder>(rows, [&] { return random() % 5 ? 0 : random() % 256; }));
    } else if (kind == "floats") {
      add(name, Column<arrow::FloatBuilder>(rows, [&] { return normal(random); }));
    } else {
      add(name, Column<arrow::DoubleBuilder>(
                    rows, [&] { return std::round(normal(random) * 1e4) / 100; }));
    }
  }
  if (kind == "vectors") add("v", Vectors(rows, 784, random));
  return arrow::Table::Make(arrow::schema(fields), columns);
}

void WriteFile(const std::string& kind, int64_t rows, const std::string& path) {
  parquet::WriterProperties::Builder properties;
  properties.enable_page_checksum();
  properties.compression(kind == "narrow" ? arrow::Compression::ZSTD : arrow::Compression::SNAPPY);
  const auto sink = *arrow::io::FileOutputStream::Open(path);
  Require(parquet::arrow::WriteTable(
      *MakeTable(kind, rows), arrow::default_memory_pool(), sink, kind == "narrow" ? 200'000 : 5000,
      properties.build(), parquet::ArrowWriterProperties::Builder().store_schema()->build()));
  Require(sink->Close());
}

// ---- Arrow's side ----

// Transposes one row group into rows of T, and writes the label to a separate column.
template <typename T>
void TransposeGroup(const arrow::Table& table, T* out, int32_t* labels) {
  const int64_t rows = table.num_rows();
  std::vector<data::Lane<T>> lanes;
  int32_t slot = 0;
  for (int c = 1; c < table.num_columns(); ++c) {
    const auto& chunk = *table.column(c)->chunk(0);
    int32_t width = 1;
    const arrow::ArrayData* data = chunk.data().get();
    if (chunk.type_id() == arrow::Type::FIXED_SIZE_LIST) {
      width = static_cast<const arrow::FixedSizeListArray&>(chunk).value_length();
      data = data->child_data[0].get();
    }
    lanes.push_back({data->GetValues<T>(1), width, slot, width});
    slot += width;
  }
  std::vector<int64_t> order(rows);
  std::vector<T*> targets(rows);
  for (int64_t r = 0; r < rows; ++r) {
    order[r] = r;
    targets[r] = out + r * slot;
  }
  data::Transpose<T>(lanes, order, targets.data());
  const uint8_t* label = table.column(0)->chunk(0)->data()->GetValues<uint8_t>(1);
  std::copy(label, label + rows, labels);
}

std::unique_ptr<parquet::arrow::FileReader> OpenArrow(const std::string& path) {
  const auto file = *arrow::io::ReadableFile::Open(path);
  parquet::ReaderProperties properties;
  properties.set_page_checksum_verification(true);
  return *parquet::arrow::FileReader::Make(arrow::default_memory_pool(),
                                           parquet::ParquetFileReader::Open(file, properties),
                                           parquet::ArrowReaderProperties(false));
}

double RunArrow(const std::string& kind, const std::string& path, int threads) {
  const double start = Now();
  const auto metadata = OpenArrow(path)->parquet_reader()->metadata();
  const int64_t rows = metadata->num_rows();
  const int64_t width = kind == "narrow" ? 8 : 784;
  const int64_t bytes = kind == "digits" ? 1 : kind == "narrow" ? 8 : 4;
  std::vector<char> out(rows * width * bytes);
  std::vector<int32_t> labels(rows);
  const int64_t group_rows = metadata->RowGroup(0)->num_rows();  // of all groups except the last
  std::atomic<int> next{0};
  const auto work = [&] {
    const auto reader = OpenArrow(path);
    for (int g; (g = next++) < reader->num_row_groups();) {
      std::shared_ptr<arrow::Table> table;
      Require(reader->ReadRowGroup(g, &table));
      table = *table->CombineChunks();
      char* to = out.data() + g * group_rows * width * bytes;
      int32_t* label = labels.data() + g * group_rows;
      if (kind == "digits") {
        TransposeGroup(*table, reinterpret_cast<uint8_t*>(to), label);
      } else if (kind == "narrow") {
        TransposeGroup(*table, reinterpret_cast<double*>(to), label);
      } else {
        TransposeGroup(*table, reinterpret_cast<float*>(to), label);
      }
    }
  };
  std::vector<std::thread> team;
  for (int t = 1; t < threads; ++t) team.emplace_back(work);
  work();
  for (std::thread& thread : team) thread.join();
  return Now() - start;
}

// ---- ours ----

struct Measured {
  int64_t rows = 0;
  spec::StorageType storage = spec::StorageType::kUint8;
  double plan_s = 0, profiling_s = 0, load_s = 0, arrow_s = 0;
  double ours_s() const { return plan_s + profiling_s + load_s; }
};

Result<Measured> Run(const storage::FileSystem& files, const std::string& path, int threads) {
  spec::JobSpec job;
  job.data.train = {path};
  job.data.label = {std::string("label")};
  Measured m;
  const double start = Now();
  ESPALIER_ASSIGN_OR_RETURN(const spec::InputPlan plan,
                            data::PlanInput(files, job.data, job.data.shard_bytes));
  const double planned = Now();
  ESPALIER_ASSIGN_OR_RETURN(Profiled all, ProfileAll(files, plan, job, threads));
  const double profiled = Now();
  ESPALIER_ASSIGN_OR_RETURN(const spec::TableProfile merged,
                            data::MergeShardProfiles(plan, job, all.profiles));
  const data::RowRanges ranges = {plan::Range{0, merged.train_rows}, plan::Range{0, 0},
                                  plan::Range{0, 0}};
  ESPALIER_ASSIGN_OR_RETURN(const auto store,
                            data::LoadRows({files, plan, job}, merged, ranges, all.shards, {}));
  m.load_s = Now() - profiled;
  m.profiling_s = profiled - planned;
  m.plan_s = planned - start;
  m.rows = merged.train_rows;
  m.storage = merged.storage;
  return m;
}

void Print(const std::string& kind, int64_t bytes, const Measured& m, bool best) {
  const char* names[] = {"uint8", "float32", "float64"};
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  std::printf(
      "{\"bench\":\"parquet\",\"best\":%s,\"kind\":\"%s\",\"rows\":%lld,\"bytes\":%lld,"
      "\"storage\":\"%s\",\"ours_s\":%.4f,\"plan_s\":%.4f,\"profiling_s\":%.4f,\"load_s\":%.4f,"
      "\"arrow_s\":%.4f,\"ratio\":%.3f,\"mb_per_s\":%.1f,\"rows_per_s\":%.0f,\"peak_mb\":%ld}\n",
      best ? "true" : "false", kind.c_str(), static_cast<long long>(m.rows),
      static_cast<long long>(bytes), names[static_cast<int>(m.storage)], m.ours_s(), m.plan_s,
      m.profiling_s, m.load_s, m.arrow_s, m.arrow_s / m.ours_s(),
      static_cast<double>(bytes) / 1e6 / m.ours_s(), static_cast<double>(m.rows) / m.ours_s(),
      used.ru_maxrss / 1024);
}

Status Main(const std::string& kind, int64_t rows, const std::string& directory, int repeats,
            int threads, bool ours) {
  const std::string path = directory + "/" + kind + "-" + std::to_string(rows) + ".parquet";
  if (!std::filesystem::exists(path)) WriteFile(kind, rows, path);
  const int64_t bytes = static_cast<int64_t>(std::filesystem::file_size(path));
  const auto files = storage::MakeFileSystem();
  Measured best;
  for (int i = 0; i < repeats; ++i) {
    ESPALIER_ASSIGN_OR_RETURN(Measured m, Run(*files, path, threads));
    m.arrow_s = ours ? 0 : RunArrow(kind, path, threads);
    Print(kind, bytes, m, false);
    const double arrow_s = i == 0 ? m.arrow_s : std::min(best.arrow_s, m.arrow_s);
    if (i == 0 || m.ours_s() < best.ours_s()) best = m;
    best.arrow_s = arrow_s;
  }
  Print(kind, bytes, best, true);
  return {};
}

}  // namespace
}  // namespace espalier

int main(int argc, char** argv) {
  const std::string kind = argc > 1 ? argv[1] : "";
  const bool known = kind == "digits" || kind == "floats" || kind == "narrow" || kind == "vectors";
  if (argc < 4 || !known || std::atoll(argv[2]) <= 0) {
    std::fprintf(stderr,
                 "usage: parquet digits|floats|narrow|vectors ROWS DIRECTORY [REPEATS "
                 "[THREADS [ours]]]\n");
    return 2;
  }
  const espalier::Status done = espalier::Main(
      kind, std::atoll(argv[2]), argv[3], argc > 4 ? std::max(1, std::atoi(argv[4])) : 5,
      argc > 5 ? std::max(1, std::atoi(argv[5])) : 1, argc > 6);
  if (!done.ok()) std::fprintf(stderr, "%s\n", done.ToString().c_str());
  return done.ok() ? 0 : 1;
}
