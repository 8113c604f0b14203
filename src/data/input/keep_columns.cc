#include "src/data/input/keep_columns.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "src/base/text.h"
#include "src/config/yaml_tree.h"
#include "src/data/features/dates.h"
#include "src/data/parquet/columns.h"
#include "src/data/table/number.h"
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

// Length and number of values above which a job is too long. The preset adds its keys to the job
// later.
constexpr size_t kJobBytesMax = config::kYamlBytesMax - (64 << 10);
constexpr int64_t kJobNodesMax = config::kYamlNodesMax - (1 << 10);

// Returns the number of values that ParseYaml counts.
int64_t NodesOf(const YamlNode& root) {
  int64_t nodes = 0;
  std::vector<const YamlNode*> open = {&root};
  while (!open.empty()) {
    const YamlNode& node = *open.back();
    open.pop_back();
    ++nodes;
    for (const YamlNode& item : node.items) open.push_back(&item);
    for (const auto& [key, value] : node.entries) {
      ++nodes;
      open.push_back(&value);
    }
  }
  return nodes;
}

// Returns whether a position in the schema means the same column in a job and in all files. A
// position in a job counts a vector of Parquet as one column. Directories may shadow columns of
// some Parquet files. The keys of JSON have no order.
bool HasPositions(const spec::DataSpec& data, const spec::InputPlan& plan,
                  const FeatureFindings& findings) {
  const spec::DataFormat format = spec::FormatOf(data, plan.files.front().path);
  if (format == spec::DataFormat::kJson) return false;
  if (format == spec::DataFormat::kParquet) {
    return findings.vectors.empty() && plan.schema.partitions == 0;
  }
  return std::none_of(plan.files.begin(), plan.files.end(), [](const spec::InputFile& file) {
    return std::find(file.columns.begin(), file.columns.end(), spec::InputFile::kLeftOut) !=
           file.columns.end();
  });
}

// Returns whether the text is a date without a format.
bool IsKnownDate(const std::string& text) {
  double number = 0;
  if (ParseDate(text)) return true;
  return ParseNumberSlowly(text, &number) == NumberKind::kNumber &&
         (IsDayNumber(number) || IsMonthNumber(number));
}

// The decisions of `features: auto` about the columns of a plan.
class Keeper {
 public:
  Keeper(const spec::DataSpec& data, const spec::InputPlan& plan, const FeatureFindings& findings,
         const spec::EarlierModel& earlier)
      : data_(data),
        plan_(plan),
        findings_(findings),
        has_positions_(HasPositions(data, plan, findings)),
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
    ESPALIER_ASSIGN_OR_RETURN(const YamlNode given, config::ParseYaml(yaml, "job"));
    for (const bool ranges : {false, true}) {
      if (ranges && !has_positions_) break;
      const YamlNode root = Extended(given, ranges);
      if (NodesOf(root) > std::max(kJobNodesMax, NodesOf(given))) continue;
      std::string text = config::EmitYaml(root);
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

  // Returns whether an entry in a list of columns may be the name. Without a header, it must look
  // like a position.
  bool IsPlain(const std::string& name) const {
    constexpr std::string_view kDigits = "0123456789";
    const bool range = name.find("..") != std::string::npos &&
                       name.find_first_not_of("0123456789.+- ") == std::string::npos;
    const bool position = name.find_first_not_of(kDigits) == std::string::npos;
    return !name.empty() && name.size() <= spec::kTextMax && !range &&
           (position || spec::HasHeader(data_, plan_.files.front().path));
  }

  // Returns whether the job can name the column.
  bool IsWritable(size_t column) const {
    return has_positions_ || IsPlain(plan_.schema.names[column]);
  }

  // Returns the name in quotes, so that a name of digits is not a position. Otherwise the position.
  YamlNode Entry(size_t column) const {
    const std::string& name = plan_.schema.names[column];
    return IsPlain(name) ? ScalarNode(name, true) : ScalarNode(std::to_string(column));
  }

  // Returns the number of elements of the vector whose first element is the column, and stores its
  // name. Returns 0 for another column.
  size_t ElementsFrom(size_t column, std::string* vector) const {
    const std::vector<std::string>& names = plan_.schema.names;
    int64_t element = 0;
    if (findings_.vectors.empty() || !ParseElementName(names[column], vector, &element)) return 0;
    if (element != 0 || !findings_.vectors.contains(*vector) || !IsPlain(*vector)) return 0;
    size_t count = 1;
    while (column + count < names.size() &&
           names[column + count] == ElementName(*vector, static_cast<int64_t>(count))) {
      ++count;
    }
    return count;
  }

  // Returns the list of the columns. `ranges`: runs of neighbours are ranges of positions.
  YamlNode ListOf(std::vector<size_t> columns, bool ranges) const {
    std::sort(columns.begin(), columns.end());
    YamlNode list = List();
    for (size_t first = 0, last = 0; first < columns.size(); first = last) {
      std::string vector;
      const size_t elements = ElementsFrom(columns[first], &vector);
      last = first + elements;
      if (elements > 0 && last <= columns.size() &&
          columns[last - 1] == columns[first] + elements - 1) {
        list.items.push_back(ScalarNode(vector, true));
        continue;
      }
      last = first + 1;
      while (ranges && last < columns.size() && columns[last] == columns[last - 1] + 1) ++last;
      list.items.push_back(last == first + 1 ? Entry(columns[first])
                                             : ScalarNode(std::to_string(columns[first]) + ".." +
                                                              std::to_string(columns[last - 1]),
                                                          true));
    }
    return list;
  }

  // Returns the job with the groups and the excluded columns.
  YamlNode Extended(YamlNode root, bool ranges) const {
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
    return root;
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
    } else if (left_out_.contains(name) && IsWritable(column)) {
      excluded_.push_back(column);
      Note("column " + Quoted(name) + " is left out as in the model of train.initial");
    }
  }

  // Keeps a column that the rows would leave out.
  void KeepLeftOut(size_t column, spec::LeftOutReason reason) {
    if (!AddToGroup(column, HasKnownDate(column))) return;
    Note("column " + Quoted(plan_.schema.names[column]) +
         " is a feature as in the model of train.initial, although `features: auto` would leave it "
         "out (" +
         spec::NameOf(reason) + ")");
  }

  // Returns whether all rows have the same date, which needs no format and is not in the format of
  // the earlier model.
  bool HasKnownDate(size_t column) const {
    const auto constant = findings_.constants.find(column);
    const auto known = columns_.find(plan_.schema.names[column]);
    if (constant == findings_.constants.end() || known == columns_.end()) return false;
    const std::string& format = known->second.date_format;
    if (known->second.type != spec::FeatureType::kDate || format.empty()) return false;
    return !DateFormat(format).Parse(constant->second) && IsKnownDate(constant->second);
  }

  // Returns whether the column is one of the earlier model. `has_format`: its texts are dates
  // without the format of that model.
  bool AddToGroup(size_t column, bool has_format) {
    const auto known = columns_.find(plan_.schema.names[column]);
    if (known == columns_.end() || !IsWritable(column)) return false;
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
