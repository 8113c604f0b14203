// OnnxGraph: builder of an ONNX graph and its bytes (onnx.proto of ONNX 1.14: IR version 8, opsets
// ai.onnx 17, ai.onnx.ml 2, com.microsoft 1).
//
// Thread rule: one thread.
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

  // Declare tensors [rows, columns] with any number of rows. If columns is 0, the shape is [rows].
  std::string Input(const std::string& name, OnnxType type, int64_t columns);
  void Output(const std::string& name, OnnxType type, int64_t columns);
  // Add constants. Each returns a new name.
  std::string Doubles(std::span<const double> values, std::vector<int64_t> shape);
  std::string Floats(std::span<const float> values, std::vector<int64_t> shape);
  std::string Whole(std::span<const int64_t> values, std::vector<int64_t> shape);
  std::string Texts(std::span<const std::string> values);
  std::string Number(double value) { return Doubles({&value, 1}, {1}); }

  // Adds a node. Returns the name of its only output, which is `name` or a generated name.
  std::string Node(const char* op, const std::vector<std::string>& inputs,
                   const Attributes& attributes = {}, const std::string& name = "",
                   const char* domain = "");

  void Describe(const std::string& key, const std::string& value);  // metadata_props
  // Returns the bytes of the whole model.
  std::string Encode(const std::string& name) const;

 private:
  std::string Constant(std::string tensor);
  static std::string Tensor(OnnxType type, const std::vector<int64_t>& shape);

  // Fields of GraphProto and ModelProto.
  std::string nodes_, inputs_, outputs_, constants_, metadata_;
  int64_t names_ = 0;
};

}  // namespace espalier::scoring
