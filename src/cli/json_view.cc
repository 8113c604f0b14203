#include "src/cli/json_view.h"

#include <utility>

#include "src/bundle/history.h"
#include "src/bundle/metrics_json.h"
#include "src/cli/format.h"
#include "src/cli/scoring_view.h"
#include "src/spec/names.h"

namespace espalier::cli {
namespace {

constexpr int64_t kProgressEveryMs = 1000;

// Returns null for 0, which means "unknown".
Json NumberOrNull(int64_t number) { return number == 0 ? Json() : Json(number); }

Json SetJson(const std::optional<spec::Metrics>& metrics, const std::vector<std::string>& classes) {
  return metrics ? Json::parse(bundle::MetricsJsonText(*metrics, classes)) : Json();
}

Json StateJson(const spec::JobSnapshot& job) {
  return {{"event", "state"},
          {"job", ToString(job.job)},
          {"state", spec::JobStateName(job.state)},
          {"waiting_because", TextOrNull(job.waiting_because)},
          {"inferred", TextOrNull(job.inferred)},
          {"notes", job.notes},
          {"trouble", TextOrNull(job.trouble)},
          {"workers", job.workers}};
}

Json ProgressFields(const spec::JobSnapshot& job) {
  const spec::JobProgress& p = job.progress;
  return {{"phase", TextOrNull(p.phase)},
          {"phase_share", p.phase_share},
          {"step", p.step},
          {"steps_total", p.steps_total},
          {"epoch", p.epoch},
          {"epochs_total", p.epochs_total},
          {"fit", NumberOrNull(p.fit)},
          {"fits", NumberOrNull(p.fits)},
          {"fit_epoch", p.fit_epoch},
          {"loss", p.loss},
          {"accuracy", p.accuracy},
          {"learning_rate", p.learning_rate},
          {"rows_per_second", p.rows_per_second},
          {"input_bytes", job.input_bytes},
          {"profiling_bytes_done", job.profiling_bytes_done}};
}

Json ProgressJson(const spec::JobSnapshot& job) {
  Json json = {{"event", "progress"}, {"job", ToString(job.job)}};
  json.update(ProgressFields(job));
  return json;
}

Json EvaluationJson(const spec::JobSnapshot& job, const spec::HistoryRow& row) {
  Json validation = SetJson(bundle::CountedValidation(row), {});
  if (validation.is_object()) validation.erase("per_class");
  return {{"event", "evaluation"},
          {"job", ToString(job.job)},
          {"epoch", row.epoch},
          {"step", row.step},
          {"fit", NumberOrNull(row.fit)},
          {"fit_epoch", row.fit_epoch},
          {"learning_rate", row.learning_rate},
          {"train", SetJson(row.train, {})},
          {"validation", std::move(validation)}};
}

Json SuccessJson(const spec::JobSnapshot& job, int64_t client_start_ms) {
  const spec::TrainingResult& r = *job.trained();
  const int64_t start_ms = client_start_ms + job.start_phase_ms;
  Json metrics = {{"train", SetJson(r.train, r.classes)},
                  {"validation", SetJson(r.validation, r.classes)},
                  {"test", SetJson(r.test, r.classes)}};
  Json timing = {{"start_s", Seconds(start_ms)},
                 {"profiling_s", Seconds(job.profiling_phase_ms)},
                 {"train_s", Seconds(job.train_phase_ms)},
                 {"total_s", Seconds(start_ms + job.profiling_phase_ms + job.train_phase_ms)},
                 {"step_ms_p50", r.step_ms_p50},
                 {"step_ms_p99", r.step_ms_p99}};
  Json success = {{"status", "SUCCEEDED"},
                  {"job", ToString(job.job)},
                  {"steps", r.steps},
                  {"epochs", r.epochs},
                  {"stopped_because", r.stopped_because},
                  {"rows_per_epoch", r.rows_per_epoch},
                  {"skipped_rows", r.skipped_rows},
                  {"metrics", std::move(metrics)},
                  {"weights_sha256", r.weights_sha256},
                  {"bundle", r.bundle},
                  {"timing", std::move(timing)}};
  if (r.best_epochs.size() == 1) success["best_epoch"] = r.best_epochs[0];
  if (r.fits > 1) success["fits"] = r.fits;
  if (r.fits > 1 && !r.best_epochs.empty()) success["best_epochs"] = r.best_epochs;
  if (r.threshold) {
    success["threshold"] = {{"class", r.positive},
                            {"metric", r.threshold->metric},
                            {"threshold", r.threshold->threshold},
                            {"value", r.threshold->value},
                            {"value_at_half", r.threshold->value_at_half},
                            {"reached", r.threshold->reached}};
  }
  if (r.intervals) {
    success["intervals"] = {{"level", r.intervals->level},
                            {"half_widths", r.intervals->half_widths}};
  }
  if (!r.accepted.empty()) success["accepted"] = r.accepted;
  if (r.skipped_steps > 0) success["skipped_steps"] = r.skipped_steps;
  if (r.async) {
    success["async"] = {{"largest_lag", r.async->largest_lag}, {"refused", r.async->refused}};
  }
  return success;
}

}  // namespace

Json OutcomeJson(const spec::JobSnapshot& job, int64_t client_start_ms) {
  if (job.scored() != nullptr) return ScoredJobJson(job);
  if (job.trained() != nullptr) return SuccessJson(job, client_start_ms);
  Json json = ErrorJson(job.job, job.error);
  json["status"] = job.state == spec::JobState::kCancelled ? "CANCELLED" : "FAILED";
  return json;
}

Json JobJson(const spec::JobSnapshot& job) {
  return {{"job", ToString(job.job)},
          {"kind", spec::NameOf(job.kind)},
          {"name", job.name},
          {"owner", TextOrNull(job.owner)},
          {"state", spec::JobStateName(job.state)},
          {"waiting_because", TextOrNull(job.waiting_because)},
          {"trouble", TextOrNull(job.trouble)},
          {"losses", job.losses},
          {"last_loss", TextOrNull(job.last_loss)},
          {"output", job.output},
          {"workers", job.workers},
          {"inferred", TextOrNull(job.inferred)},
          {"notes", job.notes},
          {"leaves", job.leaves},
          {"generation", job.generation.value},
          {"submitted_ms", job.submitted_ms},
          {"started_ms", job.started_ms},
          {"training_ms", job.training_ms},
          {"ended_ms", job.ended_ms},
          {"progress", ProgressFields(job)},
          {"outcome", spec::IsFinal(job.state) ? OutcomeJson(job, 0) : Json()}};
}

Json WorkerJson(const spec::WorkerSnapshot& worker) {
  return {{"worker", ToString(worker.worker)},
          {"name", worker.name},
          {"address", worker.address},
          {"version", worker.version},
          {"arithmetic_id", worker.arithmetic_id},
          {"threads", worker.threads},
          {"memory_bytes", worker.memory_bytes},
          {"job", worker.job ? Json(ToString(worker.job)) : Json()},
          {"attached_ms", worker.attached_ms},
          {"last_heard_ms", worker.last_heard_ms}};
}

void JsonView::OnAway(int64_t away_ms) {
  if (std::exchange(away_told_, true)) return;
  out_(JsonLine({{"event", "coordinator_away"}, {"job", job_}, {"away_s", Seconds(away_ms)}}));
}

void JsonView::OnUpdate(const spec::JobUpdate& update, int64_t now_ms) {
  const spec::JobSnapshot& job = update.snapshot;
  job_ = ToString(job.job);
  std::string state = JsonLine(StateJson(job));
  if (state != last_state_) out_(state);
  last_state_ = std::move(state);
  for (const spec::HistoryRow& row : update.history) out_(JsonLine(EvaluationJson(job, row)));
  if (spec::IsFinal(job.state) || job.state == spec::JobState::kQueued) return;
  if (last_progress_ms_ && now_ms - *last_progress_ms_ < kProgressEveryMs) return;
  last_progress_ms_ = now_ms;
  out_(JsonLine(ProgressJson(job)));
}

}  // namespace espalier::cli
