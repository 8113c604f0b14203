#include "src/bundle/writer_name.h"

#include <charconv>
#include <utility>

namespace espalier::bundle {
namespace {

// Removes `prefix` and an integer from the front of `text`.
std::optional<uint64_t> TakeNumber(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return std::nullopt;
  const std::string_view digits = text.substr(prefix.size());
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc()) return std::nullopt;
  text = digits.substr(static_cast<size_t>(end - digits.data()));
  return value;
}

}  // namespace

std::string WriterName::Text() const {
  return "g" + std::to_string(generation.value) + "-m" + std::to_string(member) + "-t" +
         std::to_string(submitted_ms) + "-" + ToString(job);
}

bool WriterName::Supersedes(const WriterName& other) const {
  if (!IsOf(other.job, other.submitted_ms)) {
    return std::pair(other.submitted_ms, other.job) < std::pair(submitted_ms, job);
  }
  if (other.generation != generation) return other.generation < generation;
  return other.member == member;
}

std::optional<WriterName> FindWriter(std::string_view text, std::string_view marker) {
  const size_t at = text.rfind(marker);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = text.substr(at + marker.size());
  const auto generation = TakeNumber(rest, "g");
  const auto member = generation ? TakeNumber(rest, "-m") : std::nullopt;
  const auto submitted_ms = member ? TakeNumber(rest, "-t") : std::nullopt;
  const auto job = member ? TakeNumber(rest, "-job-") : std::nullopt;
  if (!job || *member > INT32_MAX || submitted_ms.value_or(0) > INT64_MAX) return std::nullopt;
  TakeNumber(rest, "-");
  if (!rest.empty()) return std::nullopt;
  return WriterName{{*job},
                    {*generation},
                    static_cast<int32_t>(*member),
                    static_cast<int64_t>(submitted_ms.value_or(0))};
}

}  // namespace espalier::bundle
