// Conversion of spec structs to JSON and back, under the names of their Keys. It covers the schema
// and the preprocessing of model.json, and the job in its format 1. Reading checks types and their
// ranges. Validate checks values. Private to this room.
//
// Thread rule: pure functions.
#pragma once

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "src/base/status.h"
#include "src/bundle/json.h"
#include "src/spec/fields.h"
#include "src/spec/names.h"

namespace espalier {

template <>
struct spec::Names<spec::StorageType> {
  static constexpr spec::EnumName<spec::StorageType> kAll[] = {
      {spec::StorageType::kUint8, "uint8"},
      {spec::StorageType::kFloat32, "float32"},
      {spec::StorageType::kFloat64, "float64"}};
};

}  // namespace espalier

namespace espalier::bundle {

// The overloads are members of one struct, so nested types find each other in any order of
// definition.
struct JsonWriter {
  template <typename T>
  Json operator()(const std::vector<T>& values) const {
    Json list = Json::array();
    for (const T& v : values) list.push_back((*this)(v));
    return list;
  }
  template <typename T>
  Json operator()(const std::optional<T>& value) const {
    return value ? (*this)(*value) : Json(nullptr);
  }
  template <typename T>
  Json operator()(const T& value) const {
    if constexpr (std::is_same_v<T, std::string>) {
      return TextToJson(value);
    } else if constexpr (spec::Named<T>) {
      return spec::NameOf(value);
    } else if constexpr (std::is_floating_point_v<T>) {
      return NumberToJson(value);
    } else if constexpr (std::is_arithmetic_v<T>) {
      return value;
    } else {
      Json object = Json::object();
      spec::Fields(
          [&](const spec::Key& key, const auto& member) {
            if (!key.LeftOut(member)) object[key.name] = (*this)(member);
          },
          value);
      return object;
    }
  }
};

struct JsonReader {
  template <typename T>
  Status operator()(const Json& json, const std::string& path, std::vector<T>& out) const {
    if (!json.is_array()) return Wrong(path, "a list");
    out.clear();
    for (size_t i = 0; i < json.size(); ++i) {
      T item{};
      ESPALIER_RETURN_IF_ERROR((*this)(json[i], path + "[" + std::to_string(i) + "]", item));
      out.push_back(std::move(item));
    }
    return {};
  }
  template <typename T>
  Status operator()(const Json& json, const std::string& path, std::optional<T>& out) const {
    out.reset();
    return json.is_null() ? Status() : (*this)(json, path, out.emplace());
  }
  // Alternatives have different JSON types, so the first one that parses is the right one.
  template <typename... T>
  Status operator()(const Json& json, const std::string& path, std::variant<T...>& out) const {
    const auto attempt = [&](auto value) {
      if (!(*this)(json, path, value).ok()) return false;
      out = std::move(value);
      return true;
    };
    return (attempt(T{}) || ...) ? Status() : Wrong(path, "a name, a position or a range");
  }
  template <typename T>
  Status operator()(const Json& json, const std::string& path, T& out) const {
    if constexpr (std::is_same_v<T, bool>) {
      if (!json.is_boolean()) return Wrong(path, "true or false");
      out = json.get<bool>();
      return {};
    } else if constexpr (std::is_same_v<T, std::string>) {
      ESPALIER_ASSIGN_OR_RETURN(out, TextFromJson(json, path));
      return {};
    } else if constexpr (std::is_same_v<T, char>) {
      std::string text;
      if (!(*this)(json, path, text).ok() || text.size() != 1) return Wrong(path, "one character");
      out = text[0];
      return {};
    } else if constexpr (spec::Named<T>) {
      const auto value =
          json.is_string() ? spec::FromName<T>(json.get<std::string>()) : std::nullopt;
      if (!value) return Wrong(path, "one of the words of this version");
      out = *value;
      return {};
    } else if constexpr (std::is_floating_point_v<T>) {
      if (!json.is_number() || !std::isfinite(json.get<T>())) return Wrong(path, "a number");
      out = json.get<T>();
      return {};
    } else if constexpr (std::is_integral_v<T>) {
      return Whole(json, path, out);
    } else {
      return Object(json, path, out);
    }
  }

 private:
  static Status Wrong(const std::string& path, const std::string& expected) {
    return BadInput(path + ": expected " + expected);
  }
  template <typename T>
  Status Whole(const Json& json, const std::string& path, T& out) const {
    const bool fits = json.is_number_unsigned()
                          ? std::in_range<T>(json.get<uint64_t>())
                          : json.is_number_integer() && std::in_range<T>(json.get<int64_t>());
    if (!fits) return Wrong(path, "a whole number in range");
    out = json.get<T>();
    return {};
  }
  template <typename T>
  Status Object(const Json& json, const std::string& path, T& out) const {
    if (!json.is_object()) return Wrong(path, "an object");
    Status first;
    spec::Fields(
        [&](const spec::Key& key, auto& member) {
          if (!first.ok()) return;
          const std::string child = path + "." + key.name;
          const auto it = json.find(key.name);
          if (it != json.end()) {
            first = (*this)(*it, child, member);
          } else if (!key.LeftOut(member)) {
            first = Wrong(child, "a value, found none");
          }
        },
        out);
    return first;
  }
};

}  // namespace espalier::bundle
