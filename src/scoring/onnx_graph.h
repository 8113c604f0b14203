// OnnxGraph: builder of an ONNX graph and its bytes (IR version 8, opsets ai.onnx 17, ai.onnx.ml 2,
// com.microsoft 1). Its .cc file is the only one with the messages of proto/onnx.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "src/base/status.h"

namespace espalier::scoring {

// The numbers of TensorProto.DataType.
enum class OnnxType : uint8_t { kFloat = 1, kInt64 = 7, kString = 8, kBool = 9, kDouble = 11 };

class OnnxGraph {
 public:
  using Attribute = std::variant<int64_t, float, std::vector<int64_t>, std::vector<std::string>>;
  using Attributes = std::vector<std::pair<const char*, Attribute>>;

  OnnxGraph();
  ~OnnxGraph();

  // Declare tensors [rows, columns] with any number of rows. If columns is 0, the shape is [rows].
  std::string Input(const std::string& name, OnnxType type, int64_t columns);
  void Output(const std::string& name, OnnxType type, int64_t columns);
  // Add constants. Each returns a new name.
  std::string Doubles(std::span<const double> values, const std::vector<int64_t>& shape);
  std::string Floats(std::span<const float> values, const std::vector<int64_t>& shape);
  std::string Whole(std::span<const int64_t> values, const std::vector<int64_t>& shape);
  std::string Texts(std::span<const std::string> values);
  std::string Number(double value) { return Doubles({&value, 1}, {1}); }

  // Adds a node. Returns the name of its only output, which is `name` or a generated name.
  std::string Node(const char* op, const std::vector<std::string>& inputs,
                   const Attributes& attributes = {}, const std::string& name = "",
                   const char* domain = "");

  void Describe(const std::string& key, const std::string& value);  // metadata_props
  // Returns the bytes of the whole model. The last call. kUnimplemented: they exceed the limit of
  // an ONNX file (2 GB).
  Result<std::string> Encode(const std::string& name);

 private:
  struct Model;

  template <typename T>
  std::string Constant(OnnxType type, std::span<const T> values, const std::vector<int64_t>& shape);

  const std::unique_ptr<Model> model_;
  int64_t names_ = 0;  // number of generated names
};

}  // namespace espalier::scoring
