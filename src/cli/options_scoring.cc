#include "src/cli/options_scoring.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "src/base/text.h"
#include "src/cli/options_coordinator.h"
#include "src/spec/names.h"

namespace espalier::cli {
namespace {

constexpr const char* kPredictExamples =
    "MODEL is the bundle that a job wrote. Columns of DATA are found by their names (without a\n"
    "header by position); extra columns and a missing label do not matter. OUT becomes a "
    "directory\n"
    "of part files in the order of the input, a line for each row, with _SUCCESS when it is "
    "whole.\n"
    "The line of a row that cannot be scored has no prediction, and the reason in the column "
    "error;\n"
    "with --on-bad-row reject it is in OUT/_rejects. The output is the same for any number of "
    "threads,\n"
    "and of workers: with --coordinator a cluster does it, as a job that is followed like one of\n"
    "`espalier submit` (Ctrl-C detaches). MODEL, DATA and OUT are then places that its hosts "
    "share.\n"
    "\n"
    "Examples:\n"
    "  espalier predict models/job new.csv --output scored --keep id\n"
    "  espalier predict hdfs:///m 'hdfs:///sales/2024-*.parquet' --output hdfs:///out\n"
    "  espalier predict hdfs:///m hdfs:///new --output hdfs:///o --coordinator a:7700";

constexpr const char* kEvaluateExamples =
    "Prints the metrics of the model on DATA, which has the label's column too; without the "
    "column\n"
    "of weights that the training had each row counts 1. Rows that cannot be evaluated are "
    "counted\n"
    "and left out. With --coordinator a cluster does it, as a job; MODEL, DATA and the report are\n"
    "then places that its hosts share.\n"
    "\n"
    "Examples:\n"
    "  espalier evaluate models/job test.csv\n"
    "  espalier evaluate models/job test.csv --report report.html\n"
    "  espalier evaluate models/job test.csv --json";

constexpr const char* kExportExamples =
    "Writes the model with its preprocessing as an ONNX file, for ONNX Runtime and others: its\n"
    "inputs are the columns as they are (numbers, texts; dates as seconds since 1970 in UTC,\n"
    "booleans as 1 and 0), its outputs the label and the probabilities, or the values. The file's\n"
    "metadata lists the columns (which of them are dates, which booleans) and the classes.\n"
    "\n"
    "Examples:\n"
    "  espalier export models/job                           to models/job/model.onnx\n"
    "  espalier export hdfs:///models/job --output here.onnx";

constexpr const char* kOutputColumns[] = {"prediction", "probabilities"};

void AddCommon(CLI::App* app, RawArguments* raw) {
  CliOptions& o = raw->options;
  ScoringArguments& s = o.scoring;
  app->add_option("MODEL", s.model, "The model's bundle: a directory, here or on HDFS")->required();
  app->add_option("DATA", s.data, "Files, directories or patterns: CSV, Parquet or LIBSVM")
      ->required();
  app->add_option("--data-format", s.data_format,
                  "csv, parquet or libsvm (default: by the files' names, or csv)");
  app->add_flag("--raw", s.raw,
                "Read all files of a Delta, Hudi, Iceberg or ACID table, deleted rows included");
  app->add_option(
         "--threads", o.threads,
         "Threads that read and compute, 1 to " + std::to_string(kThreadsMax) + " (default: cores)")
      ->check(CLI::Range(1, kThreadsMax));
  AddCoordinator(app, "none, the work is done on this machine", raw);
  app->add_flag("--detach", o.detach, "Return as soon as the cluster has accepted the job");
  app->add_flag("--json", o.json, "Write JSON to standard output, one object per line");
}

Status CheckData(const ScoringArguments& s) {
  if (s.data_format.empty() || spec::FromName<spec::DataFormat>(s.data_format)) return {};
  return InvalidArgument("--data-format: found '" + Printable(s.data_format) +
                         "', expected csv, parquet or libsvm");
}

// Selects this machine unless the command line specifies a coordinator. The environment is ignored.
Status FinishPlace(const Environment& env, RawArguments* raw) {
  CliOptions& o = raw->options;
  const bool here = o.coordinator.empty();
  if (here && o.detach) {
    return InvalidArgument("--detach is for work on a cluster. Add --coordinator");
  }
  if (!here && o.threads) {
    return InvalidArgument(
        "--threads is for work on this machine, found with --coordinator. Leave one "
        "of them out");
  }
  ESPALIER_RETURN_IF_ERROR(FinishTimeout(raw));
  return here ? Status() : FinishIdentity(env, &o);
}

}  // namespace

void DeclareEvaluate(CLI::App* app, RawArguments* raw) {
  app->footer(kEvaluateExamples);
  AddCommon(app, raw);
  app->add_option("--report", raw->options.scoring.report,
                  "Write an HTML page with charts to this file");
}

void DeclarePredict(CLI::App* app, RawArguments* raw) {
  ScoringArguments& s = raw->options.scoring;
  app->footer(kPredictExamples);
  AddCommon(app, raw);
  app->add_option("--output", s.output, "The directory to make, here or on HDFS")->required();
  app->add_option("--format", s.format,
                  "csv or parquet (default: by the extension of --output, or csv)");
  app->add_option("--keep", s.keep, "Columns of DATA to copy to the output: a,b")->delimiter(',');
  app->add_option("--columns", s.columns, "Of classes: prediction, probabilities (default: both)")
      ->delimiter(',');
  app->add_flag("--spreadsheet-safe", s.spreadsheet_safe,
                "CSV: write ' before text that a spreadsheet may run as a formula");
  app->add_option("--on-bad-row", s.on_bad_row,
                  "Rows that cannot be scored: empty, a line with the reason (default); reject, no "
                  "line; fail");
  app->add_option("--rejects-limit", s.rejects_max,
                  "Fail when more rows than these cannot be scored (default: when all)");
  app->add_flag("--overwrite", s.overwrite, "Replace the output of an earlier prediction");
}

void DeclareExport(CLI::App* app, RawArguments* raw) {
  ScoringArguments& s = raw->options.scoring;
  app->footer(kExportExamples);
  app->add_option("MODEL", s.model, "The model's bundle: a directory, here or on HDFS")->required();
  app->add_option("--output", s.output, "The file, here or on HDFS (default: MODEL/model.onnx)");
  app->add_flag("--json", raw->options.json, "Write JSON to standard output");
}

Status FinishEvaluate(const Environment& env, RawArguments* raw) {
  const ScoringArguments& s = raw->options.scoring;
  ESPALIER_RETURN_IF_ERROR(CheckData(s));
  if (s.report && s.report->empty()) {
    return InvalidArgument("--report: found nothing, expected the file for the page");
  }
  return FinishPlace(env, raw);
}

Status FinishPredict(const Environment& env, RawArguments* raw) {
  const ScoringArguments& s = raw->options.scoring;
  for (const std::string& column : s.columns) {
    if (std::count(std::begin(kOutputColumns), std::end(kOutputColumns), column)) continue;
    return InvalidArgument("--columns: found '" + Printable(column) +
                           "', expected prediction, probabilities or both");
  }
  if (!s.format.empty() && s.format != "csv" && s.format != "parquet") {
    return InvalidArgument("--format: found '" + Printable(s.format) +
                           "', expected csv or parquet");
  }
  if (!spec::FromName<spec::OnBadRow>(s.on_bad_row)) {
    return InvalidArgument("--on-bad-row: found '" + Printable(s.on_bad_row) +
                           "', expected empty, reject or fail");
  }
  ESPALIER_RETURN_IF_ERROR(CheckData(s));
  if (s.rejects_max && *s.rejects_max < 0) {
    return InvalidArgument("--rejects-limit: found " + std::to_string(*s.rejects_max) +
                           ", expected 0 or more");
  }
  if (s.output.empty()) {
    return InvalidArgument("--output: found nothing, expected the directory for the predictions");
  }
  return FinishPlace(env, raw);
}

}  // namespace espalier::cli
