#include "src/worker/read_cache.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <filesystem>
#include <thread>
#include <vector>

#include "src/base/random.h"
#include "tests/storage/temporary_directory.h"

namespace espalier::worker {
namespace {

// Remote files. The bytes of a file depend on its name. The class counts the bytes read.
class FarFiles final : public storage::PassingFiles {
 public:
  explicit FarFiles(const storage::FileSystem& local) : storage::PassingFiles(local) {}

  static char ByteOf(const std::string& path, int64_t at) {
    return static_cast<char>(at * 31 + (at >> 8) + static_cast<int64_t>(path.size() * 7) +
                             path.back());
  }

  Result<std::unique_ptr<storage::ReadableFile>> Open(const std::string& path) const override {
    return std::unique_ptr<storage::ReadableFile>(std::make_unique<File>(*this, path));
  }

  int64_t length = 1000;
  int64_t modified_ms = 5;
  bool readable = true;
  mutable std::atomic<int64_t> read{0}, hints{0};

 private:
  class File final : public storage::ReadableFile {
   public:
    File(const FarFiles& files, const std::string& path)
        : files_(files),
          info_{.path = path, .length = files.length, .modified_ms = files.modified_ms} {}
    const storage::FileInfo& info() const override { return info_; }
    Result<size_t> ReadAt(int64_t offset, std::span<char> out) const override {
      if (!files_.readable)
        return PermissionDenied("cannot read '" + info_.path + "': it is not yours");
      const int64_t left = std::max<int64_t>(0, info_.length - offset);
      const auto n = static_cast<size_t>(std::min<int64_t>(left, static_cast<int64_t>(out.size())));
      for (size_t i = 0; i < n; ++i) {
        out[i] = ByteOf(info_.path, offset + static_cast<int64_t>(i));
      }
      files_.read += static_cast<int64_t>(n);
      return n;
    }
    void WillRead(int64_t, int64_t) const override { ++files_.hints; }

   private:
    const FarFiles& files_;
    const storage::FileInfo info_;
  };
};

struct Fixture {
  storage::TemporaryDirectory directory;
  std::unique_ptr<storage::FileSystem> local = storage::MakeLocalFileSystem();
  FarFiles far{*local};
  int64_t now_us = 0;
  int64_t bytes_max = 10'000;
  std::unique_ptr<ReadCache> cache;
  std::unique_ptr<CachedFiles> files;

