// An ONNX graph as it is put together, and its bytes (onnx.proto of ONNX 1.14: IR version 8, opsets
// ai.onnx 17, ai.onnx.ml 2, com.microsoft 1). Thread rule: one thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace espalier::scoring {

enum class OnnxType : uint8_t { kFloat = 1, kInt64 = 7, kString = 8, kDouble = 11 };

class OnnxGraph {
 public:
  using Attribute = std::variant<int64_t, float, std::vector<int64_t>, std::vector<std::string>>;
  using Attributes = std::vector<std::pair<const char*, Attribute>>;

  // Tensors [rows, columns] of any number of rows; columns 0: [rows].
  std::string Input(const std::string& name, OnnxType type, int64_t columns);
  void Output(const std::string& name, OnnxType type, int64_t columns);
  // Constants; the name of each is its own.
  std::string Doubles(std::span<const double> values, std::vector<int64_t> shape);
  std::string Floats(std::span<const float> values, std::vector<int64_t> shape);
  std::string Whole(std::span<const int64_t> values, std::vector<int64_t> shape);
  std::string Texts(std::span<const std::string> values);
  std::string Number(double value) { return Doubles({&value, 1}, {1}); }

  // Adds a node; returns the name of its only output, which is `name` or made up.
  std::string Node(const char* op, const std::vector<std::string>& inputs,
                   const Attributes& attributes = {}, const std::string& name = "",
                   const char* domain = "");

  void Describe(const std::string& key, const std::string& value);  // metadata_props
  // The whole model.
  std::string Encode(const std::string& name) const;

 private:
  std::string Constant(std::string tensor);
  static std::string Tensor(OnnxType type, const std::vector<int64_t>& shape);

  std::string nodes_, inputs_, outputs_, constants_, metadata_;  // of GraphProto and ModelProto
  int64_t names_ = 0;
};

}  // namespace espalier::scoring
