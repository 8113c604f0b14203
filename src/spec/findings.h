// What the parts of Validate share. The first finding wins; each names the field's path in YAML,
// what was found and what was expected. Within this room.
//
// Thread rule: one thread.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/text.h"
#include "src/spec/job_spec.h"

namespace espalier {

inline constexpr int64_t kCountMax = 1'000'000'000'000;  // steps, rows
inline constexpr size_t kListMax = 10'000;               // patterns, feature entries
inline constexpr size_t kTextMax = 4096;                 // bytes of a path or a name

// Keeps the first finding.
class Findings {
 public:
  void Expect(bool ok, const std::string& path, const std::string& found,
              const std::string& expected) {
    if (ok || !first_.ok()) return;
    first_ = InvalidArgument(path + ": found " + found + ", expected " + expected);
  }
  void Whole(const std::string& path, int64_t value, int64_t min, int64_t max) {
    Expect(value >= min && value <= max, path, std::to_string(value),
           "a whole number from " + std::to_string(min) + " to " + std::to_string(max));
  }
  void Fraction(const std::string& path, double value) {
    Expect(value >= 0 && value < 1, path, ShortestDouble(value),
           "a number of at least 0 and below 1");
  }
  void Positive(const std::string& path, double value) {
    Expect(std::isfinite(value) && value > 0, path, ShortestDouble(value), "a number above 0");
  }
  void NotNegative(const std::string& path, double value) {
    Expect(std::isfinite(value) && value >= 0, path, ShortestDouble(value),
           "a number of at least 0");
  }
  void Paths(const std::string& path, const std::vector<std::string>& patterns) {
    Expect(patterns.size() <= kListMax, path, std::to_string(patterns.size()) + " patterns",
           "at most " + std::to_string(kListMax) + "; use a wildcard or a directory");
    for (const std::string& p : patterns) {
      Expect(!p.empty() && p.size() <= kTextMax && p.find('\0') == std::string::npos, path,
             Quoted(p), "a path of 1 to " + std::to_string(kTextMax) + " bytes");
    }
  }
  Status Take() const { return first_; }

 private:
  Status first_;
};

void CheckModel(Findings& f, const ModelSpec& model);
void CheckTrain(Findings& f, const JobSpec& job);

}  // namespace espalier
