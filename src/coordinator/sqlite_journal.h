// A journal in an SQLite database, for a coordinator that stays on one host.
//
// The state directory contains these files:
//   journal.db  the database, in WAL mode with synchronous=FULL: an appended entry survives a power
//               cut. Table `life` has one row: the incarnation and the sequence number of the first
//               record. Table `record` has a row per record: sequence (without gaps), CRC-32C of
//               (sequence, bytes), bytes (rpc/journal_codec). SQLite itself cuts off incomplete
//               transactions.
//   lock        held while a coordinator lives
//   reserve     DiskReserve
//
// Thread rule: as Journal's.
#pragma once

#include <string>

#include "src/coordinator/journal.h"
#include "src/coordinator/replay.h"

namespace espalier::coordinator {

inline constexpr int64_t kDiskReserveBytes = int64_t{16} << 20;

// Opens the journal like OpenJournal. On a full disk it gives the reserve back, because a
// coordinator must be able to restart.
Result<OpenedJournal> OpenSqliteJournal(const std::string& state_directory, int64_t now_us,
                                        Replay& replay);

}  // namespace espalier::coordinator
