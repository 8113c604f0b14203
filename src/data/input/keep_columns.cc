#include "src/data/input/keep_columns.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "src/base/text.h"
#include "src/config/yaml_tree.h"
#include "src/data/table/schema.h"
#include "src/spec/findings.h"
#include "src/spec/names.h"

namespace espalier::data {
namespace {

using config::ScalarNode;
using config::YamlNode;

YamlNode List() { return {.kind = YamlNode::Kind::kSequence}; }

void Add(YamlNode& map, const char* key, YamlNode value) {
  map.entries.push_back({ScalarNode(key), std::move(value)});
}

// Returns the map below `key`, which may be absent. A word such as `auto` gives way to the map.
YamlNode& MapAt(YamlNode& parent, const char* key) {
  YamlNode* found = parent.Find(key);
  if (found == nullptr) {
    Add(parent, key, {});
    found = &parent.entries.back().second;
  }
  if (found->kind != YamlNode::Kind::kMap) *found = {.kind = YamlNode::Kind::kMap};
  return *found;
}

// Returns the list below `key`, which may be absent or a single value.
YamlNode& ListAt(YamlNode& parent, const char* key) {
  YamlNode* found = parent.Find(key);
  if (found == nullptr) {
    Add(parent, key, List());
    return parent.entries.back().second;
  }
  if (found->kind == YamlNode::Kind::kSequence) return *found;
  YamlNode list = List();
  if (found->kind != YamlNode::Kind::kNull) list.items.push_back(std::move(*found));
  *found = std::move(list);
  return *found;
}

// Returns the group of data.features without its columns.
YamlNode GroupOf(const spec::FeatureOptions& options) {
  YamlNode group{.kind = YamlNode::Kind::kMap};
  Add(group, "type", ScalarNode(spec::NameOf(options.type)));
  if (options.log1p) Add(group, "log1p", ScalarNode("true"));
  if (options.type == spec::FeatureType::kDate) {
    YamlNode parts = List();
    for (const spec::DatePart part : options.parts) {
      parts.items.push_back(ScalarNode(spec::NameOf(part)));
    }
    Add(group, "parts", std::move(parts));
    if (!options.date_format.empty())
      Add(group, "date_format", ScalarNode(options.date_format, true));
  }
  if (options.type != spec::FeatureType::kCategorical) return group;
  if (options.embedding > 0) {
    YamlNode width{.kind = YamlNode::Kind::kMap};
    Add(width, "embedding", ScalarNode(std::to_string(options.embedding)));
    Add(group, "encode", std::move(width));
  } else {
    Add(group, "encode", ScalarNode("one_hot"));
  }
  if (options.hash > 0) Add(group, "hash", ScalarNode(std::to_string(options.hash)));
  if (options.min_count > 1) Add(group, "min_count", ScalarNode(std::to_string(options.min_count)));
  if (options.one_hot_max > 0) {
    Add(group, "one_hot_max", ScalarNode(std::to_string(options.one_hot_max)));
  }
  if (options.zero_rare) Add(group, "zero_rare", ScalarNode("true"));
  return group;
}

// Returns the options of each column of the earlier model, by name. Scales and values for nulls are
// not among them: the job keeps those of the earlier model, or sets them for all columns.
std::map<std::string, spec::FeatureOptions> OptionsByName(const spec::EarlierModel& earlier) {
  std::map<std::string, spec::FeatureOptions> columns;
  for (size_t i = 0; i < earlier.schema.features.size(); ++i) {
    const auto column = static_cast<size_t>(earlier.schema.features[i]);
    const auto [at, added] = columns.try_emplace(earlier.schema.names[column], earlier.options[i]);
    spec::FeatureOptions& options = at->second;
    options.scale.reset();
    options.nulls.reset();
    options.null_indicator = false;
    if (options.date_format == "auto") options.date_format.clear();
    if (added) options.parts.clear();
    options.parts.push_back(earlier.schema.rule(i).part);
  }
  return columns;
}

// Length above which a job is too long. The preset adds its keys to the job later.
constexpr size_t kJobBytesMax = config::kYamlBytesMax - (64 << 10);

// Returns whether a position means the same column in all files.
bool HasPositions(const spec::InputPlan& plan) {
  return std::none_of(plan.files.begin(), plan.files.end(), [](const spec::InputFile& file) {
    return std::find(file.columns.begin(), file.columns.end(), spec::InputFile::kLeftOut) !=
           file.columns.end();
  });
}

// The decisions of `features: auto` about the columns of a plan.
class Keeper {
 public:
  Keeper(const spec::DataSpec& data, const spec::InputPlan& plan, const FeatureFindings& findings,
         const spec::EarlierModel& earlier)
      : data_(data),
        plan_(plan),
        findings_(findings),
        has_positions_(HasPositions(plan)),
        columns_(OptionsByName(earlier)) {
    for (const spec::LeftOutColumn& left_out : earlier.schema.left_out) {
      left_out_.insert(earlier.schema.names[static_cast<size_t>(left_out.column)]);
    }
  }

