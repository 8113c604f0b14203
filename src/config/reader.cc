#include "src/config/reader.h"

#include <algorithm>
#include <limits>

#include "src/base/text.h"
#include "src/config/units.h"

namespace espalier::config {
namespace {

std::string Spelling(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return "nothing";
    case YamlNode::Kind::kScalar:
      return "'" + Printable(node.text, 60) + "'";
    case YamlNode::Kind::kSequence:
      return "a list";
    case YamlNode::Kind::kMap:
      return "a map";
  }
  return "";
}

// Returns "; did you mean 'x'?" or the whole list.
std::string Hint(std::string_view word, const std::vector<std::string>& known) {
  if (const auto near = Nearest(word, known)) return "; did you mean '" + *near + "'?";
  return "; expected one of " + Joined(known);
}

std::string Child(const std::string& path, const std::string& key) {
  return path.empty() ? key : path + "." + key;
}

}  // namespace

std::string Joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

Status Reader::ErrorAt(YamlMark mark, const std::string& message) const {
  const std::string place = Place(name_, mark);  // empty on a command line
  return InvalidArgument(place.empty() ? message : place + ": " + message);
}

Status Reader::Unexpected(const YamlNode& node, const std::string& path,
                          const std::string& expected) const {
  return ErrorAt(node.mark, path + ": found " + Spelling(node) + ", expected " + expected);
}

Status Reader::Lacking(const YamlNode& node, const std::string& path,
                       const std::string& what) const {
  return Unimplemented(Place(name_, node.mark) + ": " + path +
                       ": this version of Espalier has no " + what + " yet");
}

Status Reader::Locate(const Status& error) const {
  if (error.ok()) return error;
  std::string path = error.message().substr(0, error.message().find(": "));
  while (!path.empty()) {
    if (const auto it = marks_.find(path); it != marks_.end()) {
      return Status(error.code(), Place(name_, it->second) + ": " + error.message());
    }
    const size_t cut = path.find_last_of(".[");
    path.resize(cut == std::string::npos ? 0 : cut);
  }
  return Status(error.code(), name_ + ": " + error.message());
}

GrammarEntry& Reader::EntryOf(const std::string& path) const {
  const auto found = std::find_if(grammar_->begin(), grammar_->end(),
                                  [&](const GrammarEntry& e) { return e.path == path; });
  return found != grammar_->end() ? *found : grammar_->emplace_back(GrammarEntry{.path = path});
}

Status Reader::Describe(const std::string& path, const char* type, std::string value,
                        const std::vector<std::string>& words) const {
  GrammarEntry& entry = EntryOf(path);
  entry.type = type;
  entry.value = std::move(value);
  entry.words = words;
  return {};
}

void Reader::NoDefault(const std::string& path) { EntryOf(path).value.clear(); }

void Reader::Remember(const std::string& path, YamlMark key, const YamlNode& value) {
  marks_[path] = value.is_scalar() ? value.mark : key;
}

Status Reader::ReadMap(const YamlNode& node, const std::string& path,
                       const std::vector<Field>& fields) {
  if (describes()) {
    for (const Field& field : fields) {
      const std::string child = Child(path, field.key);
      EntryOf(child);
      (void)field.read(node, child);  // some readers accept only text
    }
    return {};
  }
  std::vector<std::string> known;
  for (const Field& field : fields) {
    known.push_back(field.key);
  }
  if (node.kind != YamlNode::Kind::kMap) {
    return Unexpected(node, path, "a map with some of the keys " + Joined(known));
  }
  std::map<std::string, int> lines;
  for (const auto& [key, value] : node.entries) {
    const auto field = std::find_if(fields.begin(), fields.end(),
                                    [&](const Field& f) { return f.key == key.text; });
    if (field == fields.end()) {
      const std::string hint = hint_ == nullptr ? "" : hint_(path, key.text, known);
      return ErrorAt(key.mark, "unknown key '" + Printable(key.text, 60) + "'" +
                                   (hint.empty() ? Hint(key.text, known) : hint));
    }
    if (const auto [it, fresh] = lines.emplace(key.text, key.mark.line); !fresh) {
      return ErrorAt(key.mark, "key '" + key.text + "' appears twice; the first is in line " +
                                   std::to_string(it->second));
    }
    const std::string child = Child(path, key.text);
    Remember(child, key.mark, value);
    ESPALIER_RETURN_IF_ERROR(field->read(value, child));
  }
  return {};
}

Status Reader::ReadChoice(const YamlNode& node, const std::string& path,
                          const std::vector<Choice>& choices) {
  std::vector<std::string> known;
  for (const Choice& choice : choices) known.push_back(choice.word);
  if (describes()) {
    EntryOf(path).words = known;
    for (const Choice& choice : choices) {
      const std::string child = Child(path, choice.word);
      EntryOf(child).is_word = true;
      (void)choice.read(&node, child);  // a word without settings refuses a body
    }
    return {};
  }
  const YamlNode* word = &node;
  const YamlNode* body = nullptr;
  if (node.kind == YamlNode::Kind::kMap) {
    if (node.entries.size() != 1) {
      return ErrorAt(node.mark, path + ": found " + std::to_string(node.entries.size()) +
                                    " keys, expected exactly one of " + Joined(known));
    }
    word = &node.entries[0].first;
    body = &node.entries[0].second;
  }
  const auto choice = std::find_if(choices.begin(), choices.end(), [&](const Choice& c) {
    return word->is_scalar() && c.word == word->text;
  });
  if (choice == choices.end()) return UnknownWord(*word, path, known);
  const std::string child = Child(path, choice->word);
  Remember(child, word->mark, body ? *body : *word);
  return choice->read(body, child);
}

