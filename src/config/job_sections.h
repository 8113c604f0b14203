// Readers from YAML to the structs of a job, for use within this room. The keys of a map are the
// Keys of its struct (spec/fields.h). Types with a special form in YAML have an overload of
// ReadSpec.
//
// `node` is the value, and `path` its location for messages. Defaults are the values already in
// `out`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "src/config/reader.h"
#include "src/spec/fields.h"
#include "src/spec/job_spec.h"
#include "src/spec/scoring_spec.h"

namespace espalier::config {

// ---- types with a special form in YAML ---------------------------------------------------------

Status ReadSpec(Reader& reader, const YamlNode& node, const std::string& path, spec::Scale& out);
Status ReadSpec(Reader& reader, const YamlNode& node, const std::string& path,
                spec::NullPolicy& out);
Status ReadSpec(Reader& reader, const YamlNode& node, const std::string& path, spec::Shuffle& out);
Status ReadSpec(Reader& reader, const YamlNode& node, const std::string& path, spec::BadRows& out);
Status ReadSpec(Reader& reader, const YamlNode& node, const std::string& path,
                spec::FeatureGroup& out);
Status ReadSpec(Reader& reader, const YamlNode& node, const std::string& path,
                spec::CategoryOptions& out);
Status ReadSpec(Reader& reader, const YamlNode& node, const std::string& path,
                spec::FeatureSpec& out);
inline Status ReadSpec(Reader& reader, const YamlNode& node, const std::string& path,
                       spec::Span& out) {
  return reader.Read(node, path, out);
}
// Reads patterns of input files.
Status ReadSpec(Reader& reader, const YamlNode& node, const std::string& path,
                std::vector<std::string>& out);
Status ReadSpec(Reader& reader, const YamlNode& node, const std::string& path,
                std::vector<spec::ColumnPattern>& out);
// Reads texts that mean null.
Status ReadSpec(Reader& reader, const YamlNode& node, const std::string& path,
                std::optional<std::vector<std::string>>& out);
Status ReadSpec(Reader& reader, const YamlNode& node, const std::string& path,
                spec::ModelSpec& out);
Status ReadSpec(Reader& reader, const YamlNode& node, const std::string& path,
                spec::OptimizerSpec& out);
Status ReadSpec(Reader& reader, const YamlNode& node, const std::string& path,
                spec::ScheduleSpec& out);
Status ReadSpec(Reader& reader, const YamlNode& node, const std::string& path,
                spec::Averaging& out);
Status ReadSpec(Reader& reader, const YamlNode& node, const std::string& path,
                spec::ThresholdSpec& out);
Status ReadSpec(Reader& reader, const YamlNode& node, const std::string& path,
                spec::ClassWeights& out);
Status ReadSpec(Reader& reader, const YamlNode& node, const std::string& path,
                spec::DecisionCosts& out);
Status ReadSpec(Reader& reader, const YamlNode& node, const std::string& path,
                spec::ValidationSpec& out);
// Reads `output: PATH` or `output: {path: PATH, overwrite: true}`.
Status ReadSpec(Reader& reader, const YamlNode& node, const std::string& path,
                spec::OutputSpec& out);
// Reads `resume: RUN` or `resume: {from: RUN, accept_data: true, ..}`.
Status ReadSpec(Reader& reader, const YamlNode& node, const std::string& path,
                spec::ResumeSpec& out);
// Reads `initial: MODEL` or `initial: {from: MODEL, layers: [0, 1]}`.
Status ReadSpec(Reader& reader, const YamlNode& node, const std::string& path,
                spec::InitialSpec& out);

// Reads a path or pattern, local or on HDFS.
Status ReadPath(Reader& reader, const YamlNode& node, const std::string& path, std::string& out);
// Reads the section `train`. `batch` is separate, because its default depends on the optimizer.
Status ReadTrainSection(Reader& reader, const YamlNode& node, const std::string& path,
                        spec::JobSpec& out, std::optional<int64_t>& batch);
// Returns one spelling of a place that has several, because two jobs must not share an output.
std::string OneSpelling(const std::string& place);

// Reads a whole job. Bounds are not checked.
Status ReadJob(Reader& reader, YamlNode& root, spec::JobSpec& job);
// Does the work of ParseJob for a parsed text.
Result<spec::JobSpec> ParseJobTree(YamlNode root, std::string_view name_for_messages);

// Returns everything that the file of a training job may contain, in the order of the reader.
std::vector<GrammarEntry> JobGrammar();
// Returns everything that the section of a scoring job may contain.
std::vector<GrammarEntry> ScoringGrammar(const spec::ScoringSpec::Work& work);

// Returns the job as YAML with every field that has a value. REQUIRES: `spec` passes Validate.
YamlNode ScoringToYaml(const spec::ScoringSpec& spec);

// ---- all other types --------------------------------------------------------------------------

template <typename S>
std::vector<Field> FieldsOf(Reader& reader, S& s);

template <typename T>
Status ReadSpec(Reader& reader, const YamlNode& node, const std::string& path,
                std::optional<T>& out) {
  const Status status = ReadSpec(reader, node, path, out.emplace());
  if (reader.describes()) reader.NoDefault(path);
  return status;
}

// Reads one value or a list.
template <typename T>
Status ReadSpec(Reader& reader, const YamlNode& node, const std::string& path,
                std::vector<T>& out) {
  out.clear();
  return reader.ReadOneOrMany(node, path, [&](const YamlNode& item, const std::string& at) {
    return ReadSpec(reader, item, at, out.emplace_back());
  });
}

// Reads a scalar, or a struct as a map.
template <typename T>
Status ReadSpec(Reader& reader, const YamlNode& node, const std::string& path, T& out) {
  if constexpr (spec::HasFields<T>) {
    return reader.ReadMap(node, path, FieldsOf(reader, out));
  } else {
    return reader.Read(node, path, out);
  }
}

template <typename T>
Status ReadKey(Reader& reader, const YamlNode& node, const std::string& path, const spec::Key& key,
               T& out) {
  if (key.list != nullptr && node.kind != YamlNode::Kind::kSequence && !reader.describes()) {
    return reader.Unexpected(node, path, std::string("a list of ") + key.list);
  }
  if constexpr (std::is_same_v<T, char> || std::is_same_v<T, std::optional<char>>) {
    if (key.no_character == nullptr || reader.describes()) return ReadSpec(reader, node, path, out);
    if (node.is_scalar() && node.text == key.no_character) {
      out = '\0';
      return {};
    }
    if (node.is_scalar() && node.text.size() == 1) return ReadSpec(reader, node, path, out);
    return reader.Unexpected(node, path,
                             "one character, such as \",\" or \"\\t\" (in double quotes), or " +
                                 std::string(key.no_character));
  } else if constexpr (std::is_same_v<T, int64_t>) {
    if (key.unit == spec::Key::Unit::kMilliseconds)
      return reader.ReadDuration(node, path, false, out);
    if (key.unit == spec::Key::Unit::kBytes) return reader.ReadBytes(node, path, out);
    return reader.Read(node, path, out);
  } else if constexpr (std::is_same_v<T, std::optional<int64_t>>) {
    if (key.absent != nullptr && node.is_scalar() && node.text == key.absent) {
      out.reset();
      return {};
    }
    const Status status = ReadKey(reader, node, path, key, out.emplace());
    if (reader.describes()) {
      reader.NoDefault(path);
      out.reset();
    }
    if (status.ok() || key.absent == nullptr) return status;
    return reader.Unexpected(node, path, "`" + std::string(key.absent) + "` or a whole number");
  } else if constexpr (std::is_same_v<T, std::string>) {
    return key.path ? ReadPath(reader, node, path, out) : reader.Read(node, path, out);
  } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    if (key.path) return ReadSpec(reader, node, path, out);
    out.clear();
    return reader.ReadOneOrMany(node, path, [&](const YamlNode& item, const std::string& at) {
      return reader.Read(item, at, out.emplace_back());
    });
  } else {
    return ReadSpec(reader, node, path, out);
  }
}

