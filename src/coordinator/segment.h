// Files of a file journal. A segment holds consecutive records. It is written once, as a whole.
//
//   header   91 bytes of text: "espalier-journal 1 FIRST COUNT BYTES CHECKSUM\n": the sequence
//            number of the first record, the number of records and the length of the file (20
//            digits each), and the CRC-32C of the header up to there (8 hexadecimal digits)
//   record   length and checksum (RecordChecksum) as 4 bytes each, least significant first, then
//            the bytes of the entry (rpc/journal_codec)
//
// Thread rule: values and pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/cluster/coordinator_actions.h"

namespace espalier::coordinator {

inline constexpr size_t kSegmentHeaderBytes = 91;

struct Segment {
  uint64_t first = 0;  // sequence
  std::vector<cluster::JournalEntry> entries;
  // How many records are missing at its end: the file is shorter than its header says. -1: unknown,
  // not even the header is whole.
  int64_t torn = 0;
};

Result<std::string> EncodeSegment(uint64_t first,
                                  const std::vector<cluster::JournalEntry>& entries);
// kDataLoss (journal.h, Damaged) for anything but a file that was cut short. `first`: what the
// file's name says.
Result<Segment> DecodeSegment(std::string_view bytes, const std::string& path, uint64_t first);

}  // namespace espalier::coordinator