  // Begins another job.
  void Next() {
    if (!cache) {
      cache = std::make_unique<ReadCache>(ReadCacheOptions{directory / "spill", bytes_max, 1000},
                                          [this] { return now_us; });
    }
    files = std::make_unique<CachedFiles>(far, *cache);
    far.read = 0;
  }
  // Reads a range and checks its bytes. Returns the number of remote bytes read.
  int64_t Read(const std::string& path, int64_t offset, int64_t length) {
    const int64_t before = far.read;
    const auto file = files->Open(path);
    REQUIRE(file.ok());
    std::vector<char> out(static_cast<size_t>(length));
    const auto read = (*file)->ReadAt(offset, out);
    REQUIRE(read.ok());
    REQUIRE(static_cast<int64_t>(*read) == std::clamp<int64_t>(far.length - offset, 0, length));
    for (size_t i = 0; i < *read; ++i) {
      REQUIRE(out[i] == FarFiles::ByteOf(path, offset + static_cast<int64_t>(i)));
    }
    return far.read - before;
  }
};

TEST_CASE("a job reads from disk what an earlier job has fetched") {
  Fixture f;
  f.Next();
  CHECK(f.Read("hdfs://n/a", 0, 400) == 400);
  CHECK(f.Read("hdfs://n/a", 400, 900) == 600);
  CHECK(f.Read("hdfs://n/b", 100, 50) == 50);
  CHECK(f.files->bytes_fetched() == 1050);
  CHECK(f.cache->bytes() == 1050);
  CHECK(f.Read("hdfs://n/a", 0, 400) == 0);  // the same job
  f.Next();
  CHECK(f.Read("hdfs://n/a", 0, 400) == 1);  // checks the permission
  CHECK(f.Read("hdfs://n/a", 400, 900) == 0);
  CHECK(f.Read("hdfs://n/a", 399, 2) == 0);  // from two pieces
  CHECK(f.Read("hdfs://n/a", 1000, 10) == 0);
  CHECK(f.Read("hdfs://n/b", 100, 50) == 1);
  CHECK(f.Read("hdfs://n/b", 90, 70) == 70);
  CHECK(f.Read("hdfs://n/b", 90, 70) == 0);
  CHECK(f.files->bytes_cached() == 400 + 600 + 2 + 50 + 70);
  CHECK(f.cache->bytes() == 1070);
  CHECK(f.local->Names(f.directory / "spill")->empty());  // the cache file has no name
}

TEST_CASE("changed files are fetched again, local files are not kept") {
  Fixture f;
  f.Next();
  CHECK(f.Read("hdfs://n/a", 0, 400) == 400);
  f.far.modified_ms = 6;
  CHECK(f.Read("hdfs://n/a", 0, 400) == 400);
  f.far.length = 999;
  CHECK(f.Read("hdfs://n/a", 0, 400) == 400);
  CHECK(f.Read("/a", 0, 400) == 400);
  CHECK(f.Read("/a", 0, 400) == 400);
  CHECK(f.cache->bytes() == 1200);
}

TEST_CASE("a job without read permission gets no cached bytes") {
  Fixture f;
  f.Next();
  f.Read("hdfs://n/a", 0, 400);
  f.Next();
  f.far.readable = false;
  const auto file = f.files->Open("hdfs://n/a");
  std::vector<char> out(10);
  CHECK((*file)->ReadAt(5, out).status().code() == StatusCode::kPermissionDenied);
  f.far.readable = true;
  CHECK((*file)->ReadAt(5, out).ok());
}

TEST_CASE("the cache evicts only files that two jobs did not use") {
  Fixture f;
  f.bytes_max = 1500;
  f.Next();
  f.Read("hdfs://n/a", 0, 1000);
  CHECK(f.Read("hdfs://n/b", 0, 600) == 600);
  CHECK(f.cache->bytes() == 1000);  // b does not fit
  f.Next();
  CHECK(f.Read("hdfs://n/b", 0, 500) == 500);
  CHECK(f.Read("hdfs://n/c", 0, 600) == 600);
  CHECK(f.Read("hdfs://n/b", 0, 500) == 0);
  CHECK(f.cache->bytes() == 1500);
  CHECK(f.Read("hdfs://n/a", 0, 1000) == 1);  // a is still cached
  f.Next();
  CHECK(f.Read("hdfs://n/b", 0, 500) == 1);
  f.Next();
  CHECK(f.Read("hdfs://n/c", 0, 600) == 600);  // replaces a
  CHECK(f.Read("hdfs://n/c", 0, 600) == 0);
  CHECK(f.cache->bytes() == 1100);
  CHECK(f.Read("hdfs://n/b", 0, 500) == 1);
  CHECK(f.Read("hdfs://n/a", 0, 1000) == 1000);
}

TEST_CASE("files that no job reads for a while are evicted") {
  Fixture f;
  f.Next();
  f.Read("hdfs://n/a", 0, 1000);
  f.now_us = 900;
  f.Read("hdfs://n/b", 0, 1000);
  f.now_us = 5000;
  f.cache->Expire();
  CHECK(f.cache->bytes() == 2000);  // the job is still running
  f.Next();
  f.Read("hdfs://n/b", 0, 1000);
  f.now_us = 6000;
  f.cache->Expire();
  CHECK(f.cache->bytes() == 1000);  // the job of a has ended
  CHECK(f.Read("hdfs://n/b", 0, 1000) == 0);
  f.Next();
  f.now_us = 7000;
  f.cache->Expire();
  CHECK(f.cache->bytes() == 0);
  CHECK(f.Read("hdfs://n/b", 0, 1000) == 1000);
}

TEST_CASE("a disk error disables the cache and fails no job") {
  Fixture f;
  f.Next();
  REQUIRE(f.local->WriteAtomically(f.directory / "spill", "a file").ok());
  CHECK(f.Read("hdfs://n/a", 0, 1000) == 1000);
  CHECK(f.Read("hdfs://n/a", 0, 1000) == 1000);
  CHECK(f.cache->bytes() == 0);
}

// Returns the descriptor of the unnamed cache file, or -1.
int CacheDescriptor(const std::string& directory) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    const std::string target = std::filesystem::read_symlink(entry.path(), error).string();
    if (target.starts_with(directory)) return std::stoi(entry.path().filename());
  }
  return -1;
}

