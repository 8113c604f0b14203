// Measures the speed of reading a file of an HDFS. Each of THREADS threads announces its part of
// the file (WillRead) and reads it in order, in pieces. Prints one JSON line for each run.
//
//   webhdfs hdfs://HOST:PORT/FILE THREADS PIECE_BYTES [REPEATS]
//
// HADOOP_CONF_DIR and HADOOP_USER_NAME are read from the environment.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "src/storage/file_systems.h"

namespace espalier {
namespace {

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Status ReadPart(const storage::ReadableFile& file, int64_t begin, int64_t end,
                std::vector<char>* buffer) {
  file.WillRead(begin, end - begin);
  while (begin < end) {
    const size_t wanted = std::min<int64_t>(end - begin, buffer->size());
    ESPALIER_ASSIGN_OR_RETURN(const size_t n, file.ReadAt(begin, {buffer->data(), wanted}));
    if (n != wanted) return DataLoss("a read returned too few bytes");
    begin += n;
  }
  return {};
}

Status Main(const std::string& path, int threads, int64_t piece, int repeats) {
  const auto text = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  storage::StorageOptions options;
  options.hadoop_conf_dir = text("HADOOP_CONF_DIR");
  options.webhdfs.user = text("HADOOP_USER_NAME");
  const auto files = storage::MakeFileSystem(options);
  std::vector<std::vector<char>> buffers(threads, std::vector<char>(piece));
  for (int run = 0; run < repeats; ++run) {
    const double start = Now();
    ESPALIER_ASSIGN_OR_RETURN(const auto file, files->Open(path));
    const int64_t length = file->info().length;
    std::vector<Status> done(threads);
    std::vector<std::thread> team;
    for (int t = 0; t < threads; ++t) {
      team.emplace_back([&, t] {
        done[t] = ReadPart(*file, length * t / threads, length * (t + 1) / threads, &buffers[t]);
      });
    }
    for (std::thread& thread : team) thread.join();
    for (const Status& status : done) ESPALIER_RETURN_IF_ERROR(status);
    const double seconds = Now() - start;
    std::printf(
        "{\"bench\":\"webhdfs\",\"threads\":%d,\"piece\":%lld,\"bytes\":%lld,\"s\":%.4f,"
        "\"mb_per_s\":%.1f}\n",
        threads, static_cast<long long>(piece), static_cast<long long>(length), seconds,
        static_cast<double>(length) / 1e6 / seconds);
  }
  return {};
}

}  // namespace
}  // namespace espalier

int main(int argc, char** argv) {
  const int threads = argc > 2 ? std::atoi(argv[2]) : 0;
  const int64_t piece = argc > 3 ? std::atoll(argv[3]) : 0;
  if (threads < 1 || piece < 1) {
    std::fprintf(stderr, "usage: webhdfs URI THREADS PIECE_BYTES [REPEATS]\n");
    return 2;
  }
  const espalier::Status done =
      espalier::Main(argv[1], threads, piece, argc > 4 ? std::atoi(argv[4]) : 3);
  if (!done.ok()) std::fprintf(stderr, "%s\n", done.ToString().c_str());
  return done.ok() ? 0 : 1;
}
