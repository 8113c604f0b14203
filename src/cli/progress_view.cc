#include "src/cli/progress_view.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "src/base/text.h"
#include "src/cli/format.h"

namespace espalier::cli {
namespace {

constexpr int kBarWidthMax = 24, kBarWidthMin = 6;
constexpr int64_t kPaceAfterMs = 500;  // minimum time for an estimate of the remaining time

// A part of a line. The part with the greatest `rank` is omitted first.
struct Piece {
  std::string text;
  int rank = 0;
  bool joins = false;  // one space before it, not two: it belongs to the part before it
};

std::string JoinPieces(const std::vector<Piece>& pieces) {
  std::string line;
  for (const Piece& p : pieces) {
    if (!line.empty()) line += p.joins ? " " : "  ";
    line += p.text;
  }
  return line;
}

// Omits parts, greatest rank first, until the line fits.
std::string FitPieces(std::vector<Piece> pieces, int width) {
  std::erase_if(pieces, [](const Piece& p) { return p.text.empty(); });
  std::string line = JoinPieces(pieces);
  while (static_cast<int>(line.size()) > width && pieces.size() > 1) {
    pieces.erase(std::max_element(pieces.begin(), pieces.end(),
                                  [](const Piece& a, const Piece& b) { return a.rank < b.rank; }));
    line = JoinPieces(pieces);
  }
  return Fit(line, width);
}

// Returns "fit 2/5 " if the job has several fits.
std::string FitHead(int64_t fit, const spec::JobProgress& p) {
  if (fit == 0 || p.fits <= 1) return "";
  return "fit " + std::to_string(fit) + "/" + std::to_string(p.fits) + " ";
}

// Returns the epochs of a fit, or of a job whose fit is unknown; 0: unknown.
double EpochsOfFit(int64_t fit, const spec::JobProgress& p) {
  return fit == 0 || p.fits <= 1 ? p.epochs_total : p.epochs_total / static_cast<double>(p.fits);
}

// Returns "38 s left", "1:23 left" or "2:03:04 left". Short, because lines are.
std::string LeftText(int64_t ms) {
  const int64_t seconds = ms / 1000;
  if (seconds < 60) return std::to_string(seconds) + " s left";
  const auto two = [](int64_t n) { return (n < 10 ? "0" : "") + std::to_string(n); };
  const int64_t hours = seconds / 3600, minutes = seconds / 60 % 60;
  return (hours > 0 ? std::to_string(hours) + ":" + two(minutes) : std::to_string(minutes)) + ":" +
         two(seconds % 60) + " left";
}

double StepShare(const spec::JobProgress& p) {
  if (p.steps_total > 0) return static_cast<double>(p.step) / static_cast<double>(p.steps_total);
  return p.epochs_total > 0 ? p.epoch / p.epochs_total : 0;
}

std::string BarAndPercent(double share, int width) {
  const int percent = static_cast<int>(std::clamp(share, 0.0, 1.0) * 100);
  const std::string number = std::to_string(percent);
  return Bar(share, width) + " " + std::string(3 - number.size(), ' ') + number + " %";
}

// Fits the parts, one of which is the narrowest bar, then widens the bar to the available room.
std::string FitWithBar(std::vector<Piece> pieces, double share, int width) {
  const std::string narrow = BarAndPercent(share, kBarWidthMin);
  const std::string line = FitPieces(std::move(pieces), width);
  const size_t at = line.find(narrow);
  if (at == std::string::npos) return line;
  const int room = width - static_cast<int>(line.size());
  return line.substr(0, at) + BarAndPercent(share, std::min(kBarWidthMax, kBarWidthMin + room)) +
         line.substr(at + narrow.size());
}

std::string ValidationText(const std::optional<spec::HistoryRow>& last) {
  if (!last || !last->validation) return "";
  const spec::Metrics& v = *last->validation;
  return v.classification ? "val " + FormatShare(v.accuracy)
                          : "val_rmse " + FormatMean(v.rmse, v.weight);
}

std::string TrainingLine(const spec::JobSnapshot& job, const std::optional<spec::HistoryRow>& last,
                         std::optional<int64_t> left_ms, int width) {
  const spec::JobProgress& p = job.progress;
  if (p.phase == "writing") return Fit("writing the bundle", width);
  if (p.step == 0) return Fit("starting the first step", width);
  const std::string head = RunningEpoch(p);
  const std::string loss = "loss " + (std::isnan(p.loss) ? "-" : FormatValue(p.loss));
  const std::string left = left_ms ? LeftText(*left_ms) : "";
  const std::string step =
      "step " + HumanCount(p.step) + (p.steps_total > 0 ? "/" + HumanCount(p.steps_total) : "");
  std::string pace;
  if (p.phase == "evaluating") {
    pace = "evaluating " + std::to_string(static_cast<int>(100 * p.phase_share)) + " %";
  } else if (p.rows_per_second > 0) {
    pace = HumanCount(std::llround(p.rows_per_second)) + " rows/s";
  }
  const double share = StepShare(p);
  return FitWithBar({{head, 0},
                     {BarAndPercent(share, kBarWidthMin), 3},
                     {step, 5},
                     {loss, 1},
                     {p.accuracy > 0 ? "accuracy " + FormatShare(p.accuracy) : "", 7},
                     {ValidationText(last), 4},
                     {pace, 6},
                     {left, 2}},
                    share, width);
}

std::string ProfileWord(const spec::JobSnapshot& job) {
  return job.scores() ? "scoring" : "reading the data";
}

std::string ProfileLine(const spec::JobSnapshot& job, int width) {
  if (job.input_bytes <= 0) return Fit(ProfileWord(job), width);
  const double share =
      static_cast<double>(job.profiling_bytes_done) / static_cast<double>(job.input_bytes);
  const std::string bytes =
      HumanBytes(static_cast<uint64_t>(std::max<int64_t>(0, job.profiling_bytes_done))) + " of " +
      HumanBytes(static_cast<uint64_t>(job.input_bytes));
  return FitWithBar({{ProfileWord(job), 0}, {BarAndPercent(share, kBarWidthMin), 1}, {bytes, 2}},
                    share, width);
}

std::string Waiting(const spec::JobSnapshot& job) {
  return job.waiting_because.empty() ? "queued"
                                     : "waiting because: " + Printable(job.waiting_because, 300);
}

std::string WorkerList(const spec::JobSnapshot& job) {
  constexpr size_t kShown = 8;
  std::string text = Counted(static_cast<int64_t>(job.workers.size()), "worker") + " (";
  for (size_t i = 0; i < std::min(job.workers.size(), kShown); ++i) {
    text += (i > 0 ? ", " : "") + Printable(job.workers[i], 60);
  }
  return text + (job.workers.size() > kShown ? ", ...)" : ")");
}

// Returns whether storage blocks the job. (Training continues while a checkpoint waits.)
bool WaitsForStorage(const spec::JobSnapshot& job) {
  return !job.waiting_because.empty() &&
         (job.state == spec::JobState::kProfiling || job.state == spec::JobState::kLoading ||
          (job.state == spec::JobState::kTraining && job.progress.phase == "writing"));
}

std::string WaitingFor(const spec::JobSnapshot& job) {
  return "waiting: " + Printable(job.waiting_because, 400);
}

std::string Recovering(const spec::JobSnapshot& job) {
  if (!job.waiting_because.empty()) return WaitingFor(job);
  return "recovering: generation " + std::to_string(job.generation.value) + " on " +
         WorkerList(job);
}

}  // namespace

void PaceEstimate::Observe(int64_t step, int64_t steps_total, int64_t now_ms) {
  if (!first_step_ || step < *first_step_) {
    first_step_ = step;
    first_ms_ = now_ms;
  }
  if (step != step_) step_ms_ = now_ms;
  step_ = step;
  steps_total_ = steps_total;
}

std::optional<int64_t> PaceEstimate::LeftMs(int64_t now_ms) const {
  if (!first_step_ || steps_total_ <= 0 || step_ <= *first_step_) return std::nullopt;
  const double took_ms = static_cast<double>(step_ms_ - first_ms_);
  if (took_ms < kPaceAfterMs) return std::nullopt;
  const double pace_ms = took_ms / static_cast<double>(step_ - *first_step_);
  const double left =
      pace_ms * static_cast<double>(steps_total_ - step_) - static_cast<double>(now_ms - step_ms_);
  // Whole seconds, because a flickering number is not readable.
  return left < 1000 ? int64_t{0} : static_cast<int64_t>(left / 1000) * 1000;
}

std::string Bar(double share, int width) {
  const int inside = std::max(0, width - 2);
  const double clamped = std::isfinite(share) ? std::clamp(share, 0.0, 1.0) : 0.0;
  const int full = static_cast<int>(clamped * inside);
  std::string text(static_cast<size_t>(full), '=');
  if (full < inside) text += '>';
  text.resize(static_cast<size_t>(inside), ' ');
  return "[" + text + "]";
}

std::string LiveLine(const spec::JobSnapshot& job,
                     const std::optional<spec::HistoryRow>& last_evaluation,
                     std::optional<int64_t> left_ms, int width) {
  const int room = std::max(1, width - 1);
  if (WaitsForStorage(job)) return Fit(WaitingFor(job), room);
  switch (job.state) {
    case spec::JobState::kQueued:
      return Fit(Waiting(job), room);
    case spec::JobState::kProfiling:
      return ProfileLine(job, room);
    case spec::JobState::kLoading:
      return Fit("loading rows and connecting the workers", room);
    case spec::JobState::kTraining:
      return TrainingLine(job, last_evaluation, left_ms, room);
    case spec::JobState::kRecovering:
      return Fit(Recovering(job), room);
    default:
      return Fit(spec::JobStateName(job.state), room);
  }
}

std::string RunningEpoch(const spec::JobProgress& p) {
  const double total = EpochsOfFit(p.fit, p);
  const double running = std::floor((p.fit == 0 ? p.epoch : p.fit_epoch) + 1e-9) + 1;
  const std::string head = FitHead(p.fit, p) + "epoch ";
  if (total <= 0) return head + FormatEpochs(running);
  return head + FormatEpochs(std::min(running, std::ceil(total))) + "/" + FormatEpochs(total);
}

std::string EvaluationLine(const spec::HistoryRow& row, const spec::JobProgress& progress,
                           int width) {
  const double total = EpochsOfFit(row.fit, progress);
  const std::string epoch = FitHead(row.fit, progress) + "epoch " +
                            FormatEpochs(row.fit == 0 ? row.epoch : row.fit_epoch) +
                            (total > 0 ? "/" + FormatEpochs(total) : "");
  const spec::Metrics& t = row.train;
  std::vector<Piece> pieces = {{epoch, 0}, {"loss " + FormatMean(t.loss, t.weight), 1}};
  pieces.push_back(
      {t.classification ? "acc " + FormatShare(t.accuracy) : "rmse " + FormatMean(t.rmse, t.weight),
       5, true});
  if (row.validation) {
    const spec::Metrics& v = *row.validation;
    pieces.push_back({"val_loss " + FormatMean(v.loss, v.weight), 3});
    pieces.push_back({v.classification ? "val_acc " + FormatShare(v.accuracy)
                                       : "val_rmse " + FormatMean(v.rmse, v.weight),
                      2, true});
    if (!v.classification) pieces.push_back({"val_r2 " + FormatMean(v.r2, v.weight), 4, true});
  }
  return FitPieces(std::move(pieces), width - 1);
}

std::string StateLine(const spec::JobSnapshot& job) {
  const std::string head = ToString(job.job) + " ";
  if (WaitsForStorage(job)) return head + WaitingFor(job);
  switch (job.state) {
    case spec::JobState::kQueued:
      return head + Waiting(job);
    case spec::JobState::kProfiling:
      return head + ProfileWord(job) + ": " +
             HumanBytes(static_cast<uint64_t>(std::max<int64_t>(0, job.input_bytes))) + " on " +
             WorkerList(job);
    case spec::JobState::kLoading:
      return head + "loading rows and connecting the workers";
    case spec::JobState::kTraining:
      return head + "training: " + HumanCount(job.leaves) +
             (job.leaves == 1 ? " leaf on " : " leaves on ") + WorkerList(job);
    case spec::JobState::kRecovering:
      return head + Recovering(job);
    case spec::JobState::kSucceeded:
      return head + "succeeded";
    case spec::JobState::kFailed:
      return head + "failed";
    case spec::JobState::kCancelled:
      return head + "cancelled";
  }
  return head + "is in an unknown state";
}

std::string InferredLine(const spec::JobSnapshot& job) {
  return job.inferred.empty() ? "" : "features: auto: " + Printable(job.inferred, 2000);
}

// Returns the notes that were not shown yet, as one block.
std::string NotesBlock(const spec::JobSnapshot& job, std::vector<std::string>* shown) {
  std::string block;
  for (const std::string& note : job.notes) {
    if (std::find(shown->begin(), shown->end(), note) != shown->end()) continue;
    block += (block.empty() ? "note: " : "      ") + Printable(note, 1000) + "\n";
    shown->push_back(note);
  }
  return block;
}

std::string TroubleLine(const spec::JobSnapshot& job, std::string* shown) {
  if (job.trouble == *shown || spec::IsFinal(job.state)) return {};
  *shown = job.trouble;
  return ToString(job.job) + (job.trouble.empty() ? " can use its tokens again\n"
                                                  : ": " + Printable(job.trouble, 1000) + "\n");
}

std::string LostLine(const spec::JobSnapshot& job, std::vector<std::string>* last) {
  const std::vector<std::string> before = std::exchange(*last, job.workers);
  if (job.state != spec::JobState::kRecovering || job.workers.empty()) return {};
  const auto has = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  // Other workers than before: the job waited, and may have given its workers to another job.
  for (const std::string& name : job.workers) {
    if (!has(before, name)) return {};
  }
  std::string lost;
  for (const std::string& name : before) {
    if (!has(job.workers, name)) lost += (lost.empty() ? "" : ", ") + Printable(name, 60);
  }
  const bool several = before.size() > job.workers.size() + 1;
  if (lost.empty()) return {};
  return ToString(job.job) + (several ? " lost the workers " : " lost the worker ") + lost + "\n";
}

std::string AwayLine(int64_t away_ms) {
  return "The coordinator has been unreachable for " + std::to_string(away_ms / 1000) +
         " s; retrying";
}

void LiveView::OnUpdate(const spec::JobUpdate& update, int64_t now_ms) {
  job_ = update.snapshot;
  const spec::JobProgress& p = job_->progress;
  if (!job_->inferred.empty() && !std::exchange(inferred_told_, true)) {
    Pause();
    out_(InferredLine(*job_) + "\n");
  }
  if (const std::string block = NotesBlock(*job_, &notes_shown_); !block.empty()) {
    Pause();
    out_(block);
  }
  if (const std::string line = LostLine(*job_, &workers_); !line.empty()) {
    Pause();
    out_(line);
  }
  if (job_->state == spec::JobState::kTraining) pace_.Observe(p.step, p.steps_total, now_ms);
  if (const std::string line = TroubleLine(*job_, &trouble_); !line.empty()) {
    Pause();
    out_(line);
  }
  for (const spec::HistoryRow& row : update.history) {
    Pause();
    out_(EvaluationLine(row, p, width_()) + "\n");
    last_ = row;
  }
}

void LiveView::OnTick(int64_t now_ms) {
  if (!job_ || spec::IsFinal(job_->state)) return;
  std::string line = LiveLine(*job_, last_, pace_.LeftMs(now_ms), width_());
  const size_t open = line.find('['), close = line.find(']');
  if (color_ && open != std::string::npos && close != std::string::npos) {
    line = line.substr(0, open) + Colored(line.substr(open, close - open + 1), Ink::kCyan, true) +
           line.substr(close + 1);
  }
  out_("\r" + line + "\x1b[K");
  drawn_ = true;
}

void LiveView::OnAway(int64_t away_ms) {
  out_("\r" + Fit(AwayLine(away_ms), std::max(1, width_() - 1)) + "\x1b[K");
  drawn_ = true;
}

void LiveView::Pause() {
  if (drawn_) out_("\r\x1b[K");
  drawn_ = false;
}

void PlainView::OnAway(int64_t away_ms) {
  if (!std::exchange(away_told_, true)) out_(AwayLine(away_ms) + "\n");
}

void PlainView::OnUpdate(const spec::JobUpdate& update, int64_t) {
  const spec::JobSnapshot& job = update.snapshot;
  const std::string state = StateLine(job);
  if (!job.inferred.empty() && !std::exchange(inferred_told_, true)) {
    out_(InferredLine(job) + "\n");
  }
  if (const std::string block = NotesBlock(job, &notes_shown_); !block.empty()) out_(block);
  if (const std::string line = LostLine(job, &workers_); !line.empty()) out_(line);
  // The result view shows a final state, after the last evaluations.
  if (state != last_state_ && !spec::IsFinal(job.state)) {
    out_(state + "\n");
    last_state_ = state;
  }
  if (const std::string line = TroubleLine(job, &trouble_); !line.empty()) out_(line);
  for (const spec::HistoryRow& row : update.history) {
    out_(EvaluationLine(row, job.progress, kPlainColumns) + "\n");
  }
}

}  // namespace espalier::cli
