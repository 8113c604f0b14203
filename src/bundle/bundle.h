// The output directory of a training job, as bytes: weights.safetensors, model.json, history.csv
// and README.md. Making it is pure; writing it is the worker's (under a temporary name, then
// renamed).
//
// Thread rule: values and pure functions.
#pragma once

#include <map>
#include <span>
#include <string>

#include "src/bundle/model_json.h"
#include "src/bundle/safetensors.h"
#include "src/spec/metrics.h"
#include "src/spec/tensors.h"

namespace espalier::bundle {

inline constexpr const char* kWeightsFile = "weights.safetensors";
inline constexpr const char* kOnnxFile = "model.onnx";  // of `espalier export`, made later
inline constexpr const char* kModelFile = "model.json";
inline constexpr const char* kHistoryFile = "history.csv";
inline constexpr const char* kReadmeFile = "README.md";
inline constexpr int64_t kWeightsBytesMax = int64_t{64} << 30;

struct Bundle {
  std::map<std::string, std::string> files;  // name -> bytes
  std::string weights_sha256;                // of the file of weights; names the model
};

// `document.weights_sha256` is filled in. `flat` holds the parameters, elements of `type`, tensors
// at their offsets.
Bundle MakeBundle(ModelDocument document, const spec::TensorList& tensors, const void* flat,
                  ElementType type, std::span<const spec::HistoryRow> history);

}  // namespace espalier::bundle
