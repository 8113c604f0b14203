#include "src/worker/read_cache.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include "src/base/checksum.h"
#include "src/base/log.h"
#include "src/data/table/spill.h"
#include "src/storage/uri.h"

namespace espalier::worker {
namespace {

// Limit for pieces, because each costs memory, too. Readers read some hundred KiB at a time.
constexpr int64_t kPiecesMax = 1 << 20;

bool ReadFully(int fd, int64_t at, char* out, int64_t length) {
  while (length > 0) {
    const ssize_t n = pread(fd, out, static_cast<size_t>(length), at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n, out += n, length -= n;
  }
  return true;
}

bool WriteFully(int fd, int64_t at, const char* bytes, int64_t length) {
  while (length > 0) {
    const ssize_t n = pwrite(fd, bytes, static_cast<size_t>(length), at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n, bytes += n, length -= n;
  }
  return true;
}

}  // namespace

class CachedFile final : public storage::ReadableFile {
 public:
  CachedFile(std::unique_ptr<storage::ReadableFile> inner, const CachedFiles& files,
             ReadCache& cache)
      : inner_(std::move(inner)), files_(files), cache_(cache), key_(KeyOf(inner_->info())) {}

  static ReadCache::Key KeyOf(const storage::FileInfo& file) {
    return {file.path, file.length, file.modified_ms};
  }

  const storage::FileInfo& info() const override { return inner_->info(); }

  Result<size_t> ReadAt(int64_t offset, std::span<char> out) const override {
    const int64_t left = std::max<int64_t>(0, info().length - offset);
    const std::span<char> wanted = out.first(std::min(out.size(), static_cast<size_t>(left)));
    const auto size = static_cast<int64_t>(wanted.size());
    if (cache_.Covers(key_, offset, size)) {
      ESPALIER_RETURN_IF_ERROR(files_.MayRead(*inner_));
      if (cache_.Read(key_, offset, wanted)) {
        files_.cached_ += size;
        return wanted.size();
      }
    }
    ESPALIER_ASSIGN_OR_RETURN(const size_t read, inner_->ReadAt(offset, out));
    if (!fetched_.exchange(true)) files_.NoteReadable(info().path);
    files_.fetched_ += static_cast<int64_t>(read);
    cache_.Keep(key_, offset, out.first(read));
    return read;
  }

  void WillRead(int64_t offset, int64_t length) const override {
    if (!cache_.Covers(key_, offset, std::min(length, info().length - offset))) {
      inner_->WillRead(offset, length);
    }
  }

 private:
  const std::unique_ptr<storage::ReadableFile> inner_;
  const CachedFiles& files_;
  ReadCache& cache_;
  const ReadCache::Key key_;
  mutable std::atomic<bool> fetched_{false};
};

Result<std::unique_ptr<storage::ReadableFile>> CachedFiles::Open(const std::string& path) const {
  ESPALIER_ASSIGN_OR_RETURN(const storage::Uri uri, storage::ParseUri(path));
  ESPALIER_ASSIGN_OR_RETURN(auto file, files_.Open(path));
  if (uri.kind == storage::Uri::Kind::kLocal) return file;
  cache_.Use(CachedFile::KeyOf(file->info()), job_);
  return std::unique_ptr<storage::ReadableFile>(
      std::make_unique<CachedFile>(std::move(file), *this, cache_));
}

Status CachedFiles::MayRead(const storage::ReadableFile& file) const {
  {
    MutexLock lock(mutex_);
    if (readable_.contains(file.info().path)) return {};
  }
  ESPALIER_RETURN_IF_ERROR(file.CheckReadable());
  NoteReadable(file.info().path);
  return {};
}

void CachedFiles::NoteReadable(const std::string& path) const {
  MutexLock lock(mutex_);
  readable_.insert(path);
}

ReadCache::ReadCache(ReadCacheOptions options, std::function<int64_t()> now_us)
    : options_(std::move(options)), now_us_(std::move(now_us)) {}

ReadCache::~ReadCache() {
  if (fd_ >= 0) close(fd_);
}

int64_t ReadCache::bytes() const {
  ReaderMutexLock lock(mutex_);
  return bytes_;
}

int64_t ReadCache::BeginJob() {
  WriterMutexLock lock(mutex_);
  full_ = false;
  living_.insert(++jobs_);
  return jobs_;
}

void ReadCache::EndJob(int64_t job) {
  WriterMutexLock lock(mutex_);
  full_ = false;
  living_.erase(job);
  for (auto& [key, file] : files_) {
    if (file.job == job) file.used_us = now_us_();
  }
}

void ReadCache::Use(const Key& key, int64_t job) {
  WriterMutexLock lock(mutex_);
  if (gave_up_ || options_.bytes_max == 0) return;
  Kept& file = files_[key];
  file.job = std::max(file.job, job);
  file.used_us = now_us_();
}

ReadCache::Pieces ReadCache::PiecesOf(const Key& key, int64_t offset, int64_t length) const {
  const auto file = files_.find(key);
  if (file == files_.end() || length <= 0) return {};
  const Pieces& pieces = file->second.pieces;
  auto piece = pieces.upper_bound(offset);
  if (piece == pieces.begin()) return {};
  Pieces found;
  int64_t covered = offset;
  for (--piece; covered < offset + length; ++piece) {
    if (piece == pieces.end() || piece->first > covered) return {};
    const int64_t end = piece->first + piece->second.length;
    if (end <= covered) return {};
    found.insert(*piece);
    covered = end;
  }
  return found;
}

bool ReadCache::Covers(const Key& key, int64_t offset, int64_t length) const {
  ReaderMutexLock lock(mutex_);
  return !PiecesOf(key, offset, length).empty();
}

bool ReadCache::Read(const Key& key, int64_t offset, std::span<char> out) {
  std::string why;
  {
    ReaderMutexLock lock(mutex_);
    const Pieces pieces = PiecesOf(key, offset, static_cast<int64_t>(out.size()));
    if (pieces.empty()) return false;
    const int64_t end = offset + static_cast<int64_t>(out.size());
    std::vector<char> whole;
    for (const auto& [from, piece] : pieces) {
      whole.resize(static_cast<size_t>(piece.length));
      if (!ReadFully(fd_, piece.at, whole.data(), piece.length)) {
        why = "cannot be read";
      } else if (Crc32c(whole.data(), whole.size()) != piece.crc32c) {
        why = "has other bytes than were written there";
      }
      if (!why.empty()) break;
      const int64_t begin = std::max(from, offset);
      std::copy(whole.begin() + (begin - from),
                whole.begin() + (std::min(from + piece.length, end) - from),
                out.begin() + (begin - offset));
    }
    if (why.empty()) return true;
  }
  WriterMutexLock lock(mutex_);
  GiveUp(why);
  return false;
}

std::vector<plan::Range> ReadCache::Missing(const Kept& file, plan::Range wanted) {
  std::vector<plan::Range> missing;
  auto piece = file.pieces.upper_bound(wanted.begin);
  if (piece != file.pieces.begin()) --piece;
  for (; wanted.begin < wanted.end && piece != file.pieces.end(); ++piece) {
    const plan::Range kept{piece->first, piece->first + piece->second.length};
    if (kept.end <= wanted.begin) continue;
    if (kept.begin >= wanted.end) break;
    if (kept.begin > wanted.begin) missing.push_back({wanted.begin, kept.begin});
    wanted.begin = kept.end;
  }
  if (wanted.begin < wanted.end) missing.push_back(wanted);
  return missing;
}

void ReadCache::Keep(const Key& key, int64_t offset, std::span<const char> bytes) {
  Pieces places;
  int fd = -1;  // never changes after its creation
  {
    WriterMutexLock lock(mutex_);
    places = Reserve(key, {offset, offset + static_cast<int64_t>(bytes.size())});
    if (places.empty()) return;
    ++writing_;
    fd = fd_;
  }
  // No other thread knows these places yet, so writing needs no lock.
  bool written = true;
  for (auto& [from, place] : places) {
    const char* const begin = bytes.data() + (from - offset);
    written = written && WriteFully(fd, place.at, begin, place.length);
    place.crc32c = Crc32c(begin, static_cast<size_t>(place.length));
  }
  WriterMutexLock lock(mutex_);
  --writing_;
  if (written) {
    Publish(key, places);
  } else {
    GiveUp("cannot be written");
  }
}

ReadCache::Pieces ReadCache::Reserve(const Key& key, plan::Range wanted) {
  const auto file = files_.find(key);
  if (gave_up_ || file == files_.end() || options_.directory.empty()) return {};
  const std::vector<plan::Range> missing = Missing(file->second, wanted);
  int64_t bytes = 0;
  for (const plan::Range& part : missing) bytes += part.size();
  if (bytes == 0 || pieces_ >= kPiecesMax) return {};
  if (fd_ < 0) {
    const Result<int> fd = data::OpenSpillFile(options_.directory);
    if (!fd.ok()) {
      GiveUp("cannot be used: " + fd.status().message());
      return {};
    }
    fd_ = *fd;
  }
  if (!MakeRoom(bytes)) return {};
  Pieces places;
  for (const plan::Range& part : missing) {
    places[part.begin] = {.length = part.size(), .at = end_};
    end_ += part.size();
  }
  bytes_ += bytes;
  return places;
}

void ReadCache::Publish(const Key& key, const Pieces& places) {
  const auto file = files_.find(key);
  for (const auto& [from, place] : places) {
    // The file may have been dropped in the meantime, or another thread may have published the same
    // bytes.
    const plan::Range wanted{from, from + place.length};
    if (file != files_.end() && Missing(file->second, wanted) == std::vector<plan::Range>{wanted}) {
      file->second.pieces[from] = place;
      ++pieces_;
    } else {
      Free(place);
    }
  }
}

bool ReadCache::MakeRoom(int64_t bytes) {
  const auto fits = [&]() REQUIRES(mutex_) {
    struct statvfs disk = {};
    if (bytes_ + bytes > options_.bytes_max || fstatvfs(fd_, &disk) != 0) return false;
    const double free = static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize);
    return static_cast<double>(bytes_ + 2 * bytes) <= free;
  };
  while (!full_ && !fits()) {
    auto oldest = files_.end();
    for (auto file = files_.begin(); file != files_.end(); ++file) {
      const Kept& kept = file->second;
      if (living_.contains(kept.job) || kept.job >= jobs_ - 1 || kept.pieces.empty()) continue;
      if (oldest == files_.end() || kept.used_us < oldest->second.used_us) oldest = file;
    }
    if (oldest == files_.end()) {
      full_ = true;
    } else {
      Drop(oldest);
    }
  }
  return !full_;
}

void ReadCache::Free(const Piece& place) {
  // If the file system supports no holes, all space is freed when nothing is left in the cache.
  if (fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, place.at, place.length) == 0) {
    bytes_ -= place.length;
  }
}

void ReadCache::Drop(std::map<Key, Kept>::iterator file) {
  for (const auto& [from, piece] : file->second.pieces) Free(piece);
  pieces_ -= static_cast<int64_t>(file->second.pieces.size());
  files_.erase(file);
  full_ = false;
  if (pieces_ == 0 && writing_ == 0 && fd_ >= 0 && ftruncate(fd_, 0) == 0) bytes_ = end_ = 0;
}

void ReadCache::Expire() {
  WriterMutexLock lock(mutex_);
  for (auto file = files_.begin(); file != files_.end();) {
    const auto next = std::next(file);
    const Kept& kept = file->second;
    const bool idle =
        !living_.contains(kept.job) && now_us_() - kept.used_us >= options_.idle_us_max;
    if (idle) Drop(file);
    file = next;
  }
}

void ReadCache::GiveUp(const std::string& why) {
  if (std::exchange(gave_up_, true)) return;
  LogWarning("the read cache is disabled: the spill directory " + why +
             "; each job reads its input itself until this worker restarts");
  while (!files_.empty()) Drop(files_.begin());
}

}  // namespace espalier::worker
