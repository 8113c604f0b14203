#include "src/base/text.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

namespace espalier {
namespace {

// Returns the number of insertions, deletions, substitutions and swaps of adjacent letters (optimal
// string alignment).
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const bool same = a[i - 1] == b[j - 1];
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + !same});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

std::string_view WithoutSpacesAround(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

// One UTF-8 character. `bytes` is 0 if the text does not start with a valid one. Invalid are bytes
// that start no character, truncated and overlong sequences, surrogates and codes beyond U+10FFFF.
struct Character {
  uint32_t code = 0;
  size_t bytes = 0;
};

// REQUIRES: text is not empty.
Character FirstCharacter(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const uint32_t first = byte(0);
  if (first < 0x80) return {first, 1};
  const size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < bytes) return {};
  uint32_t code = first & (0x7Fu >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3F);
  }
  static constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast[bytes] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return {};
  return {code, bytes};
}

}  // namespace

size_t CharacterBytes(std::string_view text) { return FirstCharacter(text).bytes; }

size_t FindInvalidUtf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const size_t bytes = FirstCharacter(text.substr(i)).bytes;
    if (bytes == 0) return i;
    i += bytes;
  }
  return std::string_view::npos;
}

std::string ValidUtf8(std::string_view text) {
  std::string valid;
  for (size_t bad = FindInvalidUtf8(text); bad != std::string_view::npos;
       bad = FindInvalidUtf8(text)) {
    valid.append(text.substr(0, bad)).append("\xEF\xBF\xBD");
    text.remove_prefix(bad + 1);
  }
  return valid.append(text);
}

namespace {

struct CodeRange {
  uint32_t first, last;
};

bool InRanges(uint32_t code, std::span<const CodeRange> ranges) {
  for (const CodeRange& r : ranges) {
    if (code >= r.first && code <= r.last) return true;
  }
  return false;
}

// The hidden ranges come from Unicode's general categories Cc, Cf, Zl, Zp, Co, the noncharacters
// and the variation selectors.
bool IsShown(uint32_t code) {
  static constexpr CodeRange kHidden[] = {
      {0x0, 0x1F},      {0x7F, 0x9F},       {0xAD, 0xAD},       {0x34F, 0x34F},
      {0x600, 0x605},   {0x61C, 0x61C},     {0x6DD, 0x6DD},     {0x70F, 0x70F},
      {0x115F, 0x1160}, {0x17B4, 0x17B5},   {0x180B, 0x180F},   {0x200B, 0x200F},
      {0x2028, 0x202E}, {0x2060, 0x206F},   {0x3164, 0x3164},   {0xE000, 0xF8FF},
      {0xFDD0, 0xFDEF}, {0xFE00, 0xFE0F},   {0xFEFF, 0xFEFF},   {0xFFA0, 0xFFA0},
      {0xFFF0, 0xFFFB}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0000, 0x10FFFF}};
  return (code & 0xFFFE) != 0xFFFE && !InRanges(code, kHidden);
}

size_t ColumnsOf(uint32_t code) {
  static constexpr CodeRange kAccents[] = {{0x300, 0x36F},   {0x483, 0x489},   {0x591, 0x5BD},
                                           {0x64B, 0x65F},   {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF},
                                           {0x20D0, 0x20FF}, {0xFE20, 0xFE2F}};
  static constexpr CodeRange kWide[] = {{0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0xA4CF},
                                        {0xA960, 0xA97F},   {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},
                                        {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},
                                        {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF}, {0x1F900, 0x1FAFF},
                                        {0x20000, 0x3FFFD}};
  return InRanges(code, kAccents) ? 0 : InRanges(code, kWide) ? 2 : 1;
}

// Returns the length of the change of color at the start of `text`; 0 if there is none.
size_t ColorBytes(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  const size_t end = text.find_first_not_of("0123456789;", 2);
  return end != std::string_view::npos && text[end] == 'm' ? end + 1 : 0;
}

// Returns where the continuation of a line begins: at its last column, if that leaves a third of
// the width, or at an earlier one.
size_t HangingIndent(std::string_view line, size_t columns) {
  const size_t text = std::min(line.find_first_not_of(' '), line.size());
  size_t indent = text + 2;
  for (size_t gap = line.find("  ", text); gap != line.npos; gap = line.find("  ", gap)) {
    gap = std::min(line.find_first_not_of(' ', gap), line.size());
    const size_t column = DisplayColumns(line.substr(0, gap));
    if (column > columns * 2 / 3) break;
    if (gap < line.size()) indent = column;
  }
  return indent;
}

}  // namespace

