// The sections of a job's YAML, one function each; used by ParseJob alone. `node` is the section's
// value, `path` its place for messages. Defaults are those already in `out`.
#pragma once

#include <optional>
#include <string>

#include "src/config/reader.h"
#include "src/spec/job_spec.h"

namespace espalier {

// A path or pattern, local or on HDFS.
Status ReadPath(Reader& reader, const YamlNode& node, const std::string& path, std::string& out);
Status ReadDataSection(Reader& reader, const YamlNode& node, const std::string& path,
                       DataSpec& out);
Status ReadModelSection(Reader& reader, const YamlNode& node, const std::string& path,
                        ModelSpec& out);
// `batch` apart, for its default is the optimizer's.
Status ReadTrainSection(Reader& reader, const YamlNode& node, const std::string& path, JobSpec& out,
                        std::optional<int64_t>& batch);
// `resume: RUN` or `resume: {from: RUN, accept_data: true, ..}`.
Status ReadResume(Reader& reader, const YamlNode& node, const std::string& path,
                  std::optional<ResumeSpec>& out);
// `initial: MODEL` or `initial: {from: MODEL, layers: [0, 1]}`.
Status ReadInitial(Reader& reader, const YamlNode& node, const std::string& path,
                   std::optional<InitialSpec>& out);
// A list of layers by their numbers, or one.
Status ReadLayers(Reader& reader, const YamlNode& node, const std::string& path,
                  std::vector<int64_t>& out);
// `output: PATH` or `output: {path: PATH, overwrite: true}`.
Status ReadOutput(Reader& reader, const YamlNode& node, const std::string& path, OutputSpec& out);
// A place that may be spelt in several ways, in one: two jobs must not have one output.
std::string OneSpelling(const std::string& place);

}  // namespace espalier
