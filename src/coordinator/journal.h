// What the coordinator must remember over a restart. Append returns when the entries are as safe as
// this journal makes them; only then are they acted on (outbox.h).
//
// Where it is kept follows from `state_directory`:
//   ""                     nowhere: jobs do not outlive the process
//   a path                 an SQLite database in that directory (sqlite_journal.h)
//   a URI: hdfs://, file:  files in that directory (file_journal.h), which coordinators on several
//                          hosts may share: the one that started last is the one that counts
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/ids.h"
#include "src/base/status.h"
#include "src/cluster/coordinator_actions.h"
#include "src/storage/file_systems.h"

namespace espalier::coordinator {

// Thread rule: one thread at a time.
class Journal {
 public:
  virtual ~Journal() = default;

  // Adds the entries, all or none. Errors: kResourceExhausted, the disk is full; kAborted, a newer
  // coordinator has taken over and this one must end; others: may go away by themselves. After an
  // error the same or other entries may be appended: nothing of the failed ones is kept then. (If
  // the process ends before that, they may turn out to be there.)
  virtual Status Append(const std::vector<cluster::JournalEntry>& entries) = 0;

  // Replaces all entries by these, which say the same in fewer; all or none. Errors as of Append.
  virtual Status Rewrite(const std::vector<cluster::JournalEntry>& entries) = 0;
  // So much was appended since the last Rewrite that another one is worth its time.
  virtual bool wants_rewrite() const = 0;

  // kAborted: a newer coordinator has taken over. Others say nothing of that.
  virtual Status CheckOurs() { return Status::Ok(); }

  // Whether the entries outlive the process.
  virtual bool durable() const = 0;

  // Space that was set aside for entries about running jobs. Give back: after it the next Append
  // may find room on a full disk; false when there was none. Set aside: while it fails, no new job
  // should be taken.
  virtual bool GiveBackReserve() = 0;
  virtual Status SetReserveAside() = 0;
};

struct OpenedJournal {
  std::unique_ptr<Journal> journal;
  // The durable number of this life of the coordinator: more than any before it, and at least the
  // time (microseconds since 1970), so that one without a state directory counts up as well.
  Incarnation incarnation;
  std::vector<cluster::JournalEntry> past;  // what earlier lives appended, in order
};

// Opens or makes the journal and takes the incarnation. `now_us`: microseconds since 1970.
// Errors: kDataLoss, naming file and record, when what is stored is damaged; kFailedPrecondition
// when another process holds the directory; those of the file system. A record at the end that was
// not written whole (it was never acted on) is cut off, with a line in the log.
Result<OpenedJournal> OpenJournal(const std::string& state_directory,
                                  const storage::StorageOptions& storage, int64_t now_us);

// Keeps nothing.
std::unique_ptr<Journal> MakeForgetfulJournal();

// ---- for the journals ------------------------------------------------------------------------

// CRC-32C of a record's place and content.
uint32_t RecordChecksum(uint64_t sequence, std::string_view bytes);
// kDataLoss: what is wrong in which record of which file (0: in the file as such), and what can be
// done.
Status Damaged(const std::string& path, uint64_t sequence, const std::string& what);
// The entry of a record, after comparing its checksum.
Result<cluster::JournalEntry> ReadRecord(const std::string& path, uint64_t sequence,
                                         uint32_t checksum, std::string_view bytes);

// When to rewrite: when as much was appended as the last rewrite left, but not for a few MiB.
class Growth {
 public:
  void OnRewrite(int64_t bytes) { base_ = bytes, grown_ = 0; }
  void OnAppend(int64_t bytes) { grown_ += bytes; }
  bool large() const { return grown_ > kLeast && grown_ > base_; }

 private:
  static constexpr int64_t kLeast = int64_t{8} << 20;
  int64_t base_ = 0, grown_ = 0;
};

}  // namespace espalier::coordinator
