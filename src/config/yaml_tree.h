// YAML text as a plain tree with positions. All sizes are bounded: 1 MiB of text, 32 levels, 65,536
// nodes, one document. Anchors, aliases and tags are refused, so that nothing can grow by
// reference.
//
// Thread rule: values and pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/status.h"

namespace espalier::config {

inline constexpr size_t kYamlBytesMax = 1 << 20;
inline constexpr int kYamlDepthMax = 32;
inline constexpr int64_t kYamlNodesMax = 1 << 16;

// A place in the text, 1-based as in editors. 0 is unknown.
struct YamlMark {
  int line = 0;
  int column = 0;
};

struct YamlEntry;

struct YamlNode {
  enum class Kind { kNull, kScalar, kSequence, kMap };
  Kind kind = Kind::kNull;
  std::string text;  // kScalar
  // kScalar: written in quotes or as a block, and therefore text, whatever its content.
  bool quoted = false;
  YamlMark mark;                   // for a null value, the mark of its key
  std::vector<YamlNode> items;     // kSequence
  std::vector<YamlEntry> entries;  // kMap, in order; keys may repeat

  bool is_scalar() const { return kind == Kind::kScalar; }
  // Returns the value of the first entry with that key, or null. Nodes of other kinds have no
  // entries.
  YamlNode* Find(std::string_view key);
};

// A key of a map and its value.
struct YamlEntry {
  YamlNode first, second;
};

// Returns a scalar without a source position.
inline YamlNode ScalarNode(std::string text, bool quoted = false) {
  return {.kind = YamlNode::Kind::kScalar, .text = std::move(text), .quoted = quoted};
}

// Parses `text`. `name` is the name of the file, for messages: "job.yaml:3:5: ...". The root is a
// map, which is empty if the text contains only comments.
Result<YamlNode> ParseYaml(std::string_view text, std::string_view name);

// Returns block-style YAML that parses to the same tree except for positions. Scalars other than
// plain words and numbers are in double quotes.
std::string EmitYaml(const YamlNode& root);

// Returns a scalar on one line, in the form of EmitYaml.
std::string EmitScalar(const YamlNode& scalar);

// Returns "name:line:column", as far as known.
std::string Place(std::string_view name, YamlMark mark);

}  // namespace espalier::config
