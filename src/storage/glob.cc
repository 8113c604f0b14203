#include "src/storage/glob.h"

#include <algorithm>

#include "src/base/text.h"

namespace espalier::storage {
namespace {

constexpr size_t kPatternsMax = 1000;

// Matches one element of a pattern with one byte. `*p` moves past the element on a match.
bool ElementMatches(std::string_view pattern, size_t* p, unsigned char c) {
  size_t i = *p;
  if (pattern[i] == '?') return *p = i + 1, true;
  if (pattern[i] == '\\' && i + 1 < pattern.size()) ++i;
  if (pattern[i] != '[' || i != *p) {
    if (static_cast<unsigned char>(pattern[i]) != c) return false;
    return *p = i + 1, true;
  }
  const size_t close = pattern.find(']', i + (pattern.substr(i + 1, 1) == "!" ? 3 : 2));
  if (close == std::string_view::npos) return c == '[' ? (*p = i + 1, true) : false;
  const bool negated = pattern[i + 1] == '!';
  bool found = false;
  for (size_t k = i + 1 + negated; k < close; ++k) {
    const unsigned char low = pattern[k];
    unsigned char high = low;
    if (k + 2 < close && pattern[k + 1] == '-') high = pattern[k += 2];
    found = found || (low <= c && c <= high);
  }
  if (found == negated) return false;
  *p = close + 1;
  return true;
}

}  // namespace

bool HasGlob(std::string_view text) { return text.find_first_of("*?[{") != std::string_view::npos; }

Status CheckLevels(std::string_view pattern, const std::string& shown) {
  for (size_t begin = 0; begin <= pattern.size();) {
    const size_t slash = std::min(pattern.find('/', begin), pattern.size());
    if (pattern.substr(begin, slash - begin) == "**") {
      return InvalidArgument("'" + Printable(shown, 1024) +
                             "': a wildcard matches within one directory level (found '**', "
                             "expected '*'). List a pattern for each level, such as 'T/*.csv' and "
                             "'T/*/*.csv'");
    }
    begin = slash + 1;
  }
  return {};
}

Result<std::vector<std::string>> ExpandBraces(const std::string& pattern) {
  std::vector<std::string> done, open = {pattern};
  while (!open.empty()) {
    const std::string text = std::move(open.back());
    open.pop_back();
    // Finds the innermost pair: the last '{' before the first '}' after it.
    const size_t first = text.find('{');
    const size_t end = first == std::string::npos ? first : text.find('}', first);
    if (end == std::string::npos) {
      done.push_back(text);
      continue;
    }
    const size_t begin = text.rfind('{', end);
    std::vector<std::string> parts = {""};
    for (size_t i = begin + 1; i < end; ++i) {
      if (text[i] == ',') {
        parts.emplace_back();
      } else {
        parts.back().push_back(text[i]);
      }
    }
    for (size_t i = parts.size(); i-- > 0;) {
      open.push_back(text.substr(0, begin) + parts[i] + text.substr(end + 1));
    }
    if (done.size() + open.size() > kPatternsMax) {
      return InvalidArgument("the braces in '" + pattern + "' give more than " +
                             std::to_string(kPatternsMax) + " patterns; use a wildcard");
    }
  }
  return done;
}

bool GlobMatches(std::string_view pattern, std::string_view name) {
  size_t p = 0, n = 0, star = std::string_view::npos, star_name = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_name = n;
    } else if (p < pattern.size() && ElementMatches(pattern, &p, name[n])) {
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++star_name;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool IsHiddenName(std::string_view name) {
  return name.empty() || name[0] == '_' || name[0] == '.' || name.ends_with("._COPYING_");
}

bool IsPartitionName(std::string_view name) {
  const size_t equals = name.find('=');
  return equals != std::string_view::npos && equals > 0 && name.front() != '.';
}

}  // namespace espalier::storage
