#include "src/config/daemon_options.h"

#include <algorithm>
#include <map>
#include <sstream>
#include <utility>

#include "src/base/text.h"
#include "src/config/address.h"
#include "src/config/reader.h"
#include "src/config/yaml_tree.h"
#include "src/storage/uri.h"

namespace espalier {

template <>
struct spec::Names<LogLevel> {
  static constexpr spec::EnumName<LogLevel> kAll[] = {{LogLevel::kDebug, "debug"},
                                                      {LogLevel::kInfo, "info"},
                                                      {LogLevel::kWarning, "warning"},
                                                      {LogLevel::kError, "error"},
                                                      {LogLevel::kOff, "off"}};
};

}  // namespace espalier

namespace espalier::config {

namespace {

Status InRange(const std::string& field, int64_t value, int64_t min, int64_t max) {
  if (value >= min && value <= max) return {};
  return InvalidArgument(field + ": found " + std::to_string(value) +
                         ", expected a whole number from " + std::to_string(min) + " to " +
                         std::to_string(max));
}

// Checks that a text is printable and within its length.
Status Plain(const std::string& field, const std::string& value, size_t bytes_max) {
  const bool clean = std::none_of(value.begin(), value.end(),
                                  [](unsigned char c) { return c < 0x20 || c == 0x7F; });
  if (clean && value.size() <= bytes_max) return {};
  return InvalidArgument(field + ": found '" + Printable(value) + "', expected at most " +
                         std::to_string(bytes_max) + " bytes without control characters");
}

Status CheckCoordinator(const std::string& where) {
  if (where.starts_with("file:")) {
    if (where.size() > 5) return {};
    return InvalidArgument("coordinator: found 'file:', expected file:PATH");
  }
  if (IsAddressFile(where)) {
    const Status uri = storage::ParseUri(where).status();
    return uri.ok() ? uri : InvalidArgument("coordinator: " + uri.message());
  }
  const auto address = ParseAddress(where);
  if (!address.ok()) {
    return InvalidArgument("coordinator: " + address.status().message() +
                           ", or file:PATH or hdfs://... of a file that holds it");
  }
  if (IsDialable(*address)) return {};
  return InvalidArgument(
      "coordinator: found port 0, expected the port that the coordinator listens on");
}

// Checks that the value is a host alone, or host:port.
Status CheckAdvertise(const std::string& advertise) {
  if (advertise.empty()) return {};
  Result<Address> address = ParseAddress(advertise);
  if (!address.ok()) address = ParseAddress(advertise + ":1");
  if (address.ok() && IsDialable(*address) && address->path.empty()) return {};
  return InvalidArgument("advertise: found '" + Printable(advertise) +
                         "', expected a host or host:port by which others can reach this one");
}

Status CheckRoles(const std::vector<security::RoleRule>& roles, const security::TlsFiles& tls) {
  if (!roles.empty() && !tls.any()) {
    return InvalidArgument(
        "roles: found without tls, expected tls.ca, tls.certificate and tls.key");
  }
  for (const security::RoleRule& rule : roles) {
    if (!rule.name.empty() && rule.name != "*.") continue;
    return InvalidArgument("roles: found the name '" + rule.name +
                           "', expected a name in certificates, or *.DOMAIN");
  }
  return {};
}

Status ReadRole(Reader& r, const YamlNode& node, const std::string& path,
                std::vector<security::RoleRule>& roles) {
  security::RoleRule rule;
  const ReadValue read_role = [&](const YamlNode& value, const std::string& at) -> Status {
    const Result<security::Role> role = security::ParseRole(value.is_scalar() ? value.text : "");
    if (!role.ok()) return r.UnknownWord(value, at, {"worker", "admin", "operator", "reader"});
    rule.role = *role;
    return {};
  };
  ESPALIER_RETURN_IF_ERROR(
      r.ReadMap(node, path, {r.Value("name", rule.name), {"role", read_role}}));
  roles.push_back(std::move(rule));
  return {};
}

// ---- code that follows from the declarations ---------------------------------------------------

// Checks each value against its declared range.
class RangeCheck {
 public:
  template <typename T>
  void operator()(const Option& option, const T& value) {
    if (!status_.ok()) return;
    if constexpr (std::is_same_v<T, std::string>) {
      status_ = Plain(option.key, value, static_cast<size_t>(option.max));
    } else if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, int>) {
      status_ = InRange(option.key, value, option.min, option.max);
    } else if constexpr (std::is_same_v<T, std::vector<security::RoleRule>>) {
      for (const security::RoleRule& rule : value) {
        if (status_.ok()) status_ = Plain(option.key, rule.name, static_cast<size_t>(option.max));
      }
    }
  }
  const Status& status() const { return status_; }

 private:
  Status status_;
};

template <typename Options>
Status CheckRanges(const Options& options) {
  RangeCheck check;
  Describe(check, options);
  return check.status();
}

// The keys of a configuration file.
class KeyTable {
 public:
  explicit KeyTable(Reader& reader) : reader_(reader) {}

