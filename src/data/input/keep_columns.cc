#include "src/data/input/keep_columns.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "src/base/text.h"
#include "src/config/yaml_tree.h"
#include "src/data/input/infer_features.h"
#include "src/data/table/schema.h"
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
std::map<std::string, spec::FeatureOptions> OptionsByName(const spec::EarlierColumns& earlier) {
  std::map<std::string, spec::FeatureOptions> columns;
  for (size_t i = 0; i < earlier.schema.features.size(); ++i) {
    const auto column = static_cast<size_t>(earlier.schema.features[i]);
    const auto [at, added] = columns.try_emplace(earlier.schema.names[column], earlier.options[i]);
    spec::FeatureOptions& options = at->second;
    options.scale.reset();
    options.nulls.reset();
    options.null_indicator = false;
    options.date_format.clear();
    if (added) options.parts.clear();
    options.parts.push_back(earlier.schema.rule(i).part);
  }
  return columns;
}

// The decisions of `features: auto` about the columns of a plan.
class Keeper {
 public:
  Keeper(const spec::DataSpec& data, const spec::InputPlan& plan,
         const spec::EarlierColumns& earlier)
      : data_(data), plan_(plan), earlier_(earlier), columns_(OptionsByName(earlier)) {}

  Result<KeptColumns> Run(const std::string& yaml) {
    const spec::Schema& schema = plan_.schema;
    const std::vector<bool> open = OpenColumns(data_, schema);
    for (const spec::LeftOutColumn& left_out : schema.left_out) Keep(left_out);
    for (size_t i = 0; i < schema.features.size(); ++i) {
      const auto column = static_cast<size_t>(schema.features[i]);
      const bool again = i > 0 && schema.features[i - 1] == schema.features[i];
      if (open[column] && !again) Keep(column, schema.rule(i).type);
    }
    KeptColumns kept;
    if (groups_.empty() && excluded_.empty()) return kept;
    ESPALIER_ASSIGN_OR_RETURN(YamlNode root, config::ParseYaml(yaml, "job"));
    YamlNode& features = MapAt(MapAt(root, "data"), "features");
    for (auto& [options, columns] : groups_) {
      YamlNode group = GroupOf(options);
      Add(group, "columns", std::move(columns));
      ListAt(features, "groups").items.push_back(std::move(group));
    }
    for (YamlNode& name : excluded_) ListAt(features, "exclude").items.push_back(std::move(name));
    kept.yaml = config::EmitYaml(root);
    kept.notes = std::move(notes_);
    return kept;
  }

 private:
  static constexpr size_t kNotesMax = 20;

  // Returns the column as an entry in a list of columns. Returns nothing for a name that would
  // match other columns too.
  std::optional<YamlNode> Entry(size_t column) const {
    const std::string& name = plan_.schema.names[column];
    if (name.empty() || name == "auto" || name.find_first_of("*?") != std::string::npos ||
        name.find("..") != std::string::npos) {
      return std::nullopt;
    }
    const bool position = name == std::to_string(column);
    return ScalarNode(name, !position);
  }

  // Keeps a column that the rows would leave out.
  void Keep(const spec::LeftOutColumn& left_out) {
    const auto column = static_cast<size_t>(left_out.column);
    if (!AddToGroup(column)) return;
    Note("column " + Quoted(plan_.schema.names[column]) +
         " is a feature as in the model of train.initial, although `features: auto` would leave it "
         "out (" +
         spec::NameOf(left_out.reason) + ")");
  }

  // Keeps the type of a feature, or leaves it out as the earlier model does.
  void Keep(size_t column, spec::FeatureType type) {
    const std::string& name = plan_.schema.names[column];
    const auto known = columns_.find(name);
    if (known != columns_.end()) {
      if (plan_.provisional || known->second.type != type) AddToGroup(column);
      return;
    }
    for (const spec::LeftOutColumn& left_out : earlier_.schema.left_out) {
      if (earlier_.schema.names[static_cast<size_t>(left_out.column)] != name) continue;
      auto entry = Entry(column);
      if (!entry) return;
      excluded_.push_back(*std::move(entry));
      Note("column " + Quoted(name) + " is left out as in the model of train.initial");
    }
  }

  // Returns whether the column is one of the earlier model.
  bool AddToGroup(size_t column) {
    const auto known = columns_.find(plan_.schema.names[column]);
    auto entry = Entry(column);
    if (known == columns_.end() || !entry) return false;
    const spec::FeatureOptions& options = known->second;
    auto group = std::find_if(groups_.begin(), groups_.end(),
                              [&](const auto& other) { return other.first == options; });
    if (group == groups_.end()) group = groups_.insert(group, {options, List()});
    group->second.items.push_back(*std::move(entry));
    return true;
  }

  void Note(std::string line) {
    if (notes_.size() < kNotesMax) notes_.push_back(std::move(line));
  }

  const spec::DataSpec& data_;
  const spec::InputPlan& plan_;
  const spec::EarlierColumns& earlier_;
  const std::map<std::string, spec::FeatureOptions> columns_;      // of the earlier model, by name
  std::vector<std::pair<spec::FeatureOptions, YamlNode>> groups_;  // in the order found
  std::vector<YamlNode> excluded_;
  std::vector<std::string> notes_;
};

}  // namespace

Result<KeptColumns> KeepColumns(const spec::DataSpec& data, const spec::InputPlan& plan,
                                const spec::EarlierColumns& earlier, const std::string& yaml) {
  if (!IsAuto(data.features, plan.schema.names)) return KeptColumns();
  return Keeper(data, plan, earlier).Run(yaml);
}

}  // namespace espalier::data
