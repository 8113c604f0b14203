#include "src/cli/sweep_results.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/base/text.h"
#include "src/bundle/bundle.h"
#include "src/bundle/initial_weights.h"
#include "src/bundle/json.h"
#include "src/bundle/model_json.h"
#include "src/cli/format.h"
#include "src/cli/result_view.h"
#include "src/data/input/complete_job.h"
#include "src/spec/metrics.h"

namespace espalier::cli {
namespace {

constexpr size_t kFailuresShown = 5;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

const char* StateName(SweepState state) {
  switch (state) {
    case SweepState::kWaiting:
      return "WAITING";
    case SweepState::kRunning:
      return "RUNNING";
    case SweepState::kDone:
      return "SUCCEEDED";
    case SweepState::kFailed:
      break;
  }
  return "FAILED";
}

bundle::Json NumberJson(double value) {
  return std::isfinite(value) ? bundle::Json(value) : bundle::Json();
}

bundle::Json RunJson(const config::Sweep& sweep, const config::SweepRun& run,
                     const SweepOutcome& outcome) {
  const bool done = outcome.state == SweepState::kDone,
             failed = outcome.state == SweepState::kFailed;
  return {{"name", run.name},
          {"fold", run.fold ? bundle::Json(*run.fold) : bundle::Json()},
          {"status", StateName(outcome.state)},
          {"earlier", outcome.earlier},
          {"value", done ? NumberJson(outcome.value) : bundle::Json()},
          {"bundle", done ? bundle::Json(BundleOf(sweep, run)) : bundle::Json()},
          {"best_epoch", outcome.best_epoch ? NumberJson(*outcome.best_epoch) : bundle::Json()},
          {"error", failed ? ErrorJson(std::nullopt, outcome.error)["error"] : bundle::Json()}};
}

bundle::Json RefitJson(const config::Sweep& sweep, const Refit& refit) {
  bundle::Json json = RunJson(sweep, refit.run, refit.outcome);
  json["epochs"] = refit.epochs ? NumberJson(*refit.epochs) : bundle::Json();
  return json;
}

bundle::Json ValuesJson(const config::Sweep& sweep, size_t trial) {
  bundle::Json values = bundle::Json::object();
  for (size_t k = 0; k < sweep.keys.size(); ++k) values[sweep.keys[k]] = sweep.values[trial][k];
  return values;
}

std::string ResultCell(const TrialResult& r) {
  if (r.done == 0) return "-";
  std::string text = FormatValue(r.mean);
  if (r.runs > 1) text += " +- " + FormatValue(r.deviation);
  return text;
}

std::string NoteOf(const TrialResult& r, bool best) {
  if (best) return "best";
  if (r.failed > 0) return std::to_string(r.failed) + " failed";
  return r.done == r.runs ? "" : std::to_string(r.runs - r.done) + " left";
}

// Returns the best epoch in a model.json; positive.
std::optional<double> BestEpochOf(const bundle::Json& json) {
  const nlohmann::ordered_json::json_pointer one("/training/best_epoch");
  const nlohmann::ordered_json::json_pointer several("/training/best_epochs");
  std::vector<bundle::Json> epochs;
  if (json.contains(one)) epochs.push_back(json[one]);
  if (json.contains(several)) epochs.assign(json[several].begin(), json[several].end());
  double sum = 0;
  for (const bundle::Json& epoch : epochs) {
    if (!epoch.is_number() || epoch.get<double>() <= 0) return std::nullopt;
    sum += epoch.get<double>();
  }
  if (epochs.empty()) return std::nullopt;
  return sum / static_cast<double>(epochs.size());
}

// Returns the text below the best trial.
std::string RefitText(const config::Sweep& sweep, const std::optional<Refit>& refit, bool color) {
  if (sweep.refits.empty()) {
    return sweep.runs.front().fold
               ? "each of them is trained without the rows of its fold; `refit: true` in the "
                 "sweep trains one more on all rows\n"
               : "";
  }
  if (!refit) return "";
  switch (refit->outcome.state) {
    case SweepState::kDone:
      return "and on all rows" +
             (refit->epochs
                  ? ", for the mean best epoch of the folds: " + FormatEpochs(*refit->epochs)
                  : std::string()) +
             "\n  " + Printable(BundleOf(sweep, refit->run), 400) + "\n";
    case SweepState::kFailed:
      return "\non all rows: " + refit->run.name + " failed\n" +
             ErrorText(refit->outcome.error, color);
    default:
      return "not trained on all rows yet\n";
  }
}

}  // namespace

std::string BundleOf(const config::Sweep& sweep, const config::SweepRun& run) {
  return sweep.output + "/" + run.name;
}

Result<std::optional<FinishedRun>> ReadFinished(const storage::FileSystem& files,
                                                const config::Sweep& sweep,
                                                const config::SweepRun& run) {
  const std::string bundle = BundleOf(sweep, run);
  const auto text = files.ReadAll(bundle + "/" + bundle::kModelFile, bundle::kModelJsonBytesMax);
  if (text.status().code() == StatusCode::kNotFound) return std::optional<FinishedRun>();
  if (!text.ok()) return text.status();
  const bundle::Json json = bundle::ParseJson(*text);
  spec::JobSpec job = run.spec;
  if (job.preset != spec::Preset::kNone) {  // the values that it fills depend on the table
    ESPALIER_ASSIGN_OR_RETURN(const auto completion, data::JobCompletion::Read(run.yaml, "job"));
    const auto earlier = bundle::ReadEarlierModel(files, completion.job());
    ESPALIER_ASSIGN_OR_RETURN(auto completed,
                              completion.Complete(files, earlier ? &*earlier : nullptr));
    job = std::move(completed.job);
  }
  if (job.data.validation.seeks_bounds()) {  // the profiling pass has found them
    const auto bound = [&json](const char* name) -> std::optional<double> {
      const nlohmann::ordered_json::json_pointer at(std::string("/spec/data/validation/") + name);
      if (!json.is_object() || !json.contains(at) || !json[at].is_number()) return std::nullopt;
      return json[at].get<double>();
    };
    job.data.validation.from = bound("from");
    job.data.validation.to = bound("to");
  }
  const nlohmann::ordered_json::json_pointer rows("/rows/train");
  const bool says = json.is_object() && json.contains("job_fingerprint") && json.contains(rows) &&
                    json[rows].is_number_integer();
  if (!says || json["job_fingerprint"] !=
                   spec::Fingerprint(spec::Sized(std::move(job), json[rows].get<int64_t>()))) {
    return FailedPrecondition(
        QuotedPath(bundle) +
        " is the bundle of another job: the sweep, or its job, has changed. Remove it, or name "
        "another output");
  }
  FinishedRun finished{.value = kNan};
  const auto at =
      nlohmann::ordered_json::json_pointer("/metrics/validation/" + sweep.metric.substr(4));
  if (json.contains(at) && json[at].is_number()) finished.value = json[at].get<double>();
  if (json.contains("data_fingerprint") && json["data_fingerprint"].is_string()) {
    finished.data_fingerprint = json["data_fingerprint"].get<std::string>();
  }
  finished.best_epoch = BestEpochOf(json);
  return std::optional<FinishedRun>(std::move(finished));
}

std::vector<TrialResult> TrialResults(const config::Sweep& sweep,
                                      const std::vector<SweepOutcome>& outcomes) {
  std::vector<TrialResult> results(static_cast<size_t>(sweep.trials()));
  for (size_t t = 0; t < results.size(); ++t) results[t].trial = static_cast<int64_t>(t);
  for (size_t i = 0; i < sweep.runs.size(); ++i) {
    TrialResult& r = results[static_cast<size_t>(sweep.runs[i].trial)];
    ++r.runs;
    r.failed += outcomes[i].state == SweepState::kFailed;
    if (outcomes[i].state != SweepState::kDone) continue;
    ++r.done;
    r.mean += outcomes[i].value;
  }
  for (TrialResult& r : results) {
    r.mean = r.done > 0 ? r.mean / static_cast<double>(r.done) : kNan;
  }
  for (size_t i = 0; i < sweep.runs.size(); ++i) {
    TrialResult& r = results[static_cast<size_t>(sweep.runs[i].trial)];
    if (outcomes[i].state != SweepState::kDone) continue;
    const double d = outcomes[i].value - r.mean;
    r.deviation += d * d / static_cast<double>(r.done);
  }
  for (TrialResult& r : results) r.deviation = std::sqrt(r.deviation);
  return results;
}

std::optional<size_t> BestTrial(const config::Sweep& sweep,
                                const std::vector<TrialResult>& results) {
  const bool higher = spec::HigherIsBetter(sweep.metric.substr(4));
  std::optional<size_t> best;
  for (size_t t = 0; t < results.size(); ++t) {
    const TrialResult& r = results[t];
    if (r.done < r.runs || !std::isfinite(r.mean)) continue;
    if (!best || (higher ? r.mean > results[*best].mean : r.mean < results[*best].mean)) best = t;
  }
  return best;
}

namespace {

// Returns the mean over the runs of a trial. Absent if a run has no best epoch.
std::optional<double> MeanBestEpoch(const config::Sweep& sweep,
                                    const std::vector<SweepOutcome>& outcomes, int64_t trial) {
  double sum = 0;
  int64_t runs = 0;
  for (size_t i = 0; i < sweep.runs.size(); ++i) {
    if (sweep.runs[i].trial != trial) continue;
    if (!outcomes[i].best_epoch) return std::nullopt;
    sum += *outcomes[i].best_epoch;
    ++runs;
  }
  const double mean = sum / static_cast<double>(runs);
  return mean < 1 ? mean : std::round(mean);
}

}  // namespace

std::optional<Refit> RefitOfBest(const config::Sweep& sweep,
                                 const std::vector<SweepOutcome>& outcomes) {
  const bool ended = std::all_of(outcomes.begin(), outcomes.end(), [](const SweepOutcome& o) {
    return o.state == SweepState::kDone || o.state == SweepState::kFailed;
  });
  if (!ended || sweep.refits.empty()) return std::nullopt;
  const auto best = BestTrial(sweep, TrialResults(sweep, outcomes));
  if (!best) return std::nullopt;
  Refit refit{.run = sweep.refits[*best]};
  const spec::JobSpec& job = refit.run.spec;
  if (!job.data.validation.any() && spec::FoldsOf(job.train) == 0) {
    refit.epochs = MeanBestEpoch(sweep, outcomes, static_cast<int64_t>(*best));
  }
  return refit;
}

std::string SweepText(const config::Sweep& sweep, const std::vector<SweepOutcome>& outcomes,
                      const std::optional<Refit>& refit, bool color) {
  const std::vector<TrialResult> results = TrialResults(sweep, outcomes);
  const auto best = BestTrial(sweep, results);
  std::vector<std::vector<std::string>> rows = {{"trial"}};
  for (const std::string& key : sweep.keys) rows[0].push_back(Printable(key, 60));
  rows[0].push_back(sweep.metric);
  rows[0].emplace_back();
  for (size_t t = 0; t < results.size(); ++t) {
    auto& row = rows.emplace_back();
    row.push_back(std::to_string(t + 1));
    for (const std::string& value : sweep.values[t]) row.push_back(Printable(value, 60));
    row.push_back(ResultCell(results[t]));
    row.push_back(NoteOf(results[t], best == t));
  }
  std::string text = LeftTable(rows, "  ");
  size_t failed = 0;
  for (size_t i = 0; i < sweep.runs.size(); ++i) {
    if (outcomes[i].state != SweepState::kFailed || ++failed > kFailuresShown) continue;
    text += "\n" + sweep.runs[i].name + " failed\n" + ErrorText(outcomes[i].error, color);
  }
  if (failed > kFailuresShown) {
    text += "\nand " + std::to_string(failed - kFailuresShown) +
            " more failed; sweep.json lists them\n";
  }
  if (best) {
    text += "\nbest: trial " + std::to_string(*best + 1) + ", " +
            Colored(sweep.metric + " " + ResultCell(results[*best]), Ink::kBold, color) + "\n";
    for (const config::SweepRun& run : sweep.runs) {
      if (run.trial != static_cast<int64_t>(*best)) continue;
      text += "  " + Printable(BundleOf(sweep, run), 400) + "\n";
    }
    text += RefitText(sweep, refit, color);
  }
  return text;
}

bundle::Json SweepJson(const config::Sweep& sweep, const std::vector<SweepOutcome>& outcomes,
                       const std::optional<Refit>& refit, bool running) {
  const std::vector<TrialResult> results = TrialResults(sweep, outcomes);
  const auto any = [&](SweepState state) {
    return (refit && refit->outcome.state == state) ||
           std::any_of(outcomes.begin(), outcomes.end(),
                       [&](const SweepOutcome& o) { return o.state == state; });
  };
  const bool left = any(SweepState::kWaiting) || any(SweepState::kRunning);
  const bool failed = any(SweepState::kFailed);
  bundle::Json trials = bundle::Json::array();
  for (const TrialResult& r : results) {
    trials.push_back({{"trial", r.trial + 1},
                      {"values", ValuesJson(sweep, static_cast<size_t>(r.trial))},
                      {"mean", NumberJson(r.mean)},
                      {"deviation", NumberJson(r.deviation)},
                      {"runs", bundle::Json::array()}});
  }
  for (size_t i = 0; i < sweep.runs.size(); ++i) {
    bundle::Json& runs = trials[static_cast<size_t>(sweep.runs[i].trial)]["runs"];
    runs.push_back(RunJson(sweep, sweep.runs[i], outcomes[i]));
  }
  bundle::Json best;
  if (const auto t = BestTrial(sweep, results)) {
    bundle::Json bundles = bundle::Json::array();
    for (const config::SweepRun& run : sweep.runs) {
      if (run.trial == static_cast<int64_t>(*t)) bundles.push_back(BundleOf(sweep, run));
    }
    best = {{"trial", *t + 1},
            {"values", ValuesJson(sweep, *t)},
            {"value", NumberJson(results[*t].mean)},
            {"bundles", std::move(bundles)}};
  }
  return {{"status", running  ? "RUNNING"
                     : left   ? "CANCELLED"
                     : failed ? "FAILED"
                              : "SUCCEEDED"},
          {"sweep", sweep.name},
          {"output", sweep.output},
          {"metric", sweep.metric},
          {"trials", std::move(trials)},
          {"best", std::move(best)},
          {"refit", refit ? RefitJson(sweep, *refit) : bundle::Json()}};
}

bundle::Json SweepEventJson(const config::Sweep& sweep, const config::SweepRun& run,
                            const SweepOutcome& outcome) {
  bundle::Json event = {{"event", run.refit ? "refit" : "trial"},
                        {"trial", run.trial + 1},
                        {"values", ValuesJson(sweep, static_cast<size_t>(run.trial))}};
  event.update(RunJson(sweep, run, outcome));
  return event;
}

}  // namespace espalier::cli
