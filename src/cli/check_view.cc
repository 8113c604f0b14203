#include "src/cli/check_view.h"

#include <algorithm>
#include <cmath>

#include "src/base/text.h"
#include "src/cli/format.h"
#include "src/spec/names.h"

namespace espalier::cli {
namespace {

using Cells = std::vector<std::vector<std::string>>;

uint64_t Bytes(int64_t bytes) { return static_cast<uint64_t>(std::max<int64_t>(0, bytes)); }

double Deviation(const spec::ColumnStats& s) {
  return s.count > 0 ? std::sqrt(std::max(0.0, s.m2 / static_cast<double>(s.count))) : 0;
}

// Formats with at most six digits, because the text is for a table.
std::string Short(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

// Returns the hosts and their share of the input on local disks.
std::string HostLines(const CheckReport& report) {
  constexpr size_t kShown = 8;
  if (report.hosts.empty()) return "";
  std::string text = "  near the data: ";
  for (size_t i = 0; i < report.hosts.size() && i < kShown; ++i) {
    const auto& [host, bytes] = report.hosts[i];
    text += (i == 0 ? "" : ", ") + Printable(host, 64) + " " + HumanBytes(Bytes(bytes));
  }
  if (report.hosts.size() > kShown) {
    text += " and " + Counted(static_cast<int64_t>(report.hosts.size() - kShown), "more host");
  }
  return text + "\n";
}

// Returns the share of the input on the disks of each worker's host.
std::string WorkerLines(const CheckReport& report) {
  constexpr size_t kShown = 20;
  if (!report.workers) return "";
  if (report.workers->empty()) return "  no workers are attached to the coordinator\n";
  if (report.hosts.empty()) {
    return "  near the workers: not known; this file system does not report the hosts of its "
           "files\n";
  }
  Cells rows = {{"worker", "name", "address", "shards near it", "bytes near it"}};
  for (size_t i = 0; i < std::min(report.workers->size(), kShown); ++i) {
    const NearWorker& w = (*report.workers)[i];
    rows.push_back({w.worker, Printable(w.name, 40), Printable(w.address, 60),
                    HumanCount(w.shards) + " of " + HumanCount(report.shards),
                    HumanBytes(Bytes(w.bytes))});
  }
  std::string text = LeftTable(rows, "  ");
  if (report.workers->size() > kShown) {
    text += "  ... and " +
            Counted(static_cast<int64_t>(report.workers->size() - kShown), "more worker") + "\n";
  }
  return text;
}

std::string SetTable(const CheckReport& report) {
  Cells rows = {{"set", "files", "bytes", "rows"}};
  for (const SetSummary& s : report.sets) {
    const bool of_training = s.files == 0;
    rows.push_back({s.name, of_training ? "-" : HumanCount(s.files),
                    of_training ? "of train" : HumanBytes(Bytes(s.bytes)), HumanCount(s.rows)});
  }
  std::string text = Table(rows, "  ");
  text += "  " + Counted(report.shards, "shard");
  if (report.dropped_rows > 0) {
    text += ", " + Counted(report.dropped_rows, "row") + " with nulls dropped";
  }
  if (report.skipped_rows > 0) {
    text += ", " + Counted(report.skipped_rows, "bad row") + " skipped";
  }
  text += "\n";
  for (const Status& bad : report.skipped) text += "    skipped: " + bad.ToString() + "\n";
  return text;
}

std::string NameList(const std::vector<std::string>& names) {
  constexpr size_t kShown = 6;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i) {
    text += (i == 0 ? "'" : ", '") + Printable(names[i], 32) + "'";
  }
  if (names.size() <= kShown) return text;
  return text + " and " + HumanCount(static_cast<int64_t>(names.size() - kShown)) + " more";
}

std::string SchemaLine(const SchemaSummary& schema) {
  std::string text = "  " + schema.format + ", " + Counted(schema.columns, "column") + ": " +
                     (schema.label.empty() ? "no label" : "label " + NameList(schema.label));
  if (!schema.weight.empty()) text += ", weight " + NameList({schema.weight});
  if (!schema.validation.empty()) text += ", validation by " + NameList({schema.validation});
  if (!schema.unused.empty()) text += ", not used " + NameList(schema.unused);
  if (!schema.inferred.empty()) {
    text += "\n  features: auto: " + Printable(schema.inferred, 2000);
  }
  return text + "\n";
}

std::string EntryTable(const std::vector<ColumnEntry>& columns) {
  if (columns.empty()) return "";
  Cells rows = {{"column", "type", "role"}};
  for (size_t i = 0; i < std::min(columns.size(), kColumnsShownMax); ++i) {
    const ColumnEntry& c = columns[i];
    rows.push_back({Printable(c.name, 32), Printable(c.type, 40), c.role});
  }
  std::string text = LeftTable(rows, "  ");
  if (columns.size() > kColumnsShownMax) {
    text += "  ... and " +
            Counted(static_cast<int64_t>(columns.size() - kColumnsShownMax), "more column") +
            " (--json has them all)\n";
  }
  return text;
}

std::string ColumnTable(const std::vector<ColumnSummary>& columns) {
  Cells rows = {{"column", "nulls", "min", "max", "mean", "deviation"}};
  std::string encodings;
  for (size_t i = 0; i < std::min(columns.size(), kColumnsShownMax); ++i) {
    if (!columns[i].encoding.empty()) {
      encodings += "  " + Printable(columns[i].name, 32) + ": " + columns[i].encoding + "\n";
      continue;
    }
    const spec::ColumnStats& s = columns[i].stats;
    const bool any = s.count > 0;
    rows.push_back({Printable(columns[i].name, 32), HumanCount(s.nulls), any ? Short(s.min) : "",
                    any ? Short(s.max) : "", any ? Short(s.mean) : "",
                    any ? Short(Deviation(s)) : ""});
  }
  std::string text = (rows.size() > 1 ? Table(rows, "  ") : "") + encodings;
  if (columns.size() > kColumnsShownMax) {
    text += "  ... and " +
            Counted(static_cast<int64_t>(columns.size() - kColumnsShownMax), "more column") + "\n";
  }
  return text;
}

// Summarizes all features, of which a table shows only twenty rows. Nulls of categories are not
// counted, because an empty category is a value.
std::string FeatureSums(const std::vector<ColumnSummary>& features,
                        const std::vector<ColumnEntry>& columns) {
  const bool categories = std::any_of(columns.begin(), columns.end(), [](const ColumnEntry& c) {
    return c.role == "feature" && c.type == "category";
  });
  int64_t nulls = 0, constant = 0;
  for (const ColumnSummary& f : features) {
    nulls += f.stats.nulls;
    constant += f.encoding.empty() && f.stats.count > 0 && f.stats.min == f.stats.max;
  }
  std::string text = Counted(static_cast<int64_t>(features.size()), "feature");
  if (constant > 0) text += ", " + HumanCount(constant) + " of them constant";
  return text + ", " + (nulls == 0 ? "no nulls" : Counted(nulls, "null")) +
         (categories ? " (categories not counted)" : "");
}

std::string LabelTable(const std::vector<LabelSummary>& labels) {
  int64_t total = 0;
  for (const LabelSummary& l : labels) total += l.train_rows;
  Cells rows = {{"class", "training rows", "share", "validation and test rows"}};
  for (size_t i = 0; i < std::min(labels.size(), kColumnsShownMax); ++i) {
    const LabelSummary& l = labels[i];
    rows.push_back(
        {Printable(l.label, 32), HumanCount(l.train_rows),
         FormatShare(total > 0 ? static_cast<double>(l.train_rows) / static_cast<double>(total)
                               : 0),
         HumanCount(l.evaluation_rows)});
  }
  std::string text = Table(rows, "  ");
  if (labels.size() > kColumnsShownMax) {
    text += "  ... and " +
            Counted(static_cast<int64_t>(labels.size() - kColumnsShownMax), "more class") + "\n";
  }
  return text;
}

// Returns one of `parts` equal parts: "fifth".
std::string PartOf(int64_t parts) {
  static constexpr const char* kNames[] = {"half",    "third",  "quarter", "fifth", "sixth",
                                           "seventh", "eighth", "ninth",   "tenth"};
  const bool named = parts >= 2 && parts <= 10;
  return named ? kNames[parts - 2] : "part, one of " + HumanCount(parts) + ",";
}

std::string LayerText(const std::vector<int64_t>& layers) {
  std::string text;
  for (int64_t width : layers) text += (text.empty() ? "" : "-") + std::to_string(width);
  return text;
}

Json ColumnsJson(const std::vector<ColumnSummary>& columns) {
  Json list = Json::array();
  for (const ColumnSummary& c : columns) {
    const bool any = c.stats.count > 0;
    list.push_back({{"name", c.name},
                    {"count", c.stats.count},
                    {"nulls", c.stats.nulls},
                    {"min", any ? Json(c.stats.min) : Json()},
                    {"max", any ? Json(c.stats.max) : Json()},
                    {"mean", any ? Json(c.stats.mean) : Json()},
                    {"deviation", any ? Json(Deviation(c.stats)) : Json()},
                    {"encoding", c.encoding.empty() ? Json() : Json(c.encoding)}});
  }
  return list;
}

}  // namespace

std::string CheckText(const CheckReport& report, bool color) {
  std::string text = "job '" + Printable(report.job_name) + "'\n\ndata\n" + SetTable(report) +
                     SchemaLine(report.schema) + HostLines(report) + WorkerLines(report) +
                     EntryTable(report.schema.list) + "\n" +
                     FeatureSums(report.features, report.schema.list) + "\n" +
                     ColumnTable(report.features);
  if (!report.targets.empty()) text += "\ntargets\n" + ColumnTable(report.targets);
  if (!report.labels.empty()) text += "\nlabels\n" + LabelTable(report.labels);
  if (!report.notes.empty()) text += "\nnotes\n";
  for (const std::string& note : report.notes) text += "  " + Printable(note, 1000) + "\n";
  const std::string epochs = report.epochs ? ShortestDouble(*report.epochs) +
                                                 (*report.epochs == 1 ? " epoch; " : " epochs; ")
                                           : "";
  const Cells rows = {
      {"preset", spec::NameOf(report.preset)},
      {"task", std::string(spec::NameOf(report.task)) +
                   (report.task_why.empty() ? "" : " (" + report.task_why + ")")},
      {"model", LayerText(report.layers) + ", " + HumanCount(report.parameters) + " parameters"},
      {"fits", report.fits == 1 && report.folds == 0
                   ? "one"
                   : HumanCount(report.fits) + ", which are averaged" +
                         (report.folds > 0 ? "; each holds out a different " +
                                                 PartOf(report.folds) + " of the training rows"
                                           : "")},
      {"steps", epochs + HumanCount(report.steps_per_epoch) + " per epoch, of " +
                    Counted(report.batch, "row") + " each, over " + HumanCount(report.leaves) +
                    (report.leaves == 1 ? " leaf" : " leaves") +
                    " (more workers than leaves do not help)"},
      {"memory", "rows " + HumanBytes(Bytes(report.rows_bytes)) + " (as " + report.storage +
                     (report.sparse ? " without zeros" : "") +
                     ", shared among the workers), model " + HumanBytes(Bytes(report.model_bytes)) +
                     " on each worker, " +
                     (report.evaluation_bytes > 0
                          ? "evaluations " + HumanBytes(Bytes(report.evaluation_bytes)) +
                                " (shared among them), "
                          : "") +
                     "reading up to " + HumanBytes(Bytes(report.reading_bytes)) + " per thread"},
      {"output", Printable(report.output, 400)}};
  text += "\n" + LeftTable(rows, "");
  if (!report.output_status.ok()) return text;
  return text + "\n" + Colored("all checks passed: data, model and output", Ink::kGreen, color) +
         "\n";
}

Json CheckJson(const CheckReport& report) {
  Json sets = Json::array(), labels = Json::array();
  for (const SetSummary& s : report.sets) {
    sets.push_back({{"name", s.name}, {"files", s.files}, {"bytes", s.bytes}, {"rows", s.rows}});
  }
  for (const LabelSummary& l : report.labels) {
    labels.push_back(
        {{"label", l.label}, {"train_rows", l.train_rows}, {"evaluation_rows", l.evaluation_rows}});
  }
  Json workers;
  if (report.workers) workers = Json::array();
  for (const NearWorker& w : report.workers.value_or(std::vector<NearWorker>())) {
    workers.push_back({{"worker", w.worker},
                       {"name", w.name},
                       {"address", w.address},
                       {"shards", w.shards},
                       {"bytes", w.bytes}});
  }
  Json columns = Json::array();
  for (const ColumnEntry& c : report.schema.list) {
    columns.push_back({{"name", c.name}, {"type", c.type}, {"role", c.role}});
  }
  Json hosts = Json::object();
  for (const auto& [host, bytes] : report.hosts) hosts[host] = bytes;
  return {
      {"status", report.output_status.ok() ? "OK" : "FAILED"},
      {"name", report.job_name},
      {"preset", spec::NameOf(report.preset)},
      {"task", spec::NameOf(report.task)},
      {"task_why", report.task_why.empty() ? Json() : Json(report.task_why)},
      {"sets", std::move(sets)},
      {"schema",
       {{"format", report.schema.format},
        {"columns", report.schema.columns},
        {"label", report.schema.label},
        {"weight", report.schema.weight.empty() ? Json() : Json(report.schema.weight)},
        {"validation", report.schema.validation.empty() ? Json() : Json(report.schema.validation)},
        {"unused", report.schema.unused},
        {"inferred", report.schema.inferred.empty() ? Json() : Json(report.schema.inferred)},
        {"list", std::move(columns)}}},
      {"notes", report.notes},
      {"shards", report.shards},
      {"hosts", std::move(hosts)},
      {"workers", std::move(workers)},
      {"dropped_rows", report.dropped_rows},
      {"skipped_rows", report.skipped_rows},
      {"features", ColumnsJson(report.features)},
      {"targets", ColumnsJson(report.targets)},
      {"labels", std::move(labels)},
      {"layers", report.layers},
      {"parameters", report.parameters},
      {"leaves", report.leaves},
      {"fits", report.fits},
      {"folds", report.folds > 0 ? Json(report.folds) : Json()},
      {"epochs", report.epochs ? Json(*report.epochs) : Json()},
      {"batch", report.batch},
      {"steps_per_epoch", report.steps_per_epoch},
      {"storage", report.storage},
      {"sparse", report.sparse},
      {"rows_bytes", report.rows_bytes},
      {"model_bytes_per_worker", report.model_bytes},
      {"evaluation_bytes", report.evaluation_bytes},
      {"reading_bytes_per_thread", report.reading_bytes},
      {"output", report.output}};
}

}  // namespace espalier::cli
