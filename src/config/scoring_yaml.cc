#include "src/config/scoring_yaml.h"

#include <optional>
#include <string>
#include <vector>

#include "src/config/job_sections.h"
#include "src/config/reader.h"
#include "src/config/yaml_tree.h"

namespace espalier::config {
namespace {

// Returns the kind of the first section that names one, or nothing for a training job.
std::optional<spec::ScoringSpec::Work> WorkOf(const YamlNode& root) {
  for (const auto& [key, value] : root.entries) {
    if (key.text == spec::NameOf(spec::PredictionSpec::kKind)) return spec::PredictionSpec();
    if (key.text == spec::NameOf(spec::EvaluationSpec::kKind)) return spec::EvaluationSpec();
  }
  return std::nullopt;
}

// Returns the section for the job's kind.
Field SectionOf(Reader& reader, spec::ScoringSpec& out) {
  return {spec::NameOf(out.kind()), [&](const YamlNode& node, const std::string& path) {
            return ReadSpec(reader, node, path, out);
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
  const auto work = WorkOf(root);
  return work ? spec::ScoringSpec{.work = *work}.kind() : spec::JobKind::kTrain;
}

Result<spec::ScoringSpec> ParseScoring(std::string_view yaml_text,
                                       std::string_view name_for_messages) {
  ESPALIER_ASSIGN_OR_RETURN(const YamlNode root, ParseYaml(yaml_text, name_for_messages));
  Reader reader(name_for_messages);
  const auto work = WorkOf(root);
  if (!work) {
    return InvalidArgument(std::string(name_for_messages) +
                           ": expected a job with `predict` or `evaluate`");
  }
  spec::ScoringSpec spec{.work = *work};
  spec.name = spec::NameOf(spec.kind());
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

std::vector<GrammarEntry> ScoringGrammar(const spec::ScoringSpec::Work& work) {
  std::vector<GrammarEntry> grammar;
  Reader reader(&grammar);
  spec::ScoringSpec spec{.work = work};
  (void)reader.ReadMap(Reader::AnyNode(), "", {SectionOf(reader, spec)});
  return grammar;
}

}  // namespace espalier::config
