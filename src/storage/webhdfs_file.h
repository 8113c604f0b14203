// Reading a file of HDFS. Thread rule: RangeStream is for one thread; WebHdfsFile as its interface
// says.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "src/storage/file_system.h"
#include "src/storage/webhdfs_client.h"

namespace espalier::storage {

// Bytes [begin, end) of a file, in order, by one request as long as nothing fails. A body that ends
// early is continued from the byte reached, from another data node if there is one.
class RangeStream {
 public:
  // REQUIRES: 0 <= begin < end <= the file's length; `client` outlives the stream.
  RangeStream(const WebHdfsClient& client, std::string path, std::string shown, int64_t begin,
              int64_t end)
      : client_(client),
        path_(std::move(path)),
        shown_(std::move(shown)),
        position_(begin),
        end_(end) {}

  int64_t position() const { return position_; }
  int64_t end() const { return end_; }
  // Fills `out`. REQUIRES: position() + out.size() <= end(). After an error the stream is of no
  // more use. kDataLoss: a reply of another length than was asked for (the file changed, or the
  // other side lies).
  Status Read(std::span<char> out);

 private:
  // Opens at position_; on failure body_ stays empty.
  Verdict Open(size_t name_node, int64_t* elapsed_ms);
  // Why body_ gave less than it should.
  Verdict WhyShort(int64_t* elapsed_ms) const;

  const WebHdfsClient& client_;
  const std::string path_, shown_;
  int64_t position_;
  const int64_t end_;
  HostPort source_;
  std::unique_ptr<HttpBody> body_;
};

// Serves reads at any place. What is read in order, or was announced by WillRead, comes from open
// streams (several at a time: each caller that reads in order has its own); a small read elsewhere
// fetches a block that also answers its neighbours, and so does a small one where an announced
// range begins, from that range's stream; a large one asks for exactly its bytes.
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
  // The stream that stands at `offset`, or a new one. Its end is recorded as a place to go on from
  // unless it was announced to end there.
  std::unique_ptr<RangeStream> StreamAt(int64_t offset, int64_t wanted, bool* announced) const;
  void Keep(std::unique_ptr<RangeStream> stream, bool announced) const;
  // Copies what the block holds from `offset` on; returns how many bytes.
  size_t FromBlock(int64_t offset, std::span<char> out) const;
  // Whether a small read at `offset` goes on from no other one: it is by itself, or the first of an
  // announced range.
  bool IsAlone(int64_t offset) const;
  Status FetchBlock(int64_t offset) const;

  const std::shared_ptr<const WebHdfsClient> client_;
  const std::string path_;
  const FileInfo info_;
  mutable std::mutex mutex_;                                  // guards all below
  mutable std::deque<std::unique_ptr<RangeStream>> streams_;  // idle, the oldest first
  mutable std::deque<Span> announced_;                        // by WillRead, the oldest first
  mutable std::deque<int64_t> ends_;                          // where reads ended lately
  mutable std::string block_;
  mutable int64_t block_offset_ = 0;
};

}  // namespace espalier::storage
