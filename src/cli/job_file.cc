#include "src/cli/job_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "src/bundle/checkpoint_store.h"
#include "src/bundle/output.h"
#include "src/config/job_yaml.h"
#include "src/config/scoring_yaml.h"
#include "src/config/yaml_tree.h"
#include "src/data/input/listing.h"
#include "src/spec/names.h"
#include "src/storage/uri.h"

namespace espalier {
namespace {

namespace fs = std::filesystem;

YamlNode Scalar(std::string text, bool quoted) {
  return {.kind = YamlNode::Kind::kScalar, .text = std::move(text), .quoted = quoted};
}

YamlNode& Entry(YamlNode& map, const std::string& key) {
  if (YamlNode* found = map.Find(key)) return *found;
  map.entries.emplace_back(Scalar(key, false), YamlNode());
  return map.entries.back().second;
}

Result<YamlNode> AbsolutePath(const std::string& directory, const std::string& path) {
  ESPALIER_ASSIGN_OR_RETURN(const Uri uri, ParseUri(path));
  if (uri.kind != Uri::Kind::kLocal) return Scalar(path, true);
  return Scalar((fs::path(directory) / uri.path).lexically_normal().string(), true);
}

// `resume: RUN` becomes {from: RUN, ..}, so that it can say more.
Status WriteResume(YamlNode& root, const std::string& directory, const JobOverrides& overrides) {
  const bool accepts = overrides.accept_data || overrides.accept_arithmetic;
  if (!overrides.resume && !accepts) return {};
  if (!overrides.resume && root.Find("resume") == nullptr) {
    return InvalidArgument(std::string("--accept-other-") +
                           (overrides.accept_data ? "data" : "arithmetic") +
                           " is for a run that is resumed: add --resume RUN");
  }
  YamlNode& resume = Entry(root, "resume");
  if (resume.kind != YamlNode::Kind::kMap) {
    YamlNode map = {.kind = YamlNode::Kind::kMap};
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
  ESPALIER_ASSIGN_OR_RETURN(YamlNode root, ParseYaml(yaml, "job"));
  if (overrides.output) {
    YamlNode& output = Entry(root, "output");
    YamlNode& path = output.kind == YamlNode::Kind::kMap ? Entry(output, "path") : output;
    ESPALIER_ASSIGN_OR_RETURN(path, AbsolutePath(directory, *overrides.output));
  }
  ESPALIER_RETURN_IF_ERROR(WriteResume(root, directory, overrides));
  if (overrides.workers) {
    YamlNode& range = Entry(root, "workers");
    if (range.kind != YamlNode::Kind::kMap) range = {.kind = YamlNode::Kind::kMap};
    const int64_t least = std::min<int64_t>(workers_min, *overrides.workers);
    Entry(range, "min") = Scalar(std::to_string(least), false);
    Entry(range, "max") = Scalar(std::to_string(*overrides.workers), false);
  }
  return EmitYaml(root);
}

Result<std::string> WorkingDirectory() {
  std::error_code error;
  const fs::path directory = fs::current_path(error);
  if (error) return NotFound("the working directory is gone: " + error.message());
  return directory.string();
}

}  // namespace

// One byte more than allowed is read at most: the parser then says that it is too long.
Result<std::string> ReadJobText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::error_code error;
  if (!file || fs::is_directory(path, error)) {
    return NotFound("cannot read the job file " + path + ": " +
                    (file ? "it is a directory" : std::strerror(errno)));
  }
  std::string text(kYamlBytesMax + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  return text;
}

Status CheckOutputHere(const FileSystem& files, const OutputSpec& output) {
  ESPALIER_RETURN_IF_ERROR(CheckOutput(files, output));
  ESPALIER_ASSIGN_OR_RETURN(const Uri uri, ParseUri(output.path));
  if (uri.kind != Uri::Kind::kLocal) return Status::Ok();  // the coordinator tries it
  fs::path above = fs::path(output.path + "/").lexically_normal().parent_path().parent_path();
  std::error_code error;
  while (above.has_relative_path() && !fs::exists(above, error)) above = above.parent_path();
  if (access(above.c_str(), W_OK | X_OK) != 0) {
    return PermissionDenied("output: cannot make " + output.path + ": " + above.string() + ": " +
                            std::strerror(errno));
  }
  return Status::Ok();
}

Status CheckStartHere(const FileSystem& files, const JobSpec& spec) {
  ESPALIER_RETURN_IF_ERROR(CheckOutputHere(files, spec.output));
  return CheckBeginning(files, spec);
}

JobOverrides OverridesOf(const CliOptions& options) {
  return {.output = options.output,
          .resume = options.resume,
          .accept_data = options.accept_data,
          .accept_arithmetic = options.accept_arithmetic};
}

Result<InputPlan> PlanLocally(const FileSystem& files, const JobSpec& spec) {
  return PlanInput(files, spec.data, spec.data.shard_bytes);
}

Result<JobFile> Override(const JobFile& file, const JobOverrides& overrides) {
  ESPALIER_ASSIGN_OR_RETURN(const std::string directory, WorkingDirectory());
  JobFile changed;
  ESPALIER_ASSIGN_OR_RETURN(changed.yaml,
                            WriteOverrides(file.yaml, directory, file.spec.workers.min, overrides));
  ESPALIER_ASSIGN_OR_RETURN(changed.spec, ParseJob(changed.yaml, "job"));
  return changed;
}

Result<JobKind> KindOfJobFile(const std::string& path) {
  ESPALIER_ASSIGN_OR_RETURN(const std::string text, ReadJobText(path));
  return JobKindOf(text, path);
}

Result<ScoringFile> LoadScoringFile(const std::string& path, const JobOverrides& overrides) {
  ESPALIER_ASSIGN_OR_RETURN(const std::string text, ReadJobText(path));
  ScoringFile file;
  ESPALIER_ASSIGN_OR_RETURN(file.spec, ParseScoring(text, path));
  if (overrides.resume || overrides.accept_data || overrides.accept_arithmetic) {
    return InvalidArgument("a job that scores has nothing to resume: leave --resume out");
  }
  ESPALIER_ASSIGN_OR_RETURN(const std::string directory, WorkingDirectory());
  ESPALIER_ASSIGN_OR_RETURN(file.yaml, MakePathsAbsolute(text, directory));
  ESPALIER_ASSIGN_OR_RETURN(file.yaml, WriteOverrides(file.yaml, directory, 1, overrides));
  ESPALIER_ASSIGN_OR_RETURN(file.spec, ParseScoring(file.yaml, "job"));
  return file;
}

Result<JobFile> LoadJobFile(const std::string& path, const JobOverrides& overrides) {
  ESPALIER_ASSIGN_OR_RETURN(const std::string text, ReadJobText(path));
  ESPALIER_ASSIGN_OR_RETURN(const JobKind kind, JobKindOf(text, path));
  if (kind != JobKind::kTrain) {
    return InvalidArgument(path + ": this job is to " + NameOf(kind) +
                           "; hand it to a cluster with "
                           "`espalier submit`, or use `espalier " +
                           NameOf(kind) + "` here");
  }
  // The text as it was written is validated first, so that messages have its lines.
  JobFile file;
  ESPALIER_ASSIGN_OR_RETURN(file.spec, ParseJob(text, path));
  ESPALIER_ASSIGN_OR_RETURN(const std::string directory, WorkingDirectory());
  ESPALIER_ASSIGN_OR_RETURN(file.yaml, MakePathsAbsolute(text, directory));
  return Override(file, overrides);
}

}  // namespace espalier
