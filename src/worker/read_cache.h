// The input that jobs read, kept on this worker's disk for later jobs. The jobs of a sweep read the
// same tables again and again, but only the first one reads them over the network.
//
// The cache keeps the bytes as they were read, so a job's model does not depend on where they came
// from. They are in one unnamed file in the spill directory, which disappears with the process. The
// cache does not keep bytes beyond its limit, or if less of the disk would remain free than the
// cache takes. It first tries to make room by dropping files that neither a present job nor the
// newest one before has used. It also drops a file that no job uses for a while. Each piece has a
// checksum. A disk error ends the caching, never a job.
//
// A file is identified by path, length and time of change, as its file system reports them at each
// open. The cache skips files of this machine, because the operating system caches them in memory.
//
// Thread rule: safe from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "src/base/mutex.h"
#include "src/base/status.h"
#include "src/plan/rows.h"
#include "src/storage/passing_files.h"

namespace espalier::worker {

struct ReadCacheOptions {
  std::string directory;  // empty: the cache keeps nothing
  int64_t bytes_max = 0;  // limit on disk
  int64_t idle_us_max = 600'000'000;
};

class ReadCache {
 public:
  // `now_us`: a clock that never goes back.
  ReadCache(ReadCacheOptions options, std::function<int64_t()> now_us);
  ~ReadCache();
  ReadCache(const ReadCache&) = delete;
  ReadCache& operator=(const ReadCache&) = delete;

  // Drops files that were not used for `idle_us_max`. Call it from time to time.
  void Expire();
  // Returns the size of the kept bytes.
  int64_t bytes() const;

 private:
  friend class CachedFiles;
  friend class CachedFile;

  using Key = std::tuple<std::string, int64_t, int64_t>;  // path, length, time of change
  struct Piece {
    int64_t length = 0;
    int64_t at = 0;  // offset in the cache file
    uint32_t crc32c = 0;
  };
  using Pieces = std::map<int64_t, Piece>;  // indexed by offset; without overlaps
  struct Kept {
    Pieces pieces;
    int64_t used_us = 0;
    int64_t job = 0;  // newest job that uses it, or did
  };

  // Returns the number of a new job, which then counts as running until EndJob.
  int64_t BeginJob();
  void EndJob(int64_t job);
  // Registers that a job uses the file from now on.
  void Use(const Key& key, int64_t job);
  // Returns whether all of these bytes are kept.
  bool Covers(const Key& key, int64_t offset, int64_t length) const;
  // Reads the bytes and returns true, if they are kept.
  bool Read(const Key& key, int64_t offset, std::span<char> out);
  // Keeps the bytes that are not kept yet, if there is room.
  void Keep(const Key& key, int64_t offset, std::span<const char> bytes);

  // Returns the ranges of these bytes that are not kept, in order.
  static std::vector<plan::Range> Missing(const Kept& file, plan::Range wanted);

  // Returns the pieces that cover [offset, offset + length), or none if one is missing.
  Pieces PiecesOf(const Key& key, int64_t offset, int64_t length) const REQUIRES_SHARED(mutex_);
  // Returns places in the cache file for the bytes that are not kept, or none if there is no room.
  Pieces Reserve(const Key& key, plan::Range wanted) REQUIRES(mutex_);
  void Publish(const Key& key, const Pieces& places) REQUIRES(mutex_);
  bool MakeRoom(int64_t bytes) REQUIRES(mutex_);
  // Frees a place that is not, or no longer, a piece.
  void Free(const Piece& place) REQUIRES(mutex_);
  void Drop(std::map<Key, Kept>::iterator file) REQUIRES(mutex_);
  void GiveUp(const std::string& why) REQUIRES(mutex_);

  const ReadCacheOptions options_;
  const std::function<int64_t()> now_us_;
  mutable SharedMutex mutex_;  // also guards the pieces in the cache file
  std::map<Key, Kept> files_ GUARDED_BY(mutex_);
  int64_t jobs_ GUARDED_BY(mutex_) = 0;
  std::set<int64_t> living_ GUARDED_BY(mutex_);  // running jobs
  // Reset when a job begins or ends, or files are dropped.
  bool full_ GUARDED_BY(mutex_) = false;
  int64_t pieces_ GUARDED_BY(mutex_) = 0;   // number over all files
  int64_t bytes_ GUARDED_BY(mutex_) = 0;    // disk space in use or reserved
  int64_t end_ GUARDED_BY(mutex_) = 0;      // end of the cache file
  int64_t writing_ GUARDED_BY(mutex_) = 0;  // calls that write to reserved places
  bool gave_up_ GUARDED_BY(mutex_) = false;
  int fd_ GUARDED_BY(mutex_) = -1;  // created at the first use
};

// A job's files, read through the cache.
class CachedFiles final : public storage::PassingFiles {
 public:
  // Both arguments must outlive this object and its files.
  CachedFiles(const storage::FileSystem& files, ReadCache& cache)
      : storage::PassingFiles(files), cache_(cache), job_(cache.BeginJob()) {}
  ~CachedFiles() override { cache_.EndJob(job_); }

  // Opens a file. Before the first byte from the cache, it asks the file's own system whether this
  // job may read the file. (It skips this if the job itself has read from the file before.)
  Result<std::unique_ptr<storage::ReadableFile>> Open(const std::string& path) const override;

  // Totals over all files so far: bytes from their own systems, and bytes from the cache.
  int64_t bytes_fetched() const { return fetched_; }
  int64_t bytes_cached() const { return cached_; }

 private:
  friend class CachedFile;
  Status MayRead(const storage::ReadableFile& file) const;
  void NoteReadable(const std::string& path) const;

  ReadCache& cache_;
  const int64_t job_;
  mutable std::atomic<int64_t> fetched_{0}, cached_{0};
  mutable Mutex mutex_;
  // Files that this job's user may read, as far as known.
  mutable std::set<std::string> readable_ GUARDED_BY(mutex_);
};

}  // namespace espalier::worker
