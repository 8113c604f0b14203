// Measures the conversion of CSV to the row store in MB/s of text, compared with a plain copy of
// the same file.
//
// usage: csv JOB.yaml FILE [REPEATS [THREADS]]
// Uses the data options of the job. FILE replaces the training files. Prints JSON lines: one for
// each repeat, then one for the best ("best": true). Fields:
//   file, bytes, rows, storage
//   profiling_s, merge_s, load_s, total_s
//   mb_per_s, rows_per_s    of the total
//   cpu_mb_per_s            total in processor time of the process
//   profiling_mb_per_s
//   copy_mb_per_s           reading the file into one buffer
//   gather_us               copying 64 shuffled rows into floats
//   peak_mb                 peak memory of the process so far, without the buffer of the copy
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "src/config/job_yaml.h"
#include "src/data/input/listing.h"
#include "src/data/profile/merge.h"
#include "src/data/profile/profile_shard.h"
#include "src/data/profile/row_store.h"
#include "src/storage/file_system.h"
#include "tools/benchmarks/profile_all.h"

namespace espalier {
namespace {

// Returns the processor time of this process. It does not depend on other work of the machine.
double CpuNow() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Measured {
  int64_t bytes = 0, rows = 0;
  spec::StorageType storage = spec::StorageType::kUint8;
  long peak_mb = 0;  // NOLINT: the type of getrusage
  double profiling_s = 0, merge_s = 0, load_s = 0, copy_s = 0, gather_us = 0, cpu_s = 0;
  double total_s() const { return profiling_s + merge_s + load_s; }
};

// Returns the seconds that a plain copy takes: the same reads into one buffer of the file's size.
Result<double> CopyFile(const storage::FileSystem& files, const std::string& path,
                        std::vector<char>* buffer) {
  const double start = Now();
  ESPALIER_ASSIGN_OR_RETURN(const auto file, files.Open(path));
  const int64_t length = file->info().length;
  for (int64_t at = 0; at < length; at += 1 << 20) {
    const size_t size = std::min<int64_t>(length - at, 1 << 20);
    ESPALIER_ASSIGN_OR_RETURN(const size_t read, file->ReadAt(at, {buffer->data() + at, size}));
    if (read != size) return DataLoss("the file became shorter");
  }
  return Now() - start;
}

double GatherMicroseconds(const data::RowStore& store) {
  constexpr int64_t kRows = 64, kRounds = 200;
  const int64_t held = store.rows(spec::FileRole::kTrain).size();
  std::vector<float> inputs(kRows * store.features()), targets(kRows * store.targets());
  std::vector<int32_t> labels(kRows), codes(kRows * store.coded());
  std::vector<float> weights(kRows);
  const plan::RowPermutation order(plan::RowOrder::kFull, 0, held, 1, 0, 0);
  std::vector<int64_t> rows(kRows);
  double spent = 0;
  for (int64_t round = 0; round < kRounds; ++round) {
    for (int64_t i = 0; i < kRows; ++i) rows[i] = order.At((round * kRows + i) % held);
    const double start = Now();
    store.Gather<float>(spec::FileRole::kTrain, rows, inputs.data(), codes.data(), labels.data(),
                        targets.data(), weights.data());
    spent += Now() - start;
  }
  return spent / kRounds * 1e6;
}

long PeakMegabytes() {  // NOLINT: the type of getrusage
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return used.ru_maxrss / 1024;
}

Result<Measured> Run(const storage::FileSystem& files, const spec::JobSpec& job, int threads) {
  ESPALIER_ASSIGN_OR_RETURN(const spec::InputPlan plan,
                            data::PlanInput(files, job.data, job.data.shard_bytes));
  Measured m;
  m.bytes = plan.files[0].length;
  const double start = Now(), cpu_start = CpuNow();
  ESPALIER_ASSIGN_OR_RETURN(Profiled all, ProfileAll(files, plan, job, threads));
  const double profiled = Now();
  ESPALIER_ASSIGN_OR_RETURN(const spec::TableProfile merged,
                            data::MergeShardProfiles(plan, job, all.profiles));
  const double done_merging = Now();
  const data::RowRanges ranges = {plan::Range{0, merged.train_rows},
                                  plan::Range{0, merged.validation_rows},
                                  plan::Range{0, merged.test_rows}};
  ESPALIER_ASSIGN_OR_RETURN(const auto store,
                            data::LoadRows({files, plan, job}, merged, ranges, all.shards, {}));
  m.load_s = Now() - done_merging;
  m.cpu_s = CpuNow() - cpu_start;
  m.merge_s = done_merging - profiled;
  m.profiling_s = profiled - start;
  m.rows = merged.train_rows + merged.validation_rows;
  m.storage = merged.storage;
  m.peak_mb = PeakMegabytes();
  m.gather_us = GatherMicroseconds(*store);
  return m;
}

void Print(const std::string& file, const Measured& m, bool best) {
  const char* names[] = {"uint8", "float32", "float64"};
  const double megabytes = static_cast<double>(m.bytes) / 1e6;
  std::printf(
      "{\"bench\":\"csv\",\"best\":%s,\"file\":\"%s\",\"bytes\":%lld,\"rows\":%lld,"
      "\"storage\":\"%s\",\"profiling_s\":%.4f,\"merge_s\":%.4f,\"load_s\":%.4f,\"total_s\":%.4f,"
      "\"mb_per_s\":%.1f,\"cpu_mb_per_s\":%.1f,\"profiling_mb_per_s\":%.1f,\"copy_mb_per_s\":%.1f,"
      "\"gather_us\":%.2f,\"rows_per_s\":%.0f,\"peak_mb\":%ld}\n",
      best ? "true" : "false", file.c_str(), static_cast<long long>(m.bytes),
      static_cast<long long>(m.rows), names[static_cast<int>(m.storage)], m.profiling_s, m.merge_s,
      m.load_s, m.total_s(), megabytes / m.total_s(), megabytes / m.cpu_s,
      megabytes / m.profiling_s, megabytes / m.copy_s, m.gather_us,
      static_cast<double>(m.rows) / m.total_s(), m.peak_mb);
}

Status Main(const std::string& yaml_path, const std::string& file, int repeats, int threads) {
  const auto files = storage::MakeFileSystem();
  ESPALIER_ASSIGN_OR_RETURN(const std::string yaml, files->ReadAll(yaml_path, 1 << 20));
  ESPALIER_ASSIGN_OR_RETURN(spec::JobSpec job, config::ParseJob(yaml, yaml_path));
  job.data.train = {file};
  job.data.test.clear();
  Measured best;
  std::vector<Measured> runs;
  for (int i = 0; i < repeats; ++i) {
    ESPALIER_ASSIGN_OR_RETURN(const Measured m, Run(*files, job, threads));
    runs.push_back(m);
    if (i == 0 || m.total_s() < best.total_s()) best = m;
  }
  // The copy comes last, so that its buffer is not included in the peak memory.
  std::vector<char> buffer(static_cast<size_t>(best.bytes));
  for (Measured& m : runs) {
    ESPALIER_ASSIGN_OR_RETURN(m.copy_s, CopyFile(*files, file, &buffer));
    best.copy_s = best.copy_s == 0 ? m.copy_s : std::min(best.copy_s, m.copy_s);
    Print(file, m, false);
  }
  Print(file, best, true);
  return {};
}

}  // namespace
}  // namespace espalier

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: csv JOB.yaml FILE [REPEATS [THREADS]]\n");
    return 2;
  }
  const espalier::Status done =
      espalier::Main(argv[1], argv[2], argc > 3 ? std::max(1, std::atoi(argv[3])) : 5,
                     argc > 4 ? std::max(1, std::atoi(argv[4])) : 1);
  if (!done.ok()) std::fprintf(stderr, "%s\n", done.ToString().c_str());
  return done.ok() ? 0 : 1;
}
