#include "src/coordinator/file_journal.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <optional>
#include <utility>

#include "src/base/log.h"
#include "src/coordinator/segment.h"

namespace espalier::coordinator {
namespace {

constexpr int64_t kSegmentBytesMax = int64_t{4} << 30;
constexpr int kAttempts = 10;         // while other coordinators start and delete files
constexpr int64_t kSegmentsMax = 32;  // then a rewrite is due, because a start reads all segments

std::string Digits(uint64_t number) {
  char text[24];
  std::snprintf(text, sizeof text, "%020" PRIu64, number);
  return text;
}

// A segment, as identified by its name.
struct SegmentName {
  uint64_t incarnation = 0, first = 0;
  bool snapshot = false;

  std::string ToString() const {
    return "log-" + Digits(incarnation) + "-" + Digits(first) +
           (snapshot ? ".snapshot" : ".entries");
  }
};

// Returns the number of the record after a segment. A snapshot counts one more than it has, so that
// the entries after it sort behind it.
uint64_t After(const SegmentName& name, size_t records) {
  return name.first + records + (name.snapshot ? 1 : 0);
}

std::optional<uint64_t> ParseDigits(const std::string& name, size_t place) {
  uint64_t number = 0;
  if (name.size() < place + 20) return std::nullopt;
  const char* end = name.data() + place + 20;
  const auto parsed = std::from_chars(name.data() + place, end, number);
  return parsed.ec == std::errc() && parsed.ptr == end ? std::make_optional(number) : std::nullopt;
}

std::optional<uint64_t> ParseLife(const std::string& name) {
  const auto number = ParseDigits(name, 5);
  return number && name == "life-" + Digits(*number) ? number : std::nullopt;
}

std::optional<SegmentName> ParseSegment(const std::string& name) {
  const auto incarnation = ParseDigits(name, 4), first = ParseDigits(name, 25);
  if (!incarnation || !first) return std::nullopt;
  const SegmentName segment{*incarnation, *first, name.ends_with(".snapshot")};
  return name == segment.ToString() ? std::make_optional(segment) : std::nullopt;
}

class FileJournal : public Journal {
 public:
  FileJournal(std::string directory, std::shared_ptr<const storage::FileSystem> files)
      : directory_(std::move(directory)), files_(std::move(files)) {
    while (directory_.size() > 1 && directory_.back() == '/') directory_.pop_back();
  }

  Result<std::vector<cluster::JournalEntry>> Begin(int64_t now_us, Replay& replay);
  Incarnation incarnation() const { return {life_}; }

  Status Append(const std::vector<cluster::JournalEntry>& entries) override;
  Status Rewrite(const std::vector<cluster::JournalEntry>& entries) override;
  bool wants_rewrite() const override { return growth_.large() || segments_ >= kSegmentsMax; }
  Status CheckOurs() override { return CheckNotReplaced(); }
  bool durable() const override { return true; }
  bool GiveBackReserve() override { return false; }
  Status SetReserveAside() override { return Status::Ok(); }

 private:
  Status CheckNotReplaced() const;
  std::string PathOf(const std::string& name) const { return directory_ + "/" + name; }
  // Returns the highest number that a coordinator has taken in this directory.
  Result<uint64_t> HighestLife() const;
  Status MakeLife(uint64_t number);
  Status TakeLife(int64_t now_us);
  // Reads the entries. kNotFound: another coordinator deleted files in the meantime.
  Result<std::vector<cluster::JournalEntry>> Load(Replay& replay);
  Result<Segment> LoadSegment(const SegmentName& name, Replay& replay) const;
  Status Write(const SegmentName& name, const std::vector<cluster::JournalEntry>& entries,
               int64_t* bytes);
  // Deletes the segments that the newly written one replaces. A file that cannot be deleted does no
  // harm.
  void DeleteOlder(const SegmentName& than);

