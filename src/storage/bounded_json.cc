#include "src/storage/bounded_json.h"

#include <algorithm>

namespace espalier::storage {
namespace {

using Json = nlohmann::json;

constexpr int kDepthMax = 16;
constexpr int64_t kNumberMax = int64_t{1} << 60;

}  // namespace

bool NestedTooDeep(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kDepthMax) return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

Json ParseJsonObject(std::string_view text) {
  if (NestedTooDeep(text)) return Json::object();
  Json json = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  return json.is_object() ? std::move(json) : Json::object();
}

const Json& JsonMember(const Json& json, const char* name) {
  static const Json none;
  if (!json.is_object()) return none;
  const auto found = json.find(name);
  return found == json.end() ? none : *found;
}

std::string JsonText(const Json& json) { return json.is_string() ? json.get<std::string>() : ""; }

int64_t JsonCount(const Json& json) {
  if (!json.is_number_integer()) return -1;
  if (json.is_number_unsigned() && json.get<uint64_t>() > uint64_t{kNumberMax}) return -1;
  const int64_t n = json.get<int64_t>();
  return n > kNumberMax ? -1 : std::max<int64_t>(n, -1);
}

}  // namespace espalier::storage
