#include "src/config/units.h"

#include <charconv>
#include <cmath>
#include <span>
#include <utility>

namespace espalier::config {
namespace {

template <typename T>
std::optional<T> Whole(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// A number followed by a unit, with optional spaces between them.
struct Amount {
  double number = 0;
  std::string_view unit;
};

std::optional<Amount> Split(std::string_view text) {
  const size_t end = text.find_last_of("0123456789.");
  if (end == std::string_view::npos) return std::nullopt;
  const auto number = ParseReal(text.substr(0, end + 1));
  if (!number) return std::nullopt;
  std::string_view unit = text.substr(end + 1);
  while (!unit.empty() && unit[0] == ' ') unit.remove_prefix(1);
  return Amount{*number, unit};
}

using Unit = std::pair<std::string_view, double>;

std::optional<int64_t> Scaled(std::string_view text, std::span<const Unit> units) {
  const auto amount = Split(text);
  if (!amount) return std::nullopt;
  for (const auto& [name, factor] : units) {
    const double value = amount->number * factor;
    if (name == amount->unit && std::abs(value) < 0x1p62) return std::llround(value);
  }
  return std::nullopt;
}

}  // namespace

std::optional<double> ParseReal(std::string_view text) {
  const auto value = Whole<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::optional<int64_t> ParseWhole(std::string_view text) { return Whole<int64_t>(text); }
std::optional<uint64_t> ParseUnsigned(std::string_view text) { return Whole<uint64_t>(text); }

std::optional<int64_t> ParseDuration(std::string_view text) {
  static constexpr Unit kUnits[] = {
      {"ms", 1}, {"s", 1e3}, {"min", 60e3}, {"h", 3600e3}, {"d", 86400e3}};
  return Scaled(text, kUnits);
}

std::optional<int64_t> ParseMilliseconds(std::string_view text) {
  const auto whole = ParseWhole(text);
  return whole ? whole : ParseDuration(text);
}

std::optional<int64_t> ParseBytes(std::string_view text) {
  static constexpr Unit kUnits[] = {{"B", 1},        {"KiB", 0x1p10}, {"MiB", 0x1p20},
                                    {"GiB", 0x1p30}, {"TiB", 0x1p40}, {"kB", 1e3},
                                    {"MB", 1e6},     {"GB", 1e9},     {"TB", 1e12}};
  const auto whole = ParseWhole(text);
  return whole ? whole : Scaled(text, kUnits);
}

std::optional<spec::Span> ParseSpan(std::string_view text) {
  const auto amount = Split(text);
  if (!amount) return std::nullopt;
  if (amount->unit == "epoch" || amount->unit == "epochs") return spec::Span{amount->number, true};
  if (amount->unit == "step" || amount->unit == "steps") return spec::Span{amount->number, false};
  return std::nullopt;
}

}  // namespace espalier::config
