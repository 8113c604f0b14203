// Reader of a file on HDFS.
//
// Thread rule: a RangeStream is for one thread; a WebHdfsFile follows its interface.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/base/mutex.h"
#include "src/storage/file_system.h"
#include "src/storage/webhdfs_client.h"

namespace espalier::storage {

// Bytes [begin, end) of a file, in order, by one request while nothing fails. If a body ends early,
// the stream continues at the next byte, from another DataNode if possible.
class RangeStream {
 public:
  // REQUIRES: 0 <= begin < end <= the file's length. `client` must outlive the stream.
  RangeStream(const WebHdfsClient& client, std::string path, std::string shown, int64_t begin,
              int64_t end)
      : client_(client),
        path_(std::move(path)),
        shown_(std::move(shown)),
        position_(begin),
        end_(end) {}

  int64_t position() const { return position_; }
  int64_t end() const { return end_; }
  // Fills `out`. After an error the stream is unusable. kDataLoss: the length of a reply differs
  // from the request, because the file changed or the other side is faulty or malicious. REQUIRES:
  // position() + out.size() <= end().
  Status Read(std::span<char> out);

 private:
  // Opens a body at position_. On failure body_ stays empty.
  Verdict Open(size_t name_node, int64_t* elapsed_ms);
  // Returns the reason why body_ ended early.
  Verdict WhyShort(int64_t* elapsed_ms) const;

  const WebHdfsClient& client_;
  const std::string path_, shown_;
  int64_t position_;
  const int64_t end_;
  HostPort source_;
  std::unique_ptr<HttpBody> body_;
};

// Serves reads at any offset:
// - Reads in order, and reads announced by WillRead, use open streams. Each caller that reads in
//   order has its own stream.
// - A small read at another offset fetches a block that also serves reads nearby. A small read at
//   the start of an announced range does so from the stream of the range.
// - A large read requests exactly its bytes.
class WebHdfsFile : public ReadableFile {
 public:
  // `client` is shared with the file system that opened the file.
  WebHdfsFile(std::shared_ptr<const WebHdfsClient> client, std::string path, FileInfo info);
  const FileInfo& info() const override { return info_; }
  Result<size_t> ReadAt(int64_t offset, std::span<char> out) const override;
  void WillRead(int64_t offset, int64_t length) const override;
  Status CheckReadable() const override;

 private:
  struct Span {
    int64_t begin = 0, end = 0;
  };
  // Returns the stream at `offset`, or a new one. Its end is recorded as a continuation point
  // unless it was announced.
  std::unique_ptr<RangeStream> StreamAt(int64_t offset, int64_t wanted, bool* announced) const;
  void Keep(std::unique_ptr<RangeStream> stream, bool announced) const;
  // Copies the bytes of the block from `offset` on. Returns the number of bytes.
  size_t FromBlock(int64_t offset, std::span<char> out) const;
  // Returns whether a small read at `offset` continues no earlier read: it is isolated, or the
  // first of an announced range.
  bool IsAlone(int64_t offset) const;
  Status FetchBlock(int64_t offset) const;

  const std::shared_ptr<const WebHdfsClient> client_;
  const std::string path_;
  const FileInfo info_;
  mutable Mutex mutex_;
  // Idle, oldest first.
  mutable std::deque<std::unique_ptr<RangeStream>> streams_ GUARDED_BY(mutex_);
  mutable std::deque<Span> announced_ GUARDED_BY(mutex_);  // by WillRead, oldest first
  mutable std::deque<int64_t> ends_ GUARDED_BY(mutex_);    // ends of recent reads
  mutable std::string block_ GUARDED_BY(mutex_);
  mutable int64_t block_offset_ GUARDED_BY(mutex_) = 0;
};

}  // namespace espalier::storage
