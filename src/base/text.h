// Words and numbers for people. Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace espalier {

// The candidate that differs least from `word`, if it is near enough to be meant: it differs only
// by spaces around it, or in at most a third of the word's letters (in one, if the word is short)
// and not in all of them (edit distance).
std::optional<std::string> Nearest(std::string_view word, std::span<const std::string> candidates);

// Of the character of UTF-8 that `text`, which is not empty, begins with; 0: it begins with none.
size_t CharacterBytes(std::string_view text);

// `text` as it may be shown: cut to at most `bytes_max` bytes, not within a character, with "...";
// UTF-8 passes, and what is not UTF-8 or not seen for what it is (control characters, marks that
// turn the direction of writing, characters of no width, line separators, characters for private
// use or for none) is written as \xNN, byte by byte. The result is valid UTF-8 without line breaks.
std::string Printable(std::string_view text, size_t bytes_max = 80);

// A path or a pattern as it stands in messages: printable, in quotes, at most 1024 bytes of it.
std::string QuotedPath(std::string_view path);
// Printable text in single quotes, of at most 80 bytes, for error messages.
std::string Quoted(std::string_view text);

// For text that went through Printable. How many columns of a terminal it takes: East Asian
// characters and pictures take two, combining accents none.
size_t DisplayColumns(std::string_view text);
// Its longest beginning that takes at most `columns_max` of them.
std::string_view FirstColumns(std::string_view text, size_t columns_max);

// 1536 -> "1.5 KiB".
std::string HumanBytes(uint64_t bytes);
// Milliseconds to "850 ms", "12.3 s", "4 min 5 s", "2 h 3 min".
std::string HumanDuration(int64_t ms);
// 1234567 -> "1,234,567".
std::string HumanCount(int64_t n);
// The shortest decimal text that reads back as exactly `value` (std::to_chars).
std::string ShortestDouble(double value);

}  // namespace espalier
