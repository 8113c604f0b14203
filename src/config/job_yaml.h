// Parser and writer of job files. The grammar, with every key and its default, is
// config/reference.yaml. Every error contains file, line, column, the value found and the value
// expected. For a misspelled word, it also contains the nearest known one:
//
//   job.yaml:12:3: unknown key 'epoch'; did you mean 'epochs'?
//   job.yaml:7:10: train.batch: found 0, expected a whole number from 1 to 1073741824
//
// The text is limited to 1 MiB and 32 levels. Anchors, aliases and tags are refused. Keys of
// features that are missing from this version give kUnimplemented, all other errors
// kInvalidArgument.
//
// Thread rule: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/config/yaml_tree.h"
#include "src/spec/job_spec.h"

namespace espalier::config {

// Parses and validates a job (JobSpec::Validate). `name_for_messages` is the name of the file.
Result<spec::JobSpec> ParseJob(std::string_view yaml_text, std::string_view name_for_messages);

// Returns the job as YAML with every field that applies to it. ParseJob of its text returns an
// equal job. REQUIRES: `job` passes Validate.
YamlNode JobToYaml(const spec::JobSpec& job);

// Reads `name`, `data`, `model` and `train` from a map that JobToYaml wrote. Fields that are
// missing from the map keep their value in `out`. Bounds are not checked. kInvalidArgument: an
// entry is invalid; the message starts with its path.
Status ReadWrittenJob(const YamlNode& root, spec::JobSpec& out);

// A key that holds a path.
struct PathKey {
  std::vector<std::string> names;  // from the top: {"output", "path"}
  bool list = false;               // the value may be a list of paths
};
// Returns the path keys of all kinds of jobs.
std::vector<PathKey> PathKeys();

// Returns the job (of any kind) as YAML text without comments, with its relative local paths
// (PathKeys) joined to `directory`. Parsing the result gives the same spec except for those paths.
// This function does not check values: parse the original first, so that messages have its lines.
// kInvalidArgument: `directory` is not absolute.
Result<std::string> MakePathsAbsolute(std::string_view yaml_text, std::string_view directory);

}  // namespace espalier::config
