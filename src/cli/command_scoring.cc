// `espalier evaluate` and `espalier predict`: apply a trained model to a table, on this machine or
// as a job of a cluster. `espalier export`: writes the model as a file for other programs.

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <thread>

#include "src/base/memory.h"
#include "src/base/queue.h"
#include "src/base/text.h"
#include "src/bundle/bundle.h"
#include "src/cli/commands.h"
#include "src/cli/exit_code.h"
#include "src/cli/job_tokens.h"
#include "src/cli/scoring_view.h"
#include "src/config/daemon_options.h"
#include "src/config/scoring_yaml.h"
#include "src/scoring/evaluate.h"
#include "src/scoring/onnx.h"
#include "src/scoring/predict.h"
#include "src/scoring/report_file.h"
#include "src/spec/names.h"
#include "src/storage/uri.h"

namespace espalier::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kJsonEveryMs = 1000;

int64_t MsSince(Clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start).count();
}

// Returns an absolute path without trailing slashes.
Result<std::string> WholePath(const std::string& text) {
  ESPALIER_ASSIGN_OR_RETURN(const storage::Uri uri, storage::ParseUri(text));
  std::string path = uri.prefix + uri.path;
  if (uri.kind == storage::Uri::Kind::kLocal) {
    std::error_code error;
    path = std::filesystem::absolute(uri.path, error).lexically_normal().string();
    if (error) return NotFound("the working directory does not exist: " + error.message());
  }
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

// Everything that both commands need before they begin.
struct Prepared {
  scoring::TrainedModel model;
  data::ScanPlan scan;
};

// Returns the request without its output, with absolute paths.
Result<spec::ScoringSpec> SpecOf(spec::ScoringSpec::Work work, const ScoringArguments& s) {
  spec::ScoringSpec spec{.work = std::move(work)};
  spec.name = spec::NameOf(spec.kind());
  ESPALIER_ASSIGN_OR_RETURN(spec.model, WholePath(s.model));
  for (const std::string& data : s.data) {
    ESPALIER_ASSIGN_OR_RETURN(std::string whole, WholePath(data));
    spec.data.push_back(std::move(whole));
  }
  if (!s.data_format.empty()) spec.data_format = spec::FromName<spec::DataFormat>(s.data_format);
  spec.raw = s.raw;
  return spec;
}

Result<spec::ScoringSpec> EvaluationOf(const ScoringArguments& s) {
  ESPALIER_ASSIGN_OR_RETURN(spec::ScoringSpec spec, SpecOf(spec::EvaluationSpec(), s));
  if (s.report) {
    ESPALIER_ASSIGN_OR_RETURN(spec.output.path, WholePath(*s.report));
  }
  return spec;
}

Result<spec::ScoringSpec> PredictionOf(const ScoringArguments& s) {
  spec::PredictionSpec prediction;
  if (!s.format.empty()) prediction.format = spec::FromName<spec::PartFormat>(s.format);
  prediction.keep = s.keep;
  for (const std::string& column : s.columns) {
    prediction.columns.push_back(*spec::FromName<spec::AnswerColumn>(column));
  }
  prediction.spreadsheet_safe = s.spreadsheet_safe;
  prediction.on_bad_row = *spec::FromName<spec::OnBadRow>(s.on_bad_row);
  prediction.rejects_limit = s.rejects_max;
  ESPALIER_ASSIGN_OR_RETURN(spec::ScoringSpec spec, SpecOf(std::move(prediction), s));
  ESPALIER_ASSIGN_OR_RETURN(spec.output.path, WholePath(s.output));
  spec.output.overwrite = s.overwrite;
  return spec;
}

Result<Prepared> Prepare(const CommandContext& context, const spec::ScoringSpec& spec) {
  Prepared prepared;
  ESPALIER_ASSIGN_OR_RETURN(prepared.model, scoring::LoadTrainedModel(context.files, spec.model));
  ESPALIER_ASSIGN_OR_RETURN(
      prepared.scan, data::PlanScan(context.files, scoring::ScanRequestOf(spec, prepared.model)));
  return prepared;
}

// Prints the progress, on the main thread.
class Teller {
 public:
  Teller(const CommandContext& context, const scoring::ScoringProgress& progress, int64_t shards)
      : context_(context), progress_(progress), shards_(shards) {}

  void Tell() {
    const int64_t now = MsSince(start_);
    if (context_.options.json) {
      if (now - last_ms_ < kJsonEveryMs) return;
      last_ms_ = now;
      context_.console.Out(JsonLine(
          ScoringProgressJson(progress_.shards, shards_, progress_.rows, progress_.rejected)));
    } else if (context_.console.live()) {
      context_.console.Out("\r" + ScoringLine(progress_.shards, shards_, progress_.rows, now) +
                           "\x1b[K");
    }
  }

  void End() const {
    if (context_.console.live() && !context_.options.json) context_.console.Out("\r\x1b[K");
  }

 private:
  const CommandContext& context_;
  const scoring::ScoringProgress& progress_;
  const int64_t shards_;
  const Clock::time_point start_ = Clock::now();
  int64_t last_ms_ = 0;
};

// Runs `work` on a separate thread and prints its progress.
template <typename T>
Result<T> WithProgress(const CommandContext& context, const Prepared& prepared,
                       const std::function<Result<T>(const scoring::ScoringRun&)>& work) {
  data::MemoryBudget room(PhysicalMemoryBytes() / 2, context.env.temporary_directory,
                          config::WorkerOptions{}.spill_bytes_max);
  scoring::ScoringProgress progress;
  const scoring::ScoringRun run{
      .files = context.files,
      .model = prepared.model,
      .reader = data::MakeScanReader(context.files, prepared.scan, &room),
      .threads = context.options.threads.value_or(
          static_cast<int>(std::max(1u, std::thread::hardware_concurrency()))),
      .progress = &progress,
      .cancelled = [&] { return context.interrupts.any() || context.console.out_closed(); }};
  Teller teller(context, progress, run.shards());
  std::optional<Result<T>> result;
  Queue<bool> done;  // one item
  std::thread thread([&] {
    result = work(run);
    done.Push(true);
  });
  while (!done.PopFor(std::chrono::milliseconds(100))) teller.Tell();
  thread.join();
  teller.End();
  return *std::move(result);
}

// Shows an error after rows have been read. No coordinator is involved here.
int FailedWork(const CommandContext& context, const Status& error) {
  const ExitCode code = ExitCodeOf(error);
  return ShowError(context, error,
                   error.code() == StatusCode::kCancelled ? kExitInterrupted
                   : code == kExitUnreachable             ? kExitJobFailed
                                                          : code);
}

int FailedPlan(const CommandContext& context, const Status& error) {
  return ShowError(context, error, PlanExitCode(error));
}

// Runs the request as a job of the specified cluster.
int RunOnCluster(const CommandContext& context, const spec::ScoringSpec& spec) {
  if (const Status bad = spec.Validate(); !bad.ok()) return FailedPlan(context, bad);
  return SubmitAndFollow(context, config::ScoringYaml(spec), PathsOf(spec));
}

}  // namespace

