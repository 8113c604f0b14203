#include "src/cli/options_scoring.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "src/base/text.h"
#include "src/cli/options_coordinator.h"
#include "src/spec/names.h"

namespace espalier::cli {
namespace {

constexpr const char* kPredictExamples =
    "MODEL is the bundle that a training job wrote. Columns of DATA are found by name,\n"
    "or by position in files without a header. Other columns are ignored, and DATA\n"
    "needs no label.\n"
    "\n"
    "The output is a directory of part files with one line for each row, in the order\n"
    "of the input. `_SUCCESS` marks a complete output. If a row cannot be scored, its\n"
    "prediction is empty, and the column `error` states the reason. The output is\n"
    "byte-identical for any number of threads and workers.\n"
    "\n"
    "With --coordinator, the command runs as a job on a cluster, and Ctrl-C ends only\n"
    "the command. All hosts must find MODEL, DATA and the output under the same paths.\n"
    "\n"
    "Examples:\n"
    "  espalier predict models/job new.csv --output scored --keep id\n"
    "  espalier predict hdfs:///m 'hdfs:///sales/2024-*.parquet' --output hdfs:///out\n"
    "  espalier predict hdfs:///m hdfs:///new --output hdfs:///o --coordinator a:7700";

constexpr const char* kEvaluateExamples =
    "Prints the metrics of the model on DATA, which must contain the label column. If\n"
    "the weight column of the training is missing, each row has weight 1. Rows that\n"
    "cannot be evaluated are counted and left out.\n"
    "\n"
    "With --coordinator, the command runs as a job on a cluster. All hosts must find\n"
    "MODEL, DATA and the report under the same paths.\n"
    "\n"
    "Examples:\n"
    "  espalier evaluate models/job test.csv\n"
    "  espalier evaluate models/job test.csv --report report.html\n"
    "  espalier evaluate models/job test.csv --json";

constexpr const char* kExportExamples =
    "Writes an ONNX file that contains the model and its preprocessing, for ONNX\n"
    "Runtime and other programs. The inputs are the columns of the table: numbers,\n"
    "text, dates as seconds since 1970 in UTC, and booleans as 1 and 0. The outputs\n"
    "are the label and the probabilities, or the predicted values. The metadata of the\n"
    "file lists the columns and the classes.\n"
    "\n"
    "Examples:\n"
    "  espalier export models/job                           to models/job/model.onnx\n"
    "  espalier export hdfs:///models/job --output here.onnx";

constexpr const char* kOutputColumns[] = {"prediction", "probabilities"};

void AddCommon(CLI::App* app, RawArguments* raw) {
  CliOptions& o = raw->options;
  ScoringArguments& s = o.scoring;
  app->add_option("MODEL", s.model, "Bundle of the model: a directory, local or on HDFS")
      ->required();
  app->add_option("DATA", s.data,
                  "Files, directories or patterns in CSV, Parquet, LIBSVM or JSON format")
      ->required();
  app->add_option("--data-format", s.data_format,
                  "csv, parquet, libsvm or json (default: from the extension, otherwise csv)");
  app->add_flag("--raw", s.raw,
                "Read all files of a Delta, Hudi, Iceberg or ACID table, including deleted rows");
  app->add_option(
         "--threads", o.threads,
         "Number of threads, 1 to " + std::to_string(kThreadsMax) + " (default: one for each core)")
      ->check(CLI::Range(1, kThreadsMax));
  AddCoordinator(app, "none; the command runs on this machine", raw);
  app->add_flag("--detach", o.detach, "Return when the cluster has accepted the job");
  app->add_flag("--json", o.json, "Write JSON to standard output, one object per line");
}

Status CheckData(const ScoringArguments& s) {
  if (s.data_format.empty() || spec::FromName<spec::DataFormat>(s.data_format)) return {};
  return InvalidArgument("--data-format: found '" + Printable(s.data_format) +
                         "', expected csv, parquet, libsvm or json");
}

// Selects this machine unless the command line specifies a coordinator. The environment is ignored.
Status FinishPlace(const Environment& env, RawArguments* raw) {
  CliOptions& o = raw->options;
  const bool here = o.coordinator.empty();
  if (here && o.detach) {
    return InvalidArgument("--detach applies only to a cluster. Add --coordinator");
  }
  if (!here && o.threads) {
    return InvalidArgument(
        "--threads applies only to this machine (found with --coordinator). Remove one of them");
  }
  ESPALIER_RETURN_IF_ERROR(FinishTimeout(raw));
  return here ? Status() : FinishIdentity(env, &o);
}

}  // namespace

void DeclareEvaluate(CLI::App* app, RawArguments* raw) {
  app->footer(kEvaluateExamples);
  AddCommon(app, raw);
  app->add_option("--report", raw->options.scoring.report, "HTML file to write, with charts");
}

void DeclarePredict(CLI::App* app, RawArguments* raw) {
  ScoringArguments& s = raw->options.scoring;
  app->footer(kPredictExamples);
  AddCommon(app, raw);
  app->add_option("--output", s.output, "Directory to create, local or on HDFS")->required();
  app->add_option("--format", s.format,
                  "csv or parquet (default: from the extension of --output, otherwise csv)");
  app->add_option("--keep", s.keep, "Columns of DATA to copy to the output, such as a,b")
      ->delimiter(',');
  app->add_option("--columns", s.columns,
                  "For classes: prediction or probabilities (default: both)")
      ->delimiter(',');
  app->add_flag("--spreadsheet-safe", s.spreadsheet_safe,
                "In CSV, put an apostrophe before text that a spreadsheet would run as a formula");
  app->add_option(
      "--on-bad-row", s.on_bad_row,
      "What to do with a row that cannot be scored. empty: write a line with the reason "
      "(default); reject: list the row in _rejects; fail: stop with an error");
  app->add_option("--rejects-limit", s.rejects_max,
                  "Fail if more than N rows cannot be scored (default: only if all rows cannot)");
  app->add_flag("--overwrite", s.overwrite, "Replace the output of an earlier prediction");
}

void DeclareExport(CLI::App* app, RawArguments* raw) {
  ScoringArguments& s = raw->options.scoring;
  app->footer(kExportExamples);
  app->add_option("MODEL", s.model, "Bundle of the model: a directory, local or on HDFS")
      ->required();
  app->add_option("--output", s.output,
                  "File to write, local or on HDFS (default: MODEL/model.onnx)");
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
