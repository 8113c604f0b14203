#include "src/cli/scoring_view.h"

#include <algorithm>

#include "src/base/text.h"
#include "src/bundle/metrics_json.h"
#include "src/cli/format.h"
#include "src/cli/metrics_text.h"
#include "src/cli/progress_view.h"
#include "src/scoring/part_files.h"

namespace espalier::cli {
namespace {

constexpr size_t kRejectsShown = 3;
constexpr size_t kColumnsShown = 10;

int64_t Pace(int64_t rows, int64_t elapsed_ms) {
  return rows * 1000 / std::max<int64_t>(elapsed_ms, 1);
}

std::string Rows(int64_t rows) { return Counted(rows, "row"); }

// Returns the first rejects, one on each line.
std::string RejectsText(int64_t rejected, const std::vector<Status>& first, const std::string& what,
                        bool color) {
  if (rejected == 0) return "";
  std::string text = Colored(Rows(rejected) + " " + what, Ink::kYellow, color) + ", such as\n";
  for (size_t i = 0; i < std::min(first.size(), kRejectsShown); ++i) {
    text += "  " + first[i].ToString() + "\n";
  }
  return text;
}

// Returns the columns, those with most rows first.
std::string UnseenText(const spec::UnseenCounts& unseen) {
  std::vector<std::pair<std::string, int64_t>> columns(unseen.begin(), unseen.end());
  std::stable_sort(columns.begin(), columns.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (size_t i = 0; i < std::min(columns.size(), kColumnsShown); ++i) {
    text += (i == 0 ? "unseen or rare values: " : ", ") + Printable(columns[i].first) + " " +
            Rows(columns[i].second);
  }
  if (columns.size() > kColumnsShown) {
    text += ", and " + Counted(static_cast<int64_t>(columns.size() - kColumnsShown), "more column");
  }
  return text.empty() ? text : text + "\n";
}

std::string NotesText(const std::vector<std::string>& notes) {
  std::string text;
  for (const std::string& note : notes) text += "note: " + Printable(note, 1000) + "\n";
  return text;
}

Json RejectsJson(const std::vector<Status>& rejects) {
  Json list = Json::array();
  for (const Status& reject : rejects) list.push_back(ErrorJson(std::nullopt, reject)["error"]);
  return list;
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

std::string PredictText(const spec::ScoringResult& r, const std::vector<std::string>& notes,
                        int64_t elapsed_ms, bool color) {
  const auto& files = std::get<spec::PredictionResult>(r.work);
  const std::string output = Printable(r.output, 400);
  std::string text = Colored("scored " + Rows(r.rows), Ink::kGreen, color) + " in " +
                     HumanDuration(elapsed_ms) + ", " + HumanCount(Pace(r.rows, elapsed_ms)) +
                     " rows/s\n";
  text += RejectsText(r.rejected, r.first_rejects,
                      r.rejected == 1 ? "has no prediction" : "have no prediction", color);
  text += UnseenText(r.unseen) + NotesText(notes);
  std::vector<std::vector<std::string>> rows = {
      {"output", output + " (" + Counted(files.parts, "part") + ")"}};
  if (files.reject_parts > 0)
    rows.push_back({"rejects", output + "/" + scoring::kRejectsDirectory});
  return text + LeftTable(rows, "");
}

Json PredictJson(const spec::ScoringResult& r, const std::vector<std::string>& notes,
                 int64_t elapsed_ms) {
  const auto& files = std::get<spec::PredictionResult>(r.work);
  return {{"status", "SUCCEEDED"},
          {"rows", r.rows},
          {"rejected", r.rejected},
          {"parts", files.parts},
          {"unseen_values", r.unseen},
          {"notes", notes},
          {"output", r.output},
          {"format", files.format},
          {"rejects", RejectsJson(r.first_rejects)},
          {"seconds", Seconds(elapsed_ms)}};
}

std::string EvaluateText(const spec::ScoringResult& r, const std::vector<std::string>& notes,
                         int64_t elapsed_ms, bool color) {
  const auto& found = std::get<spec::EvaluationResult>(r.work);
  std::string text = Colored("evaluated " + Rows(r.rows), Ink::kGreen, color) + " in " +
                     HumanDuration(elapsed_ms) + "\n";
  text += RejectsText(r.rejected, r.first_rejects, "could not be evaluated", color);
  text += UnseenText(r.unseen) + NotesText(notes) + "\n";
  text += MetricsText("data", found.metrics, found.classes);
  if (!r.output.empty()) text += "\n" + LeftTable({{"report", Printable(r.output, 400)}}, "");
  return text;
}

Json EvaluateJson(const spec::ScoringResult& r, const std::vector<std::string>& notes,
                  int64_t elapsed_ms) {
  const auto& found = std::get<spec::EvaluationResult>(r.work);
  return {{"status", "SUCCEEDED"},
          {"rows", r.rows},
          {"rejected", r.rejected},
          {"unknown_labels", found.metrics.unknown_labels},
          {"unseen_values", r.unseen},
          {"notes", notes},
          {"metrics", Json::parse(bundle::MetricsJsonText(found.metrics, found.classes))},
          {"report", r.output.empty() ? Json() : Json(r.output)},
          {"rejects", RejectsJson(r.first_rejects)},
          {"seconds", Seconds(elapsed_ms)}};
}

std::string ScoredJobText(const spec::JobSnapshot& job, bool color) {
  const spec::ScoringResult& r = *job.scored();
  const std::string head = "\n" + ToString(job.job) + " '" + Printable(job.name) + "' " +
                           Colored("succeeded", Ink::kGreen, color) + "\n";
  return head + (r.evaluated() != nullptr ? EvaluateText(r, {}, job.profiling_phase_ms, color)
                                          : PredictText(r, {}, job.profiling_phase_ms, color));
}

Json ScoredJobJson(const spec::JobSnapshot& job) {
  const spec::ScoringResult& r = *job.scored();
  Json json = r.evaluated() != nullptr ? EvaluateJson(r, job.notes, job.profiling_phase_ms)
                                       : PredictJson(r, job.notes, job.profiling_phase_ms);
  json["job"] = ToString(job.job);
  return json;
}

Json ExportJson(const std::string& path, int64_t bytes) {
  return {{"event", "exported"}, {"file", path}, {"bytes", bytes}};
}

}  // namespace espalier::cli
