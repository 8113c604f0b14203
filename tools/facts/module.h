// Text of a Python module of constants with their types: "NAME: int = 5".
//
// Thread rule: one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/check.h"

namespace espalier::facts {

// ---- types of Python -----------------------------------------------------------------------

inline std::string TypeOf(int64_t) { return "int"; }
inline std::string TypeOf(const std::string&) { return "str"; }
template <typename T>
std::string TypeOf(const std::vector<T>&) {
  return "Tuple[" + TypeOf(T()) + ", ...]";
}

// ---- values --------------------------------------------------------------------------------

inline std::string Literal(int64_t value) { return std::to_string(value); }
// REQUIRES: printable ASCII.
inline std::string Literal(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    ESPALIER_CHECK(c >= ' ' && c <= '~', text);
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}
template <typename T>
std::string Literal(const std::vector<T>& values) {
  std::string out;
  for (const T& value : values) out += Literal(value) + ", ";
  return "(" + out + ")";
}

// ---- the module ----------------------------------------------------------------------------

class Module {
 public:
  // REQUIRES: `name` is new and in capitals; a list is not empty.
  void Number(const std::string& name, int64_t value) { Add(name, value); }
  void Text(const std::string& name, std::string_view value) { Add(name, std::string(value)); }
  // Adds a list made from any container of texts.
  template <typename Texts>
  void List(const std::string& name, const Texts& texts) {
    Value(name, std::vector<std::string>(std::begin(texts), std::end(texts)));
  }
  // Adds a list of texts, or of lists of texts.
  template <typename T>
  void Value(const std::string& name, const std::vector<T>& values) {
    ESPALIER_CHECK(!values.empty(), name);
    Add(name, values);
  }

  const std::string& text() const { return text_; }

 private:
  template <typename T>
  void Add(const std::string& name, const T& value) {
    const bool capitals = std::all_of(name.begin(), name.end(), [](char c) {
      return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    });
    ESPALIER_CHECK(capitals && names_.insert(name).second, name);
    text_ += name + ": " + TypeOf(value) + " = " + Literal(value) + "\n";
  }

  std::set<std::string> names_;
  std::string text_ =
      "\"\"\"Limits, names and codes that the programs share. Printed by tools/facts.\"\"\"\n\n"
      "from typing import Tuple\n\n";
};

}  // namespace espalier::facts
