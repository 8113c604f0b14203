// A job file in the form for a cluster: read, validated, with absolute paths and with the values of
// the command line.
#pragma once

#include <optional>
#include <string>

#include "src/base/status.h"
#include "src/cli/options.h"
#include "src/data/input/complete_job.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"
#include "src/spec/scoring_spec.h"
#include "src/storage/file_system.h"

namespace espalier::cli {

// Values of the command line that replace those of the file.
struct JobOverrides {
  std::optional<std::string> output;  // relative to the working directory
  std::optional<int> workers;         // maximum number, which also limits the minimum
  std::optional<std::string> resume;  // run to continue, relative to the working directory
  bool accept_data = false;           // with `resume`, here or in the file
  bool accept_arithmetic = false;     // with `resume`, here or in the file
};

// Returns the overrides of `train` and `submit`. Only `train` has workers.
JobOverrides OverridesOf(const CliOptions& options);

// Returns whether a job file requests a training, a prediction or an evaluation. kNotFound: it
// cannot be read.
Result<spec::JobKind> KindOfJobFile(const std::string& path);

struct JobFile {
  // Has absolute paths and overrides. Keys that the preset fills have the values for a typical
  // table.
  spec::JobSpec spec;
  std::string yaml;  // text to submit
};

// Returns the unchanged text of a job file or sweep file. kNotFound: it cannot be read.
Result<std::string> ReadJobText(const std::string& path);

// Loads a job file. Relative paths in it are relative to the working directory, as on any command
// line. Errors contain the file with line and column. kNotFound: it cannot be read. The user can
// fix all errors (exit code 2). A job that scores is also an error, because LoadScoringFile loads
// it.
Result<JobFile> LoadJobFile(const std::string& path, const JobOverrides& overrides);

// Loads a job that scores. Of the overrides it uses only `output`.
struct ScoringFile {
  spec::ScoringSpec spec;
  std::string yaml;
};
Result<ScoringFile> LoadScoringFile(const std::string& path, const JobOverrides& overrides);

// Returns the same job with other overrides.
Result<JobFile> Override(const JobFile& file, const JobOverrides& overrides);

// Checks, before a local job, that the bundle's directory does not exist (unless `overwrite` is
// set) and that its parent is writable. The user can fix all errors.
Status CheckOutputHere(const storage::FileSystem& files, const spec::OutputSpec& output);
// Lists the input files, reads their first rows, and fills in the values that the preset determines
// from them.
Result<data::JobCompletion::Completed> CompleteLocally(const storage::FileSystem& files,
                                                       const JobFile& file);

}  // namespace espalier::cli
