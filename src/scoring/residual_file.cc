#include "src/scoring/residual_file.h"

#include <charconv>
#include <cstdio>
#include <utility>

namespace espalier::scoring {
namespace {

constexpr std::string_view kHead = "espalier-residuals 1\n";

template <typename Counts>
void Append(const Counts& of, std::string* text) {
  *text += std::to_string(of.exponent());
  for (size_t i = 0; i < of.counts().size(); ++i) {
    if (of.counts()[i] == 0) continue;
    *text += " " + std::to_string(i) + ":" + std::to_string(of.counts()[i]);
  }
  *text += "\n";
}

bool Number(std::string_view* text, int64_t low, int64_t high, int64_t* number) {
  const auto read = std::from_chars(text->data(), text->data() + text->size(), *number);
  if (read.ec != std::errc() || *number < low || *number > high) return false;
  text->remove_prefix(static_cast<size_t>(read.ptr - text->data()));
  return true;
}

bool Skip(std::string_view* text, char c) {
  if (!text->starts_with(c)) return false;
  text->remove_prefix(1);
  return true;
}

// Parses a line of counts with a sum of at most `rows`.
template <typename Counts>
bool Take(std::string_view* text, int64_t rows, Counts* out) {
  int64_t exponent = 0, cell = -1, count = 0;
  if (!Number(text, kResidualExponentMin, kResidualExponentMax, &exponent)) return false;
  std::vector<int64_t> counts(Counts::kSize);
  while (!Skip(text, '\n')) {
    if (!Skip(text, ' ') ||
        !Number(text, cell + 1, static_cast<int64_t>(Counts::kSize) - 1, &cell) ||
        !Skip(text, ':') || !Number(text, 1, rows, &count)) {
      return false;
    }
    counts[static_cast<size_t>(cell)] = count;
    rows -= count;
  }
  *out = Counts(static_cast<int>(exponent), std::move(counts));
  return true;
}

}  // namespace

std::string ResidualName(int64_t shard) {
  char name[48];
  std::snprintf(name, sizeof name, "residuals-%05lld", static_cast<long long>(shard));
  return name;
}

std::string EncodeResiduals(const std::vector<TargetResiduals>& residuals) {
  std::string text(kHead);
  for (const TargetResiduals& target : residuals) {
    Append(target.grid, &text);
    Append(target.bins, &text);
  }
  return text;
}

Result<std::vector<TargetResiduals>> DecodeResiduals(std::string_view text, size_t targets,
                                                     int64_t rows) {
  const size_t whole = text.size();
  bool good = text.starts_with(kHead);
  if (good) text.remove_prefix(kHead.size());
  std::vector<TargetResiduals> residuals(targets);
  for (size_t t = 0; good && t < targets; ++t) {
    TargetResiduals& target = residuals[t];
    good = Take(&text, rows, &target.grid) && Take(&text, rows, &target.bins);
  }
  if (good && text.empty()) return residuals;
  return DataLoss("a shard's residuals are damaged at byte " + std::to_string(whole - text.size()));
}

}  // namespace espalier::scoring