std::optional<std::string> Nearest(std::string_view word, std::span<const std::string> candidates) {
  word = word.substr(0, 64);
  std::optional<std::string> best;
  const std::string_view core = WithoutSpacesAround(word);
  const std::string lower = LowerCase(word);
  size_t best_distance = std::min(std::max<size_t>(1, word.size() / 3) + 1, word.size());
  for (const std::string& c : candidates) {
    if (!core.empty() && WithoutSpacesAround(c) == core) return c;
    if (c.size() > word.size() + best_distance) continue;
    if (const size_t d = EditDistance(lower, LowerCase(c)); d < best_distance) {
      best_distance = d;
      best = c;
    }
  }
  return best;
}

std::string Printable(std::string_view text, size_t bytes_max) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const Character c = FirstCharacter(text.substr(i, 4));
    const size_t bytes = std::max<size_t>(c.bytes, 1);
    if (i + bytes > bytes_max) return out + "...";
    const std::string_view here = text.substr(i, bytes);
    i += bytes;
    if (c.bytes > 0 && IsShown(c.code)) {
      out += here;
      continue;
    }
    for (const unsigned char b : here) {
      char escape[5];
      std::snprintf(escape, sizeof escape, "\\x%02x", b);
      out += escape;
    }
  }
  return out;
}

std::string Quoted(std::string_view text) { return "'" + Printable(text) + "'"; }

std::string QuotedPath(std::string_view path) { return "'" + Printable(path, 1024) + "'"; }

size_t DisplayColumns(std::string_view text) {
  size_t columns = 0;
  while (!text.empty()) {
    if (const size_t bytes = ColorBytes(text); bytes > 0) {
      text.remove_prefix(bytes);
      continue;
    }
    const Character c = FirstCharacter(text);
    columns += ColumnsOf(c.code);
    text.remove_prefix(std::max<size_t>(c.bytes, 1));
  }
  return columns;
}

std::string_view FirstColumns(std::string_view text, size_t columns_max) {
  size_t columns = 0, end = 0;
  while (end < text.size()) {
    const Character c = FirstCharacter(text.substr(end));
    columns += ColumnsOf(c.code);
    if (columns > columns_max) break;
    end += std::max<size_t>(c.bytes, 1);
  }
  return text.substr(0, end);
}

std::vector<std::string> WrapWords(std::string_view first, std::string_view text,
                                   std::string_view rest, size_t columns) {
  std::vector<std::string> lines;
  std::string line(first);
  size_t used = DisplayColumns(line);
  bool empty = true;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    const size_t width = DisplayColumns(word);
    begin = end + 1;
    if (!empty && used + 1 + width > columns) {
      lines.push_back(std::move(line));
      line = rest;
      used = DisplayColumns(line);
      empty = true;
    }
    if (empty && word.empty() && !lines.empty()) continue;  // spaces at the break
    line.append(empty ? "" : " ").append(word);
    used += (empty ? 0 : 1) + width;
    empty = false;
  }
  lines.push_back(std::move(line));
  return lines;
}

std::string WrapLines(std::string_view text, size_t columns) {
  std::string out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (DisplayColumns(line) <= columns) {
      out += line;
    } else {
      const std::string rest(HangingIndent(line, columns), ' ');
      const std::vector<std::string> lines = WrapWords("", line, rest, columns);
      for (size_t i = 0; i < lines.size(); ++i) out += (i > 0 ? "\n" : "") + lines[i];
    }
    if (end < text.size()) out += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string HumanBytes(uint64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes);
  int unit = 0;
  for (; value >= 1024 && unit < 5; ++unit) value /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 || value >= 100 ? "%.0f %s" : "%.1f %s", value,
                kUnits[unit]);
  return text;
}

std::string HumanDuration(int64_t ms) {
  char text[48];
  if (ms < 1000) {
    std::snprintf(text, sizeof text, "%lld ms", static_cast<long long>(ms));
  } else if (ms < 60'000) {
    std::snprintf(text, sizeof text, "%.1f s", static_cast<double>(ms) / 1000);
  } else if (ms < 3'600'000) {
    std::snprintf(text, sizeof text, "%lld min %lld s", static_cast<long long>(ms / 60'000),
                  static_cast<long long>(ms / 1000 % 60));
  } else {
    std::snprintf(text, sizeof text, "%lld h %lld min", static_cast<long long>(ms / 3'600'000),
                  static_cast<long long>(ms / 60'000 % 60));
  }
  return text;
}

std::string HumanCount(int64_t n) {
  std::string digits = std::to_string(n);
  for (int i = static_cast<int>(digits.size()) - 3; i > (n < 0 ? 1 : 0); i -= 3) {
    digits.insert(static_cast<size_t>(i), ",");
  }
  return digits;
}

std::string Counted(int64_t n, std::string_view noun) {
  const char* end = n == 1 ? "" : noun.ends_with('s') ? "es" : "s";
  return HumanCount(n) + " " + std::string(noun) + end;
}

std::string ShortestDouble(double value) {
  char text[40];
  const auto end = std::to_chars(text, text + sizeof text, value);
  return std::string(text, end.ptr);
}

}  // namespace espalier
