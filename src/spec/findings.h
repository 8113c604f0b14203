// Findings: the first error that Validate finds. Each error names the field's path in YAML, the
// value found and the value expected.
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
#include "src/spec/key.h"
#include "src/spec/scoring_spec.h"

namespace espalier::spec {

inline constexpr size_t kTextMax = 4096;  // bytes of a path or a name

// Records the first finding and ignores later ones.
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
  // Checks milliseconds.
  void Time(const std::string& path, int64_t value, int64_t min, int64_t max) {
    const auto shown = [](int64_t ms) {
      return ms % 1000 == 0 ? std::to_string(ms / 1000) + " s" : std::to_string(ms) + " ms";
    };
    Expect(value >= min && value <= max, path, std::to_string(value) + " ms",
           (value < min ? "a time of at least " + shown(min) : "a time of at most " + shown(max)) +
               ", such as `10 min`");
  }
  void Within(const std::string& path, double value, const Bounds& bounds) {
    const bool inside = (bounds.above ? value > bounds.min : value >= bounds.min) &&
                        (bounds.below ? value < bounds.max : value <= bounds.max);
    Expect(std::isfinite(value) && inside, path, ShortestDouble(value), Words(bounds));
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
  // Returns, for example, "a number above 0 and at most 10".
  static std::string Words(const Bounds& b) {
    const bool lower = std::isfinite(b.min), upper = std::isfinite(b.max);
    if (lower && upper && !b.above && !b.below) {
      return "a number from " + Shown(b.min) + " to " + Shown(b.max);
    }
    std::string out = "a number";
    if (lower) out += (b.above ? " above " : " of at least ") + Shown(b.min);
    if (upper)
      out += std::string(lower ? " and" : "") + (b.below ? " below " : " at most ") + Shown(b.max);
    return out;
  }
  static std::string Shown(double bound) {
    const auto whole = static_cast<int64_t>(bound);
    return static_cast<double>(whole) == bound ? std::to_string(whole) : ShortestDouble(bound);
  }

  Status first_;
};

// Checks the bounds and the conditions of each field's Key.
void CheckFields(Findings& f, const JobSpec& job);
void CheckFields(Findings& f, const ScoringSpec& scoring);
void CheckModel(Findings& f, const ModelSpec& model);
void CheckTrain(Findings& f, const JobSpec& job);

}  // namespace espalier::spec
