#include "src/scoring/onnx_graph.h"

#include <bit>

#include "src/base/version.h"

namespace espalier::scoring {
namespace {

// Protobuf's wire format, limited to the required fields.
void Varint(uint64_t value, std::string* out) {
  for (; value >= 0x80; value >>= 7) out->push_back(static_cast<char>(value | 0x80));
  out->push_back(static_cast<char>(value));
}

void WholeField(int field, int64_t value, std::string* out) {
  Varint(static_cast<uint64_t>(field) << 3, out);
  Varint(static_cast<uint64_t>(value), out);
}

void BytesField(int field, std::string_view bytes, std::string* out) {
  Varint((static_cast<uint64_t>(field) << 3) | 2, out);
  Varint(bytes.size(), out);
  out->append(bytes);
}

void FloatField(int field, float value, std::string* out) {
  Varint((static_cast<uint64_t>(field) << 3) | 5, out);
  const auto bits = std::bit_cast<uint32_t>(value);
  for (int i = 0; i < 4; ++i) out->push_back(static_cast<char>(bits >> (8 * i)));
}

template <typename T>
std::string_view BytesOf(std::span<const T> values) {  // x86 is little-endian, like ONNX
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

// Encodes a ValueInfoProto.
std::string Value(const std::string& name, OnnxType type, int64_t columns) {
  std::string rows, shape, tensor, kind, value;
  BytesField(2, "rows", &rows);
  BytesField(1, rows, &shape);
  if (columns > 0) {
    std::string width;
    WholeField(1, columns, &width);
    BytesField(1, width, &shape);
  }
  WholeField(1, static_cast<int64_t>(type), &tensor);
  BytesField(2, shape, &tensor);
  BytesField(1, tensor, &kind);
  BytesField(1, name, &value);
  BytesField(2, kind, &value);
  return value;
}

struct AttributeWriter {
  std::string* out;
  void Type(int64_t type) const { WholeField(20, type, out); }
  void operator()(int64_t value) const {
    WholeField(3, value, out);
    Type(2);
  }
  void operator()(float value) const {
    FloatField(2, value, out);
    Type(1);
  }
  void operator()(const std::vector<int64_t>& values) const {
    for (const int64_t v : values) WholeField(8, v, out);
    Type(7);
  }
  void operator()(const std::vector<std::string>& values) const {
    for (const std::string& v : values) BytesField(9, v, out);
    Type(8);
  }
};

}  // namespace

std::string OnnxGraph::Input(const std::string& name, OnnxType type, int64_t columns) {
  BytesField(11, Value(name, type, columns), &inputs_);
  return name;
}

void OnnxGraph::Output(const std::string& name, OnnxType type, int64_t columns) {
  BytesField(12, Value(name, type, columns), &outputs_);
}

std::string OnnxGraph::Tensor(OnnxType type, const std::vector<int64_t>& shape) {
  std::string tensor;
  for (const int64_t size : shape) WholeField(1, size, &tensor);
  WholeField(2, static_cast<int64_t>(type), &tensor);
  return tensor;
}

std::string OnnxGraph::Constant(std::string tensor) {
  const std::string name = "c" + std::to_string(names_++);
  BytesField(8, name, &tensor);
  BytesField(5, tensor, &constants_);
  return name;
}

std::string OnnxGraph::Doubles(std::span<const double> values, std::vector<int64_t> shape) {
  std::string tensor = Tensor(OnnxType::kDouble, shape);
  BytesField(9, BytesOf(values), &tensor);
  return Constant(std::move(tensor));
}

std::string OnnxGraph::Floats(std::span<const float> values, std::vector<int64_t> shape) {
  std::string tensor = Tensor(OnnxType::kFloat, shape);
  BytesField(9, BytesOf(values), &tensor);
  return Constant(std::move(tensor));
}

std::string OnnxGraph::Whole(std::span<const int64_t> values, std::vector<int64_t> shape) {
  std::string tensor = Tensor(OnnxType::kInt64, shape);
  BytesField(9, BytesOf(values), &tensor);
  return Constant(std::move(tensor));
}

std::string OnnxGraph::Texts(std::span<const std::string> values) {
  std::string tensor = Tensor(OnnxType::kString, {static_cast<int64_t>(values.size())});
  for (const std::string& text : values) BytesField(6, text, &tensor);
  return Constant(std::move(tensor));
}

std::string OnnxGraph::Node(const char* op, const std::vector<std::string>& inputs,
                            const Attributes& attributes, const std::string& name,
                            const char* domain) {
  const std::string output = name.empty() ? "n" + std::to_string(names_++) : name;
  std::string node;
  for (const std::string& input : inputs) BytesField(1, input, &node);
  BytesField(2, output, &node);
  BytesField(4, op, &node);
  for (const auto& [key, value] : attributes) {
    std::string attribute;
    BytesField(1, key, &attribute);
    std::visit(AttributeWriter{&attribute}, value);
    BytesField(5, attribute, &node);
  }
  if (*domain != '\0') BytesField(7, domain, &node);
  BytesField(1, node, &nodes_);
  return output;
}

void OnnxGraph::Describe(const std::string& key, const std::string& value) {
  std::string entry;
  BytesField(1, key, &entry);
  BytesField(2, value, &entry);
  BytesField(14, entry, &metadata_);
}

std::string OnnxGraph::Encode(const std::string& name) const {
  std::string graph = nodes_;
  BytesField(2, name, &graph);
  graph += constants_ + inputs_ + outputs_;
  std::string model;
  WholeField(1, 8, &model);
  BytesField(2, "espalier", &model);
  BytesField(3, kVersion, &model);
  BytesField(7, graph, &model);
  for (const auto& [domain, version] :
       {std::pair("", 17), std::pair("ai.onnx.ml", 2), std::pair("com.microsoft", 1)}) {
    std::string opset;
    BytesField(1, domain, &opset);
    WholeField(2, version, &opset);
    BytesField(8, opset, &model);
  }
  return model + metadata_;
}

}  // namespace espalier::scoring
