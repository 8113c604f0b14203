#include "src/config/yaml_tree.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <optional>
#include <sstream>

#include "src/base/text.h"

namespace espalier::config {
namespace {

YamlMark ToMark(const YAML::Mark& mark) { return {mark.line + 1, mark.column + 1}; }

// Builds the tree from the parser's events. After the first error, it ignores all events. The
// parser itself stays within its bounds, because the text was checked before.
class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(std::string_view name) : name_(name) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Check(mark, "", anchor);
    YamlNode node;
    node.mark = ToMark(mark);
    Add(std::move(node));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    Refuse(ToMark(mark), "aliases (*name) are not supported here. Write the value out");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    Check(mark, tag, anchor);
    YamlNode node;
    node.kind = YamlNode::Kind::kScalar;
    node.text = value;
    node.quoted = tag == "!";
    node.mark = ToMark(mark);
    Add(std::move(node));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(mark, tag, anchor, YamlNode::Kind::kSequence);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(mark, tag, anchor, YamlNode::Kind::kMap);
  }
  void OnMapEnd() override { Close(); }

  const Status& status() const { return status_; }
  YamlNode TakeRoot() { return std::move(root_); }

 private:
  struct Frame {
    YamlNode node;
    bool has_key = false;
    YamlNode key;
  };

  void Refuse(YamlMark mark, const std::string& why) {
    if (status_.ok()) status_ = InvalidArgument(Place(name_, mark) + ": " + why);
  }
  // Refuses anchors and tags. Plain scalars have the tag "?" and quoted ones "!". Collections may
  // have either.
  void Check(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) {
      Refuse(ToMark(mark), "anchors (&name) are not supported here. Write the value out");
    }
    if (!tag.empty() && tag != "?" && tag != "!") {
      Refuse(ToMark(mark), "tags (" + Printable(tag, 40) + ") are not supported here");
    }
    if (++nodes_ > kYamlNodesMax) {
      Refuse(ToMark(mark), "more than " + std::to_string(kYamlNodesMax) + " values");
    }
  }
  void Open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
            YamlNode::Kind kind) {
    Check(mark, tag, anchor);
    if (frames_.size() >= kYamlDepthMax) {
      Refuse(ToMark(mark), "nested deeper than " + std::to_string(kYamlDepthMax) + " levels");
    }
    if (!status_.ok()) return;
    frames_.emplace_back();
    frames_.back().node.kind = kind;
    frames_.back().node.mark = ToMark(mark);
  }
  void Close() {
    if (!status_.ok()) return;
    YamlNode done = std::move(frames_.back().node);
    frames_.pop_back();
    Add(std::move(done));
  }
  void Add(YamlNode node) {
    if (!status_.ok()) return;
    if (frames_.empty()) {
      root_ = std::move(node);
      return;
    }
    Frame& frame = frames_.back();
    if (frame.node.kind == YamlNode::Kind::kSequence) {
      frame.node.items.push_back(std::move(node));
    } else if (!frame.has_key) {
      if (!node.is_scalar()) return Refuse(node.mark, "a key must be a word");
      frame.key = std::move(node);
      frame.has_key = true;
    } else {
      if (node.kind == YamlNode::Kind::kNull) node.mark = frame.key.mark;
      frame.node.entries.emplace_back(std::move(frame.key), std::move(node));
      frame.has_key = false;
    }
  }

  std::string name_;
  Status status_;
  int64_t nodes_ = 0;
  std::vector<Frame> frames_;
  YamlNode root_;
};

// Checks for UTF-8. The parser accepts any bytes, but values are shown and sent as UTF-8.
Status CheckUtf8(std::string_view text, std::string_view name) {
  YamlMark mark{1, 1};
  for (size_t i = 0; i < text.size();) {
    const size_t bytes = CharacterBytes(text.substr(i));
    if (bytes == 0) {
      return InvalidArgument(Place(name, mark) + ": found the byte " +
                             Printable(text.substr(i, 1)) +
                             ", which is not UTF-8. Save the file as UTF-8");
    }
    mark = text[i] == '\n' ? YamlMark{mark.line + 1, 1} : YamlMark{mark.line, mark.column + 1};
    i += bytes;
  }
  return {};
}

// Refuses text that is nested too deeply, because the parser is recursive. Brackets are counted
// anywhere (in quotes they balance or are few). Block levels are counted by the indicators at the
// start of a line.
Status CheckDepth(std::string_view text, std::string_view name) {
  int brackets = 0, line = 1, indicators = 0;
  bool leading = true;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '[' || c == '{') ++brackets;
    if ((c == ']' || c == '}') && brackets > 0) --brackets;
    if (c == '\n') {
      ++line;
      indicators = 0;
      leading = true;
    } else if (leading && (c == '-' || c == '?' || c == ':')) {
      ++indicators;
    } else if (c != ' ' && c != '\t') {
      leading = false;
    }
    if (brackets > 4 * kYamlDepthMax || (leading && indicators > 4 * kYamlDepthMax)) {
      return InvalidArgument(Place(name, {line, 0}) + ": nested deeper than " +
                             std::to_string(kYamlDepthMax) + " levels");
    }
  }
  return {};
}

