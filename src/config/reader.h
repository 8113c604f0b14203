// From a tree of YAML to typed fields, by tables: each map names its keys and what reads each. An
// unknown, repeated or ill-typed entry is an error with file, line and column, and with the nearest
// known word. Bounds are not checked here but by the structs' own Validate; Locate gives such an
// error its place in the text.
//
// Thread rule: one thread. A Reader lives as long as the call that parses.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "src/config/yaml_tree.h"
#include "src/spec/names.h"

namespace espalier::config {

// "a, b, c".
std::string Joined(const std::vector<std::string>& words);

// Reads one value; `path` is where it stands ("train.batch").
using ReadValue = std::function<Status(const YamlNode& node, const std::string& path)>;

struct Field {
  std::string key;
  ReadValue read;
};

// One way to write "a word or a one-key map": `word` alone, or `{word: body}`. `body` is null for
// the word alone.
struct Choice {
  std::string word;
  std::function<Status(const YamlNode* body, const std::string& path)> read;
};

// What a Reader takes at one path.
struct GrammarEntry {
  std::string path;                     // "train.optimizer.adam.beta1"; "[]": an entry of a list
  bool is_word = false;                 // a word of the path before it, otherwise a key
  std::string type = {};                // "a whole number"; empty: a map, or only words
  std::string value = {};               // default, as YAML writes it; empty: none
  std::vector<std::string> words = {};  // that may be the value
};

class Reader {
 public:
  explicit Reader(std::string_view name) : name_(name) {}
  // A reader that does not read. Each call appends what it would take to `grammar`, and values stay
  // as they are. Nodes are AnyNode(). `grammar` must outlive the reader.
  explicit Reader(std::vector<GrammarEntry>* grammar) : grammar_(grammar) {}
  static YamlNode AnyNode() { return {.kind = YamlNode::Kind::kMap}; }
  bool describes() const { return grammar_ != nullptr; }
  // The field at `path` has no default.
  void NoDefault(const std::string& path);

  // "name:line:column: message".
  Status ErrorAt(YamlMark mark, const std::string& message) const;
  // "name:line:column: path: found X, expected `expected`".
  Status Unexpected(const YamlNode& node, const std::string& path,
                    const std::string& expected) const;
  // A known feature that this version lacks.
  Status Lacking(const YamlNode& node, const std::string& path, const std::string& what) const;
  // Prefixes an error of a Validate, whose message starts with a path, with that field's place.
  Status Locate(const Status& error) const;

  Status ReadMap(const YamlNode& node, const std::string& path, const std::vector<Field>& fields);
  Status ReadChoice(const YamlNode& node, const std::string& path,
                    const std::vector<Choice>& choices);
  // One value, or a list of values.
  Status ReadOneOrMany(const YamlNode& node, const std::string& path, const ReadValue& read_item);

  Status Read(const YamlNode& node, const std::string& path, bool& out);
  Status Read(const YamlNode& node, const std::string& path, char& out);
  Status Read(const YamlNode& node, const std::string& path, int& out);
  Status Read(const YamlNode& node, const std::string& path, int64_t& out);
  Status Read(const YamlNode& node, const std::string& path, uint64_t& out);
  Status Read(const YamlNode& node, const std::string& path, double& out);
  Status Read(const YamlNode& node, const std::string& path, std::string& out);
  Status Read(const YamlNode& node, const std::string& path, spec::Span& out);
  // A plain integer is a position, all else a name.
  Status Read(const YamlNode& node, const std::string& path, spec::ColumnRef& out);
  template <spec::Named E>
  Status Read(const YamlNode& node, const std::string& path, E& out) {
    if (describes()) return Describe(path, "", spec::NameOf(out), spec::AllNames<E>());
    if (const auto value = node.is_scalar() ? spec::FromName<E>(node.text) : std::nullopt) {
      out = *value;
      return {};
    }
    return UnknownWord(node, path, spec::AllNames<E>());
  }
  template <typename T>
  Status Read(const YamlNode& node, const std::string& path, std::optional<T>& out) {
    T value{};
    ESPALIER_RETURN_IF_ERROR(Read(node, path, value));
    if (describes()) {
      NoDefault(path);
    } else {
      out = std::move(value);
    }
    return {};
  }

  // Milliseconds from "30s"; with `bare_ms` also from a number alone (keys that end in _ms).
  Status ReadDuration(const YamlNode& node, const std::string& path, bool bare_ms, int64_t& out);
  // Bytes from "64MiB" or a number alone.
  Status ReadBytes(const YamlNode& node, const std::string& path, int64_t& out);

  // Fields for ReadMap. `out` must outlive the call.
  template <typename T>
  Field Value(std::string key, T& out) {
    return {std::move(key), [this, &out](const YamlNode& node, const std::string& path) {
              return Read(node, path, out);
            }};
  }
  Field Milliseconds(std::string key, int64_t& out);
  Field Bytes(std::string key, int64_t& out);

  // "unknown value 'x'; did you mean 'y'?" for a scalar, "found a map, expected ..." for the rest.
  Status UnknownWord(const YamlNode& node, const std::string& path,
                     const std::vector<std::string>& known) const;

 private:
  GrammarEntry& EntryOf(const std::string& path) const;
  Status Describe(const std::string& path, const char* type, std::string value,
                  const std::vector<std::string>& words = {}) const;
  void Remember(const std::string& path, YamlMark key, const YamlNode& value);

  std::string name_;
  std::vector<GrammarEntry>* grammar_ = nullptr;  // not null: this reader describes
  std::map<std::string, YamlMark> marks_;         // by path: of scalars the value's, else the key's
};

}  // namespace espalier::config
