#include "src/cli/follow.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <variant>

#include "src/base/queue.h"
#include "src/base/text.h"
#include "src/cli/clock.h"

namespace espalier::cli {
namespace {

using std::chrono::milliseconds;

constexpr int64_t kTickMs = 100;
constexpr int64_t kAwayToldMs = 1000;  // shorter outages are not reported

// Event from the watching thread: an update, or the reason for its end.
using WatchEvent = std::variant<spec::JobUpdate, Status>;

// The watching thread. Each stream begins with the whole history. Rows that were already passed on
// are dropped.
class Watcher {
 public:
  Watcher(JobId job, const FollowOptions& options, Queue<WatchEvent>* events)
      : job_(job), options_(options), events_(*events), thread_([this] { Run(); }) {}
  ~Watcher() {
    stop_ = true;
    thread_.join();
  }

  // Returns the duration of the coordinator's outage. 0: it is reachable, or was never reached. Any
  // thread.
  int64_t AwayMs(int64_t now_ms) const {
    const int64_t since_ms = away_since_ms_;
    return since_ms == 0 ? 0 : std::max<int64_t>(1, now_ms - since_ms);
  }

 private:
  void Run() {
    const int64_t begin_ms = NowMs();
    while (!stop_) {
      const Status status = WatchOnce();
      const bool unknown = status.code() == StatusCode::kNotFound;
      if (replaced_ || (unknown && (reached_ || options_.submitted_here))) {
        events_.Push(
            Aborted(ToString(job_) + " was lost: the coordinator was restarted and keeps no jobs"));
        return;
      }
      const bool away = MayComeBack(status);
      if (away && reached_ && away_since_ms_ == 0) away_since_ms_ = NowMs();
      const int64_t tried_ms = NowMs() - begin_ms;
      if (!away || (reached_ ? AwayMs(NowMs()) > options_.away_limit_ms
                             : tried_ms >= options_.reach_limit_ms)) {
        const std::string words =
            reached_ ? "the coordinator has been unreachable for " + HumanDuration(AwayMs(NowMs()))
                     : "no coordinator was reached in " + HumanDuration(tried_ms);
        const bool told = reached_ || options_.reach_limit_ms > 0;
        events_.Push(away && told ? status.Wrap(words) : status);
        return;
      }
      for (int64_t ms = 0; ms < kWatchAgainPauseMs && !stop_; ms += 50) {
        std::this_thread::sleep_for(milliseconds(50));
      }
    }
  }

  Status WatchOnce() {
    ESPALIER_ASSIGN_OR_RETURN(const auto client, options_.connect());
    return client->Watch(
        job_,
        [&](spec::JobUpdate update) {
          if (IsAnother(update.snapshot)) return;
          reached_ = true;
          away_since_ms_ = 0;
          // A new stream begins with all stored rows. For a long history these are the newest.
          std::erase_if(update.history,
                        [this](const spec::HistoryRow& row) { return row.step <= step_told_; });
          if (!update.history.empty()) step_told_ = update.history.back().step;
          events_.Push(std::move(update));
        },
        &stop_);
  }

  // Detects another job with the same number. A coordinator without stored state restarts its
  // numbering.
  bool IsAnother(const spec::JobSnapshot& job) {
    if (!reached_) submitted_ms_ = job.submitted_ms;
    if (job.submitted_ms != submitted_ms_) stop_ = replaced_ = true;
    return replaced_;
  }

  const JobId job_;
  const FollowOptions& options_;
  Queue<WatchEvent>& events_;
  std::atomic<bool> stop_{false};
  std::atomic<int64_t> away_since_ms_{0};
  bool reached_ = false, replaced_ = false;
  int64_t submitted_ms_ = 0;
  int64_t step_told_ = -1;  // step of the newest reported evaluation
  std::thread thread_;
};

}  // namespace

bool MayComeBack(const Status& error) {
  return error.code() == StatusCode::kUnavailable ||
         error.code() == StatusCode::kDeadlineExceeded ||
         error.code() == StatusCode::kResourceExhausted;
}

FollowEnd Follow(JobId job, ProgressView& view, const FollowOptions& options) {
  FollowEnd end;
  // The coordinator bounds the queue, because it merges updates for a slow watcher.
  Queue<WatchEvent> events;
  Watcher watcher(job, options, &events);
  int64_t next_tick_ms = 0;
  while (true) {
    std::optional<WatchEvent> event = events.PopFor(milliseconds(kTickMs));
    const int64_t now_ms = NowMs();
    if (event) {
      if (Status* status = std::get_if<Status>(&*event)) {
        end.status = *status;
        break;
      }
      spec::JobUpdate& update = std::get<spec::JobUpdate>(*event);
      view.OnUpdate(update, now_ms);
      for (const spec::HistoryRow& row : update.history) end.curve.push_back(CurvePointOf(row));
      end.last = std::move(update.snapshot);
    }
    if (now_ms < next_tick_ms) continue;
    next_tick_ms = now_ms + kTickMs;
    end.status = options.tick(end.last ? &*end.last : nullptr);
    if (!end.status.ok()) break;
    const int64_t away_ms = watcher.AwayMs(now_ms);
    away_ms >= kAwayToldMs ? view.OnAway(away_ms) : view.OnTick(now_ms);
  }
  end.away_ms = watcher.AwayMs(NowMs());
  view.Pause();
  if (end.status.ok() && !(end.last && spec::IsFinal(end.last->state))) {
    end.status = Internal("the coordinator ended the stream before the job was over");
  }
  return end;
}

}  // namespace espalier::cli
