// A journal in files of a directory that several hosts can reach (HDFS, a shared disk), so that a
// coordinator may restart on any of them. File names have numbers with 20 digits:
//
//   life-INCARNATION                 created exclusively: its creator has that incarnation
//   log-INCARNATION-FIRST.snapshot   a segment (segment.h) with the complete state
//   log-INCARNATION-FIRST.entries    an appended segment
//
// The content of the journal is the newest snapshot of the highest incarnation that has one, by
// FIRST (the sequence number of its first record), and the entries that follow it without a gap.
//
// The journal has no lock. A new coordinator takes over in this order: it creates its `life`, reads
// the files, writes a snapshot of them, and deletes older files. An older coordinator may still
// run, for example after a pause. It writes its segment and only then looks for a higher `life`. If
// one exists, the older coordinator has lost the directory: Append fails with kAborted, and the
// segment does not count. If none exists, the newer coordinator has not begun to read and will find
// the segment. So in either order of the race, no entry is lost after a coordinator acted on it.
//
// Thread rule: as Journal's.
#pragma once

#include <memory>
#include <string>

#include "src/coordinator/journal.h"
#include "src/coordinator/replay.h"
#include "src/storage/file_system.h"

namespace espalier::coordinator {

// Opens the journal like OpenJournal. `directory`: a URI.
Result<OpenedJournal> OpenFileJournal(const std::string& directory,
                                      std::shared_ptr<const storage::FileSystem> files,
                                      int64_t now_us, Replay& replay);

}  // namespace espalier::coordinator
