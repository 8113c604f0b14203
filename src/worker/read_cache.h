// What jobs read of their input, kept on this worker's disk for the jobs to come: those of a sweep
// read the same tables again and again, but only the first of them reads them over the network.
//
// Kept are the bytes as they were read, so that a job does with them whatever it likes: a job's
// model does not depend on where they came from. They lie in one file without a name in spill files
// directory, which goes with the process. What would not fit into the limit, or would leave less of
// the disk free than the cache takes, is not kept, unless files that neither a job of now nor the
// newest one before has used can make room. A file that no job uses for a while is given up, too.
// Each piece has a checksum; trouble with the disk ends the keeping, never a job.
//
// A file is known by path, length and time of change, as its file system tells them whenever it is
// opened. Files of this machine are left to the system, which keeps them in its own memory.
//
// Thread rule: safe from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "src/base/status.h"
#include "src/plan/rows.h"
#include "src/storage/passing_files.h"

namespace espalier::worker {

struct ReadCacheOptions {
  std::string directory;  // empty: nothing is kept
  int64_t bytes_max = 0;  // on disk
  int64_t idle_us_max = 600'000'000;
};

class ReadCache {
 public:
  // `now_us`: a clock that never goes back.
  ReadCache(ReadCacheOptions options, std::function<int64_t()> now_us);
  ~ReadCache();
  ReadCache(const ReadCache&) = delete;
  ReadCache& operator=(const ReadCache&) = delete;

  // Gives up what was not used for `idle_us_max`. To be called now and then.
  void Expire();
  // What is kept now.
  int64_t bytes() const;

 private:
  friend class CachedFiles;
  friend class CachedFile;

  using Key = std::tuple<std::string, int64_t, int64_t>;  // path, length, time of change
  struct Piece {
    int64_t length = 0;
    int64_t at = 0;  // in our file
    uint32_t crc32c = 0;
  };
  using Pieces = std::map<int64_t, Piece>;  // by offset; none overlaps another
  struct Kept {
    Pieces pieces;
    int64_t used_us = 0;
    int64_t job = 0;  // the newest that uses it, or did
  };

  // The number of another job, which then lives.
  int64_t BeginJob();
  void EndJob(int64_t job);
  // A job uses the file from now on.
  void Use(const Key& key, int64_t job);
  // Whether all of these bytes are kept.
  bool Covers(const Key& key, int64_t offset, int64_t length) const;
  // Reads them, if they are.
  bool Read(const Key& key, int64_t offset, std::span<char> out);
  // Keeps what of these bytes is not kept, if there is room.
  void Keep(const Key& key, int64_t offset, std::span<const char> bytes);

  // What of these bytes is not kept, in order.
  static std::vector<plan::Range> Missing(const Kept& file, plan::Range wanted);

  // These REQUIRE the lock; those that are not const, for writing.
  // The pieces that [offset, offset + length) lies in; none if one is missing.
  Pieces PiecesOf(const Key& key, int64_t offset, int64_t length) const;
  // Places in our file for what of these bytes is not kept; none where there is no room.
  Pieces Reserve(const Key& key, plan::Range wanted);
  void Publish(const Key& key, const Pieces& places);
  bool MakeRoom(int64_t bytes);
  // A place that is not to be a piece, or not any more.
  void Free(const Piece& place);
  void Drop(std::map<Key, Kept>::iterator file);
  void GiveUp(const std::string& why);

  const ReadCacheOptions options_;
  const std::function<int64_t()> now_us_;
  mutable std::shared_mutex mutex_;  // guards all below, and what our file holds of pieces
  std::map<Key, Kept> files_;
  int64_t jobs_ = 0;
  std::set<int64_t> living_;  // of them
  bool full_ = false;         // as long as no job begins or ends and nothing is given up
  int64_t pieces_ = 0;        // of all files
  int64_t bytes_ = 0;         // taken of the disk, or about to be
  int64_t end_ = 0;           // of our file
  int64_t writing_ = 0;       // calls that write to places they reserved
  bool gave_up_ = false;
  int fd_ = -1;  // made when it is first needed
};

// A job's files, through the cache.
class CachedFiles final : public storage::PassingFiles {
 public:
  // Both must outlive this and its files.
  CachedFiles(const storage::FileSystem& files, ReadCache& cache)
      : storage::PassingFiles(files), cache_(cache), job_(cache.BeginJob()) {}
  ~CachedFiles() override { cache_.EndJob(job_); }

  // Whether this job may read what an earlier one did is asked of the file's own system, before the
  // first byte that it has from the cache (unless it has itself read of that file before).
  Result<std::unique_ptr<storage::ReadableFile>> Open(const std::string& path) const override;

  // Of all files so far: bytes that came from their own systems, and from the cache.
  int64_t bytes_fetched() const { return fetched_; }
  int64_t bytes_cached() const { return cached_; }

 private:
  friend class CachedFile;
  Status MayRead(const storage::ReadableFile& file) const;
  void NoteReadable(const std::string& path) const;

  ReadCache& cache_;
  const int64_t job_;
  mutable std::atomic<int64_t> fetched_{0}, cached_{0};
  mutable std::mutex mutex_;
  mutable std::set<std::string> readable_;  // of this job's user, as far as known
};

}  // namespace espalier::worker
