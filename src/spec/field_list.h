// The declaration of a struct's fields: a list of members, each with its Key. `Fields(f, s)` calls
// f(key, member) for each member of `s`, in the order of the list. `s` may be const.
//
//   template <>
//   inline constexpr auto kFields<LibsvmOptions> = Declare(
//       Member(&LibsvmOptions::zero_based, Key("zero_based").Doc("true: indices count from 0.")));
//
// Thread rule: constants and pure functions.
#pragma once

#include <type_traits>

#include "src/spec/key.h"

namespace espalier::spec {

// One entry of a list. S may be a base of the struct.
template <typename S, typename T>
struct Member {
  constexpr Member(T S::*p, const Key& k) : pointer(p), key(k) {}

  T S::*pointer;
  Key key;
};

// Returns the list as a function that calls its argument with each entry. The Keys are constants in
// memory, so a caller does not construct them.
template <typename... S, typename... T>
consteval auto Declare(Member<S, T>... members) {
  return [members...](auto&& visit) { (visit(members), ...); };
}

struct NotDeclared {};
// The list of S. A specialization is next to the other fields of its section.
template <typename S>
inline constexpr NotDeclared kFields{};

template <typename S>
concept HasFields =
    !std::is_same_v<std::remove_cvref_t<decltype(kFields<std::remove_const_t<S>>)>, NotDeclared>;

template <typename F, HasFields S>
void Fields(F&& f, S& s) {
  kFields<std::remove_const_t<S>>([&](const auto& entry) { f(entry.key, s.*entry.pointer); });
}

}  // namespace espalier::spec
