// Checks each field of a spec against the bounds of its Key.
//
// Thread rule: one thread.
#pragma once

#include <cmath>
#include <concepts>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "src/spec/fields.h"
#include "src/spec/findings.h"
#include "src/spec/names.h"

namespace espalier::spec {

template <typename T>
concept HasKind = requires(const T& s) {
  { NameOf(s.kind) } -> std::convertible_to<const char*>;
};

// Adds a finding for each number outside the bounds of its field.
class BoundsVisitor {
 public:
  explicit BoundsVisitor(Findings& findings) : findings_(findings) {}

  // Checks `value`, which is at `path` and declared by `key`.
  template <typename T>
  void Check(const std::string& path, const Key& key, const T& value) {
    const Bounds& bounds = key.bounds;
    if constexpr (std::is_same_v<T, int64_t>) {
      // Integers have both bounds or none.
      if (std::isfinite(bounds.min) && std::isfinite(bounds.max)) {
        findings_.Whole(path, value, static_cast<int64_t>(bounds.min),
                        static_cast<int64_t>(bounds.max));
      }
    } else if constexpr (std::is_same_v<T, double>) {
      if (std::isfinite(bounds.min) || std::isfinite(bounds.max)) {
        findings_.Within(path, value, bounds);
      }
    } else if constexpr (HasFields<const T>) {
      std::string inside = path;
      if constexpr (HasKind<T>)
        inside += (path.empty() ? "" : ".") + std::string(NameOf(value.kind));
      Fields(
          [&](const Key& k, const auto& member) {
            const std::string child = inside.empty() ? k.Shown() : inside + "." + k.Shown();
            Check(k.inlined ? inside : child, k, member);
          },
          value);
    }
  }
  template <typename T>
  void Check(const std::string& path, const Key& key, const std::optional<T>& value) {
    if (value) Check(path, key, *value);
  }
  template <typename T>
  void Check(const std::string& path, const Key& key, const std::vector<T>& values) {
    if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, double> || HasFields<const T>) {
      const bool alone = values.size() == 1 && key.list == nullptr;  // a single value, not a list
      for (size_t i = 0; i < values.size(); ++i) {
        Check(alone ? path : path + "[" + std::to_string(i) + "]", key, values[i]);
      }
    }
  }

 private:
  Findings& findings_;
};

}  // namespace espalier::spec