int RunPredict(const CommandContext& context) {
  const auto start = Clock::now();
  const auto job = PredictionOf(context.options.scoring);
  if (!job.ok()) return FailedPlan(context, job.status());
  if (!context.options.coordinator.empty()) return RunOnCluster(context, *job);
  const scoring::PredictSpec spec = scoring::PredictSpecOf(*job->prediction(), job->output);
  const auto prepared = Prepare(context, *job);
  if (!prepared.ok()) return FailedPlan(context, prepared.status());
  const std::function<Result<spec::ScoringResult>(const scoring::ScoringRun&)> work =
      [&](const scoring::ScoringRun& run) { return scoring::Predict(run, spec); };
  const Status may =
      scoring::CheckPrediction(context.files, prepared->model, prepared->scan.input, spec);
  if (!may.ok()) return FailedPlan(context, may);
  const Result<bool> made = scoring::BeginPredictions(context.files, spec.output);
  if (!made.ok()) return FailedPlan(context, made.status());
  const auto result = WithProgress(context, *prepared, work);
  if (!result.ok()) {
    context.interrupts.BeginEnding();
    const Status removed = scoring::DropPredictions(context.files, spec.output, *made);
    if (!removed.ok()) context.console.Err("note: " + removed.ToString() + "\n");
    return FailedWork(context, result.status());
  }
  const int64_t elapsed_ms = MsSince(start);
  const std::vector<std::string>& notes = prepared->scan.input.notes;
  context.console.Out(context.options.json
                          ? JsonLine(PredictJson(*result, notes, elapsed_ms))
                          : PredictText(*result, notes, elapsed_ms, context.console.out_color()));
  return kExitSuccess;
}

