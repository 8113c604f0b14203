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

// `text` cut to `bytes_max` with "..." and control or non-ASCII bytes written as \xNN.
std::string Printable(std::string_view text, size_t bytes_max = 80);

// 1536 -> "1.5 KiB".
std::string HumanBytes(uint64_t bytes);
// Milliseconds to "850 ms", "12.3 s", "4 min 5 s", "2 h 3 min".
std::string HumanDuration(int64_t ms);
// 1234567 -> "1,234,567".
std::string HumanCount(int64_t n);
// The shortest decimal text that reads back as exactly `value` (std::to_chars).
std::string ShortestDouble(double value);

}  // namespace espalier
