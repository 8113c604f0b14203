// One declaration of a message for both directions. `Map(w, s)` calls w(ESPALIER_AT(field), member,
// rule) for each field of the message and the member of `s` that holds it. An Encoder sets the
// field. A Decoder checks the field against the rule and sets the member. Conditions between fields
// follow under `if constexpr (W::kDecodes)`. Private to rpc/.
//
// Rules, where the default rule of a type does not fit:
//   integer     not negative          Within{low, high}, kAny
//   Number      not 0                 kMaybe: 0 means "none"
//   double      any                   kFinite, kPositive
//   enum        a known value. Values in the message are one higher, because 0 is "unspecified"
//                                     kOrFirst: 0 means the first value
//   text        (none)                kName, kWords, kFewWords, Raw(bytes_max), Present(..)
//   message     may be missing        kRequired
//   Status      may be OK or missing  kRequired, kFailure: missing, or an error
//   list        at most kListMax entries, each checked by the default rule of its type.
//               A rule applies to each entry. Each{rule, count_max} also sets the entry limit
// A std::optional, a std::shared_ptr or a std::variant with std::monostate is set if the field is
// present.
//
// Thread rule: one thread.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "src/rpc/convert.h"
#include "src/rpc/fields.h"

namespace espalier::rpc {

template <typename S, typename T>
concept Is = std::same_as<std::remove_const_t<S>, T>;

// Access to one field of a message. The compiler instantiates a function only where it is called,
// because no kind of field has all of these functions.
template <typename Get, typename Set, typename Change, typename Has>
struct Accessor {
  const char* name;
  Get get;
  Set set;
  Change change;
  Has has;
};

#define ESPALIER_AT(field)                                                            \
  ::espalier::rpc::Accessor {                                                         \
#field, [](const auto& m) -> decltype(auto) { return m.field(); },                  \
        [](auto& m, auto&& v) { m.set_##field(std::forward<decltype(v)>(v)); },         \
        [](auto& m) { return m.mutable_##field(); },                                    \
        [](const auto& m) { return m.has_##field(); } \
  }

// ---- rules -----------------------------------------------------------------------------------

struct Usual {};
struct Any {};
inline constexpr Any kAny;
struct Within {
  int64_t low = 0, high = kPositiveMax;
};
struct Maybe {};
inline constexpr Maybe kMaybe;
struct NotZero {};
inline constexpr NotZero kNotZero;
struct Finite {};
inline constexpr Finite kFinite;
struct Positive {};
inline constexpr Positive kPositive;
struct Required {};
inline constexpr Required kRequired;
struct Failure {};
inline constexpr Failure kFailure;
struct OrFirst {};
inline constexpr OrFirst kOrFirst;
struct TextRule {
  size_t bytes_max = kTextBytesMax;
  bool utf8 = false;      // `string` field, not `bytes`: invalid bytes are replaced
  bool line = false;      // text for people, without control characters
  bool required = false;  // not empty
  bool secret = false;    // value that errors never show
};
inline constexpr TextRule kName = {.bytes_max = kNameBytesMax, .utf8 = true};
inline constexpr TextRule kWords = {.utf8 = true, .line = true};
inline constexpr TextRule kFewWords = {.bytes_max = kNameBytesMax, .utf8 = true, .line = true};
constexpr TextRule Raw(size_t bytes_max = kTextBytesMax) { return {.bytes_max = bytes_max}; }
constexpr TextRule Present(size_t bytes_max) { return {.bytes_max = bytes_max, .required = true}; }
template <typename R>
struct Each {
  R rule;
  int64_t count_max = kListMax;
};
template <typename R>
Each(R, int64_t) -> Each<R>;

// ---- types -----------------------------------------------------------------------------------

template <typename T>
inline constexpr bool kIsOptional = false;
template <typename T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
template <typename T>
inline constexpr bool kIsShared = false;
template <typename T>
inline constexpr bool kIsShared<std::shared_ptr<T>> = true;
template <typename T>
inline constexpr bool kIsList = false;
template <typename T>
inline constexpr bool kIsList<std::vector<T>> = true;
template <typename T>
inline constexpr bool kIsVariant = false;
template <typename... T>
inline constexpr bool kIsVariant<std::variant<std::monostate, T...>> = true;
template <typename T>
inline constexpr bool kIsNumber = false;
template <typename Tag>
inline constexpr bool kIsNumber<Number<Tag>> = true;
template <typename R>
inline constexpr bool kIsEach = false;
template <typename R>
inline constexpr bool kIsEach<Each<R>> = true;
using LabelCounts = std::map<std::string, int64_t>;

template <typename R>
auto EachBy(R rule) {
  if constexpr (kIsEach<R>) {
    return rule;
  } else {
    return Each<R>{rule};
  }
}

// ---- to a message ----------------------------------------------------------------------------

template <typename T, typename P>
void Encode(const T& value, P* out);

template <typename P>
class Encoder {
 public:
  using Proto = P;
  static constexpr bool kDecodes = false;
  explicit Encoder(P* out) : out_(out) {}
  P* proto() { return out_; }

  template <typename A, typename T, typename R = Usual>
  void operator()(const A& at, const T& value, R rule = {}) {
    if constexpr (kIsOptional<T> || kIsShared<T>) {
      if (value) (*this)(at, *value, rule);
    } else if constexpr (kIsVariant<T>) {
      if (value.index() != 0) ToProto(value, at.change(*out_));
    } else if constexpr (std::same_as<T, Status>) {
      if (!value.ok()) ToProto(value, at.change(*out_));
    } else if constexpr (kIsList<T>) {
      Append(value, EachBy(rule), at.change(*out_));
    } else if constexpr (std::same_as<T, LabelCounts>) {
      for (const auto& [label, rows] : value) {
        auto* count = at.change(*out_)->Add();
        count->set_label(label);
        count->set_rows(rows);
      }
    } else if constexpr (std::same_as<T, std::string>) {
      at.set(*out_, Shown(value, rule));
    } else if constexpr (std::is_enum_v<T>) {
      using E = std::remove_cvref_t<decltype(at.get(*out_))>;
      at.set(*out_, static_cast<E>(static_cast<int>(value) + 1));
    } else if constexpr (std::is_arithmetic_v<T>) {
      at.set(*out_, value);
    } else if constexpr (kIsNumber<T>) {
      at.set(*out_, value.value);
    } else {
      Encode(value, at.change(*out_));
    }
  }

 private:
  static std::string Shown(const std::string& text, const TextRule& rule) {
    return rule.utf8 ? Utf8(text, rule.bytes_max) : text;
  }

  template <typename T, typename R, typename L>
  static void Append(const std::vector<T>& values, const Each<R>& each, L* out) {
    if constexpr (std::is_arithmetic_v<T>) {
      out->Add(values.begin(), values.end());
    } else {
      for (const T& value : values) {
        if constexpr (std::same_as<T, std::string>) {
          *out->Add() = Shown(value, each.rule);
        } else if constexpr (kIsShared<T>) {
          Encode(*value, out->Add());
        } else {
          Encode(value, out->Add());
        }
      }
    }
  }

  P* out_;
};

// Encodes a value with the declared fields of its message only.
template <typename T, typename P>
void EncodeFields(const T& value, P* out) {
  Encoder<P> encoder(out);
  Map(encoder, value);
}

template <typename T, typename P>
void Encode(const T& value, P* out) {
  if constexpr (requires { ToProto(value, out); }) {
    ToProto(value, out);
  } else {
    EncodeFields(value, out);
  }
}

// ---- from a message --------------------------------------------------------------------------

// True if convert.h declares a function from message P to T.
template <typename P, typename T>
concept HasFromProto = requires(const P& in) {
  { FromProto(in) } -> std::same_as<Result<T>>;
};

template <typename P>
class Decoder {
 public:
  using Proto = P;
  static constexpr bool kDecodes = true;
  explicit Decoder(const P& in) : in_(in), fields_(P::descriptor()->name()) {}
  const P& proto() const { return in_; }
  Fields& fields() { return fields_; }

  template <typename A, typename T, typename R = Usual>
  void operator()(const A& at, T& value, R rule = {}) {
    if constexpr (kIsOptional<T>) {
      if (at.has(in_)) (*this)(at, value.emplace(), rule);
    } else if constexpr (kIsShared<T>) {
      if (!at.has(in_)) return Missing(at.name, rule);
      auto part = std::make_shared<std::remove_const_t<typename T::element_type>>();
      GetMessage(at.name, at.get(in_), *part);
      value = std::move(part);
    } else if constexpr (std::same_as<T, Status>) {
      if (at.has(in_)) GetStatus(at.name, at.get(in_), value);
      if (value.ok()) Missing(at.name, rule);
      if (std::same_as<R, Failure> && at.has(in_) && value.ok())
        fields_.Fail(at.name, "is not an error");
    } else if constexpr (kIsList<T>) {
      GetList(at.name, at.get(in_), EachBy(rule), value);
    } else if constexpr (std::same_as<T, LabelCounts>) {
      GetCounts(at.name, at.get(in_), value);
    } else if constexpr (kIsVariant<T>) {
      if (!at.has(in_)) return Missing(at.name, rule);
      GetMessage(at.name, at.get(in_), value);
    } else if constexpr (std::is_class_v<T> && !kIsNumber<T> && !std::same_as<T, std::string>) {
      if (!at.has(in_)) Missing(at.name, rule);
      GetMessage(at.name, at.get(in_), value);
    } else {
      GetScalar(at.name, at.get(in_), rule, value);
    }
  }

 private:
  template <typename R>
  void Missing(const char* name, R) {
    if constexpr (std::same_as<R, Required>) fields_.Fail(name, "is missing");
  }

  // Decodes in place, because a list may have a million messages.
  template <typename M, typename T>
  void GetMessage(const char* name, const M& in, T& value) {
    Status status;
    if constexpr (HasFromProto<M, T>) {
      Result<T> part = FromProto(in);
      status = part.status();
      if (part.ok()) value = *std::move(part);
    } else {
      Decoder<M> part(in);
      Map(part, value);
      status = part.fields().status();
    }
    if (!status.ok()) fields_.Take(name, status);
  }

  void GetStatus(const char* name, const pb::ErrorDetail& in, Status& value) {
    if (Status bad = ErrorFromProto(in, &value); !bad.ok()) fields_.Take(name, bad);
  }

  void GetText(const char* name, const std::string& in, const TextRule& rule, std::string& value) {
    if (in.empty() && rule.required) fields_.Fail(name, "is missing");
    if (rule.secret) {
      fields_.In(name, static_cast<int64_t>(in.size()), 0, static_cast<int64_t>(rule.bytes_max));
      value = in;
    } else {
      value = rule.line ? fields_.Line(name, in, rule.bytes_max)
                        : fields_.Text(name, in, rule.bytes_max);
    }
  }

  template <typename V, typename R, typename T>
  void GetScalar(const char* name, const V& in, R rule, T& value) {
    if constexpr (std::same_as<T, std::string>) {
      GetText(name, in, rule, value);
    } else if constexpr (std::is_enum_v<T>) {
      const int64_t last = google::protobuf::GetEnumDescriptor<V>()->value_count() - 1;
      const int64_t first = std::same_as<R, OrFirst> ? 0 : 1;
      value = static_cast<T>(std::max<int64_t>(fields_.In(name, in, first, last) - 1, 0));
    } else if constexpr (kIsNumber<T>) {
      value = {std::same_as<R, Maybe> ? in : fields_.Id(name, in)};
    } else if constexpr (std::same_as<R, NotZero>) {
      value = fields_.Id(name, in);
    } else if constexpr (std::same_as<R, Within>) {
      value = static_cast<T>(fields_.In(name, in, rule.low, rule.high));
    } else if constexpr (std::same_as<R, Finite>) {
      value = fields_.Finite(name, in);
    } else if constexpr (std::same_as<R, Positive>) {
      value = in;
      if (!(in > 0) || !std::isfinite(in)) fields_.Fail(name, "is not a positive number");
    } else if constexpr (std::signed_integral<T> && std::same_as<R, Usual>) {
      value = static_cast<T>(fields_.NotNegative(name, in));
    } else {
      value = in;
    }
  }

  template <typename L, typename R, typename T>
  void GetList(const char* name, const L& in, const Each<R>& each, std::vector<T>& values) {
    if (!fields_.Few(name, in.size(), each.count_max)) return;
    if constexpr (std::is_arithmetic_v<T> && std::same_as<R, Any>) {
      values.assign(in.begin(), in.end());
      return;
    }
    values.reserve(in.size());
    for (const auto& item : in) {
      if (!fields_.status().ok()) return;
      if constexpr (kIsShared<T>) {
        auto part = std::make_shared<std::remove_const_t<typename T::element_type>>();
        GetMessage(name, item, *part);
        values.push_back(std::move(part));
      } else if constexpr (std::same_as<T, Status>) {
        GetStatus(name, item, values.emplace_back());
        if (values.back().ok()) Missing(name, each.rule);
      } else if constexpr (std::is_class_v<T> && !std::same_as<T, std::string>) {
        GetMessage(name, item, values.emplace_back());
      } else {
        GetScalar(name, item, each.rule, values.emplace_back());
      }
    }
  }

  template <typename L>
  void GetCounts(const char* name, const L& in, LabelCounts& values) {
    if (!fields_.Few(name, in.size(), kListMax)) return;
    for (const auto& count : in) {
      const int64_t rows = fields_.NotNegative(name, count.rows());
      if (values.emplace(fields_.Text(name, count.label(), kTextBytesMax), rows).second) continue;
      return fields_.Fail(name, "names a label twice");
    }
  }

  const P& in_;
  Fields fields_;
};

// Decodes a value with the declared fields of its message only.
template <typename T, typename P>
Result<T> DecodeFields(const P& in) {
  T value;
  Decoder<P> decoder(in);
  Map(decoder, value);
  ESPALIER_RETURN_IF_ERROR(decoder.fields().status());
  return value;
}

template <typename T, typename P>
Result<T> Decode(const P& in) {
  if constexpr (HasFromProto<P, T>) {
    return FromProto(in);
  } else {
    return DecodeFields<T>(in);
  }
}

// Refuses the files of a prediction in the message of an evaluation. `where`: the fields of the
// evaluation, as "next to totals".
template <typename P>
void RefuseParts(const P& in, const std::string& where, Fields& fields) {
  const auto check = [&](const char* name, int64_t files) {
    if (files != 0) fields.Fail(name, "is " + std::to_string(files) + " " + where + ", expected 0");
  };
  check("parts", in.parts());
  check("reject_parts", in.reject_parts());
}

// ---- messages of several kinds ---------------------------------------------------------------

// A std::variant and the `oneof` of a message: `Kinds(f, v)` calls f(std::type_identity<T>,
// ESPALIER_AT(field)) for each alternative T of `v`.
template <typename V, typename P>
void EncodeKind(const V& value, P* out) {
  Kinds(
      [&]<typename T>(std::type_identity<T>, const auto& at) {
        if (const T* kind = std::get_if<T>(&value)) Encode(*kind, at.change(*out));
      },
      value);
}

template <typename V, typename P>
Result<V> DecodeKind(const P& in) {
  std::optional<Result<V>> found;
  Kinds(
      [&]<typename T>(std::type_identity<T>, const auto& at) {
        if (!at.has(in)) return;
        Result<T> kind = Decode<T>(at.get(in));
        if (kind.ok()) {
          found.emplace(V(*std::move(kind)));
        } else {
          found.emplace(kind.status());
        }
      },
      V());
  if (found) return *std::move(found);
  return InvalidArgument("malformed " + P::descriptor()->name() +
                         ": it holds no message of a kind known here");
}

}  // namespace espalier::rpc