int RunExport(const CommandContext& context) {
  const ScoringArguments& s = context.options.scoring;
  const auto model_path = WholePath(s.model);
  if (!model_path.ok()) return FailedPlan(context, model_path.status());
  const auto path = WholePath(s.output.empty() ? *model_path + "/" + bundle::kOnnxFile : s.output);
  if (!path.ok()) return FailedPlan(context, path.status());
  const auto model = scoring::LoadTrainedModel(context.files, *model_path);
  if (!model.ok()) return FailedPlan(context, model.status());
  const auto file = scoring::EncodeOnnx(*model);
  if (!file.ok()) return FailedPlan(context, file.status());
  const Status written = context.files.WriteAtomically(*path, *file);
  if (!written.ok()) return FailedWork(context, written);
  const auto bytes = static_cast<int64_t>(file->size());
  context.console.Out(context.options.json ? JsonLine(ExportJson(*path, bytes))
                                           : "wrote " + *path + ", " +
                                                 HumanBytes(static_cast<uint64_t>(bytes)) + "\n");
  return kExitSuccess;
}

int RunEvaluate(const CommandContext& context) {
  const auto start = Clock::now();
  const ScoringArguments& s = context.options.scoring;
  const auto job = EvaluationOf(s);
  if (!job.ok()) return FailedPlan(context, job.status());
  if (!context.options.coordinator.empty()) return RunOnCluster(context, *job);
  const auto prepared = Prepare(context, *job);
  if (!prepared.ok()) return FailedPlan(context, prepared.status());
  if (s.report) {
    const Status may =
        scoring::CheckReportPath(context.files, prepared->scan.input, job->output.path);
    if (!may.ok()) return FailedPlan(context, may);
  }
  const std::function<Result<scoring::Evaluation>(const scoring::ScoringRun&)> work =
      [&](const scoring::ScoringRun& run) { return scoring::Evaluate(run, s.report.has_value()); };
  const auto evaluation = WithProgress(context, *prepared, work);
  if (!evaluation.ok()) return FailedWork(context, evaluation.status());
  if (s.report) {
    const Status written = scoring::WriteReport(context.files, prepared->model, *evaluation, *job,
                                                prepared->scan.input.notes);
    if (!written.ok()) return FailedWork(context, written);
  }
  const spec::ScoringResult result =
      scoring::ResultOf(prepared->model, *evaluation, s.report.value_or(""));
  const int64_t elapsed_ms = MsSince(start);
  const std::vector<std::string>& notes = prepared->scan.input.notes;
  context.console.Out(context.options.json
                          ? JsonLine(EvaluateJson(result, notes, elapsed_ms))
                          : EvaluateText(result, notes, elapsed_ms, context.console.out_color()));
  return kExitSuccess;
}

}  // namespace espalier::cli
