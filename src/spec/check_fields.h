// Checks each field of a spec against the bounds and the conditions of its Key.
//
// Thread rule: one thread.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "src/spec/conditions.h"
#include "src/spec/fields.h"
#include "src/spec/findings.h"
#include "src/spec/names.h"

namespace espalier::spec {

template <typename T>
concept HasKind = requires(const T& s) {
  { NameOf(s.kind) } -> std::convertible_to<const char*>;
};

// Adds a finding for each number outside the bounds of its field, and for each field whose
// conditions are not met and that does not have its default.
class FieldVisitor {
 public:
  // Without a job, conditions are not checked.
  explicit FieldVisitor(Findings& findings, const JobSpec* job = nullptr) : findings_(findings) {
    if (job != nullptr) decided_.emplace(*job);
  }

  // Checks the fields of a struct at `path`.
  template <HasFields S>
  void Check(const std::string& path, const S& s) {
    static const S kDefault{};
    std::string inside = path;
    if constexpr (HasKind<S>) inside += (path.empty() ? "" : ".") + std::string(NameOf(s.kind));
    if constexpr (std::is_base_of_v<FeatureOptions, S>) {
      if (decided_) decided_->column_type = s.type;
    }
    kFields<S>([&](const auto& entry) {
      const Key& key = entry.key;
      const auto &member = s.*entry.pointer, &usual = kDefault.*entry.pointer;
      const std::string child = PathOf(inside, key, s);
      if (decided_ && !IsUsual(member, usual)) CheckConditions(child, key, member, usual);
      if constexpr (HasKind<S>) {
        if (!key.Belongs(s.kind) && member == usual) return;
      }
      CheckValue(child, key, member);
    });
  }

 private:
  template <typename S>
  static std::string PathOf(const std::string& path, const Key& key, const S& s) {
    if (key.inlined || key.body) return path;
    std::string name = key.Shown();
    if constexpr (std::is_same_v<S, ModelSpec>) {  // loss.*.label_smoothing
      if (const size_t star = name.find('*'); star != std::string::npos) {
        name.replace(star, 1, NameOf(EffectiveLoss(s)));
      }
    }
    return path.empty() ? name : path + "." + name;
  }

  // ---- conditions ------------------------------------------------------------------------------

  template <typename T>
  static bool IsUsual(const T& value, const T& usual) {
    return value == usual;
  }
  // A list of the default for each layer is the default.
  template <typename T>
  static bool IsUsual(const std::vector<T>& values, const std::vector<T>& usual) {
    if (usual.size() != 1) return values == usual;
    return std::all_of(values.begin(), values.end(), [&](const T& v) { return v == usual[0]; });
  }

  template <typename T>
  void CheckConditions(const std::string& path, const Key& key, const T& value, const T& usual) {
    for (const Condition& condition : key.conditions) {
      if (condition.values == 0 || decided_->Permit(condition)) continue;
      const std::string expected = ShownOf(key, usual, "nothing");
      const std::string found = ShownOf(key, value, "a value");
      findings_.Expect(false, path, found == expected ? found + " with settings" : found,
                       expected + " " + decided_->Refusal(condition));
    }
  }

  // Returns a value as in YAML, or `other` for one without a word.
  template <typename T>
  static std::string ShownOf(const Key& key, const T& value, const char* other) {
    if constexpr (std::is_same_v<T, bool>) {
      return value ? key.yes : key.no;
    } else if constexpr (std::is_same_v<T, std::string>) {
      return value.empty() ? other : Quoted(value);
    } else if constexpr (std::is_floating_point_v<T>) {
      return ShortestDouble(value);
    } else if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, uint64_t>) {
      return std::to_string(value);
    } else if constexpr (Named<T>) {
      return NameOf(value);
    } else if constexpr (HasKind<T>) {
      return NameOf(value.kind);
    } else {
      return other;
    }
  }
  template <typename T>
  static std::string ShownOf(const Key& key, const std::optional<T>& value, const char* other) {
    return value ? ShownOf(key, *value, other) : other;
  }
  template <typename T>
  static std::string ShownOf(const Key& key, const std::vector<T>& values, const char* other) {
    return values.size() == 1 ? ShownOf(key, values[0], other) : other;
  }

  // ---- bounds ----------------------------------------------------------------------------------

  template <typename T>
  void CheckValue(const std::string& path, const Key& key, const T& value) {
    const Bounds& bounds = key.bounds;
    if constexpr (std::is_same_v<T, int64_t>) {
      // Integers have both bounds or none.
      if (!std::isfinite(bounds.min) || !std::isfinite(bounds.max)) return;
      const auto min = static_cast<int64_t>(bounds.min), max = static_cast<int64_t>(bounds.max);
      key.unit == Key::Unit::kMilliseconds ? findings_.Time(path, value, min, max)
                                           : findings_.Whole(path, value, min, max);
    } else if constexpr (std::is_same_v<T, double>) {
      if (std::isfinite(bounds.min) || std::isfinite(bounds.max)) {
        findings_.Within(path, value, bounds);
      }
    } else if constexpr (std::is_same_v<T, Span>) {
      CheckValue(path, key, value.amount);
    } else if constexpr (HasFields<T>) {
      Check(path, value);
    }
  }
  template <typename T>
  void CheckValue(const std::string& path, const Key& key, const std::optional<T>& value) {
    if (value) CheckValue(path, key, *value);
  }
  template <typename T>
  void CheckValue(const std::string& path, const Key& key, const std::vector<T>& values) {
    findings_.Expect(key.items_max == 0 || values.size() <= key.items_max, path,
                     std::to_string(values.size()) + " values",
                     "at most " + std::to_string(key.items_max));
    if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, double> || HasFields<T>) {
      // A single value may be written without a list.
      const bool alone = values.size() == 1 && key.list == nullptr && !HasFields<T>;
      for (size_t i = 0; i < values.size(); ++i) {
        CheckValue(alone ? path : path + "[" + std::to_string(i) + "]", key, values[i]);
      }
    }
  }

  Findings& findings_;
  std::optional<Decided> decided_;
};

}  // namespace espalier::spec
