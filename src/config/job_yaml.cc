#include "src/config/job_yaml.h"

#include <filesystem>

#include "src/config/job_compat.h"
#include "src/config/job_sections.h"
#include "src/config/reader.h"
#include "src/config/yaml_tree.h"
#include "src/storage/uri.h"

namespace espalier {
namespace {

void MakeAbsolute(const std::filesystem::path& directory, YamlNode* node) {
  if (!node) return;
  for (YamlNode& item : node->items) MakeAbsolute(directory, &item);
  if (!node->is_scalar()) return;
  // What is no path at all was told when the job was read.
  const Result<Uri> uri = ParseUri(node->text);
  if (!uri.ok() || uri->kind != Uri::Kind::kLocal || uri->path.starts_with('/')) return;
  node->text = (directory / uri->path).lexically_normal().string();
}

}  // namespace

Result<JobSpec> ParseJob(std::string_view yaml_text, std::string_view name_for_messages) {
  ESPALIER_ASSIGN_OR_RETURN(YamlNode root, ParseYaml(yaml_text, name_for_messages));
  Reader reader(name_for_messages);
  JobSpec job;
  std::optional<int64_t> batch;
  ESPALIER_RETURN_IF_ERROR(ReadCompat(reader, root, job, batch));
  const auto spec = [&reader](auto& out) -> ReadValue {
    return [&](const YamlNode& node, const std::string& path) {
      return ReadSpec(reader, node, path, out);
    };
  };
  ESPALIER_RETURN_IF_ERROR(
      reader.ReadMap(root, "",
                     {reader.Value("name", job.name),
                      {"compat", [](const auto&, const auto&) { return Status(); }},  // read above
                      {"data", spec(job.data)},
                      {"model", spec(job.model)},
                      {"train",
                       [&](const auto& node, const auto& path) {
                         return ReadTrainSection(reader, node, path, job, batch);
                       }},
                      {"workers", spec(job.workers)},
                      {"output", spec(job.output)},
                      {"resume", spec(job.resume)}}));
  job.train.batch = batch.value_or(DefaultBatch(job.train.optimizer.kind));
  CompleteCompat(job);
  if (const Status invalid = job.Validate(); !invalid.ok()) return reader.Locate(invalid);
  job.output.path = OneSpelling(job.output.path);
  return job;
}

Result<std::string> MakePathsAbsolute(std::string_view yaml_text, std::string_view directory) {
  if (!directory.starts_with('/')) {
    return InvalidArgument("directory: found '" + std::string(directory) +
                           "', expected an absolute path");
  }
  ESPALIER_ASSIGN_OR_RETURN(YamlNode root, ParseYaml(yaml_text, "job"));
  const std::filesystem::path base(directory);
  if (YamlNode* data = root.Find("data")) {
    MakeAbsolute(base, data->Find("train"));
    MakeAbsolute(base, data->Find("test"));
    if (YamlNode* validation = data->Find("validation")) {
      MakeAbsolute(base, validation->Find("files"));
    }
  }
  for (const char* section : {"predict", "evaluate"}) {
    if (YamlNode* scoring = root.Find(section)) {
      MakeAbsolute(base, scoring->Find("model"));
      MakeAbsolute(base, scoring->Find("data"));
    }
  }
  if (YamlNode* train = root.Find("train")) {
    YamlNode* initial = train->Find("initial");
    const bool map = initial && initial->kind == YamlNode::Kind::kMap;
    MakeAbsolute(base, map ? initial->Find("from") : initial);
  }
  MakeAbsolute(base, CompatPath(root));
  if (YamlNode* output = root.Find("output")) {
    MakeAbsolute(base, output->kind == YamlNode::Kind::kMap ? output->Find("path") : output);
  }
  if (YamlNode* resume = root.Find("resume")) {
    MakeAbsolute(base, resume->kind == YamlNode::Kind::kMap ? resume->Find("from") : resume);
  }
  return EmitYaml(root);
}

}  // namespace espalier
