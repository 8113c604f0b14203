// The job as people write it. Grammar, with every key and its default: config/reference.yaml. All
// errors name file, line and column, what was found, what was expected, and for a misspelt word the
// nearest known one:
//
//   job.yaml:12:3: unknown key 'epoch'; did you mean 'epochs'?
//   job.yaml:7:10: train.batch: found 0, expected a whole number from 1 to 1073741824
//
// Text is bounded (1 MiB, 32 levels); anchors, aliases and tags are refused. Keys of features that
// this version lacks give kUnimplemented, everything else kInvalidArgument.
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

// Parses and validates (JobSpec::Validate). `name_for_messages` is the file's name.
Result<spec::JobSpec> ParseJob(std::string_view yaml_text, std::string_view name_for_messages);

// Returns the job as YAML with every field that applies to it. ParseJob of its text gives an equal
// job. REQUIRES: `job` passes Validate.
YamlNode JobToYaml(const spec::JobSpec& job);

// Reads `name`, `data`, `model` and `train` of a map that JobToYaml wrote. A field that is not in
// the map keeps its value in `out`. Bounds are not checked. kInvalidArgument: an entry is wrong;
// the message starts with its path.
Status ReadWrittenJob(const YamlNode& root, spec::JobSpec& out);

// A key that holds a path.
struct PathKey {
  std::vector<std::string> names;  // from the top: {"output", "path"}
  bool list = false;               // it may be a list of paths
};
// Returns the path keys of all kinds of jobs.
std::vector<PathKey> PathKeys();

// Returns the job (of any kind) with its relative local paths (PathKeys) joined to `directory`, as
// YAML text without comments. Parsing the result gives the same spec except for those paths.
// Values are not checked here: parse the original first, so that messages have its lines.
// kInvalidArgument: `directory` is not absolute.
Result<std::string> MakePathsAbsolute(std::string_view yaml_text, std::string_view directory);

}  // namespace espalier::config
