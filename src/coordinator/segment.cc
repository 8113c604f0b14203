#include "src/coordinator/segment.h"

#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <limits>

#include "src/base/checksum.h"
#include "src/base/text.h"
#include "src/coordinator/journal.h"
#include "src/rpc/journal_codec.h"

namespace espalier::coordinator {
namespace {

constexpr size_t kHeaderTextBytes = kSegmentHeaderBytes - 9;  // text before the checksum

void PutNumber(uint32_t value, char* out) {
  for (int i = 0; i < 4; ++i) out[i] = static_cast<char>(value >> (8 * i));
}

uint32_t GetNumber(const char* in) {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value |= uint32_t{static_cast<unsigned char>(in[i])} << (8 * i);
  return value;
}

std::string Header(uint64_t first, uint64_t count, uint64_t bytes) {
  char text[kSegmentHeaderBytes + 1];
  std::snprintf(text, sizeof text,
                "espalier-journal 1 %020" PRIu64 " %020" PRIu64 " %020" PRIu64 " ", first, count,
                bytes);
  std::snprintf(text + kHeaderTextBytes, sizeof text - kHeaderTextBytes, "%08" PRIx32 "\n",
                Crc32c(text, kHeaderTextBytes));
  return text;
}

// Returns the number at a position of the header that holds 20 digits.
uint64_t HeaderNumber(std::string_view header, size_t place) {
  uint64_t value = 0;
  std::from_chars(header.data() + place, header.data() + place + 20, value);
  return value;
}

void AddRecord(uint64_t sequence, std::string_view record, std::string* segment) {
  char header[kRecordHeaderBytes];
  PutNumber(static_cast<uint32_t>(record.size()), header);
  PutNumber(RecordChecksum(sequence, record), header + 4);
  segment->append(header, sizeof header).append(record);
}

}  // namespace

Result<std::string> EncodeSegment(uint64_t first,
                                  const std::vector<cluster::JournalEntry>& entries) {
  std::string bytes(kSegmentHeaderBytes, ' ');
  uint64_t sequence = first;
  for (const cluster::JournalEntry& entry : entries) {
    ESPALIER_ASSIGN_OR_RETURN(const std::string encoded, rpc::EncodeJournalEntry(entry));
    AddRecord(sequence++, encoded, &bytes);
  }
  bytes.replace(0, kSegmentHeaderBytes, Header(first, entries.size(), bytes.size()));
  return bytes;
}

std::string SegmentOf(const std::vector<std::string>& records) {
  std::string bytes(kSegmentHeaderBytes, ' ');
  uint64_t sequence = 1;
  for (const std::string& record : records) AddRecord(sequence++, record, &bytes);
  bytes.replace(0, kSegmentHeaderBytes, Header(1, records.size(), bytes.size()));
  return bytes;
}

Result<Segment> DecodeSegment(std::string_view bytes, const std::string& path, uint64_t first,
                              const RecordReader& read) {
  Segment segment{.first = first};
  if (bytes.size() < kSegmentHeaderBytes) {
    segment.torn = -1;
    return segment;
  }
  const std::string_view header = bytes.substr(0, kSegmentHeaderBytes);
  constexpr size_t kFirstPlace = 19, kNumberBytes = 21;
  const uint64_t said_first = HeaderNumber(header, kFirstPlace);
  const uint64_t count = HeaderNumber(header, kFirstPlace + kNumberBytes);
  const uint64_t size = HeaderNumber(header, kFirstPlace + 2 * kNumberBytes);
  if (header != Header(said_first, count, size) || said_first != first || bytes.size() > size) {
    return Damaged(path, 0,
                   "it has " + std::to_string(bytes.size()) + " bytes and begins with '" +
                       Printable(header, kSegmentHeaderBytes) +
                       "', expected a header for records "
                       "from " +
                       std::to_string(first) + " on and the length it names");
  }
  size_t at = kSegmentHeaderBytes;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t sequence = first + i;
    const bool has_header = bytes.size() - at >= kRecordHeaderBytes;
    const size_t length = has_header ? GetNumber(bytes.data() + at) : 0;
    const bool whole = has_header && bytes.size() - at - kRecordHeaderBytes >= length;
    if (!whole && bytes.size() < size) {
      segment.torn = static_cast<int64_t>(count - i);
      return segment;
    }
    if (!whole) return Damaged(path, sequence, "its length reaches beyond the end of the file");
    const uint32_t checksum = GetNumber(bytes.data() + at + 4);
    at += kRecordHeaderBytes;
    ESPALIER_ASSIGN_OR_RETURN(auto entry, read(path, sequence, checksum, bytes.substr(at, length)));
    if (entry) segment.entries.push_back(*std::move(entry));
    ++segment.records;
    at += length;
  }
  if (at != size) return Damaged(path, first + count, "bytes follow the last record");
  return segment;
}

}  // namespace espalier::coordinator
