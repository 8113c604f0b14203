#include "src/config/scoring_yaml.h"

#include <string>
#include <vector>

#include "src/config/job_sections.h"
#include "src/config/reader.h"
#include "src/config/yaml_tree.h"

namespace espalier::config {
namespace {

spec::JobKind KindOf(const YamlNode& root) {
  for (const auto& [key, value] : root.entries) {
    const auto kind = spec::FromName<spec::JobKind>(key.text);
    if (kind && *kind != spec::JobKind::kTrain) return *kind;
  }
  return spec::JobKind::kTrain;
}

// Returns the section for the job's kind.
Field SectionOf(Reader& reader, spec::ScoringSpec& out) {
  return {spec::NameOf(out.kind), [&](const YamlNode& node, const std::string& path) {
            std::vector<Field> fields;
            AppendFields(
                reader, out, [&](const spec::Key& key) { return key.Belongs(out.kind); }, fields);
            return reader.ReadMap(node, path, fields);
          }};
}

Status ReadWorkers(Reader& reader, const YamlNode& node, const std::string& path,
                   spec::ScoringSpec& out) {
  std::vector<Field> fields;
  AppendFields(
      reader, out.workers, [](const spec::Key& key) { return !key.training_only; }, fields);
  return reader.ReadMap(node, path, fields);
}

}  // namespace

Result<spec::JobKind> JobKindOf(std::string_view yaml_text, std::string_view name_for_messages) {
  ESPALIER_ASSIGN_OR_RETURN(const YamlNode root, ParseYaml(yaml_text, name_for_messages));
  return KindOf(root);
}

Result<spec::ScoringSpec> ParseScoring(std::string_view yaml_text,
                                       std::string_view name_for_messages) {
  ESPALIER_ASSIGN_OR_RETURN(const YamlNode root, ParseYaml(yaml_text, name_for_messages));
  Reader reader(name_for_messages);
  spec::ScoringSpec spec;
  spec.kind = KindOf(root);
  if (spec.kind == spec::JobKind::kTrain) {
    return InvalidArgument(std::string(name_for_messages) +
                           ": expected a job with `predict` or `evaluate`");
  }
  spec.name = spec::NameOf(spec.kind);
  ESPALIER_RETURN_IF_ERROR(reader.ReadMap(
      root, "",
      {reader.Value("name", spec.name),
       SectionOf(reader, spec),
       {"workers",
        [&](const auto& node, const auto& path) { return ReadWorkers(reader, node, path, spec); }},
       {"output", [&](const auto& node, const auto& path) {
          return ReadSpec(reader, node, path, spec.output);
        }}}));
  if (const Status invalid = spec.Validate(); !invalid.ok()) return reader.Locate(invalid);
  spec.output.path = OneSpelling(spec.output.path);
  return spec;
}

std::string ScoringYaml(const spec::ScoringSpec& spec) { return EmitYaml(ScoringToYaml(spec)); }

std::vector<GrammarEntry> ScoringGrammar(spec::JobKind kind) {
  std::vector<GrammarEntry> grammar;
  Reader reader(&grammar);
  spec::ScoringSpec spec;
  spec.kind = kind;
  (void)reader.ReadMap(Reader::AnyNode(), "", {SectionOf(reader, spec)});
  return grammar;
}

}  // namespace espalier::config
