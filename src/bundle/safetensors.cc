#include "src/bundle/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>

#include "src/base/text.h"
#include "src/storage/bounded_json.h"

namespace espalier::bundle {
namespace {

static_assert(std::endian::native == std::endian::little, "tensors are written as they lie");

using SortedJson = nlohmann::json;

constexpr int64_t kElementsMax = int64_t{1} << 48;

Status Wrong(const std::string& what) { return BadInput("safetensors: " + what); }

// Returns the bounded number of elements of a shape.
Result<int64_t> Elements(const std::string& name, const SortedJson& shape,
                         std::vector<int64_t>& out) {
  int64_t count = 1;
  if (!shape.is_array() || shape.size() > 8) {
    return Wrong("tensor '" + Printable(name) + "' has no valid shape; expected at most 8 numbers");
  }
  for (const SortedJson& d : shape) {
    if (!d.is_number_unsigned() || d.get<uint64_t>() > kElementsMax) {
      return Wrong("tensor '" + Printable(name) + "' has a wrong dimension");
    }
    const auto dimension = d.get<int64_t>();
    if (dimension > 0 && count > kElementsMax / dimension) {
      return Wrong("tensor '" + Printable(name) + "' is too large");
    }
    count *= dimension;
    out.push_back(dimension);
  }
  return count;
}

struct Entry {
  spec::TensorInfo info;
  uint64_t begin = 0, end = 0;  // bytes
  ElementType type = ElementType::kFloat32;
};

Result<Entry> ReadEntry(const std::string& name, const SortedJson& json, uint64_t data_bytes) {
  Entry entry;
  entry.info.name = name;
  if (!json.is_object() || !json.contains("dtype") || !json.contains("shape") ||
      !json.contains("data_offsets")) {
    return Wrong("tensor '" + Printable(name) + "' is missing dtype, shape or data_offsets");
  }
  const SortedJson& dtype = json["dtype"];
  if (dtype == "F64") {
    entry.type = ElementType::kFloat64;
  } else if (dtype != "F32") {
    const std::string found = dtype.is_string() ? Printable(dtype.get<std::string>()) : "no text";
    return Unimplemented("safetensors: tensor '" + Printable(name) + "' has element type " + found +
                         ", expected F32 or F64");
  }
  ESPALIER_ASSIGN_OR_RETURN(entry.info.size, Elements(name, json["shape"], entry.info.shape));
  const SortedJson& offsets = json["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
      !offsets[1].is_number_unsigned()) {
    return Wrong("tensor '" + Printable(name) + "' does not have two valid data_offsets");
  }
  entry.begin = offsets[0].get<uint64_t>();
  entry.end = offsets[1].get<uint64_t>();
  const uint64_t bytes = static_cast<uint64_t>(entry.info.size) * ElementSize(entry.type);
  if (entry.begin > entry.end || entry.end > data_bytes || entry.end - entry.begin != bytes) {
    return Wrong("tensor '" + Printable(name) + "' has bytes " + std::to_string(entry.begin) +
                 " to " + std::to_string(entry.end) + " of " + std::to_string(data_bytes) +
                 ", but its shape needs " + std::to_string(bytes));
  }
  return entry;
}

// Sorts the entries by their data and checks that they cover it.
Result<SafetensorsView> Assemble(std::vector<Entry> entries, std::string_view data) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  SafetensorsView view;
  view.data = data;
  if (!entries.empty()) view.type = entries[0].type;
  uint64_t next = 0;
  for (Entry& e : entries) {
    if (e.type != view.type) return Wrong("tensors of different element types");
    if (e.begin != next) {
      return Wrong("a hole or an overlap before tensor '" + Printable(e.info.name) + "'");
    }
    next = e.end;
    e.info.offset = static_cast<int64_t>(e.begin / ElementSize(view.type));
    view.tensors.push_back(std::move(e.info));
  }
  if (next != data.size()) return Wrong("bytes behind the last tensor");
  return view;
}

}  // namespace

size_t ElementSize(ElementType type) { return type == ElementType::kFloat32 ? 4 : 8; }

std::string EncodeSafetensors(const spec::TensorList& tensors, const void* flat, ElementType type) {
  const size_t element = ElementSize(type);
  SortedJson header = SortedJson::object();
  size_t data_bytes = 0;
  for (const spec::TensorInfo& t : tensors) {
    const size_t bytes = static_cast<size_t>(t.size) * element;
    header[t.name] = {{"dtype", type == ElementType::kFloat32 ? "F32" : "F64"},
                      {"shape", t.shape},
                      {"data_offsets", {data_bytes, data_bytes + bytes}}};
    data_bytes += bytes;
  }
  std::string text = header.dump(-1, ' ', false, SortedJson::error_handler_t::replace);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t length = text.size();
  std::string out;
  out.reserve(sizeof length + text.size() + data_bytes);
  out.append(reinterpret_cast<const char*>(&length), sizeof length);
  out += text;
  for (const spec::TensorInfo& t : tensors) {
    out.append(static_cast<const char*>(flat) + static_cast<size_t>(t.offset) * element,
               static_cast<size_t>(t.size) * element);
  }
  return out;
}

Result<SafetensorsView> DecodeSafetensors(std::string_view bytes) {
  uint64_t length = 0;
  if (bytes.size() < sizeof length) return Wrong("shorter than its 8-byte length");
  std::memcpy(&length, bytes.data(), sizeof length);
  bytes.remove_prefix(sizeof length);
  if (length > bytes.size() || length > kSafetensorsHeaderBytesMax) {
    return Wrong("a header of " + std::to_string(length) + " bytes in a file of " +
                 std::to_string(bytes.size()));
  }
  const std::string_view data = bytes.substr(length);
  const std::string_view text = bytes.substr(0, length);
  if (storage::NestedTooDeep(text)) return Wrong("the header is nested too deep");
  const SortedJson header = SortedJson::parse(text, nullptr, false);
  if (!header.is_object()) return Wrong("the header is not a JSON object");
  if (std::ssize(header) > kTensorsMax) return Wrong("too many tensors");
  std::vector<Entry> entries;
  for (const auto& [name, json] : header.items()) {
    if (name == "__metadata__") continue;
    ESPALIER_ASSIGN_OR_RETURN(Entry entry, ReadEntry(name, json, data.size()));
    entries.push_back(std::move(entry));
  }
  return Assemble(std::move(entries), data);
}

}  // namespace espalier::bundle