  Result<KeptColumns> Run(const std::string& yaml) {
    for (const spec::LeftOutColumn& left_out : plan_.schema.left_out) {
      KeepLeftOut(static_cast<size_t>(left_out.column), left_out.reason);
    }
    for (size_t c = 0; c < findings_.columns.size(); ++c) {
      if (findings_.columns[c]) Keep(c, *findings_.columns[c]);
    }
    KeptColumns kept;
    if (groups_.empty() && excluded_.empty()) return kept;
    for (const bool ranges : {false, true}) {
      if (ranges && !has_positions_) break;
      ESPALIER_ASSIGN_OR_RETURN(std::string text, Written(yaml, ranges));
      if (text.size() > std::max(kJobBytesMax, yaml.size())) continue;
      kept.yaml = std::move(text);
      kept.notes = std::move(notes_);
      return kept;
    }
    kept.notes.emplace_back(
        "the new rows decide about the columns of `features: auto`, because a job that names those "
        "of train.initial is too long");
    return kept;
  }

 private:
  static constexpr size_t kNotesMax = 20;

  // Returns whether an entry in a list of columns may be the name.
  bool IsPlain(size_t column) const {
    const std::string& name = plan_.schema.names[column];
    const bool range = name.find("..") != std::string::npos;
    return !name.empty() && name.size() <= spec::kTextMax && !range;
  }

  YamlNode Entry(size_t column) const {
    const std::string position = std::to_string(column);
    if (!IsPlain(column) || plan_.schema.names[column] == position) return ScalarNode(position);
    return ScalarNode(plan_.schema.names[column], true);
  }

  // Returns the list of the columns. `ranges`: runs of neighbours are ranges of positions.
  YamlNode ListOf(std::vector<size_t> columns, bool ranges) const {
    std::sort(columns.begin(), columns.end());
    YamlNode list = List();
    for (size_t first = 0, last = 0; first < columns.size(); first = last) {
      last = first + 1;
      while (ranges && last < columns.size() && columns[last] == columns[last - 1] + 1) ++last;
      list.items.push_back(last == first + 1 ? Entry(columns[first])
                                             : ScalarNode(std::to_string(columns[first]) + ".." +
                                                              std::to_string(columns[last - 1]),
                                                          true));
    }
    return list;
  }

  Result<std::string> Written(const std::string& yaml, bool ranges) const {
    ESPALIER_ASSIGN_OR_RETURN(YamlNode root, config::ParseYaml(yaml, "job"));
    YamlNode& features = MapAt(MapAt(root, "data"), "features");
    for (const auto& [options, columns] : groups_) {
      YamlNode group = GroupOf(options);
      Add(group, "columns", ListOf(columns, ranges));
      ListAt(features, "groups").items.push_back(std::move(group));
    }
    if (!excluded_.empty()) {
      YamlNode list = ListOf(excluded_, ranges);
      std::move(list.items.begin(), list.items.end(),
                std::back_inserter(ListAt(features, "exclude").items));
    }
    return config::EmitYaml(root);
  }

