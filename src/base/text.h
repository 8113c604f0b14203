// Text for messages: spelling suggestions, printable text, and numbers with units.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace espalier {

// Returns the candidate most similar to `word`, if it is close enough to be the intended one: it
// differs only by surrounding spaces, or by a small edit distance. The case of ASCII letters does
// not count. The distance is at most a third of the word's letters (one letter, if the word is
// short), and less than all of them.
std::optional<std::string> Nearest(std::string_view word, std::span<const std::string> candidates);

// Returns the length of the UTF-8 character at the start of `text`, in bytes; 0 if there is none.
// REQUIRES: `text` is not empty.
size_t CharacterBytes(std::string_view text);

// Returns the position of the first byte that is not UTF-8. npos: there is none.
size_t FindInvalidUtf8(std::string_view text);
// Returns the text with U+FFFD in place of each byte that is not UTF-8.
std::string ValidUtf8(std::string_view text);

// Returns `text` in a form that is safe to show: valid UTF-8 without line breaks. Text beyond
// `bytes_max` bytes is cut between characters and replaced by "...". These are written as \xNN,
// byte by byte:
// - bytes that are not UTF-8
// - characters that are invisible or misleading: control characters, marks that change the
//   direction of writing, characters of no width, line separators, private-use and unassigned
//   characters
std::string Printable(std::string_view text, size_t bytes_max = 80);

// Returns a path or a pattern for messages: printable, in quotes, at most 1024 bytes of it.
std::string QuotedPath(std::string_view path);
// Returns printable text in single quotes for error messages, at most 80 bytes.
std::string Quoted(std::string_view text);

// Returns the number of terminal columns of a text that went through Printable. East Asian
// characters and pictures take two columns. Combining accents and changes of color (ESC [ ... m)
// take none.
size_t DisplayColumns(std::string_view text);
// Returns the longest prefix of that text that takes at most `columns_max` columns.
std::string_view FirstColumns(std::string_view text, size_t columns_max);
// Splits that text at its spaces into lines of at most `columns` columns. A longer word is not
// split. The first line begins with `first`, the others with `rest`.
std::vector<std::string> WrapWords(std::string_view first, std::string_view text,
                                   std::string_view rest, size_t columns);
// Wraps each line of a text that is longer than `columns` columns. Continuation lines are indented
// to the last column of a table, or otherwise by two more than their line.
std::string WrapLines(std::string_view text, size_t columns);

// Formats bytes: 1536 -> "1.5 KiB".
std::string HumanBytes(uint64_t bytes);
// Formats milliseconds: "850 ms", "12.3 s", "4 min 5 s", "2 h 3 min".
std::string HumanDuration(int64_t ms);
// Formats a count: 1234567 -> "1,234,567".
std::string HumanCount(int64_t n);
// Returns a count of things: "1 row", "1,234 rows", "2 classes". `noun` is singular. Its plural
// ends in -s, or in -es after s.
std::string Counted(int64_t n, std::string_view noun);
// Returns the shortest decimal text that reads back as exactly `value` (std::to_chars).
std::string ShortestDouble(double value);

}  // namespace espalier
