// Files of a file journal. A segment holds consecutive records. It is written once, as a whole.
//
//   header   91 bytes of text: "espalier-journal 1 FIRST COUNT BYTES CHECKSUM\n": the sequence
//            number of the first record, the number of records and the length of the file (20
//            digits each), and the CRC-32C of the header before it (8 hexadecimal digits)
//   record   length and checksum (RecordChecksum) as 4 bytes each, least significant first, then
//            the bytes of the entry (rpc/journal_codec)
//
// Thread rule: values and pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/cluster/coordinator_actions.h"

namespace espalier::coordinator {

inline constexpr size_t kSegmentHeaderBytes = 91;
inline constexpr size_t kRecordHeaderBytes = 8;  // length and checksum of a record

struct Segment {
  uint64_t first = 0;                          // sequence number
  std::vector<cluster::JournalEntry> entries;  // without those that the reader leaves out
  size_t records = 0;
  // Number of records missing at its end: the file is shorter than its header states. -1: unknown,
  // because the header itself is incomplete.
  int64_t torn = 0;
};

Result<std::string> EncodeSegment(uint64_t first,
                                  const std::vector<cluster::JournalEntry>& entries);
// Returns the segment of these encoded entries. The first one has the sequence number 1.
std::string SegmentOf(const std::vector<std::string>& records);
// Returns the entry of a record, or none to leave it out (Replay::Read).
using RecordReader = std::function<Result<std::optional<cluster::JournalEntry>>(
    const std::string& path, uint64_t sequence, uint32_t checksum, std::string_view bytes)>;
// Parses a segment. Returns kDataLoss (journal.h, Damaged) for any damage except a file that was
// cut short. `first`: the number in the file's name.
Result<Segment> DecodeSegment(std::string_view bytes, const std::string& path, uint64_t first,
                              const RecordReader& read);

}  // namespace espalier::coordinator
