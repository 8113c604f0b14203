#include "src/cli/result_view.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/base/text.h"
#include "src/cli/format.h"
#include "src/cli/metrics_text.h"
#include "src/cli/progress_view.h"
#include "src/cli/scoring_view.h"
#include "src/cli/shell_text.h"
#include "src/spec/names.h"
#include "src/storage/uri.h"

namespace espalier::cli {
namespace {

// Returns the tables of the best available set: test, or validation.
std::string TablesOf(const spec::TrainingResult& r) {
  const spec::Metrics* m = r.test ? &*r.test : r.validation ? &*r.validation : nullptr;
  if (m == nullptr) return "";
  const std::string set = r.test ? "test" : "validation";
  return DetailTables(set, *m, r.classes, "in model.json");
}

std::string SetsOf(const spec::TrainingResult& r) {
  NamedMetrics sets = {{"train", &r.train}};
  if (r.validation) sets.emplace_back("validation", &*r.validation);
  if (r.test) sets.emplace_back("test", &*r.test);
  return MetricsTable(sets, r.classes);
}

std::string ThresholdText(const spec::TrainingResult& r) {
  if (!r.threshold) return "";
  const spec::ChosenThreshold& t = *r.threshold;
  std::string text = "the threshold of " + Quoted(r.positive) + " is " + FormatValue(t.threshold) +
                     ": " + t.metric + " " + FormatValue(t.value) + " on the held-out rows, " +
                     FormatValue(t.value_at_half) + " with 0.5\n";
  if (!t.reached) {
    text +=
        "note: no threshold has the precision or recall that train.threshold asks for on these "
        "rows\n";
  }
  return text;
}

std::string IntervalsText(const spec::TrainingResult& r) {
  if (!r.intervals) return "";
  const std::vector<double>& widths = r.intervals->half_widths;
  if (widths.empty()) {
    return "note: no prediction intervals: too few held-out rows with a weight above 0, or extreme "
           "residuals\n";
  }
  std::string text = "prediction intervals for " + FormatShare(r.intervals->level) +
                     " of the rows: the prediction +- ";
  for (size_t k = 0; k < std::min(widths.size(), kClassesShownMax); ++k) {
    text += (k > 0 ? ", " : "") + FormatValue(widths[k]);
  }
  if (widths.size() > kClassesShownMax) text += ", ...";
  return text + "\n";
}

std::string Headline(const spec::TrainingResult& r, bool color) {
  const spec::Metrics* m = r.test ? &*r.test : r.validation ? &*r.validation : nullptr;
  const std::string set = r.test ? "test" : "validation";
  if (m == nullptr) return "";
  const std::string text = m->classification ? set + " accuracy " + FormatShare(m->accuracy)
                                             : set + " rmse " + FormatMean(m->rmse, m->weight) +
                                                   ", mae " + FormatMean(m->mae, m->weight) +
                                                   ", r2 " + FormatMean(m->r2, m->weight);
  return Colored(text, Ink::kBold, color) + " (" + Counted(m->rows, "row") + ")\n";
}

std::string TimeText(const spec::JobSnapshot& job, int64_t client_start_ms) {
  const int64_t start_ms = client_start_ms + job.start_phase_ms;
  const int64_t total_ms = start_ms + job.profiling_phase_ms + job.train_phase_ms;
  return "start " + HumanDuration(start_ms) + ", profile " + HumanDuration(job.profiling_phase_ms) +
         ", training " + HumanDuration(job.train_phase_ms) + ", total " + HumanDuration(total_ms);
}

// Returns the validation loss at the end of the last fit as a multiple of its lowest value in that
// fit. 1: unknown.
double RiseOf(const spec::TrainingResult& r, const std::vector<CurvePoint>& curve) {
  // Fits that end early may differ in length. The last one is then only partly seen.
  const double begin = r.epochs - r.epochs / static_cast<double>(r.fits);
  double lowest = std::numeric_limits<double>::infinity(), last = lowest;
  for (const CurvePoint& point : curve) {
    if (point.epoch <= begin || !std::isfinite(point.validation)) continue;
    last = point.validation;
    lowest = std::min(lowest, last);
  }
  return lowest > 0 && std::isfinite(lowest) ? last / lowest : 1;
}

// Returns keys that reduce overfitting and that the job does not set yet.
std::string UnusedRemedies(const spec::TrainingResult& r, const spec::JobSpec* job) {
  if (r.best_epochs.empty()) {
    return job != nullptr && job->train.early_stopping ? "restore_best" : "early_stopping";
  }
  if (job == nullptr) return "";
  const std::vector<double>& dropout = job->model.dropout;
  const bool drops = std::any_of(dropout.begin(), dropout.end(), [](double d) { return d > 0; });
  const bool may_drop =
      !job->model.hidden.empty() && job->train.optimizer.kind != spec::OptimizerKind::kLbfgs;
  const std::string text = drops || !may_drop ? "" : "dropout";
  if (job->train.weight_decay > 0) return text;
  return text.empty() ? "weight_decay" : text + " or weight_decay";
}

// Returns advice derived from the numbers, at most one sentence.
std::string Advice(const spec::TrainingResult& r, const ResultDetails& details) {
  constexpr double kClearRise = 1.2;
  if (!(r.train.weight > 0)) {
    return "all steps of the last epoch were skipped: try a lower learning_rate";
  }
  if (!r.validation) return "set data.validation, to measure rows that were not trained on";
  if (const double rise = RiseOf(r, details.curve); rise > kClearRise) {
    const std::string keys = UnusedRemedies(r, details.job);
    if (keys.empty()) return "";
    return "val_loss ends " + HumanCount(std::llround((rise - 1) * 100)) +
           " % above its best: try " + keys;
  }
  if (r.fits > 1) return "";  // different fits predict the rows of training and validation
  const bool close = r.validation->loss <= 1.3 * r.train.loss;
  if (close && (r.stopped_because == "epochs" || r.stopped_because == "steps")) {
    return "the losses are close: try more epochs or wider layers";
  }
  return "";
}

// Returns the path relative to the working directory if it is below that.
std::string ShortPath(const std::string& path, const std::string& directory) {
  const std::string above = directory + "/";
  const bool below = !directory.empty() && path.size() > above.size() && path.starts_with(above);
  return below ? path.substr(above.size()) : path;
}

// Returns the same as a word of a command.
std::string PathWord(const std::string& path, const std::string& directory) {
  return Printable(ShellWord(ShortPath(path, directory)), 400);
}

// Returns the table to score in the suggested next step: rows without influence on the model, if
// any.
std::string TableOf(const spec::DataSpec& data) {
  return data.test.empty() ? data.train.front() : data.test.front();
}

std::string NextSteps(const spec::TrainingResult& r, const ResultDetails& details) {
  const std::string bundle = Printable(ShortPath(r.bundle, details.directory), 400);
  const std::string model = PathWord(r.bundle, details.directory);
  const std::string table =
      details.job == nullptr ? "TABLE" : PathWord(TableOf(details.job->data), details.directory);
  std::vector<std::vector<std::string>> rows = {
      {"evaluate", "espalier evaluate " + model + " " + table + " --report report.html"},
      {"predict", "espalier predict " + model + " " + table + " --output scored"},
      {"export", "espalier export " + model + " --output model.onnx"},
      {"curves", bundle + "/history.csv"}};
  const auto uri = storage::ParseUri(r.bundle);
  if (uri.ok() && uri->kind != storage::Uri::Kind::kLocal) {
    rows.push_back({"copy", "hdfs dfs -get '" + bundle + "'"});
  } else {
    rows.push_back({"Python", "safetensors.numpy.load_file('" + bundle + "/weights.safetensors')"});
  }
  if (const std::string advice = Advice(r, details); !advice.empty())
    rows.push_back({"tune", advice});
  return "\nwhat to try next\n" + LeftTable(rows, "  ");
}

// Returns a state for people. The profiling pass of a job that scores is called scoring.
std::string StateName(const spec::JobSnapshot& job) {
  const bool scores = job.scores() && job.state == spec::JobState::kProfiling;
  return scores ? "SCORING" : spec::JobStateName(job.state);
}

// Returns the result of a job in one cell.
std::string Summary(const spec::ScoringResult& r) {
  if (r.evaluated() == nullptr) return Counted(r.rows, "row");
  const spec::Metrics& m = r.evaluated()->metrics;
  return m.classification ? "accuracy " + FormatShare(m.accuracy) : "rmse " + FormatValue(m.rmse);
}

std::string Summary(const spec::TrainingResult& r) {
  const spec::Metrics& m = r.test ? *r.test : r.validation ? *r.validation : r.train;
  const std::string set = r.test ? "test" : r.validation ? "validation" : "train";
  return m.classification ? set + " accuracy " + FormatShare(m.accuracy)
                          : set + " rmse " + FormatValue(m.rmse);
}

std::string StateOf(const spec::JobSnapshot& job) {
  if (!job.waiting_because.empty()) {
    return "waiting because: " + Printable(job.waiting_because, 120);
  }
  if (job.state == spec::JobState::kTraining) {
    const spec::JobProgress& p = job.progress;
    return RunningEpoch(p) + ", loss " + (std::isnan(p.loss) ? "-" : FormatValue(p.loss));
  }
  if (const spec::ScoringResult* result = job.scored()) return Summary(*result);
  if (const spec::TrainingResult* result = job.trained()) return Summary(*result);
  return Fit(Printable(job.error.ok() ? "" : job.error.message(), 120), 120);
}

int64_t AgeMs(const spec::JobSnapshot& job, int64_t now_ms) {
  return std::max<int64_t>(0, (job.ended_ms > 0 ? job.ended_ms : now_ms) - job.submitted_ms);
}

// Returns when or why the training ended, after the word "ended".
std::string EndText(const std::string& stopped_because) {
  if (stopped_because == "epochs") return "after the last epoch";
  if (stopped_because == "steps") return "after the last step";
  if (stopped_because == "time") return "after max_time";
  if (stopped_because == "iterations") return "after the last iteration";
  return "by " + Printable(stopped_because);
}

}  // namespace

std::string ResultText(const spec::JobSnapshot& job, int64_t client_start_ms,
                       const ResultDetails& details) {
  const bool color = details.drawing.color;
  if (job.scored() != nullptr) return ScoredJobText(job, color);
  const spec::TrainingResult& r = *job.trained();
  std::string text = "\n" + ToString(job.job) + " '" + Printable(job.name) + "' " +
                     Colored("succeeded", Ink::kGreen, color) + ": " + FormatEpochs(r.epochs) +
                     (r.epochs == 1 ? " epoch of " : " epochs of ") +
                     Counted(r.rows_per_epoch, "row") + ", " + Counted(r.steps, "step") +
                     "; ended " + EndText(r.stopped_because) + "\n";
  if (!r.best_epochs.empty()) {
    text += r.fits > 1
                ? std::to_string(r.fits) + " fits are averaged, with the weights after epoch "
                : "the weights are those after epoch ";
    for (size_t k = 0; k < r.best_epochs.size(); ++k) {
      text += (k > 0 ? ", " : "") + FormatEpochs(r.best_epochs[k]);
    }
    text += r.fits > 1 ? "\n" : ", those of the best evaluation\n";
  }
  text += ThresholdText(r) + IntervalsText(r);
  for (const std::string& a : r.accepted) {
    text += "note: the run was resumed with another " + Printable(a) + "\n";
  }
  if (r.skipped_steps > 0) {
    text += Colored("skipped " + Counted(r.skipped_steps, "step") +
                        (r.skipped_steps == 1 ? " that was not finite" : " that were not finite"),
                    Ink::kYellow, color) +
            "\n";
  }
  if (r.skipped_rows > 0) {
    text += Colored("skipped " + Counted(r.skipped_rows, "bad row"), Ink::kYellow, color) + "\n";
  }
  if (r.async) {
    text += "asynchronous: another run gives other weights; gradients were applied at most " +
            Counted(r.async->largest_lag, "step") + " late, " + HumanCount(r.async->refused) +
            " came later and were computed again\n";
  }
  text += Headline(r, color) + "\n" + SetsOf(r) + TablesOf(r);
  const std::string curve = LearningCurve(details.curve, details.drawing);
  if (!curve.empty()) text += "\n" + curve;
  std::vector<std::vector<std::string>> rows = {{"time", TimeText(job, client_start_ms)}};
  if (r.step_ms_p50 > 0) {
    rows.push_back({"step", FormatValue(r.step_ms_p50) + " ms (median), " +
                                FormatValue(r.step_ms_p99) + " ms (99th percentile)"});
  }
  rows.push_back({"bundle", Printable(r.bundle, 400)});
  rows.push_back({"weights", "sha256 " + r.weights_sha256});
  text += "\n" + LeftTable(rows, "");
  return text + NextSteps(r, details);
}

std::string ErrorText(const Status& error, bool color) {
  std::string text = Colored("error:", Ink::kRed, color) + " ";
  text += MessageWithCauses(error) + "\n";
  if (!error.position()) return text;
  const InputPosition& at = *error.position();
  std::vector<std::vector<std::string>> rows;
  if (!at.file.empty()) rows.push_back({"file", Printable(at.file, 400)});
  // Rows of text have a byte offset and are lines. Rows of Parquet are counted.
  const std::string unit = at.offset ? " (line of the file)" : "";
  if (at.row) rows.push_back({"row", std::to_string(*at.row) + unit});
  if (!at.column.empty()) rows.push_back({"column", Printable(at.column)});
  if (at.offset) rows.push_back({"offset", std::to_string(*at.offset) + " bytes"});
  if (!at.text.empty()) rows.push_back({"found", "'" + Printable(at.text) + "'"});
  return text + LeftTable(rows, "  ");
}

std::string JobTable(const std::vector<spec::JobSnapshot>& jobs, int64_t now_ms) {
  if (jobs.empty()) return "no jobs\n";
  const bool owned =
      std::any_of(jobs.begin(), jobs.end(), [](const auto& job) { return !job.owner.empty(); });
  std::vector<std::vector<std::string>> rows = {
      {"JOB", "KIND", "NAME", "STATE", "TIME", "WORKERS", "DETAILS"}};
  for (const spec::JobSnapshot& job : jobs) {
    rows.push_back({ToString(job.job), spec::NameOf(job.kind), Printable(job.name, 32),
                    StateName(job), HumanDuration(AgeMs(job, now_ms)),
                    std::to_string(job.workers.size()), StateOf(job)});
  }
  constexpr int kOwnerColumn = 3;
  for (size_t i = 0; owned && i < rows.size(); ++i) {
    rows[i].insert(rows[i].begin() + kOwnerColumn,
                   i == 0 ? "OWNER" : Printable(jobs[i - 1].owner, 32));
  }
  return LeftTable(rows, "");
}

std::string WorkerTable(const std::vector<spec::WorkerSnapshot>& workers) {
  if (workers.empty()) return "no workers are attached\n";
  std::vector<std::vector<std::string>> rows = {
      {"WORKER", "NAME", "ADDRESS", "THREADS", "MEMORY", "JOB", "HEARD", "VERSION"}};
  for (const spec::WorkerSnapshot& w : workers) {
    rows.push_back({ToString(w.worker), Printable(w.name, 40), Printable(w.address, 60),
                    std::to_string(w.threads),
                    HumanBytes(static_cast<uint64_t>(std::max<int64_t>(0, w.memory_bytes))),
                    w.job ? ToString(w.job) : "free", HumanDuration(w.last_heard_ms) + " ago",
                    Printable(w.version, 20)});
  }
  return LeftTable(rows, "");
}

std::string LastEvaluations(const spec::JobUpdate& job, const std::string& all_with) {
  const std::vector<spec::HistoryRow>& rows = job.history;
  const size_t left_out =
      rows.size() > kEvaluationsShownMax ? rows.size() - kEvaluationsShownMax : 0;
  std::string text;
  if (left_out > 0) {
    const spec::TrainingResult* result = job.snapshot.trained();
    text = Counted(static_cast<int64_t>(left_out), "earlier evaluation") + ": see " +
           (result != nullptr ? Printable(result->bundle, 400) + "/history.csv, or " : "") + "`" +
           all_with + "`\n";
  }
  for (size_t i = left_out; i < rows.size(); ++i) {
    text += EvaluationLine(rows[i], job.snapshot.progress, kPlainColumns) + "\n";
  }
  return text;
}

std::string StatusText(const spec::JobSnapshot& job, int64_t now_ms, bool color) {
  using Rows = std::vector<std::vector<std::string>>;
  Rows losses;
  if (job.losses > 0) {
    losses = {{"losses", "of workers: " + std::to_string(job.losses) +
                             "; the last: " + Printable(job.last_loss, 400)}};
  }
  if (job.has_result()) {
    Rows rows;
    if (!job.owner.empty()) rows.push_back({"owner", Printable(job.owner, 128)});
    rows.insert(rows.end(), losses.begin(), losses.end());
    return LeftTable(rows, "") + ResultText(job, 0, {.drawing = {.color = color}});
  }
  Rows rows = {{"job", ToString(job.job) + " '" + Printable(job.name) + "'"},
               {"kind", spec::NameOf(job.kind)},
               {"state", StateName(job)},
               {"age", HumanDuration(AgeMs(job, now_ms))}};
  if (!job.owner.empty()) rows.push_back({"owner", Printable(job.owner, 128)});
  if (!job.output.empty()) rows.push_back({"output", Printable(job.output, 400)});
  if (!job.workers.empty()) rows.push_back({"now", StateLine(job)});
  const bool scores = job.scores() && job.state == spec::JobState::kProfiling;
  if (job.state == spec::JobState::kTraining || scores) {
    constexpr int kKeyColumns = 10;  // "progress" and the space after it
    rows.push_back(
        {"progress", LiveLine(job, std::nullopt, std::nullopt, kPlainColumns - kKeyColumns)});
  }
  if (!job.waiting_because.empty()) rows.push_back({"why", Printable(job.waiting_because, 400)});
  if (!job.inferred.empty()) rows.push_back({"features", Printable(job.inferred, 2000)});
  for (size_t i = 0; i < job.notes.size(); ++i) {
    rows.push_back({i == 0 ? "notes" : "", Printable(job.notes[i], 1000)});
  }
  rows.insert(rows.end(), losses.begin(), losses.end());
  if (!job.trouble.empty()) rows.push_back({"trouble", Printable(job.trouble, 600)});
  std::string text = LeftTable(rows, "");
  if (!job.error.ok()) text += ErrorText(job.error, color);
  return text;
}

}  // namespace espalier::cli
