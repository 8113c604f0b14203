#include "src/config/job_yaml.h"

#include <filesystem>
#include <optional>
#include <type_traits>

#include "src/config/job_compat.h"
#include "src/config/job_sections.h"
#include "src/config/key_hints.h"
#include "src/config/reader.h"
#include "src/config/yaml_tree.h"
#include "src/spec/names.h"
#include "src/storage/uri.h"

namespace espalier::config {
namespace {

template <typename T>
struct WithoutOptional {
  using Type = T;
};
template <typename T>
struct WithoutOptional<std::optional<T>> {
  using Type = T;
};

// Appends the keys of S that hold paths. `at` is the path of S.
template <typename S>
void AddPathKeys(const std::vector<std::string>& at, std::vector<PathKey>* out) {
  S s;
  spec::Fields(
      [&](const spec::Key& key, auto& member) {
        using Member = typename WithoutOptional<std::remove_reference_t<decltype(member)>>::Type;
        constexpr bool kText = std::is_same_v<Member, std::string>;
        std::vector<std::string> names = at;
        if (!key.inlined) names.emplace_back(key.yaml);
        if (key.path && kText) out->push_back({at});
        if (key.path) out->push_back({names, !kText});
        if constexpr (spec::HasFields<Member>) AddPathKeys<Member>(names, out);
      },
      s);
}

void MakeAbsolute(const std::filesystem::path& directory, bool list, YamlNode* node) {
  if (!node) return;
  if (list) {
    for (YamlNode& item : node->items) MakeAbsolute(directory, false, &item);
  }
  if (!node->is_scalar()) return;
  // The reader of the job has already reported text that is not a path.
  const Result<storage::Uri> uri = storage::ParseUri(node->text);
  if (!uri.ok() || uri->kind != storage::Uri::Kind::kLocal || uri->path.starts_with('/')) return;
  node->text = (directory / uri->path).lexically_normal().string();
}

template <typename T>
Field Section(Reader& reader, std::string key, T& out) {
  return {std::move(key), [&reader, &out](const YamlNode& node, const std::string& path) {
            return ReadSpec(reader, node, path, out);
          }};
}

// Returns the sections that determine the model. `batch` is train.batch, if set.
std::vector<Field> ModelFields(Reader& reader, spec::JobSpec& job, std::optional<int64_t>& batch) {
  return {reader.Value("name", job.name),
          Section(reader, "preset", job.preset),
          Section(reader, "data", job.data),
          Section(reader, "model", job.model),
          {"train", [&](const YamlNode& node, const std::string& path) {
             return ReadTrainSection(reader, node, path, job, batch);
           }}};
}

// Returns all sections. `compat` is read before them.
std::vector<Field> JobFields(Reader& reader, spec::JobSpec& job, std::optional<int64_t>& batch) {
  std::vector<Field> fields = ModelFields(reader, job, batch);
  fields.insert(fields.begin() + 2, {"compat", [](const auto&, const auto&) { return Status(); }});
  fields.push_back(Section(reader, "workers", job.workers));
  fields.push_back(Section(reader, "output", job.output));
  fields.push_back(Section(reader, "resume", job.resume));
  return fields;
}

}  // namespace

Status ReadJob(Reader& reader, YamlNode& root, spec::JobSpec& job) {
  std::optional<int64_t> batch;
  reader.SuggestBy(JobKeyHint);
  ESPALIER_RETURN_IF_ERROR(ReadCompat(reader, root, job, batch));
  ESPALIER_RETURN_IF_ERROR(reader.ReadMap(root, "", JobFields(reader, job, batch)));
  job.train.batch = batch.value_or(spec::DefaultBatch(job.train.optimizer.kind));
  CompleteCompat(job);
  auto& columns = job.data.features.columns;
  if (!spec::HasHeader(job.data) && columns.size() == 1 &&
      columns[0] == spec::ColumnPattern(std::string("auto"))) {
    columns.clear();  // the keyword in JSON quotes; no column can have that name
  }
  job.output.path = OneSpelling(job.output.path);
  return {};
}

Result<spec::JobSpec> ParseJobTree(YamlNode root, std::string_view name_for_messages) {
  Reader reader(name_for_messages);
  spec::JobSpec job;
  ESPALIER_RETURN_IF_ERROR(ReadJob(reader, root, job));
  if (const Status invalid = job.Validate(); !invalid.ok()) return reader.Locate(invalid);
  return job;
}

Result<spec::JobSpec> ParseJob(std::string_view yaml_text, std::string_view name_for_messages) {
  ESPALIER_ASSIGN_OR_RETURN(YamlNode root, ParseYaml(yaml_text, name_for_messages));
  return ParseJobTree(std::move(root), name_for_messages);
}

std::vector<GrammarEntry> JobGrammar() {
  std::vector<GrammarEntry> grammar;
  Reader reader(&grammar);
  spec::JobSpec job;
  job.preset = spec::kDefaultPreset;
  std::optional<int64_t> batch;
  (void)reader.ReadMap(Reader::AnyNode(), "", JobFields(reader, job, batch));
  YamlNode compat = Reader::AnyNode();
  compat.entries.push_back({ScalarNode("compat"), Reader::AnyNode()});
  (void)ReadCompat(reader, compat, job, batch);
  return grammar;
}

Status ReadWrittenJob(const YamlNode& root, spec::JobSpec& out) {
  Reader reader("");
  std::optional<int64_t> batch;
  ESPALIER_RETURN_IF_ERROR(reader.ReadMap(root, "", ModelFields(reader, out, batch)));
  if (batch) out.train.batch = *batch;
  return {};
}

std::vector<PathKey> PathKeys() {
  std::vector<PathKey> keys = {{CompatPathKey()}};
  AddPathKeys<spec::JobSpec>({}, &keys);
  for (const auto kind : {spec::PredictionSpec::kKind, spec::EvaluationSpec::kKind}) {
    AddPathKeys<spec::ScoringSpec>({spec::NameOf(kind)}, &keys);
  }
  return keys;
}

Result<std::string> MakePathsAbsolute(std::string_view yaml_text, std::string_view directory) {
  if (!directory.starts_with('/')) {
    return InvalidArgument("directory: found '" + std::string(directory) +
                           "', expected an absolute path");
  }
  ESPALIER_ASSIGN_OR_RETURN(YamlNode root, ParseYaml(yaml_text, "job"));
  const std::filesystem::path base(directory);
  for (const PathKey& key : PathKeys()) {
    YamlNode* node = &root;
    for (const std::string& name : key.names) node = node ? node->Find(name) : nullptr;
    MakeAbsolute(base, key.list, node);
  }
  return EmitYaml(root);
}

}  // namespace espalier::config
