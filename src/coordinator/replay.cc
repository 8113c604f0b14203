#include "src/coordinator/replay.h"

#include <sys/stat.h>

#include <utility>
#include <variant>

#include "src/base/checksum.h"
#include "src/base/log.h"
#include "src/coordinator/journal.h"
#include "src/rpc/journal_codec.h"

namespace espalier::coordinator {
namespace {

constexpr int64_t kOutlineCrashes = 2, kNothingCrashes = 3;
constexpr size_t kHashDigits = 16;

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
  if (head.job && crashes_->Of(head.job).times >= kOutlineCrashes) Add(bytes, &raw_[head.job]);
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
  const bool nothing = past.times >= kNothingCrashes && !head.sets_aside;
  if (nothing || (past.at_end && head.ends)) return Entry();
  ESPALIER_ASSIGN_OR_RETURN(Entry entry, rpc::DecodeOutline(bytes));
  if (past.at_end && entry) {
    auto* started = std::get_if<cluster::GenerationStarted>(&*entry);
    if (started != nullptr) started->generation = {};
  }
  return entry;
}

// Keeps the beginning, because the entries after a gap would mean something else.
void Replay::Add(std::string_view record, Raw* raw) {
  const size_t bytes = kRecordHeaderBytes + record.size();
  if (raw->left_out != 0 || raw->bytes + bytes > kSetAsideBytesMax) {
    ++raw->left_out;
    return;
  }
  raw->records.emplace_back(record);
  raw->bytes += bytes;
}

void Replay::SetAside(std::vector<cluster::JournalEntry>* past) {
  // An earlier start has kept the entries of these jobs, and was killed before the core ended them.
  std::map<JobId, std::string> earlier;
  std::erase_if(*past, [&](const cluster::JournalEntry& entry) {
    const auto* aside = std::get_if<cluster::JobSetAside>(&entry);
    if (aside == nullptr || !raw_.contains(aside->job)) return false;
    earlier[aside->job] = aside->why;
    return true;
  });
  for (const auto& [job, raw] : raw_) {
    const auto known = earlier.find(job);
    const std::string why = known != earlier.end() ? known->second : SetAsideNow(job, raw);
    if (crashes_->Of(job).times >= kNothingCrashes) past->push_back(Unread(job));
    past->push_back(cluster::JobSetAside{job, why});
    LogError(ToString(job) + " is set aside: " + why);
  }
}

std::string Replay::SetAsideNow(JobId job, const Raw& raw) const {
  return "reading the job's entries in the journal crashed two starts of the coordinator. Submit "
         "the job again, and report the fault with the coordinator's log. " +
         KeepEntries(job, raw);
}

std::string Replay::KeepEntries(JobId job, const Raw& raw) const {
  const size_t kept = raw.records.size(), all = kept + raw.left_out;
  if (kept == 0) {
    return "No file holds the entries, because the first one does not fit in " +
           std::to_string(kSetAsideBytesMax >> 20) + " MiB.";
  }
  const std::string segment = SegmentOf(raw.records);
  const std::string path =
      directory_ + "/set-aside-" + ToString(job) + "-" + Sha256Hex(segment).substr(0, kHashDigits);
  const Status written = Keep(path, segment);
  if (!written.ok()) return "The entries could not be kept: " + written.ToString();
  const std::string which =
      kept == all ? "The entries"
                  : "The first " + std::to_string(kept) + " of " + std::to_string(all) + " entries";
  return which + " are in " + path + ", in the coordinator's state directory.";
}

// A file with this name has the same content.
Status Replay::Keep(const std::string& path, const std::string& segment) const {
  if (files_->Stat(path).ok()) return Status::Ok();
  const mode_t before = umask(077);  // no other thread creates a file during a start
  Status written = files_->WriteAtomically(path, segment);
  umask(before);
  return written;
}

void Replay::At(JobId job, const cluster::JournalEntry* entry) {
  crashes_->At(job, entry != nullptr && std::holds_alternative<cluster::JobEnded>(*entry));
}

void Replay::Succeed() { crashes_->Clear(); }

}  // namespace espalier::coordinator
