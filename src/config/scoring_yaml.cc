#include "src/config/scoring_yaml.h"

#include <utility>

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

Field Texts(Reader& reader, std::string key, std::vector<std::string>& out, bool paths) {
  return {std::move(key), [&reader, &out, paths](const YamlNode& node, const std::string& path) {
            out.clear();
            return reader.ReadOneOrMany(node, path, [&](const auto& item, const auto& at) {
              out.emplace_back();
              return paths ? ReadPath(reader, item, at, out.back())
                           : reader.Read(item, at, out.back());
            });
          }};
}

Status ReadScoring(Reader& reader, const YamlNode& node, const std::string& path,
                   spec::ScoringSpec& out) {
  std::vector<Field> fields = {
      {"model",
       [&](const auto& value, const auto& at) { return ReadPath(reader, value, at, out.model); }},
      Texts(reader, "data", out.data, true),
      reader.Value("data_format", out.data_format),
      reader.Value("raw", out.raw)};
  if (out.kind == spec::JobKind::kPredict) {
    fields.push_back(reader.Value("format", out.format));
    fields.push_back(Texts(reader, "keep", out.keep, false));
    fields.push_back({"columns", [&](const YamlNode& value, const std::string& at) {
                        out.columns.clear();
                        return reader.ReadOneOrMany(
                            value, at, [&](const YamlNode& item, const std::string& item_at) {
                              out.columns.emplace_back();
                              return reader.Read(item, item_at, out.columns.back());
                            });
                      }});
    fields.push_back(reader.Value("spreadsheet_safe", out.spreadsheet_safe));
    fields.push_back(reader.Value("on_bad_row", out.on_bad_row));
    fields.push_back(reader.Value("rejects_limit", out.rejects_limit));
  }
  return reader.ReadMap(node, path, fields);
}

// ---- as text -----------------------------------------------------------------------------------

void Add(YamlNode* map, const char* key, YamlNode value) {
  map->kind = YamlNode::Kind::kMap;
  map->entries.emplace_back(ScalarNode(key, false), std::move(value));
}

void AddTexts(YamlNode* map, const char* key, const std::vector<std::string>& texts, bool quoted) {
  if (texts.empty()) return;
  YamlNode list = {.kind = YamlNode::Kind::kSequence};
  for (const std::string& text : texts) list.items.push_back(ScalarNode(text, quoted));
  Add(map, key, std::move(list));
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
  const std::string section = spec::NameOf(spec.kind);
  spec.name = section;
  ESPALIER_RETURN_IF_ERROR(reader.ReadMap(
      root, "",
      {reader.Value("name", spec.name),
       {section,
        [&](const auto& node, const auto& path) { return ReadScoring(reader, node, path, spec); }},
       {"workers",
        [&](const auto& node, const auto& path) {
          return reader.ReadMap(
              node, path,
              {reader.Value("min", spec.workers.min), reader.Value("max", spec.workers.max)});
        }},
       {"output", [&](const auto& node, const auto& path) {
          return ReadSpec(reader, node, path, spec.output);
        }}}));
  if (const Status invalid = spec.Validate(); !invalid.ok()) return reader.Locate(invalid);
  spec.output.path = OneSpelling(spec.output.path);
  return spec;
}

std::string ScoringYaml(const spec::ScoringSpec& spec) {
  YamlNode section;
  Add(&section, "model", ScalarNode(spec.model, true));
  AddTexts(&section, "data", spec.data, true);
  if (spec.data_format)
    Add(&section, "data_format", ScalarNode(spec::NameOf(*spec.data_format), false));
  if (spec.raw) Add(&section, "raw", ScalarNode("true", false));
  if (spec.format) Add(&section, "format", ScalarNode(spec::NameOf(*spec.format), false));
  AddTexts(&section, "keep", spec.keep, true);
  std::vector<std::string> columns;
  for (const spec::AnswerColumn column : spec.columns) columns.emplace_back(spec::NameOf(column));
  AddTexts(&section, "columns", columns, false);
  if (spec.spreadsheet_safe) Add(&section, "spreadsheet_safe", ScalarNode("true", false));
  if (spec.on_bad_row != spec::OnBadRow::kEmpty) {
    Add(&section, "on_bad_row", ScalarNode(spec::NameOf(spec.on_bad_row), false));
  }
  if (spec.rejects_limit) {
    Add(&section, "rejects_limit", ScalarNode(std::to_string(*spec.rejects_limit), false));
  }
  YamlNode root, workers;
  Add(&root, "name", ScalarNode(spec.name, true));
  Add(&root, spec::NameOf(spec.kind), std::move(section));
  Add(&workers, "min", ScalarNode(std::to_string(spec.workers.min), false));
  Add(&workers, "max", ScalarNode(std::to_string(spec.workers.max), false));
  Add(&root, "workers", std::move(workers));
  if (!spec.output.path.empty()) {
    YamlNode output;
    Add(&output, "path", ScalarNode(spec.output.path, true));
    if (spec.output.overwrite) Add(&output, "overwrite", ScalarNode("true", false));
    Add(&root, "output", std::move(output));
  }
  return EmitYaml(root);
}

}  // namespace espalier::config
