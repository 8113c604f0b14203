// Reader: turns a tree of YAML into typed fields. Tables list the keys of each map and their
// readers. An unknown, repeated or ill-typed entry is an error with file, line and column, and with
// the nearest known word. The Reader does not check bounds. The Validate functions of the structs
// do that, and Locate adds the place in the text to their errors.
//
// Thread rule: one thread. A Reader exists for the duration of one parse.
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

// Returns "a, b, c".
std::string Joined(const std::vector<std::string>& words);

// Reads one value at `path` ("train.batch").
using ReadValue = std::function<Status(const YamlNode& node, const std::string& path)>;

struct Field {
  std::string key;
  ReadValue read;
};

// One form of "a word or a one-key map": `word` alone, or `{word: body}`. `body` is null for the
// word alone.
struct Choice {
  std::string word;
  std::function<Status(const YamlNode* body, const std::string& path)> read;
};

// The values that a Reader accepts at one path.
struct GrammarEntry {
  std::string path;                     // "train.optimizer.adam.beta1"; "[]": an entry of a list
  bool is_word = false;                 // true: a word at the path before it; false: a key
  std::string type = {};                // "a whole number"; empty: a map, or only words
  std::string value = {};               // default in YAML form; empty: none
  std::vector<std::string> words = {};  // possible values
};

class Reader {
 public:
  explicit Reader(std::string_view name) : name_(name) {}
  // Makes a reader that describes and does not read. Each call appends what it would accept to
  // `grammar`, and values do not change. Nodes are AnyNode(). `grammar` must outlive the reader.
  explicit Reader(std::vector<GrammarEntry>* grammar) : grammar_(grammar) {}
  static YamlNode AnyNode() { return {.kind = YamlNode::Kind::kMap}; }
  bool describes() const { return grammar_ != nullptr; }
  // Sets the suggestion for an unknown key of the map at `path`, whose keys are `known`. Without
  // it, or if it returns nothing, errors name the nearest of these.
  using KeyHint = std::string (*)(const std::string& path, const std::string& key,
                                  const std::vector<std::string>& known);
  void SuggestBy(KeyHint hint) { hint_ = hint; }
  // Records that the field at `path` has no default.
  void NoDefault(const std::string& path);

  // Returns the error "name:line:column: message".
  Status ErrorAt(YamlMark mark, const std::string& message) const;
  // Returns the error "name:line:column: path: found X, expected `expected`".
  Status Unexpected(const YamlNode& node, const std::string& path,
                    const std::string& expected) const;
  // Returns the error for a known feature that is missing from this version.
  Status Lacking(const YamlNode& node, const std::string& path, const std::string& what) const;
  // Adds the place in the text to an error of Validate. The message of the error starts with the
  // path of the field.
  Status Locate(const Status& error) const;

  Status ReadMap(const YamlNode& node, const std::string& path, const std::vector<Field>& fields);
  Status ReadChoice(const YamlNode& node, const std::string& path,
                    const std::vector<Choice>& choices);
  // Reads one value, or a list of values.
  Status ReadOneOrMany(const YamlNode& node, const std::string& path, const ReadValue& read_item);

  Status Read(const YamlNode& node, const std::string& path, bool& out);
  Status Read(const YamlNode& node, const std::string& path, char& out);
  Status Read(const YamlNode& node, const std::string& path, int& out);
  Status Read(const YamlNode& node, const std::string& path, int64_t& out);
  Status Read(const YamlNode& node, const std::string& path, uint64_t& out);
  Status Read(const YamlNode& node, const std::string& path, double& out);
  Status Read(const YamlNode& node, const std::string& path, std::string& out);
  Status Read(const YamlNode& node, const std::string& path, spec::Span& out);
  // Reads a plain integer as a position and anything else as a name.
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

  // Reads milliseconds from "30s". With `bare_ms`, also accepts a bare number (keys that end in
  // _ms).
  Status ReadDuration(const YamlNode& node, const std::string& path, bool bare_ms, int64_t& out);
  // Reads bytes from "64MiB" or from a bare number.
  Status ReadBytes(const YamlNode& node, const std::string& path, int64_t& out);

  // Make fields for ReadMap. `out` must outlive the call.
  template <typename T>
  Field Value(std::string key, T& out) {
    return {std::move(key), [this, &out](const YamlNode& node, const std::string& path) {
              return Read(node, path, out);
            }};
  }
  Field Milliseconds(std::string key, int64_t& out);
  Field Bytes(std::string key, int64_t& out);

  // Returns the error "unknown value 'x'; did you mean 'y'?" for a scalar, and "found a map,
  // expected ..." for other nodes.
  Status UnknownWord(const YamlNode& node, const std::string& path,
                     const std::vector<std::string>& known) const;

 private:
  GrammarEntry& EntryOf(const std::string& path) const;
  Status Describe(const std::string& path, const char* type, std::string value,
                  const std::vector<std::string>& words = {}) const;
  void Remember(const std::string& path, YamlMark key, const YamlNode& value);

  std::string name_;
  KeyHint hint_ = nullptr;
  std::vector<GrammarEntry>* grammar_ = nullptr;  // not null: this reader describes
  // By path: the mark of a scalar value, otherwise that of the key.
  std::map<std::string, YamlMark> marks_;
};

}  // namespace espalier::config