  template <typename T>
  void operator()(const Option& option, T& value) {
    const std::string key = option.key;
    const size_t dot = key.find('.');
    if (dot == std::string::npos) {
      fields_.push_back(FieldOf(option, key, value));
      readers_[key] = fields_.back().read;
      return;
    }
    const std::string map = key.substr(0, dot);
    std::vector<Field>& members = maps_[map];
    if (members.empty()) {
      fields_.push_back({map, [this, map](const YamlNode& node, const std::string& path) {
                           return reader_.ReadMap(node, path, maps_[map]);
                         }});
    }
    members.push_back(FieldOf(option, key.substr(dot + 1), value));
    readers_[key] = members.back().read;
  }
  const std::vector<Field>& fields() const { return fields_; }
  // Returns the readers by full key ("tls.ca").
  const std::map<std::string, ReadValue>& readers() const { return readers_; }

 private:
  template <typename T>
  Field FieldOf(const Option& option, std::string key, T& value) {
    if constexpr (std::is_same_v<T, std::vector<security::RoleRule>>) {
      return {std::move(key), [this, &value](const YamlNode& node, const std::string& path) {
                return reader_.ReadOneOrMany(node, path,
                                             [&](const YamlNode& item, const std::string& at) {
                                               return ReadRole(reader_, item, at, value);
                                             });
              }};
    } else if constexpr (std::is_same_v<T, int64_t>) {
      if (option.unit == Option::Unit::kMilliseconds) {
        return reader_.Milliseconds(std::move(key), value);
      }
      if (option.unit == Option::Unit::kBytes) return reader_.Bytes(std::move(key), value);
      return reader_.Value(std::move(key), value);
    } else {
      return reader_.Value(std::move(key), value);
    }
  }