  std::string directory_;
  const std::shared_ptr<const storage::FileSystem> files_;
  uint64_t life_ = 0;     // this coordinator's number
  uint64_t log_ = 0;      // number in the names of its segments: the first one it had
  uint64_t next_ = 1;     // sequence number
  int64_t segments_ = 0;  // since the last snapshot
  // A snapshot that may exist although its writing failed. It must be deleted before the next
  // append.
  std::optional<SegmentName> doubtful_;
  Growth growth_;
};

Result<uint64_t> FileJournal::HighestLife() const {
  ESPALIER_ASSIGN_OR_RETURN(const auto names, files_->Names(directory_));
  uint64_t highest = 0;
  for (const std::string& name : names) highest = std::max(highest, ParseLife(name).value_or(0));
  return highest;
}

// The content distinguishes this process from others. On HDFS, it decides whose file it is after a
// lost answer.
Status FileJournal::MakeLife(uint64_t number) {
  char host[256] = {};
  if (gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
  return files_->CreateExclusively(PathOf("life-" + Digits(number)),
                                   std::string(host) + " process " + std::to_string(getpid()) +
                                       " number " + std::to_string(number) + "\n");
}

Status FileJournal::TakeLife(int64_t now_us) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    ESPALIER_ASSIGN_OR_RETURN(const uint64_t last, HighestLife());
    const uint64_t number = std::max(static_cast<uint64_t>(now_us), last + 1);
    const Status made = MakeLife(number);
    if (made.ok()) {
      life_ = log_ = number;
      return made;
    }
    if (made.code() != StatusCode::kAlreadyExists) return made;
  }
  return Unavailable("state_directory: other coordinators keep starting in " + directory_);
}

Status FileJournal::CheckNotReplaced() const {
  ESPALIER_ASSIGN_OR_RETURN(const uint64_t highest, HighestLife());
  if (highest <= life_) return Status::Ok();
  return Aborted("a newer coordinator (incarnation " + std::to_string(highest) + ", this one is " +
                 std::to_string(life_) + ") has taken over " + directory_);
}

Result<Segment> FileJournal::LoadSegment(const SegmentName& name, Replay& replay) const {
  const std::string path = PathOf(name.ToString());
  ESPALIER_ASSIGN_OR_RETURN(const std::string bytes, files_->ReadAll(path, kSegmentBytesMax));
  return DecodeSegment(bytes, path, name.first,
                       [&](const auto&... record) { return replay.Read(record...); });
}

Result<std::vector<cluster::JournalEntry>> FileJournal::Load(Replay& replay) {
  replay.ReadAgain();
  ESPALIER_ASSIGN_OR_RETURN(const auto names, files_->Names(directory_));
  std::vector<SegmentName> found;  // sorted by incarnation, then first, like the names
  for (const std::string& name : names) {
    const auto segment = ParseSegment(name);
    if (segment && segment->incarnation < life_) found.push_back(*segment);
  }
  const auto newest =
      std::find_if(found.rbegin(), found.rend(), [](const SegmentName& s) { return s.snapshot; });
  if (newest == found.rend()) return std::vector<cluster::JournalEntry>();
  std::vector<cluster::JournalEntry> entries;
  next_ = newest->first;
  for (auto it = newest.base() - 1; it != found.end(); ++it) {
    if (it->incarnation != newest->incarnation) break;
    if (it->first != next_) {
      return Damaged(PathOf(it->ToString()), next_, "it is missing before this file");
    }
    ESPALIER_ASSIGN_OR_RETURN(Segment segment, LoadSegment(*it, replay));
    const bool last = it + 1 == found.end() || (it + 1)->incarnation != it->incarnation;
    if (segment.torn != 0) {
      const std::string what = "the file was cut short";
      const uint64_t record = it->first + segment.records;
      if (!last || it->snapshot) return Damaged(PathOf(it->ToString()), record, what);
      LogWarning("the journal ends within " + PathOf(it->ToString()) + ", record " +
                 std::to_string(record) + ": " + what + "; what is missing is left out");
    }
    next_ = After(*it, segment.records);
    std::move(segment.entries.begin(), segment.entries.end(), std::back_inserter(entries));
  }
  return entries;
}

Result<std::vector<cluster::JournalEntry>> FileJournal::Begin(int64_t now_us, Replay& replay) {
  ESPALIER_RETURN_IF_ERROR(files_->MakeDirectory(directory_));
  ESPALIER_RETURN_IF_ERROR(TakeLife(now_us));
  for (int attempt = 0;; ++attempt) {
    auto past = Load(replay);
    if (past.status().code() == StatusCode::kNotFound && attempt < kAttempts) continue;
    ESPALIER_RETURN_IF_ERROR(past.status());
    replay.SetAside(&*past);
    ESPALIER_RETURN_IF_ERROR(Rewrite(*past));
    return past;
  }
}

Status FileJournal::Write(const SegmentName& name,
                          const std::vector<cluster::JournalEntry>& entries, int64_t* bytes) {
  ESPALIER_ASSIGN_OR_RETURN(const std::string content, EncodeSegment(name.first, entries));
  ESPALIER_RETURN_IF_ERROR(files_->WriteAtomically(PathOf(name.ToString()), content));
  ESPALIER_RETURN_IF_ERROR(CheckNotReplaced());
  next_ = After(name, entries.size());
  *bytes = static_cast<int64_t>(content.size());
  return Status::Ok();
}

Status FileJournal::Append(const std::vector<cluster::JournalEntry>& entries) {
  if (entries.empty()) return Status::Ok();
  for (const cluster::JournalEntry& entry : entries) {
    const auto* taken = std::get_if<cluster::IncarnationTaken>(&entry);
    if (taken == nullptr || taken->incarnation.value <= life_) continue;
    ESPALIER_RETURN_IF_ERROR(CheckNotReplaced());
    const Status made = MakeLife(taken->incarnation.value);
    if (!made.ok() && made.code() != StatusCode::kAlreadyExists) return made;
    if (!made.ok()) return Aborted("another coordinator has taken over " + directory_);
    life_ = taken->incarnation.value;
  }
  if (doubtful_) {
    const Status gone = files_->Delete(PathOf(doubtful_->ToString()));
    if (!gone.ok() && gone.code() != StatusCode::kNotFound) return gone;
    doubtful_.reset();
  }
  int64_t bytes = 0;
  ESPALIER_RETURN_IF_ERROR(Write({log_, next_, false}, entries, &bytes));
  growth_.OnAppend(bytes);
  ++segments_;
  return Status::Ok();
}

Status FileJournal::Rewrite(const std::vector<cluster::JournalEntry>& entries) {
  // Skips one number, because a failed append may have left a file with that number.
  const SegmentName name{log_, next_ + 1, true};
  doubtful_ = name;
  int64_t bytes = 0;
  ESPALIER_RETURN_IF_ERROR(Write(name, entries, &bytes));
  doubtful_.reset();
  growth_.OnRewrite(bytes);
  segments_ = 0;
  DeleteOlder(name);
  return Status::Ok();
}

void FileJournal::DeleteOlder(const SegmentName& than) {
  const auto names = files_->Names(directory_);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    const auto segment = ParseSegment(name);
    const auto life = ParseLife(name);
    const bool old = segment && std::pair(segment->incarnation, segment->first) <
                                    std::pair(than.incarnation, than.first);
    if (!old && !(life && *life < life_)) continue;
    const Status gone = files_->Delete(PathOf(name));
    if (!gone.ok() && gone.code() != StatusCode::kNotFound) {
      LogWarning("an old part of the journal stays: " + gone.ToString());
    }
  }
}

}  // namespace

Result<OpenedJournal> OpenFileJournal(const std::string& directory,
                                      std::shared_ptr<const storage::FileSystem> files,
                                      int64_t now_us, Replay& replay) {
  auto journal = std::make_unique<FileJournal>(directory, std::move(files));
  auto past = journal->Begin(now_us, replay);
  if (!past.ok()) return past.status().Wrap("state_directory");
  const Incarnation incarnation = journal->incarnation();
  return OpenedJournal{std::move(journal), incarnation, *std::move(past)};
}

}  // namespace espalier::coordinator
