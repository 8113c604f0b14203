// Opens the coordinator's journal. `state_directory` determines its kind:
//   ""                     none: jobs do not outlive the process
//   a path                 an SQLite database in that directory (sqlite_journal.h)
//   a URI: hdfs://, file:  files in that directory (file_journal.h), which coordinators on several
//                          hosts may share: the one that started last owns it
//
// Thread rule: one thread, before the process has others (replay_crashes.h, and a change of umask).
#pragma once

#include <cstdint>
#include <string>

#include "src/base/status.h"
#include "src/coordinator/journal.h"
#include "src/storage/file_systems.h"

namespace espalier::coordinator {

// Opens or creates the journal and takes the incarnation. `now_us`: microseconds since 1970.
// Errors: kDataLoss, with file and record, if the journal is damaged; kFailedPrecondition if
// another process holds the directory; those of the file system. An incomplete record at the end is
// cut off, with a line in the log. No coordinator has acted on it.
Result<OpenedJournal> OpenJournal(const std::string& state_directory,
                                  const storage::StorageOptions& storage, int64_t now_us);

}  // namespace espalier::coordinator
