#include "src/scoring/trained_model.h"

#include <cmath>
#include <cstring>
#include <utility>

#include "src/base/checksum.h"
#include "src/base/text.h"
#include "src/bundle/bundle.h"
#include "src/bundle/safetensors.h"

namespace espalier {
namespace {

constexpr int64_t kModelBytesMax = int64_t{256} << 20;
constexpr int64_t kWeightsBytesMax = int64_t{64} << 30;

// The same error, of a file.
Status Of(const std::string& path, const Status& error) {
  return Status(error.code(), QuotedPath(path) + ": " + error.message());
}

Result<std::string> ReadPart(const FileSystem& files, const std::string& directory,
                             const char* name, int64_t bytes_max) {
  auto text = files.ReadAll(directory + "/" + name, bytes_max);
  if (text.ok() || text.status().code() != StatusCode::kNotFound) return text;
  return NotFound(QuotedPath(directory) + " is no bundle: it holds no " + name +
                  "; expected the directory that a job's `output` names");
}

Status CheckTensors(const SafetensorsView& view, const TensorList& wanted, ElementType type) {
  if (view.type != type) {
    return DataLoss(std::string("its numbers are float") +
                    (view.type == ElementType::kFloat64 ? "64" : "32") +
                    ", but model.json speaks of others");
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (i < view.tensors.size() && view.tensors[i] == wanted[i]) continue;
    return DataLoss("the tensor " + wanted[i].name +
                    " of model.json's network is not in its place");
  }
  if (view.tensors.size() == wanted.size()) return {};
  return DataLoss("it holds the tensor " + Printable(view.tensors[wanted.size()].name) +
                  ", which model.json's network has not");
}

template <typename T>
Result<AlignedVector<T>> Take(const SafetensorsView& view) {
  AlignedVector<T> values(view.data.size() / sizeof(T));
  std::memcpy(values.data(), view.data.data(), values.size() * sizeof(T));
  for (const T value : values) {
    if (!std::isfinite(value)) return BadInput("it holds a value that is no finite number");
  }
  return values;
}

Status TakeParameters(std::string_view bytes, TrainedModel* model) {
  if (Sha256Hex(bytes) != model->document.weights_sha256) {
    return DataLoss(
        "its SHA-256 is not the one in model.json; it was damaged or replaced: copy the bundle "
        "again");
  }
  ESPALIER_ASSIGN_OR_RETURN(const SafetensorsView view, DecodeSafetensors(bytes));
  const bool wide = model->document.job.model.precision == Precision::kFloat64;
  ESPALIER_RETURN_IF_ERROR(CheckTensors(view, Tensors(model->shape),
                                        wide ? ElementType::kFloat64 : ElementType::kFloat32));
  if (wide) {
    ESPALIER_ASSIGN_OR_RETURN(model->parameters, Take<double>(view));
  } else {
    ESPALIER_ASSIGN_OR_RETURN(model->parameters, Take<float>(view));
  }
  return {};
}

}  // namespace

int64_t TrainedModel::width() const { return classification() ? shape.classes() : shape.outputs(); }

Result<TrainedModel> LoadTrainedModel(const FileSystem& files, const std::string& path) {
  std::string directory = path;
  while (directory.size() > 1 && directory.back() == '/') directory.pop_back();
  TrainedModel model;
  ESPALIER_ASSIGN_OR_RETURN(const std::string text,
                            ReadPart(files, directory, kModelFile, kModelBytesMax));
  auto document = DecodeModelJson(text);
  if (!document.ok()) return Of(directory, document.status());
  model.document = *std::move(document);
  const Preprocessing& fitted = model.document.preprocessing;
  auto shape = MakeNetworkShape(model.document.job, InputsOf(fitted),
                                AnswersOf(model.document.job.model.task, fitted));
  if (!shape.ok()) return Of(directory + "/" + kModelFile, shape.status());
  model.shape = *std::move(shape);
  ESPALIER_ASSIGN_OR_RETURN(const std::string weights,
                            ReadPart(files, directory, kWeightsFile, kWeightsBytesMax));
  const Status taken = TakeParameters(weights, &model);
  if (!taken.ok()) return Of(directory + "/" + kWeightsFile, taken);
  return model;
}

}  // namespace espalier
