// A journal in files of a directory that several hosts can reach (HDFS, a shared disk), so that a
// coordinator may come back anywhere. Names, numbers with 20 digits:
//
//   life-INCARNATION                 made exclusively: who made it has that incarnation
//   log-INCARNATION-FIRST.snapshot   a segment (segment.h) that says all that is to be remembered
//   log-INCARNATION-FIRST.entries    a segment that was appended
//
// What is remembered: of the highest incarnation that has a snapshot its newest one (by FIRST, the
// sequence number of its first record), and the entries that follow it without a gap.
//
// There is no lock: a new coordinator takes over. It makes its `life`, and only then reads what is
// there; it begins with a snapshot of that, and deletes what is older. An older one that still runs
// (it was merely paused, say) writes its segment, and only then looks for a higher `life`; if there
// is one, it has lost the directory: Append fails with kAborted and the segment counts for nothing.
// If there is none, the newer one has not begun to read and will find the segment. So no entry that
// was acted on is missed, whichever way the two race.
#pragma once

#include <memory>
#include <string>

#include "src/coordinator/journal.h"
#include "src/storage/file_system.h"

namespace espalier::coordinator {

// As OpenJournal. `directory`: a URI.
Result<OpenedJournal> OpenFileJournal(const std::string& directory,
                                      std::unique_ptr<storage::FileSystem> files, int64_t now_us);

}  // namespace espalier::coordinator
