#include "src/worker/read_cache.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include "src/base/log.h"
#include "src/base/text.h"
#include "src/data/spool.h"
#include "src/storage/uri.h"

namespace espalier {
namespace {

// A piece costs memory, too; readers ask for some hundred KiB at a time.
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

class CachedFile final : public ReadableFile {
 public:
  CachedFile(std::unique_ptr<ReadableFile> inner, const CachedFiles& files, ReadCache& cache)
      : inner_(std::move(inner)), files_(files), cache_(cache), key_(KeyOf(inner_->info())) {}

  static ReadCache::Key KeyOf(const FileInfo& file) {
    return {file.path, file.length, file.modified_ms};
  }

  const FileInfo& info() const override { return inner_->info(); }

  Result<size_t> ReadAt(int64_t offset, std::span<char> out) const override {
    const int64_t left = std::max<int64_t>(0, info().length - offset);
    const size_t wanted = std::min(out.size(), static_cast<size_t>(left));
    if (wanted > 0 && cache_.Read(key_, offset, out.first(wanted))) {
      files_.cached_ += static_cast<int64_t>(wanted);
      return wanted;
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
  const std::unique_ptr<ReadableFile> inner_;
  const CachedFiles& files_;
  ReadCache& cache_;
  const ReadCache::Key key_;
  mutable std::atomic<bool> fetched_{false};
};

Result<std::unique_ptr<ReadableFile>> CachedFiles::Open(const std::string& path) const {
  ESPALIER_ASSIGN_OR_RETURN(const Uri uri, ParseUri(path));
  ESPALIER_ASSIGN_OR_RETURN(auto file, files_.Open(path));
  if (uri.kind == Uri::Kind::kLocal) return file;
  if (cache_.Use(CachedFile::KeyOf(file->info()), job_)) {
    ESPALIER_RETURN_IF_ERROR(MayRead(*file));
  }
  return std::unique_ptr<ReadableFile>(
      std::make_unique<CachedFile>(std::move(file), *this, cache_));
}

Status CachedFiles::MayRead(const ReadableFile& file) const {
  {
    std::lock_guard lock(mutex_);
    if (readable_.contains(file.info().path)) return {};
  }
  char byte = 0;
  ESPALIER_ASSIGN_OR_RETURN(const size_t read, file.ReadAt(0, {&byte, 1}));
  fetched_ += static_cast<int64_t>(read);
  NoteReadable(file.info().path);
  return {};
}

void CachedFiles::NoteReadable(const std::string& path) const {
  std::lock_guard lock(mutex_);
  readable_.insert(path);
}

ReadCache::ReadCache(ReadCacheOptions options, std::function<int64_t()> now_us)
    : options_(std::move(options)), now_us_(std::move(now_us)) {}

ReadCache::~ReadCache() {
  if (fd_ >= 0) close(fd_);
}

int64_t ReadCache::bytes() const {
  std::shared_lock lock(mutex_);
  return bytes_;
}

int64_t ReadCache::NextJob() {
  std::unique_lock lock(mutex_);
  return ++jobs_;
}

bool ReadCache::Use(const Key& key, int64_t job) {
  std::unique_lock lock(mutex_);
  if (gave_up_ || options_.bytes_max == 0) return false;
  Kept& file = files_[key];
  file.job = std::max(file.job, job);
  file.used_us = now_us_();
  return !file.pieces.empty();
}

ReadCache::Pieces ReadCache::PiecesOf(const Key& key, int64_t offset, int64_t length) const {
  const auto file = files_.find(key);
  if (file == files_.end() || length <= 0) return {};
  const Pieces& pieces = file->second.pieces;
  Pieces found;
  auto piece = pieces.upper_bound(offset);
  if (piece == pieces.begin()) return {};
  --piece;
  const int64_t end = offset + length;
  for (int64_t at = offset; at < end; ++piece) {
    if (piece == pieces.end() || piece->first > at || piece->first + piece->second.length <= at) {
      return {};
    }
    const int64_t skipped = at - piece->first;
    const int64_t n = std::min(end - at, piece->second.length - skipped);
    found[at] = {n, piece->second.at + skipped};
    at += n;
  }
  return found;
}

bool ReadCache::Covers(const Key& key, int64_t offset, int64_t length) const {
  std::shared_lock lock(mutex_);
  return !PiecesOf(key, offset, length).empty();
}

bool ReadCache::Read(const Key& key, int64_t offset, std::span<char> out) {
  {
    std::shared_lock lock(mutex_);
    const Pieces pieces = PiecesOf(key, offset, static_cast<int64_t>(out.size()));
    if (pieces.empty()) return false;
    bool read = true;
    for (const auto& [from, piece] : pieces) {
      read = read && ReadFully(fd_, piece.at, out.data() + (from - offset), piece.length);
    }
    if (read) return true;
  }
  const int error = errno;
  std::unique_lock lock(mutex_);
  GiveUp("cannot be read (" + std::string(std::strerror(error)) + ")");
  return false;
}

std::vector<Range> ReadCache::Missing(const Kept& file, Range wanted) {
  std::vector<Range> missing;
  auto piece = file.pieces.upper_bound(wanted.begin);
  if (piece != file.pieces.begin()) --piece;
  for (; wanted.begin < wanted.end && piece != file.pieces.end(); ++piece) {
    const Range kept{piece->first, piece->first + piece->second.length};
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
  {
    std::unique_lock lock(mutex_);
    places = Reserve(key, {offset, offset + static_cast<int64_t>(bytes.size())});
    if (places.empty()) return;
    ++writing_;
  }
  // Nobody knows of these places yet, so that this needs no lock.
  bool written = true;
  for (const auto& [from, place] : places) {
    written = written && WriteFully(fd_, place.at, bytes.data() + (from - offset), place.length);
  }
  const int error = errno;
  std::unique_lock lock(mutex_);
  --writing_;
  if (written) {
    Publish(key, places);
  } else {
    GiveUp("cannot be written (" + std::string(std::strerror(error)) + ")");
  }
}

ReadCache::Pieces ReadCache::Reserve(const Key& key, Range wanted) {
  const auto file = files_.find(key);
  if (gave_up_ || file == files_.end() || options_.directory.empty()) return {};
  const std::vector<Range> missing = Missing(file->second, wanted);
  int64_t bytes = 0;
  for (const Range& part : missing) bytes += part.size();
  if (bytes == 0 || pieces_ >= kPiecesMax || !MakeRoom(bytes)) return {};
  if (fd_ < 0) {
    const Result<int> fd = OpenSpoolFile(options_.directory);
    if (!fd.ok()) {
      GiveUp("cannot be used: " + fd.status().message());
      return {};
    }
    fd_ = *fd;
  }
  Pieces places;
  for (const Range& part : missing) {
    places[part.begin] = {part.size(), end_};
    end_ += part.size();
  }
  bytes_ += bytes;
  return places;
}

void ReadCache::Publish(const Key& key, const Pieces& places) {
  const auto file = files_.find(key);
  for (const auto& [from, place] : places) {
    bytes_ -= place.length;
    if (file == files_.end()) continue;  // given up meanwhile
    // Another thread that read the same may have been quicker.
    for (const Range& part : Missing(file->second, {from, from + place.length})) {
      file->second.pieces[part.begin] = {part.size(), place.at + (part.begin - from)};
      bytes_ += part.size();
      ++pieces_;
    }
  }
}

bool ReadCache::MakeRoom(int64_t bytes) {
  while (bytes_ + bytes > options_.bytes_max) {
    auto oldest = files_.end();
    for (auto file = files_.begin(); file != files_.end(); ++file) {
      const Kept& kept = file->second;
      if (kept.job >= jobs_ - 1 || kept.pieces.empty()) continue;
      if (oldest == files_.end() || kept.used_us < oldest->second.used_us) oldest = file;
    }
    if (oldest == files_.end()) return false;
    Drop(oldest);
  }
  return true;
}

void ReadCache::Drop(std::map<Key, Kept>::iterator file) {
  for (const auto& [from, piece] : file->second.pieces) {
    --pieces_;
    // Where there are no holes in files, all is given back when nothing is kept any more.
    if (fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, piece.at, piece.length) == 0) {
      bytes_ -= piece.length;
    }
  }
  files_.erase(file);
  if (pieces_ == 0 && writing_ == 0 && fd_ >= 0 && ftruncate(fd_, 0) == 0) bytes_ = end_ = 0;
}

void ReadCache::Expire() {
  std::unique_lock lock(mutex_);
  for (auto file = files_.begin(); file != files_.end();) {
    const auto next = std::next(file);
    if (now_us_() - file->second.used_us >= options_.idle_us_max) Drop(file);
    file = next;
  }
}

void ReadCache::GiveUp(const std::string& why) {
  if (std::exchange(gave_up_, true)) return;
  LogWarning("what jobs read is not kept any more, for the spool directory " + why +
             "; each reads its input itself until this worker is started again");
  while (!files_.empty()) Drop(files_.begin());
}

}  // namespace espalier
