#include "src/config/reference.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "src/base/text.h"
#include "src/config/job_sections.h"
#include "src/config/job_yaml.h"
#include "src/config/key_hints.h"
#include "src/config/preset.h"
#include "src/config/sweep_plan.h"
#include "src/config/units.h"
#include "src/config/yaml_tree.h"

namespace espalier::config {
namespace {

constexpr size_t kColumns = 100, kTerminalColumns = 80;

// Returns whether the pattern of a KeyDoc matches `path`.
bool Matches(std::string_view pattern, std::string_view path) {
  const std::vector<std::string> p = PathParts(pattern), q = PathParts(path);
  return std::equal(p.begin(), p.end(), q.begin(), q.end(),
                    [](const auto& a, const auto& b) { return a == "*" || a == b; });
}

// Returns YAML on one line.
std::string Flow(const YamlNode& node) {
  std::string out;
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return "";
    case YamlNode::Kind::kScalar:
      return EmitScalar(ScalarNode(node.text, node.quoted && ParseReal(node.text).has_value()));
    case YamlNode::Kind::kSequence:
      for (const YamlNode& item : node.items) out += (out.empty() ? "" : ", ") + Flow(item);
      return "[" + out + "]";
    case YamlNode::Kind::kMap:
      for (const auto& [key, value] : node.entries) {
        out += (out.empty() ? "" : ", ") + EmitScalar(key) + ": " + Flow(value);
      }
      return "{" + out + "}";
  }
  return "";
}

constexpr std::string_view kRequired[] = {"data.train", "data.label", "output.path"};

// Returns a job with only its required keys.
spec::JobSpec SmallestJob() {
  spec::JobSpec job;
  job.data.train = {"data/train/*.csv"};
  job.data.label = {std::string("price")};
  job.train.epochs = 10;
  job.checkpoint->asked_for = true;
  job.output.path = "models/job";
  return job;
}

// Return the smallest scoring jobs, and the smallest sweep.
std::vector<spec::ScoringSpec> SmallestScorings() {
  return {{.model = "models/job", .data = {"new/*.csv"}, .work = spec::PredictionSpec()},
          {.model = "models/job", .data = {"test/*.csv"}, .work = spec::EvaluationSpec()}};
}
YamlNode SmallestSweep() {
  return *ParseYaml(
      "sweep: {job: job.yaml, output: models/sweep, grid: {train.batch: [32, 128]}, random: {}}",
      "the smallest sweep");
}

// Returns the value at a path from the top, or null.
YamlNode* FindPath(YamlNode& root, const std::vector<std::string>& path) {
  YamlNode* node = &root;
  for (const std::string& name : path) node = node ? node->Find(name) : nullptr;
  return node;
}

// Returns whether keys below `doc.path` have texts, and therefore separate lines.
bool IsSection(const KeyDoc& doc) {
  const std::string start = std::string(doc.path) + ".";
  return std::any_of(KeyDocs().begin(), KeyDocs().end(), [&](const KeyDoc& d) {
    const std::string_view path = d.path;
    return path.starts_with(start) && path.find('*') == std::string_view::npos &&
           path.find("[]") == std::string_view::npos;
  });
}

// Sets the defaults that are not those of a single field, such as the batch, which depends on the
// optimizer.
void AddDefaults(std::vector<KeyReference>* keys) {
  YamlNode job = JobToYaml(SmallestJob());
  for (KeyReference& key : *keys) {
    if (!key.value.empty() || key.doc == nullptr || key.doc->path != key.path) continue;
    if (std::count(std::begin(kRequired), std::end(kRequired), key.path) > 0) continue;
    const YamlNode* node = FindPath(job, PathParts(key.path));
    if (node != nullptr && !IsSection(*key.doc)) key.value = Flow(*node);
  }
}

// Sections of other kinds of files. They appear as comments in the reference.
constexpr const char* kPredict = "predict";
constexpr const char* kEvaluate = "evaluate";
constexpr const char* kSweep = "sweep";

// Prints the keys of one kind of file.
class ReferencePrinter {
 public:
  // `job` contains the keys to show as entries. An empty `section` selects the keys of training
  // jobs.
  ReferencePrinter(YamlNode job, std::string section)
      : keys_(AllKeys()), job_(std::move(job)), section_(std::move(section)) {}

