// A journal in an SQLite database, for a coordinator that stays on one host.
//
// `journal.db` in the state directory, in WAL mode, synchronous=FULL: an appended entry survives a
// power cut. One row of `life`: the incarnation and the sequence number of the first record; a row
// of `record` each: sequence (without gaps), CRC-32C of (sequence, bytes), bytes
// (rpc/journal_codec). SQLite itself cuts off what was not committed whole. `lock`: held while a
// coordinator lives. `reserve`: DiskReserve.
#pragma once

#include <string>

#include "src/coordinator/journal.h"

namespace espalier::coordinator {

inline constexpr int64_t kDiskReserveBytes = int64_t{16} << 20;

// As OpenJournal. On a full disk the reserve is given back: a coordinator must be able to return.
Result<OpenedJournal> OpenSqliteJournal(const std::string& state_directory, int64_t now_us);

}  // namespace espalier::coordinator
