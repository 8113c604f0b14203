#include "src/coordinator/replay.h"

#include <sys/stat.h>

#include <utility>
#include <variant>

#include "src/base/log.h"
#include "src/coordinator/journal.h"
#include "src/coordinator/segment.h"
#include "src/rpc/journal_codec.h"

namespace espalier::coordinator {
namespace {

constexpr int64_t kOutlineCrashes = 2, kNothingCrashes = 3;

// Returns the acceptance of a job of which nothing was read.
cluster::JobAccepted Unread(JobId job) {
  cluster::JobAccepted accepted{job, 0, {}};
  accepted.submission.client_request_id = accepted.submission.name = "set-aside-" + ToString(job);
  return accepted;
}

}  // namespace

Replay::Replay(std::string directory, std::shared_ptr<const storage::FileSystem> files)
    : directory_(std::move(directory)), files_(std::move(files)) {
  while (directory_.size() > 1 && directory_.back() == '/') directory_.pop_back();
}

void Replay::Begin() { crashes_ = std::make_unique<ReplayCrashes>(directory_, files_); }

Result<std::optional<cluster::JournalEntry>> Replay::Read(const std::string& path,
                                                          uint64_t sequence, uint32_t checksum,
                                                          std::string_view bytes) {
  ESPALIER_RETURN_IF_ERROR(CheckRecord(path, sequence, checksum, bytes));
  const rpc::EntryHead head = rpc::HeadOfEntry(bytes);
  if (head.job && crashes_->Of(head.job).times >= kOutlineCrashes) {
    raw_[head.job].emplace(sequence, bytes);
  }
  crashes_->At(head.job, head.ends);
  auto entry = Decode(head, bytes);
  crashes_->At({}, false);
  if (!entry.ok()) return Damaged(path, sequence, entry.status().ToString());
  return entry;
}

Result<std::optional<cluster::JournalEntry>> Replay::Decode(const rpc::EntryHead& head,
                                                            std::string_view bytes) const {
  using Entry = std::optional<cluster::JournalEntry>;
  const ReplayCrashes::Past past = crashes_->Of(head.job);
  if (past.times < kOutlineCrashes) {
    ESPALIER_ASSIGN_OR_RETURN(auto entry, rpc::DecodeJournalEntry(bytes));
    return Entry(std::move(entry));
  }
  if (past.times >= kNothingCrashes || (past.at_end && head.ends)) return Entry();
  ESPALIER_ASSIGN_OR_RETURN(Entry entry, rpc::DecodeOutline(bytes));
  if (past.at_end && entry) {
    auto* started = std::get_if<cluster::GenerationStarted>(&*entry);
    if (started != nullptr) started->generation = {};
  }
  return entry;
}

void Replay::SetAside(std::vector<cluster::JournalEntry>* past) {
  for (const auto& [job, records] : raw_) {
    const std::string path = directory_ + "/set-aside-" + ToString(job);
    const Status kept = Keep(job, path);
    const std::string why =
        "reading the job's entries in the journal crashed two starts of the coordinator. Submit "
        "the job again, and report the fault with the coordinator's log. " +
        (kept.ok() ? "The entries are in " + path + ", in the coordinator's state directory."
                   : "The entries could not be kept: " + kept.ToString());
    if (crashes_->Of(job).times >= kNothingCrashes) past->push_back(Unread(job));
    past->push_back(cluster::JobSetAside{job, why});
    LogError(ToString(job) + " is set aside: " + why);
  }
}

// Keeps the file of an earlier start, which has the complete entries.
Status Replay::Keep(JobId job, const std::string& path) const {
  if (files_->Stat(path).ok()) return Status::Ok();
  std::vector<std::string> kept;
  size_t bytes = 0;
  for (const auto& [sequence, record] : raw_.at(job)) {
    bytes += record.size();
    if (bytes <= kSetAsideBytesMax) kept.push_back(record);
  }
  const mode_t before = umask(077);  // no other thread creates a file during a start
  Status written = files_->WriteAtomically(path, SegmentOf(kept));
  umask(before);
  return written;
}

void Replay::At(JobId job, const cluster::JournalEntry* entry) {
  crashes_->At(job, entry != nullptr && std::holds_alternative<cluster::JobEnded>(*entry));
}

void Replay::Succeed() { crashes_->Clear(); }

}  // namespace espalier::coordinator