bool IsPlainWord(std::string_view text) {
  const bool null = text == "~" || text == "null" || text == "Null" || text == "NULL";
  return !text.empty() && !null && text[0] != '-' && text[0] != ' ' && text.back() != ' ' &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  c == '_' || c == '.' || c == '/' || c == '+' || c == '-' || c == ' ';
         });
}

}  // namespace

std::string EmitScalar(const YamlNode& node) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const bool negative = node.text.size() > 1 && node.text[0] == '-' &&
                        std::all_of(node.text.begin() + 1, node.text.end(), is_digit);
  if (!node.quoted && (IsPlainWord(node.text) || negative)) {
    return node.text;
  }
  std::string out = "\"";
  for (const char c : node.text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7F) {
      static constexpr char kHex[] = "0123456789abcdef";
      out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    } else {
      out += c;
    }
  }
  return out + '"';
}

namespace {

void Emit(const YamlNode& node, int indent, std::string& out);

// Writes a value after "key:" or "-", on the same line if it fits.
void EmitValue(const YamlNode& value, int indent, std::string& out) {
  switch (value.kind) {
    case YamlNode::Kind::kNull:
      out += '\n';
      return;
    case YamlNode::Kind::kScalar:
      out += ' ';
      out += EmitScalar(value);
      out += '\n';
      return;
    case YamlNode::Kind::kSequence:
    case YamlNode::Kind::kMap:
      if (value.items.empty() && value.entries.empty()) {
        out += value.kind == YamlNode::Kind::kMap ? " {}\n" : " []\n";
        return;
      }
      out += '\n';
      Emit(value, indent + 2, out);
  }
}

void Emit(const YamlNode& node, int indent, std::string& out) {
  const std::string space(static_cast<size_t>(indent), ' ');
  for (const YamlNode& item : node.items) {
    out += space + "-";
    EmitValue(item, indent, out);
  }
  for (const auto& [key, value] : node.entries) {
    out += space;
    out += EmitScalar(key);
    out += ':';
    EmitValue(value, indent, out);
  }
}

// Returns the place of a tab that indents the line of a parser's error or the line before it, if
// there is one.
std::optional<YamlMark> TabIndent(std::string_view text, YamlMark error) {
  int line = 1;
  for (size_t begin = 0; begin < text.size() && line <= error.line; ++line) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view content = text.substr(begin, end - begin);
    const size_t tab = content.substr(0, content.find_first_not_of(" \t")).find('\t');
    const bool near = line + 1 >= error.line;
    if (near && tab != std::string_view::npos) return YamlMark{line, static_cast<int>(tab) + 1};
    begin = end + 1;
  }
  return std::nullopt;
}

}  // namespace

YamlNode* YamlNode::Find(std::string_view key) {
  for (auto& [k, value] : entries) {
    if (k.text == key) return &value;
  }
  return nullptr;
}

std::string Place(std::string_view name, YamlMark mark) {
  std::string out(name);
  if (mark.line > 0) out += ":" + std::to_string(mark.line);
  if (mark.line > 0 && mark.column > 0) out += ":" + std::to_string(mark.column);
  return out;
}

Result<YamlNode> ParseYaml(std::string_view text, std::string_view name) {
  if (text.size() > kYamlBytesMax) {
    // The caller may have stopped reading at the limit.
    return InvalidArgument(std::string(name) + ": found more than " + HumanBytes(kYamlBytesMax) +
                           " of YAML, expected at most that");
  }
  ESPALIER_RETURN_IF_ERROR(CheckUtf8(text, name));
  ESPALIER_RETURN_IF_ERROR(CheckDepth(text, name));
  TreeBuilder builder(name);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    parser.HandleNextDocument(builder);
    YamlNode first = builder.TakeRoot();
    ESPALIER_RETURN_IF_ERROR(builder.status());
    TreeBuilder second(name);
    if (parser.HandleNextDocument(second)) {
      return InvalidArgument(std::string(name) +
                             ": found a second document (after `---`), expected one");
    }
    if (first.kind == YamlNode::Kind::kNull) first.kind = YamlNode::Kind::kMap;
    if (first.kind != YamlNode::Kind::kMap) {
      return InvalidArgument(Place(name, first.mark) +
                             ": found no keys, expected lines such as `key: value`");
    }
    return first;
  } catch (const YAML::Exception& e) {
    const YamlMark mark = e.mark.is_null() ? YamlMark{} : ToMark(e.mark);
    if (const auto tab = TabIndent(text, mark)) {
      return InvalidArgument(Place(name, *tab) +
                             ": found a tab before the text, expected spaces: tabs cannot indent "
                             "YAML");
    }
    return InvalidArgument(Place(name, mark) + ": not valid YAML: " + e.msg);
  } catch (const std::exception& e) {
    return InvalidArgument(std::string(name) + ": not readable as YAML: " + e.what());
  }
}

std::string EmitYaml(const YamlNode& root) {
  std::string out;
  Emit(root, 0, out);
  return out;
}

}  // namespace espalier::config
