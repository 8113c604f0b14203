// Interface between readers of text and the row decoder: one record after another, with its fields
// in one piece of text.
//
// Thread rule: one thread per reader.
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
    kBadRecord,  // error() has the reason; the next call returns the record after it
    kEnd,
    kFailed,  // error() has the reason; permanent
  };
  static constexpr size_t kReadable = 16;
  // A field that a sparse record names. In both texts, kReadable bytes before the text and one at
  // its end are readable.
  struct Entry {
    uint32_t column = 0;
    std::string_view text;   // text of the field
    std::string_view token;  // text with the name, as in "3:0.5"
  };

  virtual ~RecordReader() = default;
  virtual Outcome Next() = 0;

  // Fields of the record. They are in text(): field i is [ends()[i-1] + 1, ends()[i]), and the
  // first one starts at 0. kReadable bytes before text() and one at its end are readable. Valid
  // until the next call.
  const char* text() const { return text_; }
  const uint32_t* ends() const { return ends_.data(); }
  size_t fields() const { return fields_; }
  // Returns how many of the last fields are not in the file itself (partitions.h).
  size_t added() const { return added_; }
  std::string_view field(size_t i) const {
    const uint32_t begin = i == 0 ? 0 : ends_[i - 1] + 1;
    return {text_ + begin, ends_[i] - begin};
  }
  // For a reader of sparse records: the fields after the first that the record names, ascending.
  // All others are "0". text() then holds only the first field, but fields() counts all.
  std::span<const Entry> entries() const { return entries_; }
  // Returns a field exactly as in the record, sparse or not.
  virtual std::string_view shown(size_t i) const { return field(i); }
  // Returns the record as error messages show it.
  virtual std::string_view record() const { return {text_, ends_[fields_ - 1]}; }

  // Byte offsets of the record and of one of its fields in the (decompressed) file.
  int64_t record_offset() const { return record_offset_; }
  virtual int64_t field_offset(size_t i) const = 0;
  // Returns the offset of the first byte after the last record returned.
  virtual int64_t position() const = 0;
  // Returns the CRC-32C of the bytes of the range, which is complete after kEnd.
  virtual uint32_t checksum() const = 0;

  // Returns the error, with file, byte offset and text but without row.
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