  std::string Print() {
    for (const KeyDoc& doc : KeyDocs()) {
      const std::vector<std::string> path = PathParts(doc.path);
      const bool other = path[0] == kPredict || path[0] == kEvaluate || path[0] == kSweep;
      if (section_.empty() ? other : path[0] != section_) continue;
      if (const YamlNode* node = Find(path)) {
        PrintKey(doc, path, *node);
      } else if (IsShown(path)) {
        PrintAbsent(doc, path);
      } else {
        PrintDetail(doc, path);
      }
    }
    return std::move(out_);
  }

 private:
  YamlNode* Find(const std::vector<std::string>& path) { return FindPath(job_, path); }
  // Returns whether the job contains the section of a key without a value.
  bool IsShown(std::vector<std::string> path) {
    path.pop_back();
    const YamlNode* parent = Find(path);
    return parent != nullptr && parent->kind == YamlNode::Kind::kMap;
  }

  void PrintKey(const KeyDoc& doc, const std::vector<std::string>& path, const YamlNode& node) {
    indent_ = 2 * (path.size() - 1);
    PrintText(doc);
    const bool section = node.kind == YamlNode::Kind::kMap && IsSection(doc);
    PrintLine(path.back() + (section ? ":" : ": " + Flow(node)));
  }
  void PrintAbsent(const KeyDoc& doc, const std::vector<std::string>& path) {
    indent_ = 2 * (path.size() - 1);
    PrintText(doc);
    if (doc.example != nullptr) return PrintLine("# " + path.back() + ": " + doc.example);
    for (const KeyReference& key : keys_) {  // a default that JobToYaml leaves out
      if (key.doc == &doc) PrintLine(path.back() + ": " + key.value);
    }
  }
  // Prints a key without a place in the job above, after the key that it belongs to.
  void PrintDetail(const KeyDoc& doc, const std::vector<std::string>& path) {
    std::map<std::string, std::vector<std::string>> words_by_value;
    std::vector<std::string> choices;
    for (const KeyReference& key : keys_) {
      if (key.doc != &doc) continue;
      const std::vector<std::string> parts = PathParts(key.path);
      words_by_value[key.value].push_back(parts[parts.size() - 2]);
      choices = key.words;
    }
    std::string about;
    const bool of_words = std::string_view(doc.path).find('*') != std::string_view::npos;
    for (const auto& [value, words] : words_by_value) {
      const std::string part = !of_words       ? value
                               : value.empty() ? Joined(words)
                                               : Joined(words) + ": " + value;
      if (!part.empty()) about += (about.empty() ? "" : "; ") + part;
    }
    if (!about.empty()) about = " (" + about + ")";
    const std::string one_of = choices.empty() ? "" : " One of " + Joined(choices) + ".";
    Wrap("#   ", path.back() + about + ": " + doc.text + one_of, "#     ");
  }

  void PrintText(const KeyDoc& doc) {
    if (indent_ == 0 && !out_.empty()) out_ += '\n';
    std::string text = doc.text;
    for (const KeyReference& key : keys_) {
      if (key.doc == &doc && !key.words.empty()) text += " One of " + Joined(key.words) + ".";
    }
    Wrap("# ", text, "# ");
  }
  void PrintLine(const std::string& line) { out_ += std::string(indent_, ' ') + line + "\n"; }
  void Wrap(const std::string& first, const std::string& text, const std::string& rest) {
    for (const std::string& line : WrapWords(first, text, rest, kColumns - indent_))
      PrintLine(line);
  }

