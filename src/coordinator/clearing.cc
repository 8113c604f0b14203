#include "src/coordinator/clearing.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "src/base/log.h"
#include "src/base/text.h"
#include "src/scoring/staging.h"
#include "src/storage/uri.h"

namespace espalier::coordinator {
namespace {

bool IsAway(const Status& done) {
  return done.code() == StatusCode::kUnavailable || done.code() == StatusCode::kDeadlineExceeded;
}

// Returns whether the error concerns only this output: its directory is full, or another job is
// filling it.
bool IsTaken(const Status& done) { return done.code() == StatusCode::kResourceExhausted; }

std::string Words(const cluster::ClearWork& work, const std::string& what, const Status& why) {
  const std::string where =
      work.kind == spec::JobKind::kTrain
          ? "next to " + QuotedPath(work.output)
          : "in " + QuotedPath(scoring::StagingDirectory(work.output, work.request_id));
  return ToString(work.job) + ": what it wrote stays " + where + what + ": " + why.ToString();
}

}  // namespace

std::string FileSystemOf(const std::string& path) {
  const Result<storage::Uri> uri = storage::ParseUri(path);
  return uri.ok() ? uri->prefix : std::string();
}

void Clearing::Add(cluster::ClearWork work) {
  {
    MutexLock lock(mutex_);
    waiting_.push_back({.work = std::move(work)});
  }
  Continue();
}

void Clearing::Continue() {
  Item next;
  {
    MutexLock lock(mutex_);
    if (working_ || closed_) return;
    const int64_t now_ms = hooks_.now_ms();
    const auto rank = [now_ms](const Item& item) {
      return std::tuple(item.due_ms > now_ms, item.away, item.work.again, item.work.succeeded);
    };
    const auto best =
        std::min_element(waiting_.begin(), waiting_.end(),
                         [&](const Item& a, const Item& b) { return rank(a) < rank(b); });
    if (best == waiting_.end() || best->due_ms > now_ms) return;
    next = std::move(*best);
    waiting_.erase(best);
    working_ = true;
  }
  const spec::JobKind kind = next.work.kind;
  hooks_.submit(kind, [this, item = std::move(next)] { Work(item); });
}

bool Clearing::open() const {
  MutexLock lock(mutex_);
  return working_ ||
         std::any_of(waiting_.begin(), waiting_.end(), [](const Item& item) { return !item.away; });
}

bool Clearing::closed() const {
  MutexLock lock(mutex_);
  return closed_;
}

void Clearing::Close() {
  MutexLock lock(mutex_);
  closed_ = true;
}

void Clearing::Work(Item item) {
  if (item.first_ms == 0) item.first_ms = hooks_.now_ms();
  const cluster::ClearWork work = item.work;
  if (Ended(std::move(item), hooks_.clear(work))) hooks_.over(work);
  {
    MutexLock lock(mutex_);
    working_ = false;
  }
  Continue();
}

bool Clearing::Ended(Item item, const Status& done) {
  if (done.ok()) return true;
  MutexLock lock(mutex_);
  const int64_t now_ms = hooks_.now_ms();
  if (!item.work.again && now_ms - item.first_ms < kClearTriesMs) {
    item.due_ms = now_ms + kClearSoonMs;
    waiting_.push_back(std::move(item));
    return false;
  }
  if (closed_) return false;  // interrupted; the next life clears it
  if (!IsAway(done) && !IsTaken(done)) {
    LogWarning(Words(item.work, "", done));
    return true;
  }
  if (!std::exchange(item.away, true)) {
    LogWarning(
        Words(item.work,
              " until it can be removed, which is tried again every " + HumanDuration(kClearAwayMs),
              done));
  }
  item.due_ms = now_ms + kClearAwayMs;
  const std::string file_system = FileSystemOf(item.work.output);
  waiting_.push_back(std::move(item));
  if (!IsAway(done)) return false;
  for (Item& other : waiting_) {
    const bool waits = other.away || other.work.again;
    if (!waits || FileSystemOf(other.work.output) != file_system) continue;
    other.due_ms = now_ms + kClearAwayMs;
    other.away = true;
  }
  return false;
}

}  // namespace espalier::coordinator
