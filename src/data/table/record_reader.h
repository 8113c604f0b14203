// What readers of text give to the row decoder: one record after the other, as fields in one piece
// of text.
//
// Thread rule: one thread a reader.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace espalier::data {

class RecordReader {
 public:
  enum class Outcome : uint8_t {
    kRecord,     // the record is in text(), ends() and so on
    kBadRecord,  // error() says why; the next call goes on with the record after it
    kEnd,
    kFailed,  // error() says why; for good
  };
  static constexpr size_t kReadable = 16;
  // A field that the record names. In both, kReadable bytes before it and one at its end are
  // readable.
  struct Entry {
    uint32_t column = 0;
    std::string_view text;   // the field's
    std::string_view token;  // with the name, as in "3:0.5"
  };

  virtual ~RecordReader() = default;
  virtual Outcome Next() = 0;

  // The record's fields. They lie in text(): field i is [ends()[i-1] + 1, ends()[i]), the first one
  // starts at 0; kReadable bytes before text() and one at its end are readable. Valid until the
  // next call.
  const char* text() const { return text_; }
  const uint32_t* ends() const { return ends_.data(); }
  size_t fields() const { return fields_; }
  // How many of them, the last ones, do not stand in the file (partitions.h).
  size_t added() const { return added_; }
  std::string_view field(size_t i) const {
    const uint32_t begin = i == 0 ? 0 : ends_[i - 1] + 1;
    return {text_ + begin, ends_[i] - begin};
  }
  // Of a reader of sparse records: the fields after the first that the record names, ascending; the
  // others are "0". Then text() holds the first field alone, but fields() counts all.
  std::span<const Entry> entries() const { return entries_; }
  // A field as it stands in the record, sparse or not.
  virtual std::string_view shown(size_t i) const { return field(i); }
  // The record as people shall see it.
  virtual std::string_view record() const { return {text_, ends_[fields_ - 1]}; }

  // Byte offset in the (decompressed) file of the record and of a field of it.
  int64_t record_offset() const { return record_offset_; }
  virtual int64_t field_offset(size_t i) const = 0;
  // First byte after the last record returned.
  virtual int64_t position() const = 0;
  // CRC-32C of the bytes of the range; complete after kEnd.
  virtual uint32_t checksum() const = 0;

  // The error, with file and byte offset and text, without row.
  const Status& error() const { return error_; }

 protected:
  const char* text_ = nullptr;
  std::vector<uint32_t> ends_;
  std::vector<Entry> entries_;
  size_t fields_ = 0, added_ = 0;
  int64_t record_offset_ = 0;
  Status error_;
};

}  // namespace espalier::data
