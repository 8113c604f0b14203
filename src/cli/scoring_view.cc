#include "src/cli/scoring_view.h"

#include <algorithm>

#include "src/base/text.h"
#include "src/bundle/metrics_json.h"
#include "src/cli/format.h"
#include "src/cli/progress_view.h"
#include "src/cli/result_view.h"
#include "src/scoring/part_files.h"

namespace espalier {
namespace {

constexpr size_t kRejectsShown = 3;

int64_t Pace(int64_t rows, int64_t elapsed_ms) {
  return rows * 1000 / std::max<int64_t>(elapsed_ms, 1);
}

std::string Rows(int64_t rows) { return HumanCount(rows) + (rows == 1 ? " row" : " rows"); }

// The first of them, one a line.
std::string RejectsText(int64_t rejected, const std::vector<Status>& first, const std::string& what,
                        bool color) {
  if (rejected == 0) return "";
  std::string text =
      Colored(Rows(rejected) + " could not be " + what, Ink::kYellow, color) + ", such as\n";
  for (size_t i = 0; i < std::min(first.size(), kRejectsShown); ++i) {
    text += "  " + first[i].ToString() + "\n";
  }
  return text;
}

Json RejectsJson(const std::vector<Status>& rejects) {
  Json list = Json::array();
  for (const Status& reject : rejects) list.push_back(ErrorJson(std::nullopt, reject)["error"]);
  return list;
}

// What a job tells of an evaluation.
Evaluation EvaluationOf(const JobResult& result) {
  Evaluation evaluation;
  if (result.test) evaluation.metrics = *result.test;
  evaluation.rows = result.scoring->rows;
  evaluation.rejected = result.scoring->rejected;
  evaluation.first_rejects = result.scoring->first_rejects;
  return evaluation;
}

}  // namespace

std::string ScoringLine(int64_t shards, int64_t shards_total, int64_t rows, int64_t elapsed_ms) {
  const double share =
      shards_total > 0 ? static_cast<double>(shards) / static_cast<double>(shards_total) : 1;
  return "scoring " + Bar(share, 24) + " " + std::to_string(static_cast<int>(share * 100)) +
         " %  " + Rows(rows) + "  " + HumanCount(Pace(rows, elapsed_ms)) + " rows/s";
}

Json ScoringProgressJson(int64_t shards, int64_t shards_total, int64_t rows, int64_t rejected) {
  return {{"event", "progress"},
          {"shards", shards},
          {"shards_total", shards_total},
          {"rows", rows},
          {"rejected", rejected}};
}

std::string PredictText(const ScoringResult& r, const std::string& where, int64_t elapsed_ms,
                        bool color) {
  const std::string output = Printable(where, 400);
  std::string text = Colored("scored " + Rows(r.rows), Ink::kGreen, color) + " in " +
                     HumanDuration(elapsed_ms) + ", " + HumanCount(Pace(r.rows, elapsed_ms)) +
                     " rows/s\n";
  text += RejectsText(r.rejected, r.first_rejects, "scored", color);
  std::vector<std::vector<std::string>> rows = {
      {"output", output + " (" + std::to_string(r.parts) + (r.parts == 1 ? " part)" : " parts)")}};
  if (r.rejected > 0) rows.push_back({"rejects", output + "/" + kRejectsDirectory});
  return text + LeftTable(rows, "");
}

Json PredictJson(const ScoringResult& r, const std::string& output, int64_t elapsed_ms) {
  return {{"status", "SUCCEEDED"},
          {"rows", r.rows},
          {"rejected", r.rejected},
          {"parts", r.parts},
          {"output", output},
          {"format", r.format},
          {"rejects", RejectsJson(r.first_rejects)},
          {"seconds", Seconds(elapsed_ms)}};
}

std::string EvaluateText(const Evaluation& e, const std::vector<std::string>& classes,
                         const std::string& report, int64_t elapsed_ms, bool color) {
  std::string text = Colored("evaluated " + Rows(e.rows), Ink::kGreen, color) + " in " +
                     HumanDuration(elapsed_ms) + "\n";
  text += RejectsText(e.rejected, e.first_rejects, "evaluated", color) + "\n";
  text += MetricsText("data", e.metrics, classes);
  if (!report.empty()) text += "\n" + LeftTable({{"report", Printable(report, 400)}}, "");
  return text;
}

Json EvaluateJson(const Evaluation& e, const std::vector<std::string>& classes,
                  const std::string& report, int64_t elapsed_ms) {
  return {{"status", "SUCCEEDED"},
          {"rows", e.rows},
          {"rejected", e.rejected},
          {"metrics", Json::parse(MetricsJsonText(e.metrics, classes))},
          {"report", report.empty() ? Json() : Json(report)},
          {"rejects", RejectsJson(e.first_rejects)},
          {"seconds", Seconds(elapsed_ms)}};
}

std::string ScoredJobText(const JobSnapshot& job, bool color) {
  const JobResult& r = *job.result;
  const std::string head = "\n" + ToString(job.job) + " '" + Printable(job.name) + "' " +
                           Colored("succeeded", Ink::kGreen, color) + "\n";
  if (job.kind == JobKind::kPredict) {
    return head + PredictText(*r.scoring, r.bundle, job.survey_phase_ms, color);
  }
  return head + EvaluateText(EvaluationOf(r), r.classes, r.bundle, job.survey_phase_ms, color);
}

Json ScoredJobJson(const JobSnapshot& job) {
  const JobResult& r = *job.result;
  Json json = job.kind == JobKind::kPredict
                  ? PredictJson(*r.scoring, r.bundle, job.survey_phase_ms)
                  : EvaluateJson(EvaluationOf(r), r.classes, r.bundle, job.survey_phase_ms);
  json["job"] = ToString(job.job);
  return json;
}

Json ExportJson(const std::string& path, int64_t bytes) {
  return {{"event", "exported"}, {"file", path}, {"bytes", bytes}};
}

}  // namespace espalier
