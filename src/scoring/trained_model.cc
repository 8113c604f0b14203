#include "src/scoring/trained_model.h"

#include <cmath>
#include <cstring>
#include <utility>

#include "src/base/checksum.h"
#include "src/base/memory.h"
#include "src/base/text.h"
#include "src/bundle/bundle.h"
#include "src/bundle/safetensors.h"

namespace espalier::scoring {
namespace {

Status CheckTensors(const bundle::SafetensorsView& view, const spec::TensorList& wanted,
                    bundle::ElementType type) {
  if (view.type != type) {
    return DataLoss(std::string("its numbers are float") +
                    (view.type == bundle::ElementType::kFloat64 ? "64" : "32") +
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
Result<AlignedVector<T>> Take(const bundle::SafetensorsView& view) {
  AlignedVector<T> values(view.data.size() / sizeof(T));
  std::memcpy(values.data(), view.data.data(), values.size() * sizeof(T));
  for (const T value : values) {
    if (!std::isfinite(value)) return BadInput("it contains a value that is not a finite number");
  }
  return values;
}

Status TakeParameters(std::string_view bytes, TrainedModel* model) {
  if (Sha256Hex(bytes) != model->document.weights_sha256) {
    return DataLoss(
        "its SHA-256 is not the one in model.json; it was damaged or replaced: copy the bundle "
        "again");
  }
  ESPALIER_ASSIGN_OR_RETURN(const bundle::SafetensorsView view, bundle::DecodeSafetensors(bytes));
  const bool wide = model->document.job.model.precision == spec::Precision::kFloat64;
  ESPALIER_RETURN_IF_ERROR(
      CheckTensors(view, model::Tensors(model->shape),
                   wide ? bundle::ElementType::kFloat64 : bundle::ElementType::kFloat32));
  if (wide) {
    ESPALIER_ASSIGN_OR_RETURN(model->parameters, Take<double>(view));
  } else {
    ESPALIER_ASSIGN_OR_RETURN(model->parameters, Take<float>(view));
  }
  return {};
}

// Checks the memory for the weights, which exist twice while they are read from the file.
Status CheckMemory(const storage::FileSystem& files, const std::string& path) {
  const auto found = files.Stat(path);
  if (!found.ok()) return {};  // ReadBundleFile reports it
  const int64_t memory = PhysicalMemoryBytes();
  if (found->length <= memory / 2) return {};
  const auto shown = [](int64_t n) { return HumanBytes(static_cast<uint64_t>(n)); };
  return ResourceExhausted(QuotedPath(path) + ": the weights have " + shown(found->length) +
                           ", and loading them takes twice as much; this machine has " +
                           shown(memory) + " of memory: score on machines with more");
}

}  // namespace

Result<TrainedModel> LoadTrainedModel(const storage::FileSystem& files, const std::string& path,
                                      const std::string& sha256) {
  std::string directory = path;
  while (directory.size() > 1 && directory.back() == '/') directory.pop_back();
  ESPALIER_ASSIGN_OR_RETURN(ModelOutline outline, LoadModelOutline(files, directory, sha256));
  ESPALIER_RETURN_IF_ERROR(CheckMemory(files, directory + "/" + bundle::kWeightsFile));
  TrainedModel model{std::move(outline), {}};
  ESPALIER_ASSIGN_OR_RETURN(
      const std::string weights,
      ReadBundleFile(files, directory, bundle::kWeightsFile, bundle::kWeightsBytesMax));
  const Status taken = TakeParameters(weights, &model);
  if (!taken.ok()) return ErrorOf(directory + "/" + bundle::kWeightsFile, taken);
  return model;
}

}  // namespace espalier::scoring
