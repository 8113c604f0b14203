#include "src/scoring/onnx_graph.h"

#include <limits>
#include <type_traits>

#include "proto/onnx/onnx.pb.h"
#include "src/base/text.h"
#include "src/base/version.h"

namespace espalier::scoring {
namespace {

static_assert(static_cast<int>(OnnxType::kFloat) == onnx::TensorProto::FLOAT);
static_assert(static_cast<int>(OnnxType::kInt64) == onnx::TensorProto::INT64);
static_assert(static_cast<int>(OnnxType::kString) == onnx::TensorProto::STRING);
static_assert(static_cast<int>(OnnxType::kBool) == onnx::TensorProto::BOOL);
static_assert(static_cast<int>(OnnxType::kDouble) == onnx::TensorProto::DOUBLE);

constexpr size_t kOnnxBytesMax = std::numeric_limits<int32_t>::max();  // protobuf's limit

void Declare(const std::string& name, OnnxType type, int64_t columns, onnx::ValueInfoProto* out) {
  out->set_name(name);
  onnx::TypeProto::Tensor& tensor = *out->mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(static_cast<int32_t>(type));
  tensor.mutable_shape()->add_dim()->set_dim_param("rows");
  if (columns > 0) tensor.mutable_shape()->add_dim()->set_dim_value(columns);
}

struct AttributeWriter {
  onnx::AttributeProto* out;
  void operator()(int64_t value) const {
    out->set_type(onnx::AttributeProto::INT);
    out->set_i(value);
  }
  void operator()(float value) const {
    out->set_type(onnx::AttributeProto::FLOAT);
    out->set_f(value);
  }
  void operator()(const std::vector<int64_t>& values) const {
    out->set_type(onnx::AttributeProto::INTS);
    out->mutable_ints()->Add(values.begin(), values.end());
  }
  void operator()(const std::vector<std::string>& values) const {
    out->set_type(onnx::AttributeProto::STRINGS);
    out->mutable_strings()->Add(values.begin(), values.end());
  }
};

}  // namespace

struct OnnxGraph::Model {
  onnx::ModelProto file;
  onnx::GraphProto& graph = *file.mutable_graph();
};

OnnxGraph::OnnxGraph() : model_(std::make_unique<Model>()) {}

OnnxGraph::~OnnxGraph() = default;

std::string OnnxGraph::Input(const std::string& name, OnnxType type, int64_t columns) {
  Declare(name, type, columns, model_->graph.add_input());
  return name;
}

void OnnxGraph::Output(const std::string& name, OnnxType type, int64_t columns) {
  Declare(name, type, columns, model_->graph.add_output());
}

template <typename T>
std::string OnnxGraph::Constant(OnnxType type, std::span<const T> values,
                                const std::vector<int64_t>& shape) {
  onnx::TensorProto& tensor = *model_->graph.add_initializer();
  tensor.mutable_dims()->Add(shape.begin(), shape.end());
  tensor.set_data_type(static_cast<int32_t>(type));
  if constexpr (std::is_same_v<T, std::string>) {
    tensor.mutable_string_data()->Add(values.begin(), values.end());
  } else {  // x86 is little-endian, like ONNX
    tensor.set_raw_data(values.data(), values.size_bytes());
  }
  tensor.set_name("c" + std::to_string(names_++));
  return tensor.name();
}

std::string OnnxGraph::Doubles(std::span<const double> values, const std::vector<int64_t>& shape) {
  return Constant(OnnxType::kDouble, values, shape);
}

std::string OnnxGraph::Floats(std::span<const float> values, const std::vector<int64_t>& shape) {
  return Constant(OnnxType::kFloat, values, shape);
}

std::string OnnxGraph::Whole(std::span<const int64_t> values, const std::vector<int64_t>& shape) {
  return Constant(OnnxType::kInt64, values, shape);
}

std::string OnnxGraph::Texts(std::span<const std::string> values) {
  return Constant(OnnxType::kString, values, {static_cast<int64_t>(values.size())});
}

std::string OnnxGraph::Node(const char* op, const std::vector<std::string>& inputs,
                            const Attributes& attributes, const std::string& name,
                            const char* domain) {
  onnx::NodeProto& node = *model_->graph.add_node();
  node.mutable_input()->Add(inputs.begin(), inputs.end());
  node.add_output(name.empty() ? "n" + std::to_string(names_++) : name);
  node.set_op_type(op);
  for (const auto& [key, value] : attributes) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(key);
    std::visit(AttributeWriter{&attribute}, value);
  }
  if (*domain != '\0') node.set_domain(domain);
  return node.output(0);
}

void OnnxGraph::Describe(const std::string& key, const std::string& value) {
  onnx::StringStringEntryProto& entry = *model_->file.add_metadata_props();
  entry.set_key(key);
  entry.set_value(value);
}

Result<std::string> OnnxGraph::Encode(const std::string& name) {
  onnx::ModelProto& file = model_->file;
  file.set_ir_version(onnx::IR_VERSION);
  file.set_producer_name("espalier");
  file.set_producer_version(kVersion);
  model_->graph.set_name(name);
  for (const auto& [domain, version] :
       {std::pair("", 17), std::pair("ai.onnx.ml", 2), std::pair("com.microsoft", 1)}) {
    onnx::OperatorSetIdProto& opset = *file.add_opset_import();
    opset.set_domain(domain);
    opset.set_version(version);
  }
  if (const size_t bytes = file.ByteSizeLong(); bytes > kOnnxBytesMax) {
    return Unimplemented("the model takes " + HumanBytes(bytes) +
                         ", more than the 2 GiB of an ONNX file; use its weights.safetensors");
  }
  return file.SerializeAsString();
}

}  // namespace espalier::scoring