// Appends the keys of the fields for which `belongs` is true. `s` must outlive the reading.
template <typename S, typename F>
void AppendFields(Reader& reader, S& s, F belongs, std::vector<Field>& out) {
  spec::Fields(
      [&](const spec::Key& key, auto& member) {
        if (!belongs(key)) return;
        if (key.inlined) {
          if constexpr (spec::HasFields<std::remove_reference_t<decltype(member)>>) {
            AppendFields(
                reader, member, [](const spec::Key&) { return true; }, out);
          }
        } else if (!key.by_hand) {
          out.push_back(
              {key.yaml, [&reader, &member, key](const YamlNode& node, const std::string& path) {
                 return ReadKey(reader, node, path, key, member);
               }});
        }
      },
      s);
}

template <typename S>
std::vector<Field> FieldsOf(Reader& reader, S& s) {
  std::vector<Field> fields;
  AppendFields(
      reader, s, [](const spec::Key&) { return true; }, fields);
  return fields;
}

// Returns the choices for a word of E, or `{word: {key: value, ..}}` with the keys of
// `choose(word)`. `choose` also applies the word.
template <spec::Named E, typename F>
std::vector<Choice> Kinds(Reader& reader, F choose) {
  std::vector<Choice> choices;
  for (const spec::EnumName<E>& entry : spec::Names<E>::kAll) {
    choices.push_back({entry.name,
                       [&reader, choose, kind = entry.value](const YamlNode* body,
                                                             const std::string& path) -> Status {
                         const std::vector<Field> fields = choose(kind);
                         if (!body) return {};
                         if (fields.empty()) {
                           return reader.Unexpected(*body, path, "the word alone, without a value");
                         }
                         return reader.ReadMap(*body, path, fields);
                       }});
  }
  return choices;
}

// Reads a struct with a `kind`. `begin(kind)` sets the defaults.
template <typename S, typename F>
Status ReadKind(Reader& reader, const YamlNode& node, const std::string& path, S& out, F begin) {
  const auto choose = [&reader, &out, begin](auto kind) {
    begin(kind);
    std::vector<Field> fields;
    AppendFields(
        reader, out, [kind](const spec::Key& key) { return key.Belongs(kind); }, fields);
    return fields;
  };
  return reader.ReadChoice(node, path, Kinds<decltype(out.kind)>(reader, choose));
}

}  // namespace espalier::config