TEST_CASE("a corrupt cached byte is detected") {
  Fixture f;
  f.Next();
  f.Read("hdfs://n/a", 0, 1000);
  const int fd = CacheDescriptor(f.directory / "spill");
  REQUIRE(fd >= 0);
  const char other = static_cast<char>(FarFiles::ByteOf("hdfs://n/a", 500) + 1);
  REQUIRE(pwrite(fd, &other, 1, 500) == 1);
  CHECK(f.Read("hdfs://n/a", 400, 200) == 200);
  CHECK(f.cache->bytes() == 0);
}

TEST_CASE("a cache of size 0 keeps nothing") {
  Fixture f;
  f.bytes_max = 0;
  f.Next();
  CHECK(f.Read("hdfs://n/a", 0, 1000) == 1000);
  CHECK(f.Read("hdfs://n/a", 0, 1000) == 1000);
}

TEST_CASE("read hints are passed on unless all bytes are cached") {
  Fixture f;
  f.Next();
  f.Read("hdfs://n/a", 0, 400);
  const auto file = f.files->Open("hdfs://n/a");
  (*file)->WillRead(100, 300);
  CHECK(f.far.hints == 0);
  (*file)->WillRead(100, 301);
  CHECK(f.far.hints == 1);
  f.Read("hdfs://n/a", 400, 600);
  (*file)->WillRead(0, 5000);
  CHECK(f.far.hints == 1);
}

TEST_CASE("concurrent reads and evictions never change a byte") {
  Fixture f;
  f.bytes_max = 20'000;
  f.far.length = 5000;
  f.Next();
  std::atomic<int64_t> wrong{0}, now_us{0};
  ReadCache cache({f.directory / "spill", f.bytes_max, 3}, [&] { return ++now_us; });
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int job = 0; job < 20; ++job) {
        const CachedFiles files(f.far, cache);
        const PhiloxKey key = MakeKey(static_cast<uint64_t>(t), RandomUse::kSample);
        for (int i = 0; i < 100; ++i) {
          const auto drawn = [&, i](uint64_t what, uint64_t below) {
            return RandomBits(key, static_cast<uint64_t>(job * 100 + i), what) % below;
          };
          const std::string path = "hdfs://n/" + std::to_string(drawn(0, 9));
          const auto offset = static_cast<int64_t>(drawn(1, 5000));
          std::vector<char> out(1 + drawn(2, 900));
          const auto file = files.Open(path);
          if (!file.ok()) {
            ++wrong;
            continue;
          }
          const auto read = (*file)->ReadAt(offset, out);
          if (!read.ok()) ++wrong;
          for (size_t k = 0; read.ok() && k < *read; ++k) {
            wrong += out[k] != FarFiles::ByteOf(path, offset + static_cast<int64_t>(k));
          }
          if (i % 10 == 0) cache.Expire();
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(cache.bytes() >= 0);
  CHECK(cache.bytes() <= f.bytes_max);
  now_us += 100;
  cache.Expire();
  CHECK(cache.bytes() == 0);
}

}  // namespace
}  // namespace espalier::worker
