// YAML text as a plain tree with positions, bounded in every direction: 1 MiB of text, 32 levels,
// 65,536 nodes, one document, no anchors, aliases or tags (so that nothing can grow by reference).
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

// A place in the text, 1-based as editors count; 0 is unknown.
struct YamlMark {
  int line = 0;
  int column = 0;
};

struct YamlEntry;

struct YamlNode {
  enum class Kind { kNull, kScalar, kSequence, kMap };
  Kind kind = Kind::kNull;
  std::string text;     // kScalar
  bool quoted = false;  // kScalar: written in quotes or as a block, hence text whatever it spells
  YamlMark mark;        // of a null value: its key's
  std::vector<YamlNode> items;     // kSequence
  std::vector<YamlEntry> entries;  // kMap, in order, keys may repeat

  bool is_scalar() const { return kind == Kind::kScalar; }
  // The value of the first entry with that key, or null. REQUIRES: nothing; other kinds have none.
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

// Parses `text`. `name` is the file's, for messages: "job.yaml:3:5: ...". The root is a map,
// empty when the text holds nothing but comments.
Result<YamlNode> ParseYaml(std::string_view text, std::string_view name);

// Block-style YAML whose parse gives the same tree but for positions. Scalars other than plain
// words and numbers come out in double quotes.
std::string EmitYaml(const YamlNode& root);

// A scalar on one line, as EmitYaml writes it.
std::string EmitScalar(const YamlNode& scalar);

// "name:line:column", as far as known.
std::string Place(std::string_view name, YamlMark mark);

}  // namespace espalier::config
