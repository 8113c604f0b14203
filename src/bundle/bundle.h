// The output directory of a training job, as bytes: weights.safetensors, model.json, history.csv
// and README.md. Creating a bundle is pure. The worker writes it, under a temporary name that it
// then renames.
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
inline constexpr const char* kOnnxFile = "model.onnx";  // from `espalier export`, written later
inline constexpr const char* kModelFile = "model.json";
inline constexpr const char* kHistoryFile = "history.csv";
inline constexpr const char* kReadmeFile = "README.md";
inline constexpr int64_t kWeightsBytesMax = int64_t{64} << 30;

struct Bundle {
  std::map<std::string, std::string> files;  // name -> bytes
  std::string weights_sha256;                // SHA-256 of the weights file; identifies the model
};

// Creates a bundle and fills in `document.weights_sha256`. `flat` contains the parameters, elements
// of `type`, with each tensor at its offset.
Bundle MakeBundle(ModelDocument document, const spec::TensorList& tensors, const void* flat,
                  ElementType type, std::span<const spec::HistoryRow> history);

}  // namespace espalier::bundle