  const std::vector<KeyReference> keys_;
  YamlNode job_;
  const std::string section_;
  std::string out_;
  size_t indent_ = 0;
};

// Returns the end of an error about an unknown key. It suggests keys that other programs call so,
// keys of that name in any section, the nearest key, or keys with the nearest name.
std::string NearKeys(const std::string& key, const std::vector<KeyReference>& all) {
  std::vector<std::string> paths, names;
  for (const KeyReference& known : all) {
    paths.push_back(WithoutBrackets(known.path));
    names.push_back(PathParts(paths.back()).back());
  }
  const auto named = [&](const std::string& name) {
    std::vector<std::string> found;
    for (size_t i = 0; i < paths.size(); ++i) {
      if (names[i] == name) found.push_back(paths[i]);
    }
    return found;
  };
  std::vector<std::string> near = KeysOfAlias(PathParts(key).back());
  if (near.empty()) near = named(key);
  if (near.empty()) {
    if (const auto path = Nearest(key, paths)) {
      near = {*path};
    } else if (const auto name = Nearest(key, names)) {
      near = named(*name);
    }
  }
  if (near.empty()) return ". `espalier reference` prints all keys.";
  return DidYouMean(std::move(near));
}

// Returns "train.seed: a whole number, default 1".
std::string KeyHead(const KeyReference& key) {
  std::string about = key.type;
  const auto add = [&](const std::string& part) { about += (about.empty() ? "" : ", ") + part; };
  if (!key.words.empty()) add((about.empty() ? "one of " : "or one of ") + Joined(key.words));
  if (!key.value.empty()) {
    add("default " + key.value +
        (key.by_preset ? " (with preset: none; other presets choose it)" : ""));
  } else {
    if (key.doc != nullptr && key.doc->example != nullptr) {
      add("such as " + std::string(key.doc->example));
    }
    if (key.by_preset) add("chosen by presets except none");
  }
  return key.path + (about.empty() ? "" : ": " + about);
}

constexpr const char* kHead =
    R"(# Reference of a job file. {data: {train, label}, output} is a job. Its preset fills in the
# keys that it leaves out. Except for `preset`, every key below has the value that it has with
# `preset: none`. Set that in a copy of this file. Keys without a value are comments, with an
# example. A job may be written as JSON too.

)";

constexpr const char* kSweepHead =
    "\n# A sweep is a separate file, for `espalier sweep`. `espalier reference sweep` prints its "
    "keys.\n#\n";

// Returns the lines as comments, shifted left by `dedent` columns. Comments in the first column do
// not change.
std::string Commented(const std::string& text, size_t dedent) {
  std::string out;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    const std::string line = text.substr(begin, end - begin);
    const bool is_text = line.starts_with("# ");
    out += (is_text ? line : "# " + line.substr(std::min(dedent, line.size()))) + '\n';
    begin = end + 1;
  }
  return out;
}

}  // namespace

std::vector<KeyReference> AllKeys() {
  std::vector<GrammarEntry> grammar = JobGrammar();
  for (const auto& others : {ScoringGrammar(spec::PredictionSpec()),
                             ScoringGrammar(spec::EvaluationSpec()), SweepGrammar()}) {
    grammar.insert(grammar.end(), others.begin(), others.end());
  }
  static const std::set<std::string> by_preset = KeysOfPresets();
  std::vector<KeyReference> keys;
  for (GrammarEntry& entry : grammar) {
    if (entry.path.ends_with("[]") && !keys.empty() && entry.path == keys.back().path + "[]") {
      keys.back().words = std::move(entry.words);  // each entry of the list is one of them
    }
    if (entry.is_word || entry.path.ends_with("[]")) continue;
    KeyReference& key = keys.emplace_back();
    key = {std::move(entry.path), std::move(entry.type), std::move(entry.words),
           std::move(entry.value)};
    key.by_preset = by_preset.contains(key.path);
    const auto doc = std::find_if(KeyDocs().begin(), KeyDocs().end(),
                                  [&](const KeyDoc& d) { return Matches(d.path, key.path); });
    if (doc != KeyDocs().end()) key.doc = &*doc;
  }
  AddDefaults(&keys);
  return keys;
}