  Reader& reader_;
  std::vector<Field> fields_;
  std::map<std::string, std::vector<Field>> maps_;
  std::map<std::string, ReadValue> readers_;
};

// Replaces old names of keys by the current ones, with a note for each.
Status UseNewNames(const Reader& reader, const std::map<std::string, ReadValue>& known,
                   YamlNode* root, std::vector<std::string>* notes) {
  if (root->kind != YamlNode::Kind::kMap) return {};
  for (auto& [key, value] : root->entries) {
    for (const auto& [before, now] : kRenamedOptions) {
      if (key.text != before || !known.contains(now)) continue;
      for (const auto& [other, other_value] : root->entries) {
        if (other.text != now) continue;
        return reader.ErrorAt(key.mark, std::string("found ") + before + " and " + now +
                                            ", which are one option. Keep " + now);
      }
      key.text = now;
      notes->push_back(RenamedNote(before, now));
    }
  }
  return {};
}

// Formats a number with the largest unit that divides it.
std::string WithUnit(int64_t value, Option::Unit unit) {
  using Units = std::vector<std::pair<int64_t, const char*>>;
  static const Units kTimes = {{kDayMs, " d"}, {3'600'000, " h"}, {60'000, " min"}, {1000, " s"}};
  static const Units kSizes = {
      {kTiB, "TiB"}, {int64_t{1} << 30, "GiB"}, {int64_t{1} << 20, "MiB"}, {1024, "KiB"}};
  if (unit != Option::Unit::kNone && value != 0) {
    for (const auto& [size, name] : unit == Option::Unit::kBytes ? kSizes : kTimes) {
      if (value % size == 0) return std::to_string(value / size) + name;
    }
  }
  return std::to_string(value);
}

// Writes a configuration file. The description of each option is a comment above it.
class ConfigurationWriter {
 public:
  explicit ConfigurationWriter(const std::string& program) {
    Comment("Configuration of " + program + ". To use this file, run:");
    text_ += "#   " + program + " --config FILE\n";
    Comment(
        "Command-line flags override this file: log_level is --log-level, tls.ca is --tls-ca. "
        "Times are in milliseconds, or have a unit: ms, s, min, h, d. Sizes are in bytes, or have "
        "a unit, such as 64MiB.");
  }

  template <typename T>
  void operator()(const Option& option, const T& value) {
    const std::string key = option.key;
    const size_t dot = key.find('.');
    const std::string map = dot == std::string::npos ? "" : key.substr(0, dot);
    if (map != map_) EndMap();
    if (map.empty()) {
      text_ += "\n";
      Comment(option.doc);
      text_ += key + ":" + ValueText(option, value) + "\n";
      return;
    }
    const std::string member = key.substr(dot + 1);
    if (map_.empty()) text_ += "\n";
    Comment("`" + member + "`: " + option.doc);
    members_ += (members_.empty() ? "" : ", ") + member + ":" + ValueText(option, value);
    map_ = map;
  }
  std::string Take() {
    EndMap();
    return std::move(text_);
  }

 private:
  static constexpr size_t kColumns = 100;

  // Writes a map on one line, below the descriptions of all its members.
  void EndMap() {
    if (!map_.empty()) text_ += map_ + ": {" + members_ + "}\n";
    map_.clear();
    members_.clear();
  }

  void Comment(const std::string& words) {
    std::istringstream in(words);
    std::string line = "#";
    for (std::string word; in >> word;) {
      if (line.size() + 1 + word.size() > kColumns) {
        text_ += line + "\n";
        line = "#";
      }
      line += " " + word;
    }
    text_ += line + "\n";
  }

  template <typename T>
  static std::string ValueText(const Option& option, const T& value) {
    if constexpr (std::is_same_v<T, std::vector<security::RoleRule>>) {
      if (value.empty()) return " []";
      std::string out;
      for (const security::RoleRule& rule : value) {
        out += std::string("\n- {name: ") + EmitScalar(ScalarNode(rule.name)) +
               ", role: " + security::RoleName(rule.role) + "}";
      }
      return out;
    } else if constexpr (std::is_same_v<T, std::string>) {
      return " " + (IsPlainAddress(value) ? value : EmitScalar(ScalarNode(value)));
    } else if constexpr (std::is_same_v<T, bool>) {
      return value ? " true" : " false";
    } else if constexpr (std::is_same_v<T, LogLevel>) {
      return std::string(" ") + spec::NameOf(value);
    } else {
      return " " + WithUnit(value, option.unit);
    }
  }

  // Returns whether the text is host:port, which needs no quotes outside a flow map.
  static bool IsPlainAddress(const std::string& text) {
    const Result<Address> address = ParseAddress(text);
    return address.ok() && address->path.empty() && text[0] != '[';
  }

  std::string text_;
  std::string map_, members_;  // the map in progress
};

template <typename Options>
std::string Written(const char* program, const Options& options) {
  ConfigurationWriter writer(program);
  Describe(writer, options);
  return writer.Take();
}

}  // namespace

std::string RenamedNote(std::string_view before, std::string_view now) {
  return std::string(before) + " is now called " + std::string(now);
}

Status CoordinatorOptions::Validate() const {
  ESPALIER_RETURN_IF_ERROR(CheckRanges(*this));
  ESPALIER_RETURN_IF_ERROR(tls.Validate(false));
  ESPALIER_RETURN_IF_ERROR(CheckListen(listen, tls.any(), insecure));
  ESPALIER_RETURN_IF_ERROR(CheckAdvertise(advertise));
  if (!tokens.empty() && !tls.any()) {
    return InvalidArgument(
        "tokens: found without tls, which would send them in plain text; "
        "expected tls.ca, tls.certificate and tls.key");
  }
  ESPALIER_RETURN_IF_ERROR(CheckRoles(roles, tls));
  if (liveness_limit_ms < 2 * heartbeat_interval_ms) {
    return InvalidArgument("liveness_limit_ms: found " + std::to_string(liveness_limit_ms) +
                           ", expected at least twice heartbeat_interval_ms, which is " +
                           std::to_string(heartbeat_interval_ms));
  }
  return {};
}

Status WorkerOptions::Validate() const {
  ESPALIER_RETURN_IF_ERROR(CheckRanges(*this));
  ESPALIER_RETURN_IF_ERROR(CheckCoordinator(coordinator));
  ESPALIER_RETURN_IF_ERROR(tls.Validate(false));
  ESPALIER_RETURN_IF_ERROR(CheckListen(listen, tls.any(), insecure));
  ESPALIER_RETURN_IF_ERROR(CheckAdvertise(advertise));
  if (kernel.empty()) return InvalidArgument("kernel: found nothing, expected one such as Haswell");
  return {};
}

template <typename Options>
Result<Options> ParseOptions(std::string_view text, std::string_view name,
                             std::vector<std::string>* notes) {
  Options options;
  Reader reader(name);
  ESPALIER_ASSIGN_OR_RETURN(YamlNode root, ParseYaml(text, name));
  KeyTable keys(reader);
  Describe(keys, options);
  std::vector<std::string> unread;
  ESPALIER_RETURN_IF_ERROR(UseNewNames(reader, keys.readers(), &root, notes ? notes : &unread));
  ESPALIER_RETURN_IF_ERROR(reader.ReadMap(root, "", keys.fields()));
  if (const Status invalid = options.Validate(); !invalid.ok()) return reader.Locate(invalid);
  return options;
}
template Result<CoordinatorOptions> ParseOptions(std::string_view, std::string_view,
                                                 std::vector<std::string>*);
template Result<WorkerOptions> ParseOptions(std::string_view, std::string_view,
                                            std::vector<std::string>*);

template <typename Options>
Status SetOptions(const std::map<std::string, std::string>& texts,
                  std::string (*name_of)(const std::string& key), Options& options) {
  Reader reader("");
  KeyTable keys(reader);
  Describe(keys, options);
  for (const auto& [key, text] : texts) {
    ESPALIER_RETURN_IF_ERROR(keys.readers().at(key)(ScalarNode(text), name_of(key)));
  }
  return {};
}
template Status SetOptions(const std::map<std::string, std::string>&,
                           std::string (*)(const std::string&), CoordinatorOptions&);
template Status SetOptions(const std::map<std::string, std::string>&,
                           std::string (*)(const std::string&), WorkerOptions&);

std::string ConfigurationText(const CoordinatorOptions& options) {
  return Written("espalier-coordinator", options);
}

std::string ConfigurationText(const WorkerOptions& options) {
  return Written("espalier-worker", options);
}

}  // namespace espalier::config
