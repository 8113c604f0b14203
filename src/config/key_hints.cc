#include "src/config/key_hints.h"

#include <algorithm>
#include <utility>

#include "src/base/text.h"
#include "src/config/job_sections.h"
#include "src/config/reader.h"

namespace espalier::config {
namespace {

constexpr size_t kNearKeysMax = 5;  // limit for suggestions in an error

// Returns a name with the separators of our keys: batch-size is batch_size.
std::string WithUnderscores(std::string_view name) {
  std::string text(name);
  std::replace(text.begin(), text.end(), '-', '_');
  return text;
}

}  // namespace

std::vector<std::string> KeysOfAlias(std::string_view name) {
  for (const KeyAlias& alias : KeyAliases()) {
    if (alias.name != WithUnderscores(name)) continue;
    std::vector<std::string> keys;
    for (const char* key : alias.keys) {
      if (key != nullptr) keys.emplace_back(key);
    }
    return keys;
  }
  return {};
}

std::vector<std::string> JobKeysNamed(std::string_view name) {
  std::vector<std::string> found;
  for (const GrammarEntry& entry : JobGrammar()) {
    if (entry.is_word) continue;
    std::string path = WithoutBrackets(entry.path);
    const bool seen = std::count(found.begin(), found.end(), path) > 0;
    if (!seen && PathParts(path).back() == name) found.push_back(std::move(path));
  }
  return found;
}

std::string JobKeyHint(const std::string& path, const std::string& key,
                       const std::vector<std::string>& known) {
  std::vector<std::string> meant = KeysOfAlias(key);
  if (!meant.empty()) return DidYouMean(std::move(meant));
  for (const GrammarEntry& entry : JobGrammar()) {
    const std::string name = WithoutBrackets(entry.path);
    const bool is_key = !entry.is_word && !entry.path.ends_with("[]");
    if (is_key && PathParts(name).back() == WithUnderscores(key)) meant.push_back(name);
  }
  if (meant.empty()) return "";
  if (!path.empty() && meant.size() == 1 && meant.front() == WithUnderscores(key)) {
    return "; " + meant.front() + " belongs at the top level of the job, not in " + path;
  }
  if (const auto near = Nearest(key, known)) {
    const std::string name = (path.empty() ? "" : path + ".") + *near;
    if (std::count(meant.begin(), meant.end(), name) == 0) meant.insert(meant.begin(), name);
  }
  return DidYouMean(std::move(meant));
}

std::string DidYouMean(std::vector<std::string> keys) {
  const bool more = keys.size() > kNearKeysMax;
  if (more) keys.resize(kNearKeysMax);
  return "; did you mean " + Joined(keys) + (more ? ", ..." : "") + "?";
}

std::vector<std::string> PathParts(std::string_view path) {
  std::vector<std::string> parts(1);
  for (const char c : path) {
    if (c == '.') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

std::string WithoutBrackets(std::string_view path) {
  std::string out;
  for (const char c : path) {
    if (c != '[' && c != ']') out += c;
  }
  return out;
}

}  // namespace espalier::config