std::vector<ScalarKey> ScalarKeys() {
  const std::map<std::string, const char*> types = {{"a whole number", "int"},
                                                    {"a number", "float"},
                                                    {"true or false", "bool"},
                                                    {"text", "str"},
                                                    {"one character", "str"}};
  std::set<std::string> lists;  // each key with a list on its path
  for (const GrammarEntry& entry : JobGrammar()) {
    if (entry.path.ends_with("[]")) lists.insert(entry.path.substr(0, entry.path.size() - 2));
  }
  const std::vector<KeyReference> all = AllKeys();
  std::vector<ScalarKey> keys;
  for (const KeyDoc& doc : KeyDocs()) {
    const std::string section = PathParts(doc.path)[0];
    const bool trains =
        section != kPredict && section != kEvaluate && section != kSweep && section != "compat";
    if (!trains || doc.path.find("[]") != std::string::npos) continue;
    std::vector<std::string> words;  // with which the key exists
    ScalarKey scalar = {.path = doc.path, .text = doc.text};
    for (const KeyReference& key : all) {
      if (key.doc != &doc || lists.contains(key.path)) continue;
      if (key.type.empty() && key.words.empty()) continue;  // a map
      const auto type = types.find(key.type);
      scalar.type = type != types.end() ? type->second : key.type.empty() ? "str" : "any";
      // The word of {constant: {warmup: 0 steps}}.
      scalar.value =
          key.value.starts_with('{') ? key.value.substr(1, key.value.find(':') - 1) : key.value;
      const std::vector<std::string> parts = PathParts(key.path);
      words.push_back(parts.size() > 1 ? parts[parts.size() - 2] : "");
    }
    if (scalar.type.empty()) continue;
    if (doc.path.find('*') != std::string::npos) {
      scalar.text += " Only with " + Joined(words) + ".";
      if (words.size() > 1) scalar.value.clear();
    }
    keys.push_back(std::move(scalar));
  }
  return keys;
}

Result<std::vector<KeyReference>> KeysBelow(std::string_view key) {
  const std::string wanted = WithoutBrackets(key), start = wanted + ".";
  const std::vector<KeyReference> all = AllKeys();
  std::vector<KeyReference> found;
  for (const KeyReference& known : all) {
    const std::string path = WithoutBrackets(known.path);
    if (path == wanted || path.starts_with(start)) found.push_back(known);
  }
  if (found.empty()) {
    return InvalidArgument("unknown key " + Quoted(key) + NearKeys(wanted, all));
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return std::less<const KeyDoc*>()(a.doc, b.doc);
  });
  return found;
}

std::string KeyText(std::span<const KeyReference> keys) {
  std::string out;
  for (size_t i = 0; i < keys.size(); ++i) {
    const KeyReference& key = keys[i];
    if (i > 0 && keys[i - 1].doc != key.doc) out += '\n';
    for (const auto& line : WrapWords("", KeyHead(key), "    ", kTerminalColumns)) {
      out += line + '\n';
    }
    if (key.doc == nullptr || (i + 1 < keys.size() && keys[i + 1].doc == key.doc)) continue;
    for (const auto& line : WrapWords("  ", key.doc->text, "  ", kTerminalColumns)) {
      out += line + '\n';
    }
  }
  return out;
}

std::string ReferenceYaml() {
  std::string text = kHead + ReferencePrinter(JobToYaml(SmallestJob()), "").Print();
  for (const spec::ScoringSpec& spec : SmallestScorings()) {
    ReferencePrinter printer(ScoringToYaml(spec), spec::NameOf(spec.kind()));
    text += '\n' + Commented(printer.Print(), 0);
  }
  return text + kSweepHead + Commented(ReferencePrinter(SmallestSweep(), kSweep).Print(), 2);
}

}  // namespace espalier::config
