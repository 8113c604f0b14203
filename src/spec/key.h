// Key: the declaration of one field of a job, in spec/fields_*.h. It determines the field's line in
// the canonical text, its key in YAML and in model.json, its bounds, its conditions and its
// text in the reference.
//
// Thread rule: values and pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace espalier::spec {

// Interval of a number. Values are always finite.
struct Bounds {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool above = false;  // min is excluded
  bool below = false;  // max is excluded
};
inline constexpr double kUnbounded = std::numeric_limits<double>::infinity();
inline constexpr Bounds kPositive = {0, kUnbounded, true, false};
inline constexpr Bounds kNotNegative = {0, kUnbounded};
inline constexpr Bounds kFraction = {0, 1, false, true};
inline constexpr Bounds kInsideUnit = {0, 1, true, true};
inline constexpr Bounds kCost = {0, 1e9, true, false};
inline constexpr int64_t kCountMax = 1'000'000'000'000;  // steps, rows
inline constexpr size_t kListMax = 10'000;               // patterns, feature entries

// A key of the job whose value decides which other keys apply.
enum class Decider : uint8_t { kNone, kTask, kLoss, kOptimizer, kMode, kColumnType };
// The deciding key with values of type E. conditions.h has them.
template <typename E>
inline constexpr Decider kDecider = Decider::kNone;

// Values of a deciding key with which a field may have another value than its default.
struct Condition {
  Decider decider = Decider::kNone;
  uint32_t values = 0;           // bit i: value i
  bool without = false;          // true: all values except these
  const char* reason = nullptr;  // end of the error; nullptr: none
};
inline constexpr size_t kConditionsMax = 3;

struct Key {
  enum class Unit { kNone, kMilliseconds, kBytes };

  constexpr Key(const char* n) : name(n) {}  // NOLINT: a name alone is a declaration

  // Name in the canonical text and in model.json of format 1. It never changes.
  const char* name;
  // Key in YAML, relative to its struct. It may lead through other maps; "*" is any word.
  const char* yaml = name;
  // The reader of its struct reads the field. The other rules apply to it.
  bool by_hand = false;
  // The text of the reference; nullptr: the field is not a key in YAML.
  const char* doc = nullptr;
  // Value that the reference shows for a key without a default; nullptr: the key has a default.
  const char* example = nullptr;
  // Name of the field that precedes it in the reference; nullptr: the one before it in the list.
  const char* after = nullptr;
  Bounds bounds = {};
  Unit unit = Unit::kNone;
  // Bit i: the field belongs to kind i of its struct; 0: to all kinds.
  uint32_t kinds = 0;
  // Word in YAML for a field without a value; nullptr: none.
  const char* absent = nullptr;
  // Word in YAML for the character 0; nullptr: none.
  const char* no_character = nullptr;
  // Example of a list, for a field that is not a single value in YAML; nullptr: it may be one.
  const char* list = nullptr;
  // Maximum number of values of a list; 0: the struct checks it, or it is not a list.
  size_t items_max = 0;
  // The text, or each text of the list, is a path or a URI. A struct with this member may be
  // written in YAML as the path alone.
  bool path = false;
  // The keys of its struct are keys of the enclosing map.
  bool inlined = false;
  // The field is left out if it has the default value of its type. Files written before the field
  // existed imply that value, and jobs that do not use the field keep their fingerprint.
  bool later = false;
  // The key belongs to jobs that train, although jobs that score have the struct too.
  bool training_only = false;
  // The field is the value of the word of its kind: {window: 100000}.
  bool body = false;
  // Words in YAML for false and true.
  const char *no = "false", *yes = "true";
  // All of them hold, or the field has its default. The used ones come first.
  std::array<Condition, kConditionsMax> conditions = {};