  void Keep(size_t column, const Judgement& judgement) {
    if (const auto* reason = std::get_if<spec::LeftOutReason>(&judgement)) {
      return KeepLeftOut(column, *reason);
    }
    const auto* type = std::get_if<spec::FeatureType>(&judgement);  // absent: undecided
    const std::string& name = plan_.schema.names[column];
    const auto known = columns_.find(name);
    if (known != columns_.end()) {
      const bool same = type != nullptr && known->second.type == *type;
      if (same && !findings_.provisional) return;
      const bool has_format = same && *type == spec::FeatureType::kDate;
      if (!AddToGroup(column, has_format) || type != nullptr) return;
      Note("column " + Quoted(name) +
           " is read as by the model of train.initial. Without that model, `features: auto` would "
           "ask how to read it");
    } else if (left_out_.contains(name) && (IsPlain(column) || has_positions_)) {
      excluded_.push_back(column);
      Note("column " + Quoted(name) + " is left out as in the model of train.initial");
    }
  }

  // Keeps a column that the rows would leave out.
  void KeepLeftOut(size_t column, spec::LeftOutReason reason) {
    if (!AddToGroup(column, false)) return;
    Note("column " + Quoted(plan_.schema.names[column]) +
         " is a feature as in the model of train.initial, although `features: auto` would leave it "
         "out (" +
         spec::NameOf(reason) + ")");
  }

  // Returns whether the column is one of the earlier model. `has_format`: its texts are dates
  // without the format of that model.
  bool AddToGroup(size_t column, bool has_format) {
    const auto known = columns_.find(plan_.schema.names[column]);
    if (known == columns_.end() || (!IsPlain(column) && !has_positions_)) return false;
    spec::FeatureOptions options = known->second;
    if (has_format || !data_.features.date_format.empty()) options.date_format.clear();
    auto group = std::find_if(groups_.begin(), groups_.end(),
                              [&](const auto& other) { return other.first == options; });
    if (group == groups_.end()) group = groups_.insert(group, {std::move(options), {}});
    group->second.push_back(column);
    return true;
  }

  void Note(std::string line) {
    if (notes_.size() < kNotesMax) notes_.push_back(std::move(line));
  }

  const spec::DataSpec& data_;
  const spec::InputPlan& plan_;
  const FeatureFindings& findings_;
  const bool has_positions_;
  const std::map<std::string, spec::FeatureOptions> columns_;  // of the earlier model, by name
  std::set<std::string> left_out_;                             // by the earlier model
  std::vector<std::pair<spec::FeatureOptions, std::vector<size_t>>> groups_;  // in the order found
  std::vector<size_t> excluded_;
  std::vector<std::string> notes_;
};

}  // namespace

Result<KeptColumns> KeepColumns(const spec::DataSpec& data, const spec::InputPlan& plan,
                                const FeatureFindings& findings, const spec::EarlierModel& earlier,
                                const std::string& yaml) {
  if (!earlier.columns || !IsAuto(data.features, plan.schema.names)) return KeptColumns();
  return Keeper(data, plan, findings, earlier).Run(yaml);
}

Result<KeptColumns> KeepNetwork(const spec::EarlierModel& earlier, const spec::JobSpec& job,
                                bool task_open, const std::string& yaml) {
  KeptColumns kept;
  ESPALIER_ASSIGN_OR_RETURN(YamlNode root, config::ParseYaml(yaml, "job"));
  if (root.Find("compat") != nullptr) return kept;  // it describes the network
  YamlNode& model = MapAt(root, "model");
  const bool keeps_task = task_open && earlier.task && !job.data.label.empty() &&
                          *earlier.task != spec::Task::kAutoencoder;
  if (keeps_task) {
    const std::string word = spec::NameOf(*earlier.task);
    std::erase_if(model.entries, [](const auto& entry) { return entry.first.text == "task"; });
    Add(model, "task", ScalarNode(word));
    kept.notes.push_back("the task is " + word + " as in the model of train.initial");
  }
  const bool keeps_scaling =
      earlier.scaling_layer && !job.model.scaling_layer && model.Find("scaling_layer") == nullptr;
  if (keeps_scaling) Add(model, "scaling_layer", ScalarNode("true"));
  if (keeps_task || keeps_scaling) kept.yaml = config::EmitYaml(root);
  return kept;
}

}  // namespace espalier::data