Status Reader::ReadOneOrMany(const YamlNode& node, const std::string& path,
                             const ReadValue& read_item) {
  if (describes()) return read_item(node, path + "[]");
  if (node.kind != YamlNode::Kind::kSequence) return read_item(node, path);
  for (size_t i = 0; i < node.items.size(); ++i) {
    const std::string child = path + "[" + std::to_string(i) + "]";
    Remember(child, node.items[i].mark, node.items[i]);
    ESPALIER_RETURN_IF_ERROR(read_item(node.items[i], child));
  }
  return {};
}

Status Reader::UnknownWord(const YamlNode& node, const std::string& path,
                           const std::vector<std::string>& known) const {
  if (describes()) return Describe(path, "", EntryOf(path).value, known);
  if (!node.is_scalar()) return Unexpected(node, path, "one of " + Joined(known));
  return ErrorAt(node.mark, path + ": unknown value '" + Printable(node.text, 60) + "'" +
                                Hint(node.text, known));
}

Status Reader::Read(const YamlNode& node, const std::string& path, bool& out) {
  if (describes()) return Describe(path, "true or false", out ? "true" : "false");
  if (!node.is_scalar() || (node.text != "true" && node.text != "false")) {
    return Unexpected(node, path, "true or false");
  }
  out = node.text == "true";
  return {};
}

Status Reader::Read(const YamlNode& node, const std::string& path, char& out) {
  if (describes()) {
    return Describe(path, "one character", EmitScalar(ScalarNode(std::string(1, out), true)));
  }
  if (!node.is_scalar() || node.text.size() != 1) {
    return Unexpected(node, path, "one character, such as \",\" or \"\\t\" (in double quotes)");
  }
  out = node.text[0];
  return {};
}

Status Reader::Read(const YamlNode& node, const std::string& path, int64_t& out) {
  if (describes()) return Describe(path, "a whole number", std::to_string(out));
  const auto value = node.is_scalar() ? ParseWhole(node.text) : std::nullopt;
  if (!value) return Unexpected(node, path, "a whole number");
  out = *value;
  return {};
}

Status Reader::Read(const YamlNode& node, const std::string& path, int& out) {
  if (describes()) return Describe(path, "a whole number", std::to_string(out));
  const auto value = node.is_scalar() ? ParseWhole(node.text) : std::nullopt;
  if (!value || *value < std::numeric_limits<int>::min() ||
      *value > std::numeric_limits<int>::max()) {
    return Unexpected(node, path, "a whole number");
  }
  out = static_cast<int>(*value);
  return {};
}

Status Reader::Read(const YamlNode& node, const std::string& path, uint64_t& out) {
  if (describes()) return Describe(path, "a whole number", std::to_string(out));
  const auto value = node.is_scalar() ? ParseUnsigned(node.text) : std::nullopt;
  if (!value) return Unexpected(node, path, "a whole number from 0 to 18446744073709551615");
  out = *value;
  return {};
}

Status Reader::Read(const YamlNode& node, const std::string& path, double& out) {
  if (describes()) return Describe(path, "a number", ShortestDouble(out));
  const auto value = node.is_scalar() ? ParseReal(node.text) : std::nullopt;
  if (!value) return Unexpected(node, path, "a number");
  out = *value;
  return {};
}

Status Reader::Read(const YamlNode& node, const std::string& path, std::string& out) {
  if (describes()) return Describe(path, "text", out);
  if (!node.is_scalar()) return Unexpected(node, path, "text");
  out = node.text;
  return {};
}

Status Reader::Read(const YamlNode& node, const std::string& path, spec::Span& out) {
  if (describes()) return Describe(path, "an amount such as `1 epoch` or `100 steps`", "");
  const auto value = node.is_scalar() ? ParseSpan(node.text) : std::nullopt;
  if (!value) return Unexpected(node, path, "an amount such as `1 epoch` or `100 steps`");
  out = *value;
  return {};
}

Status Reader::Read(const YamlNode& node, const std::string& path, spec::ColumnRef& out) {
  if (describes()) return Describe(path, "a column's name or position", "");
  if (!node.is_scalar()) return Unexpected(node, path, "a column's name or position");
  const auto position = node.quoted ? std::nullopt : ParseWhole(node.text);
  if (position) {
    out = *position;
  } else {
    out = node.text;
  }
  return {};
}

Status Reader::ReadDuration(const YamlNode& node, const std::string& path, bool bare_ms,
                            int64_t& out) {
  if (describes()) return Describe(path, "a time such as `30s` or `5 min`", "");
  const auto parse = bare_ms ? ParseMilliseconds : ParseDuration;
  const auto value = node.is_scalar() ? parse(node.text) : std::nullopt;
  if (!value) {
    return Unexpected(node, path,
                      bare_ms ? "milliseconds or a time such as `30s` or `5 min`"
                              : "a time such as `30s` or `5 min`");
  }
  out = *value;
  return {};
}

Status Reader::ReadBytes(const YamlNode& node, const std::string& path, int64_t& out) {
  if (describes()) return Describe(path, "a size such as `64MiB`, or bytes", "");
  const auto value = node.is_scalar() ? ParseBytes(node.text) : std::nullopt;
  if (!value) return Unexpected(node, path, "a size such as `64MiB`, or bytes");
  out = *value;
  return {};
}

Field Reader::Milliseconds(std::string key, int64_t& out) {
  return {std::move(key), [this, &out](const YamlNode& node, const std::string& path) {
            return ReadDuration(node, path, true, out);
          }};
}

Field Reader::Bytes(std::string key, int64_t& out) {
  return {std::move(key), [this, &out](const YamlNode& node, const std::string& path) {
            return ReadBytes(node, path, out);
          }};
}

}  // namespace espalier::config
