// A job file on its way to a cluster: read, validated, with absolute paths and the command line's
// own wishes written into it.
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

// What the command line says otherwise than the file.
struct JobOverrides {
  std::optional<std::string> output;  // relative to the working directory
  std::optional<int> workers;         // at most so many, and no more can be its minimum
  std::optional<std::string> resume;  // the run to go on with, relative to the working directory
  bool accept_data = false;           // with `resume`, here or in the file
  bool accept_arithmetic = false;     // the same
};

// Those of `train` and `submit`; workers are train's own.
JobOverrides OverridesOf(const CliOptions& options);

// Whether a job file asks for a training, a prediction or an evaluation. kNotFound when it cannot
// be read.
Result<spec::JobKind> KindOfJobFile(const std::string& path);

struct JobFile {
  // With absolute paths and overrides. Keys that the preset fills are those of a likely table.
  spec::JobSpec spec;
  std::string yaml;  // as it is submitted
};

// The text of a job's, or a sweep's, file as it stands; kNotFound when it cannot be read.
Result<std::string> ReadJobText(const std::string& path);

// Relative paths in the file are taken from the working directory, as on any command line. Errors
// name the file with line and column; kNotFound when it cannot be read. All of them are the
// caller's to mend (exit code 2); so is a job that scores, which is for LoadScoringFile.
Result<JobFile> LoadJobFile(const std::string& path, const JobOverrides& overrides);

// The same for a job that scores. Of the overrides it takes `output` alone.
struct ScoringFile {
  spec::ScoringSpec spec;
  std::string yaml;
};
Result<ScoringFile> LoadScoringFile(const std::string& path, const JobOverrides& overrides);

// The same job with other overrides.
Result<JobFile> Override(const JobFile& file, const JobOverrides& overrides);

// Before a job runs on this machine. All errors are the caller's to mend.
// The bundle's directory must not exist (unless `overwrite`), and what is above it must be
// writable.
Status CheckOutputHere(const storage::FileSystem& files, const spec::OutputSpec& output);
// Lists the input files, looks at their first rows, and fills in what the preset leaves to them.
Result<data::JobCompletion::Completed> CompleteLocally(const storage::FileSystem& files,
                                                       const JobFile& file);

}  // namespace espalier::cli