  // Returns a copy after a change. Clang calls it in constants only after its definition.
  template <typename F>
  constexpr Key Changed(F&& change) const {
    Key copy = *this;
    change(copy);
    return copy;
  }
  constexpr Key In(Bounds b) const {
    return Changed([b](Key& k) { k.bounds = b; });
  }
  constexpr Key Whole(int64_t min, int64_t max) const {
    return In({static_cast<double>(min), static_cast<double>(max)});
  }
  constexpr Key Yaml(const char* key) const {
    return Changed([key](Key& k) { k.yaml = key; });
  }
  constexpr Key ReadByHand() const {
    return Changed([](Key& k) { k.by_hand = true; });
  }
  // The field follows from the words of other keys.
  constexpr Key NotInYaml() const { return Yaml("").ReadByHand(); }
  constexpr Key Doc(const char* text) const {
    return Changed([text](Key& k) { k.doc = text; });
  }
  constexpr Key Example(const char* value) const {
    return Changed([value](Key& k) { k.example = value; });
  }
  constexpr Key After(const char* field) const {
    return Changed([field](Key& k) { k.after = field; });
  }
  constexpr Key Milliseconds() const {
    return Changed([](Key& k) { k.unit = Unit::kMilliseconds; });
  }
  constexpr Key Bytes() const {
    return Changed([](Key& k) { k.unit = Unit::kBytes; });
  }
  template <typename... Kind>
  constexpr Key For(Kind... kind) const {
    return Changed([mask = Mask(kind...)](Key& k) { k.kinds = mask; });
  }
  constexpr Key Absent(const char* word) const {
    return Changed([word](Key& k) { k.absent = word; });
  }
  constexpr Key NoCharacter(const char* word) const {
    return Changed([word](Key& k) { k.no_character = word; });
  }
  constexpr Key List(const char* example) const {
    return Changed([example](Key& k) { k.list = example; });
  }
  constexpr Key Items(size_t max) const {
    return Changed([max](Key& k) { k.items_max = max; });
  }
  constexpr Key Path() const {
    return Changed([](Key& k) { k.path = true; });
  }
  constexpr Key Inlined() const {
    return Changed([](Key& k) { k.inlined = true; });
  }
  constexpr Key Later() const {
    return Changed([](Key& k) { k.later = true; });
  }

  constexpr Key TrainingOnly() const {
    return Changed([](Key& k) { k.training_only = true; });
  }

  constexpr Key Body() const {
    return Changed([](Key& k) { k.body = true; });
  }
  constexpr Key Words(const char* no_word, const char* yes_word) const {
    return Changed([no_word, yes_word](Key& k) { k.no = no_word, k.yes = yes_word; });
  }
  // The field applies only with these values, or not with these values, of a deciding key.
  template <typename First, typename... Value>
  constexpr Key With(First first, Value... values) const {
    return On<First>(Mask(first, values...), false);
  }
  template <typename First, typename... Value>
  constexpr Key Without(First first, Value... values) const {
    return On<First>(Mask(first, values...), true);
  }
  // Gives the reason for the condition before it.
  constexpr Key Because(const char* reason) const {
    return Changed([reason](Key& k) { k.conditions[k.ConditionCount() - 1].reason = reason; });
  }

  template <typename Kind>
  constexpr bool Belongs(Kind kind) const {
    return kinds == 0 || (kinds >> static_cast<uint32_t>(kind) & 1) != 0;
  }
  // Returns the name to show in messages.
  constexpr const char* Shown() const { return yaml[0] == '\0' ? name : yaml; }
  template <typename Member>
  bool LeftOut(const Member& member) const {
    return later && member == Member{};
  }

 private:
  template <typename... Value>
  static constexpr uint32_t Mask(Value... values) {
    return (uint32_t{0} | ... | (uint32_t{1} << static_cast<uint32_t>(values)));
  }
  constexpr size_t ConditionCount() const {
    size_t count = 0;
    while (count < kConditionsMax && conditions[count].decider != Decider::kNone) ++count;
    return count;
  }
  template <typename E>
  constexpr Key On(uint32_t values, bool without) const {
    static_assert(kDecider<E> != Decider::kNone, "conditions.h has no key with these values");
    return Changed([values, without](Key& k) {
      k.conditions[k.ConditionCount()] = {kDecider<E>, values, without, nullptr};
    });
  }
};

}  // namespace espalier::spec
