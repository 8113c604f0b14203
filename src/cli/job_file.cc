#include "src/cli/job_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "src/bundle/checkpoint_store.h"
#include "src/bundle/initial_weights.h"
#include "src/bundle/output.h"
#include "src/config/job_yaml.h"
#include "src/config/scoring_yaml.h"
#include "src/config/yaml_tree.h"
#include "src/spec/names.h"
#include "src/storage/local_file_system.h"
#include "src/storage/uri.h"

namespace espalier::cli {
namespace {

namespace fs = std::filesystem;

config::YamlNode Scalar(std::string text, bool quoted) {
  return {.kind = config::YamlNode::Kind::kScalar, .text = std::move(text), .quoted = quoted};
}

config::YamlNode& Entry(config::YamlNode& map, const std::string& key) {
  if (config::YamlNode* found = map.Find(key)) return *found;
  map.entries.emplace_back(Scalar(key, false), config::YamlNode());
  return map.entries.back().second;
}

Result<config::YamlNode> AbsolutePath(const std::string& directory, const std::string& path) {
  ESPALIER_ASSIGN_OR_RETURN(const storage::Uri uri, storage::ParseUri(path));
  if (uri.kind != storage::Uri::Kind::kLocal) return Scalar(path, true);
  return Scalar((fs::path(directory) / uri.path).lexically_normal().string(), true);
}

// Replaces `resume: RUN` by {from: RUN, ..}, which has room for more keys.
Status WriteResume(config::YamlNode& root, const std::string& directory,
                   const JobOverrides& overrides) {
  const bool accepts = overrides.accept_data || overrides.accept_arithmetic;
  if (!overrides.resume && !accepts) return {};
  if (!overrides.resume && root.Find("resume") == nullptr) {
    return InvalidArgument(std::string("--accept-other-") +
                           (overrides.accept_data ? "data" : "arithmetic") +
                           " is for a run that is resumed. Add --resume RUN");
  }
  config::YamlNode& resume = Entry(root, "resume");
  if (resume.kind != config::YamlNode::Kind::kMap) {
    config::YamlNode map = {.kind = config::YamlNode::Kind::kMap};
    Entry(map, "from") = resume;
    resume = std::move(map);
  }
  if (overrides.resume) {
    ESPALIER_ASSIGN_OR_RETURN(Entry(resume, "from"), AbsolutePath(directory, *overrides.resume));
  }
  if (overrides.accept_data) Entry(resume, "accept_data") = Scalar("true", false);
  if (overrides.accept_arithmetic) Entry(resume, "accept_arithmetic") = Scalar("true", false);
  return {};
}

Result<std::string> WriteOverrides(const std::string& yaml, const std::string& directory,
                                   int64_t workers_min, const JobOverrides& overrides) {
  ESPALIER_ASSIGN_OR_RETURN(config::YamlNode root, config::ParseYaml(yaml, "job"));
  if (overrides.output) {
    config::YamlNode& output = Entry(root, "output");
    config::YamlNode& path =
        output.kind == config::YamlNode::Kind::kMap ? Entry(output, "path") : output;
    ESPALIER_ASSIGN_OR_RETURN(path, AbsolutePath(directory, *overrides.output));
  }
  ESPALIER_RETURN_IF_ERROR(WriteResume(root, directory, overrides));
  if (overrides.workers) {
    config::YamlNode& range = Entry(root, "workers");
    if (range.kind != config::YamlNode::Kind::kMap) range = {.kind = config::YamlNode::Kind::kMap};
    const int64_t least = std::min<int64_t>(workers_min, *overrides.workers);
    Entry(range, "min") = Scalar(std::to_string(least), false);
    Entry(range, "max") = Scalar(std::to_string(*overrides.workers), false);
  }
  return config::EmitYaml(root);
}

Result<std::string> WorkingDirectory() {
  std::error_code error;
  const fs::path directory = fs::current_path(error);
  if (error) return NotFound("the working directory does not exist: " + error.message());
  return directory.string();
}

}  // namespace

// Reads at most one byte more than allowed. The parser then reports that the text is too long.
Result<std::string> ReadJobText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::error_code error;
  if (!file || fs::is_directory(path, error)) {
    return NotFound("cannot read the job file " + path + ": " +
                    (file ? "it is a directory" : std::strerror(errno)));
  }
  std::string text(config::kYamlBytesMax + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  return text;
}

Status CheckOutputHere(const storage::FileSystem& files, const spec::OutputSpec& output) {
  ESPALIER_RETURN_IF_ERROR(bundle::CheckOutput(files, output));
  ESPALIER_ASSIGN_OR_RETURN(const storage::Uri uri, storage::ParseUri(output.path));
  if (uri.kind != storage::Uri::Kind::kLocal) return Status::Ok();  // the coordinator checks it
  fs::path above = fs::path(output.path + "/").lexically_normal().parent_path().parent_path();
  std::error_code error;
  while (above.has_relative_path() && !fs::exists(above, error)) above = above.parent_path();
  if (access(above.c_str(), W_OK | X_OK) != 0) {
    const Status denied = storage::FileError(errno, "write to", above.string());
    return Status(denied.code(), "output: " + denied.message());
  }
  return Status::Ok();
}

JobOverrides OverridesOf(const CliOptions& options) {
  return {.output = options.output,
          .resume = options.resume,
          .accept_data = options.accept_data,
          .accept_arithmetic = options.accept_arithmetic};
}

Result<data::JobCompletion::Completed> CompleteLocally(const storage::FileSystem& files,
                                                       const JobFile& file) {
  ESPALIER_ASSIGN_OR_RETURN(const auto completion, data::JobCompletion::Read(file.yaml, "job"));
  const auto earlier = bundle::ReadEarlierModel(files, completion.job());
  return completion.Complete(files, earlier ? &*earlier : nullptr);
}

Result<JobFile> Override(const JobFile& file, const JobOverrides& overrides) {
  ESPALIER_ASSIGN_OR_RETURN(const std::string directory, WorkingDirectory());
  JobFile changed;
  ESPALIER_ASSIGN_OR_RETURN(changed.yaml,
                            WriteOverrides(file.yaml, directory, file.spec.workers.min, overrides));
  ESPALIER_ASSIGN_OR_RETURN(const auto completion, data::JobCompletion::Read(changed.yaml, "job"));
  changed.spec = completion.job();
  return changed;
}

Result<spec::JobKind> KindOfJobFile(const std::string& path) {
  ESPALIER_ASSIGN_OR_RETURN(const std::string text, ReadJobText(path));
  return config::JobKindOf(text, path);
}

Result<ScoringFile> LoadScoringFile(const std::string& path, const JobOverrides& overrides) {
  ESPALIER_ASSIGN_OR_RETURN(const std::string text, ReadJobText(path));
  ScoringFile file;
  ESPALIER_ASSIGN_OR_RETURN(file.spec, config::ParseScoring(text, path));
  if (overrides.resume || overrides.accept_data || overrides.accept_arithmetic) {
    return InvalidArgument("a job that scores has nothing to resume. Leave --resume out");
  }
  ESPALIER_ASSIGN_OR_RETURN(const std::string directory, WorkingDirectory());
  ESPALIER_ASSIGN_OR_RETURN(file.yaml, config::MakePathsAbsolute(text, directory));
  ESPALIER_ASSIGN_OR_RETURN(file.yaml, WriteOverrides(file.yaml, directory, 1, overrides));
  ESPALIER_ASSIGN_OR_RETURN(file.spec, config::ParseScoring(file.yaml, "job"));
  return file;
}

Result<JobFile> LoadJobFile(const std::string& path, const JobOverrides& overrides) {
  ESPALIER_ASSIGN_OR_RETURN(const std::string text, ReadJobText(path));
  ESPALIER_ASSIGN_OR_RETURN(const spec::JobKind kind, config::JobKindOf(text, path));
  if (kind != spec::JobKind::kTrain) {
    return InvalidArgument(path + ": this job is to " + spec::NameOf(kind) +
                           ". Hand it to a cluster with "
                           "`espalier submit`, or use `espalier " +
                           spec::NameOf(kind) + "` here");
  }
  // The original text is validated first, so that messages contain its lines.
  JobFile file;
  ESPALIER_ASSIGN_OR_RETURN(const auto completion, data::JobCompletion::Read(text, path));
  file.spec = completion.job();
  ESPALIER_ASSIGN_OR_RETURN(const std::string directory, WorkingDirectory());
  ESPALIER_ASSIGN_OR_RETURN(file.yaml, config::MakePathsAbsolute(text, directory));
  return Override(file, overrides);
}

}  // namespace espalier::cli
