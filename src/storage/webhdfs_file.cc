#include "src/storage/webhdfs_file.h"

#include <algorithm>
#include <cstring>

namespace espalier::storage {
namespace {

// Bytes that must arrive before the count of failures restarts. Otherwise a peer that sends one
// byte a connection could delay a read forever.
constexpr int64_t kProgressBytes = 1 << 20;
constexpr size_t kStreamsMax = 8;
constexpr size_t kAnnouncedMax = 64;
constexpr size_t kEndsMax = 16;

template <typename T>
void PushBounded(std::deque<T>* queue, T item, size_t count_max) {
  queue->push_back(std::move(item));
  if (queue->size() > count_max) queue->pop_front();
}

}  // namespace

Verdict RangeStream::Open(size_t name_node, int64_t* elapsed_ms) {
  const int64_t wanted = end_ - position_;
  auto range = client_.OpenRange(path_, position_, wanted, name_node);
  source_ = range.source;
  *elapsed_ms = range.elapsed_ms;
  if (range.body == nullptr) return range.verdict;
  const auto length = range.body->head().content_length;
  if (length && *length != wanted) {
    return {CallFate::kFail, StatusCode::kDataLoss,
            "of " + std::to_string(wanted) + " bytes from " + std::to_string(position_) +
                " on a reply brings " + std::to_string(*length) +
                "; the file changed while it was being read"};
  }
  body_ = std::move(range.body);
  return {};
}

Verdict RangeStream::WhyShort(int64_t* elapsed_ms) const {
  const HttpReply& result = body_->result();
  *elapsed_ms = result.elapsed_ms;
  const std::string who = source_.port == 0 ? "the reply" : "the DataNode " + ToString(source_);
  const std::string where = " at byte " + std::to_string(position_);
  if (result.failure == HttpFailure::kCancelled) {
    return {CallFate::kFail, StatusCode::kCancelled, "it was cancelled"};
  }
  return {CallFate::kOtherDataNode, StatusCode::kUnavailable,
          who + " broke off" + where +
              (result.failure == HttpFailure::kNone ? " too early" : ": " + result.reason)};
}

Status RangeStream::Read(std::span<char> out) {
  Attempts attempts(client_, "read", shown_);
  size_t done = 0;
  int64_t since_failure = 0;
  while (done < out.size()) {
    Verdict verdict;
    int64_t elapsed_ms = 0;
    if (body_ == nullptr) verdict = Open(attempts.name_node(), &elapsed_ms);
    if (body_ != nullptr) {
      const size_t n = body_->Read(out.subspan(done));
      done += n;
      position_ += n;
      since_failure += n;
      if (done == out.size()) break;
      verdict = WhyShort(&elapsed_ms);
      body_ = nullptr;
    }
    if (since_failure >= kProgressBytes) {
      attempts.Succeeded();
      since_failure = 0;
    }
    if (verdict.fate == CallFate::kOtherDataNode) client_.Suspect(path_, position_, source_);
    ESPALIER_RETURN_IF_ERROR(attempts.Next(verdict, elapsed_ms));
  }
  if (position_ < end_ || body_ == nullptr) {
    if (!out.empty()) attempts.Succeeded();
    return {};
  }
  attempts.Succeeded();
  // A body without a length may contain more than the requested bytes.
  char more = 0;
  const bool too_long = !body_->head().content_length && body_->Read({&more, 1}) > 0;
  body_ = nullptr;
  if (!too_long) return {};
  return FileProblem(
      StatusCode::kDataLoss, "read", shown_,
      "a reply brings more bytes than were asked for, up to byte " + std::to_string(end_));
}

WebHdfsFile::WebHdfsFile(std::shared_ptr<const WebHdfsClient> client, std::string path,
                         FileInfo info)
    : client_(std::move(client)), path_(std::move(path)), info_(std::move(info)) {}

void WebHdfsFile::WillRead(int64_t offset, int64_t length) const {
  const int64_t begin = std::max<int64_t>(offset, 0);
  if (begin >= info_.length || length <= 0) return;
  const int64_t end = begin + std::min(length, info_.length - begin);
  MutexLock lock(mutex_);
  PushBounded(&announced_, {begin, end}, kAnnouncedMax);
}

Status WebHdfsFile::CheckReadable() const {
  if (info_.length == 0) return {};
  char byte = 0;
  return RangeStream(*client_, path_, info_.path, 0, 1).Read({&byte, 1});
}

std::unique_ptr<RangeStream> WebHdfsFile::StreamAt(int64_t offset, int64_t wanted,
                                                   bool* announced) const {
  MutexLock lock(mutex_);
  *announced = false;
  for (const Span& span : announced_) *announced |= span.begin <= offset && offset < span.end;
  for (auto i = streams_.begin(); i != streams_.end(); ++i) {
    if ((*i)->position() != offset) continue;
    auto stream = std::move(*i);
    streams_.erase(i);
    return stream;
  }
  int64_t end = offset + wanted;
  for (const Span& span : announced_) {
    if (span.begin <= offset && offset < span.end) end = std::max(end, span.end);
  }
  if (!*announced && std::find(ends_.begin(), ends_.end(), offset) != ends_.end()) {
    end = std::max(end, offset + client_->options().stream_bytes);
  }
  return std::make_unique<RangeStream>(*client_, path_, info_.path, offset,
                                       std::min(end, info_.length));
}

void WebHdfsFile::Keep(std::unique_ptr<RangeStream> stream, bool announced) const {
  std::unique_ptr<RangeStream> dropped;  // closed after the lock is released
  MutexLock lock(mutex_);
  const bool over = stream->position() == stream->end();
  // The end of an announced range is not the start of another long sequential read.
  if (!over || !announced) PushBounded(&ends_, stream->position(), kEndsMax);
  if (over) {
    std::erase_if(announced_,
                  [&](const Span& span) { return announced && span.end == stream->end(); });
    return;
  }
  if (streams_.size() >= kStreamsMax) {
    dropped = std::move(streams_.front());
    streams_.pop_front();
  }
  streams_.push_back(std::move(stream));
}

size_t WebHdfsFile::FromBlock(int64_t offset, std::span<char> out) const {
  MutexLock lock(mutex_);
  const int64_t skipped = offset - block_offset_;
  if (skipped < 0 || skipped >= static_cast<int64_t>(block_.size())) return 0;
  const size_t n = std::min(out.size(), block_.size() - skipped);
  std::memcpy(out.data(), block_.data() + skipped, n);
  return n;
}

bool WebHdfsFile::IsAlone(int64_t offset) const {
  MutexLock lock(mutex_);
  for (const Span& span : announced_) {
    if (span.begin < offset && offset < span.end) return false;
  }
  for (const auto& stream : streams_) {
    if (stream->position() == offset) return false;
  }
  return std::find(ends_.begin(), ends_.end(), offset) == ends_.end();
}

Status WebHdfsFile::FetchBlock(int64_t offset) const {
  const int64_t size = std::min(client_->options().block_bytes, info_.length - offset);
  bool announced = false;
  auto stream = StreamAt(offset, size, &announced);
  std::string block(std::min(size, stream->end() - offset), '\0');
  ESPALIER_RETURN_IF_ERROR(stream->Read(block));
  Keep(std::move(stream), announced);
  MutexLock lock(mutex_);
  block_ = std::move(block);
  block_offset_ = offset;
  return {};
}

Result<size_t> WebHdfsFile::ReadAt(int64_t offset, std::span<char> out) const {
  if (offset < 0 || offset >= info_.length || out.empty()) return 0;
  out = out.first(std::min<int64_t>(out.size(), info_.length - offset));
  size_t done = 0;
  while (done < out.size()) {
    const int64_t at = offset + static_cast<int64_t>(done);
    if (const size_t n = FromBlock(at, out.subspan(done)); n > 0) {
      done += n;
      continue;
    }
    const int64_t wanted = out.size() - done;
    if (wanted < client_->options().block_bytes && IsAlone(at)) {
      ESPALIER_RETURN_IF_ERROR(FetchBlock(at));
      continue;
    }
    bool announced = false;
    auto stream = StreamAt(at, wanted, &announced);
    const int64_t n = std::min(wanted, stream->end() - stream->position());
    ESPALIER_RETURN_IF_ERROR(stream->Read(out.subspan(done, n)));
    done += n;
    Keep(std::move(stream), announced);
  }
  return done;
}

}  // namespace espalier::storage
