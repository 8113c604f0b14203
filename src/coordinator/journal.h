// The state that the coordinator keeps over a restart. Append returns when the entries are as safe
// as this journal makes them. The coordinator acts on entries only after that (outbox.h).
// open_journal.h opens one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/ids.h"
#include "src/base/status.h"
#include "src/cluster/coordinator_actions.h"
#include "src/cluster/coordinator_core.h"

namespace espalier::coordinator {

// Thread rule: one thread at a time.
class Journal {
 public:
  virtual ~Journal() = default;

  // Adds the entries, all or none. Errors: kResourceExhausted, the disk is full; kAborted, a newer
  // coordinator has taken over and this one must end. Other errors may be temporary. After an
  // error, the caller may append the same or other entries, and the failed ones are dropped. (If
  // the process ends before that, the journal may still contain them.)
  virtual Status Append(const std::vector<cluster::JournalEntry>& entries) = 0;

  // Replaces all entries by these, which have the same content in fewer entries, all or none.
  // Errors are those of Append.
  virtual Status Rewrite(const std::vector<cluster::JournalEntry>& entries) = 0;
  // Returns whether so much was appended since the last Rewrite that another one is worthwhile.
  virtual bool wants_rewrite() const = 0;

  // Returns kAborted if a newer coordinator has taken over. Other errors do not answer the
  // question.
  virtual Status CheckOurs() { return Status::Ok(); }

  // Returns whether the entries outlive the process.
  virtual bool durable() const = 0;

  // The disk space that is reserved for entries about running jobs. GiveBackReserve frees it, so
  // that the next Append may succeed on a full disk, and returns false if none was reserved.
  // SetReserveAside reserves it again. While that fails, the coordinator should accept no new job.
  virtual bool GiveBackReserve() = 0;
  virtual Status SetReserveAside() = 0;
};

struct OpenedJournal {
  std::unique_ptr<Journal> journal;
  // The durable number of this life of the coordinator. It is higher than any before it, and at
  // least the time in microseconds since 1970, so that it also grows without a state directory.
  Incarnation incarnation;
  std::vector<cluster::JournalEntry> past;  // entries of earlier lives, in order
  // To be called while the core applies `past`, and when it has done so (replay.h). May be empty.
  cluster::CoordinatorCore::Replaying replaying = {};
  std::function<void()> replayed = {};
};

// Creates a journal that stores nothing.
std::unique_ptr<Journal> MakeForgetfulJournal();

// ---- for the implementations -----------------------------------------------------------------

// Returns the CRC-32C of a record's place and content.
uint32_t RecordChecksum(uint64_t sequence, std::string_view bytes);
// Returns kDataLoss with the problem, the record (0: the file itself), the file, and a fix.
Status Damaged(const std::string& path, uint64_t sequence, const std::string& what);
// Returns the error of a record whose checksum differs.
Status CheckRecord(const std::string& path, uint64_t sequence, uint32_t checksum,
                   std::string_view bytes);

// Decides when to rewrite: when more was appended than the last rewrite left, and more than a few
// MiB.
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
