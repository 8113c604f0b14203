#include "src/scoring/report.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>

#include "src/base/text.h"
#include "src/model/metrics.h"
#include "src/scoring/svg_chart.h"

namespace espalier::scoring {
namespace {

constexpr size_t kHistoryLinesMax = 100'000;
constexpr size_t kCurvePointsShown = 2000;

constexpr const char* kStyle =
    "body{font:15px/1.5 system-ui,sans-serif;color:#222;max-width:1000px;margin:2em auto;"
    "padding:0 1em;overflow-wrap:anywhere}h1{font-size:1.5em}h2{font-size:1.15em;margin-top:2em}"
    "table{border-collapse:collapse;display:block;overflow-x:auto;overflow-wrap:normal}td,th{"
    "padding:.2em .7em;text-align:right;"
    "border-bottom:1px solid #ddd}td:first-child,th:first-child{text-align:left}"
    "svg{width:460px;max-width:100%;font:11px system-ui,sans-serif;fill:#222}"
    ".charts{display:flex;flex-wrap:wrap;gap:1em}"
    ".matrix td{text-align:center;min-width:2.2em}p.small{color:#555}";

std::string Value(double value) {
  if (!std::isfinite(value)) return "-";
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string Weight(double weight) {
  const bool whole = weight == std::floor(weight) && std::fabs(weight) < 1e15;
  return whole ? HumanCount(static_cast<int64_t>(weight)) : Value(weight);
}

std::string Row(const char* tag, const std::vector<std::string>& cells) {
  std::string out = "<tr>";
  for (const std::string& cell : cells)
    out += std::string("<") + tag + ">" + cell + "</" + tag + ">";
  return out + "</tr>\n";
}

std::vector<std::string> ClassNames(const ReportInput& in) {
  const bundle::ModelDocument& document = in.trained.document;
  return spec::ClassNames(document.job.model.task, document.preprocessing);
}

std::string ClassName(const ReportInput& in, size_t k) {
  const auto classes = ClassNames(in);
  return k < classes.size() ? HtmlText(classes[k]) : std::to_string(k);
}

std::string Head(const ReportInput& in) {
  const std::string name = HtmlText(in.trained.document.job.name);
  std::string out = "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" +
                    name + "</title><style>" + kStyle + "</style></head><body>\n<h1>" + name +
                    "</h1>\n";
  out += "<p>Model " + HtmlText(in.model) + ", evaluated on " + HtmlText(in.data) + ": " +
         Counted(in.evaluation.rows, "row");
  if (in.evaluation.rejected > 0) {
    out += ". " + Counted(in.evaluation.rejected, "more row") + " could not be evaluated";
  }
  out += ".</p>\n<p class=\"small\">SHA-256 of the weights: " +
         HtmlText(in.trained.document.weights_sha256) + "</p>\n";
  for (const std::string& note : in.notes) out += "<p>Note: " + HtmlText(note) + ".</p>\n";
  return out;
}

std::string MetricsSection(const ReportInput& in) {
  const spec::Metrics& m = in.evaluation.metrics;
  std::string out = "<h2>Metrics</h2>\n<table>\n";
  if (m.classification) {
    std::vector<std::string> names = {"loss", "accuracy", "precision", "recall", "F1"};
    std::vector<std::string> values = {Value(m.loss), Value(m.accuracy), Value(m.precision),
                                       Value(m.recall), Value(m.f1)};
    for (const auto& [name, value] :
         {std::pair("AUC", m.auc), std::pair("average precision", m.average_precision),
          std::pair("micro F1", m.f1_micro), std::pair("macro F1", m.f1_macro)}) {
      if (!value) continue;
      names.emplace_back(name);
      values.push_back(Value(*value));
    }
    out += Row("th", names) + Row("td", values);
  } else {
    std::vector<std::string> names = {"loss", "rmse", "mae", "r2"};
    std::vector<std::string> values = {Value(m.loss), Value(m.rmse), Value(m.mae), Value(m.r2)};
    if (m.coverage) {
      names.emplace_back("coverage");
      values.push_back(Value(*m.coverage));
    }
    out += Row("th", names) + Row("td", values);
  }
  out += "</table>\n";
  for (const std::string& note : spec::MetricNotes(m, ClassNames(in))) {
    out += "<p>Note: " + HtmlText(note) + ".</p>\n";
  }
  return out;
}

std::string UnseenSection(const Evaluation& e) {
  if (e.unseen.empty()) return "";
  std::string out =
      "<h2>Unseen or rare values</h2>\n<p class=\"small\">Rows with a value that is not in the "
      "vocabulary of the model: it was in no training row, or in fewer than <code>min_count</code> "
      "of them. Nulls are not counted.</p>\n<table>\n" +
      Row("th", {"column", "rows"});
  for (const auto& [column, rows] : e.unseen) {
    out += Row("td", {HtmlText(column), HumanCount(rows)});
  }
  return out + "</table>\n";
}

std::string TargetSection(const spec::Metrics& m) {
  if (m.targets.size() < 2) return "";
  std::string out = "<h2>By target</h2>\n<table>\n" + Row("th", {"target", "rmse", "mae", "r2"});
  for (const spec::TargetMetrics& t : m.targets) {
    out += Row("td", {HtmlText(t.name), Value(t.rmse), Value(t.mae), Value(t.r2)});
  }
  return out + "</table>\n";
}

std::string ClassSection(const ReportInput& in) {
  const spec::Metrics& m = in.evaluation.metrics;
  if (m.classes.empty()) return "";
  std::string out =
      std::string(m.f1_micro ? "<h2>By label</h2>" : "<h2>By class</h2>") + "\n<table>\n" +
      Row("th", {m.f1_micro ? "label" : "class", "precision", "recall", "F1", "rows"});
  for (size_t k = 0; k < m.classes.size(); ++k) {
    const spec::ClassMetrics& c = m.classes[k];
    out += Row("td", {ClassName(in, k), Value(c.precision), Value(c.recall), Value(c.f1),
                      Weight(c.weight)});
  }
  return out + "</table>\n";
}

std::string ConfusionSection(const ReportInput& in) {
  const spec::Metrics& m = in.evaluation.metrics;
  const size_t n = m.classes.size();
  if (n == 0 || n > kConfusionShown || m.confusion.size() != n * n) return "";
  std::string out =
      "<h2>Confusion matrix</h2>\n<p class=\"small\">Rows: the true class; columns: the predicted "
      "one. Darker: a larger share of the row.</p>\n<table class=\"matrix\">\n";
  std::vector<std::string> names = {""};
  for (size_t k = 0; k < n; ++k) names.push_back(ClassName(in, k));
  out += Row("th", names);
  for (size_t t = 0; t < n; ++t) {
    out += "<tr><th>" + names[t + 1] + "</th>";
    for (size_t p = 0; p < n; ++p) {
      const double weight = m.confusion[t * n + p];
      const double share = m.classes[t].weight > 0 ? weight / m.classes[t].weight : 0;
      char style[96];
      std::snprintf(style, sizeof style, "<td style=\"background:rgba(%s,%.3f)%s\">",
                    t == p ? "31,95,168" : "200,80,30", share, share > 0.6 ? ";color:#fff" : "");
      out += style + Weight(weight) + "</td>";
    }
    out += "</tr>\n";
  }
  return out + "</table>\n";
}

// Returns as many points as are visible, including the first and the last.
std::vector<std::pair<double, double>> Thinned(std::vector<std::pair<double, double>> points) {
  if (points.size() <= kCurvePointsShown) return points;
  std::vector<std::pair<double, double>> out;
  for (size_t i = 0; i < kCurvePointsShown; ++i) {
    out.push_back(points[i * (points.size() - 1) / (kCurvePointsShown - 1)]);
  }
  return out;
}

// Returns the probability above which the model predicts the positive class.
double ThresholdOf(const model::NetworkShape& shape) {
  const auto positive = static_cast<size_t>(shape.positive);
  std::vector<double> t = shape.thresholds;  // the class with the largest multiple is predicted
  if (!shape.costs.empty()) {
    t = {1, 1};
    // A mistake for a class is as costly as its threshold is high.
    for (const spec::CostOfClass& c : shape.costs) t[static_cast<size_t>(c.predicted)] = c.cost;
    if (t[0] + t[1] == 0) t = {0, 1};  // no mistake costs anything: the first class is predicted
  }
  if (t.size() != 2) return 0.5;
  return t[positive] / (t[0] + t[1]);
}

std::string ThresholdSection(const ReportInput& in, const ScoreCurves& curves) {
  const double threshold = ThresholdOf(in.trained.shape);
  SvgChart chart("Precision, recall and F1 by threshold", "threshold", "share", 0, 1, 0, 1);
  chart.Line("precision", Thinned(curves.precision));
  chart.Line("recall", Thinned(curves.recall));
  chart.Line("F1", Thinned(curves.f1));
  chart.Guide(threshold, 0, threshold, 1);
  return "<h2>Threshold</h2>\n<p class=\"small\">The model predicts the positive class where its "
         "probability is above " +
         Value(threshold) + " (dashed line).</p>\n<div class=\"charts\">" + chart.Html() +
         "</div>\n";
}

std::string ScoreSection(const ReportInput& in) {
  if (!in.evaluation.metrics.auc) return "";
  const ScoreCurves curves = CurvesOf(in.trained.shape, in.evaluation.totals);
  SvgChart roc("ROC curve", "false positive rate", "true positive rate", 0, 1, 0, 1);
  roc.Guide(0, 0, 1, 1);
  roc.Line("AUC " + Value(*in.evaluation.metrics.auc), Thinned(curves.roc));
  SvgChart pr("Precision by recall", "recall", "precision", 0, 1, 0, 1);
  pr.Line("", Thinned(curves.precision_recall));
  return "<h2>ROC and precision-recall</h2>\n<p class=\"small\">Positive is the class " +
         ClassName(in, static_cast<size_t>(in.trained.shape.positive)) +
         ".</p>\n<div class=\"charts\">" + roc.Html() + pr.Html() + "</div>\n" +
         ThresholdSection(in, curves);
}

const Curve* Find(const std::vector<Curve>& curves, const std::string& name) {
  for (const Curve& curve : curves) {
    if (curve.name == name) return &curve;
  }
  return nullptr;
}

// Returns the chart of a metric over epochs, for the training rows and, if present, the validation
// rows.
std::string HistoryChart(const std::vector<Curve>& history, const std::string& metric) {
  const Curve* epochs = Find(history, "epoch");
  std::vector<std::pair<std::string, const Curve*>> lines;
  for (const auto& [name, column] :
       {std::pair("training", metric), std::pair("validation", "val_" + metric)}) {
    if (const Curve* curve = Find(history, column)) lines.emplace_back(name, curve);
  }
  if (epochs == nullptr || lines.empty()) return "";
  double low = std::numeric_limits<double>::infinity(), high = -low, last = 0;
  for (const auto& [name, curve] : lines) {
    for (const double v : curve->values) {
      if (!std::isfinite(v)) continue;
      low = std::min(low, v);
      high = std::max(high, v);
    }
  }
  if (!(low <= high)) return "";
  for (const double e : epochs->values) last = std::max(last, e);
  SvgChart chart(metric + " over epochs", "epoch", metric, 0, last, low, high);
  for (const auto& [name, curve] : lines) {
    std::vector<std::pair<double, double>> points;
    for (size_t i = 0; i < curve->values.size(); ++i) {
      points.emplace_back(epochs->values[i], curve->values[i]);
    }
    chart.Line(name, Thinned(std::move(points)));
  }
  return chart.Html();
}

std::string HistorySection(const ReportInput& in) {
  if (in.history.empty()) return "";
  const auto history = ParseHistory(in.history);
  if (!history.ok()) return "<p class=\"small\">" + HtmlText(history.status().message()) + "</p>\n";
  const bool classes = in.evaluation.metrics.classification;
  return "<h2>Training</h2>\n<div class=\"charts\">" + HistoryChart(*history, "loss") +
         HistoryChart(*history, classes ? "accuracy" : "rmse") + "</div>\n";
}

std::string GridChart(const ResidualGrid& grid) {
  constexpr int64_t kHalf = ResidualGrid::kCells / 2;
  int64_t low = kHalf, high = -kHalf, most = 1;
  for (int64_t y = -kHalf; y < kHalf; ++y) {
    for (int64_t x = -kHalf; x < kHalf; ++x) {
      if (grid.at(x, y) == 0) continue;
      low = std::min({low, x, y});
      high = std::max({high, x + 1, y + 1});
      most = std::max(most, grid.at(x, y));
    }
  }
  const double w = grid.width(), from = static_cast<double>(low) * w,
               to = static_cast<double>(high) * w;
  SvgChart chart("Predicted by true value", "true", "predicted", from, to, from, to);
  for (int64_t y = low; y < high; ++y) {
    for (int64_t x = low; x < high; ++x) {
      if (grid.at(x, y) == 0) continue;
      const auto left = static_cast<double>(x) * w, under = static_cast<double>(y) * w;
      const double share =
          std::sqrt(static_cast<double>(grid.at(x, y)) / static_cast<double>(most));
      chart.Cell(left, under, left + w, under + w, 0.15 + 0.85 * share);
    }
  }
  chart.Guide(from, from, to, to);
  return chart.Html();
}

std::string BinsChart(const ResidualBins& bins) {
  constexpr int64_t kHalf = ResidualBins::kBins / 2;
  int64_t low = kHalf, high = -kHalf, most = 1;
  for (int64_t b = -kHalf; b < kHalf; ++b) {
    if (bins.at(b) == 0) continue;
    low = std::min(low, b);
    high = std::max(high, b + 1);
    most = std::max(most, bins.at(b));
  }
  const double w = bins.width();
  SvgChart chart("Residuals", "predicted - true", "rows", static_cast<double>(low) * w,
                 static_cast<double>(high) * w, 0, static_cast<double>(most));
  for (int64_t b = low; b < high; ++b) {
    const double left = static_cast<double>(b) * w;
    if (bins.at(b) > 0) chart.Bar(left, left + w, static_cast<double>(bins.at(b)));
  }
  return chart.Html();
}

std::string ResidualSection(const ReportInput& in) {
  std::string out;
  const auto& targets = in.trained.document.preprocessing.targets;
  for (size_t t = 0; t < in.evaluation.residuals.size(); ++t) {
    const TargetResiduals& residuals = in.evaluation.residuals[t];
    if (residuals.grid.rows() == 0) continue;
    out += "<h2>Residuals of " + HtmlText(targets[t].name) + "</h2>\n<div class=\"charts\">" +
           GridChart(residuals.grid) + BinsChart(residuals.bins) + "</div>\n";
  }
  return out;
}

std::string RejectSection(const Evaluation& e) {
  if (e.rejected == 0) return "";
  std::string out = "<h2>Rows that could not be evaluated</h2>\n<table>\n" +
                    Row("th", {"file", "row", "offset", "column", "found", "reason"});
  for (const Status& reject : e.first_rejects) {
    const InputPosition at = reject.position().value_or(InputPosition{});
    out += Row("td", {HtmlText(at.file), at.row ? std::to_string(*at.row) : "",
                      at.offset ? std::to_string(*at.offset) : "", HtmlText(at.column),
                      HtmlText(at.text), HtmlText(reject.message())});
  }
  out += "</table>\n";
  const int64_t more = e.rejected - static_cast<int64_t>(e.first_rejects.size());
  return more > 0 ? out + "<p class=\"small\">and " + HumanCount(more) + " more</p>\n" : out;
}

std::vector<std::string_view> Split(std::string_view text, char by) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0;;) {
    const size_t end = text.find(by, begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

}  // namespace

Result<std::vector<Curve>> ParseHistory(std::string_view text) {
  const auto wrong = [](size_t line, const std::string& what) {
    return BadInput("history.csv, line " + std::to_string(line + 1) + ": " + what);
  };
  if (text.ends_with('\n')) text.remove_suffix(1);
  std::vector<Curve> curves;
  const std::vector<std::string_view> lines = Split(text, '\n');
  if (lines.size() > kHistoryLinesMax)
    return wrong(kHistoryLinesMax, "found more lines than a job has");
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::vector<std::string_view> fields = Split(lines[i], ',');
    if (i == 0) {
      for (const std::string_view name : fields) curves.push_back({std::string(name), {}});
      continue;
    }
    if (fields.size() != curves.size()) {
      return wrong(i, "found " + std::to_string(fields.size()) + " fields, expected " +
                          std::to_string(curves.size()));
    }
    for (size_t c = 0; c < fields.size(); ++c) {
      double value = std::numeric_limits<double>::quiet_NaN();
      const char* end = fields[c].data() + fields[c].size();
      const auto read = std::from_chars(fields[c].data(), end, value);
      const bool number = read.ec == std::errc() && read.ptr == end;
      if (!number && !fields[c].empty()) {
        return wrong(i, "found '" + Printable(fields[c]) + "', expected a number");
      }
      curves[c].values.push_back(value);
    }
  }
  return curves;
}

ScoreCurves CurvesOf(const model::NetworkShape& shape, const std::vector<double>& totals) {
  const model::ScoreBins bins(shape, totals);
  double negatives = 0, positives = 0;
  for (int64_t i = 0; i < model::kScoreBins; ++i) {
    negatives += bins.negative(i);
    positives += bins.positive(i);
  }
  ScoreCurves curves;
  curves.roc.emplace_back(0, 0);
  double false_positives = 0, true_positives = 0;
  for (int64_t i = model::kScoreBins; i-- > 0;) {
    if (bins.empty(i)) continue;
    false_positives += bins.negative(i);
    true_positives += bins.positive(i);
    const double recall = positives > 0 ? true_positives / positives : 0;
    const double precision = true_positives / (true_positives + false_positives);
    curves.roc.emplace_back(negatives > 0 ? false_positives / negatives : 0, recall);
    curves.precision_recall.emplace_back(recall, precision);
    const double threshold = 1 / (1 + std::exp(-bins.Edge(i)));
    curves.precision.emplace_back(threshold, precision);
    curves.recall.emplace_back(threshold, recall);
    curves.f1.emplace_back(
        threshold, precision + recall > 0 ? 2 * precision * recall / (precision + recall) : 0);
  }
  return curves;
}

std::string ReportHtml(const ReportInput& in) {
  std::string out =
      Head(in) + MetricsSection(in) + TargetSection(in.evaluation.metrics) + ClassSection(in);
  if (in.trained.classification()) out += ConfusionSection(in) + ScoreSection(in);
  return out + ResidualSection(in) + HistorySection(in) + UnseenSection(in.evaluation) +
         RejectSection(in.evaluation) + "</body></html>\n";
}

}  // namespace espalier::scoring
