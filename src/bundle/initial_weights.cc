#include "src/bundle/initial_weights.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "src/base/text.h"
#include "src/bundle/bundle.h"
#include "src/bundle/model_json.h"
#include "src/bundle/safetensors.h"

namespace espalier {
namespace {

constexpr int64_t kBytesMax = int64_t{64} << 30;

std::string Shown(const std::vector<int64_t>& shape) {
  std::string text;
  for (int64_t d : shape) text += (text.empty() ? "[" : ", ") + std::to_string(d);
  return text + "]";
}

// "layers.3.norm.bias" belongs to layer 3.
bool Wanted(const std::string& name, const std::vector<int64_t>& layers) {
  return layers.empty() || std::any_of(layers.begin(), layers.end(), [&](int64_t layer) {
           return name.starts_with("layers." + std::to_string(layer) + ".");
         });
}

// Of a categorical column.
bool IsTable(const TensorInfo& t) {
  return t.name.find(".one_hot.") != std::string::npos ||
         t.name.find(".embeddings.") != std::string::npos;
}

double Element(const SafetensorsView& view, int64_t i) {
  const char* at = view.data.data() + static_cast<size_t>(i) * ElementSize(view.type);
  if (view.type == ElementType::kFloat64) {
    double value = 0;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  float value = 0;
  std::memcpy(&value, at, sizeof value);
  return static_cast<double>(value);
}

Result<InitialTensor> Take(const SafetensorsView& view, const TensorInfo& wanted) {
  const auto at = std::find_if(view.tensors.begin(), view.tensors.end(),
                               [&](const TensorInfo& t) { return t.name == wanted.name; });
  if (at == view.tensors.end() || at->shape != wanted.shape) {
    const std::string found = at == view.tensors.end() ? "none" : "one of " + Shown(at->shape);
    return FailedPrecondition("found " + found + " for the tensor " + wanted.name + " of " +
                              Shown(wanted.shape) +
                              "; train a network of the same layers and inputs, or name the layers "
                              "that are the same: {from: MODEL, layers: [0]}");
  }
  InitialTensor tensor{wanted.offset, {}};
  tensor.values.reserve(static_cast<size_t>(at->size));
  for (int64_t i = 0; i < at->size; ++i) {
    tensor.values.push_back(Element(view, at->offset + i));
    if (std::isfinite(tensor.values.back())) continue;
    return BadInput("the tensor " + wanted.name + " holds a value that is no finite number");
  }
  return tensor;
}

Result<std::vector<double>> ParseNumbers(std::string_view text) {
  constexpr std::string_view kBetween = " \t\r\n,[]()";
  std::vector<double> values;
  size_t at = 0;
  while ((at = text.find_first_not_of(kBetween, at)) != std::string_view::npos) {
    const size_t end = std::min(text.find_first_of(kBetween, at), text.size());
    double value = 0;
    const auto parsed = std::from_chars(text.data() + at, text.data() + end, value);
    if (parsed.ec != std::errc() || parsed.ptr != text.data() + end) {
      return BadInput("found '" + Printable(text.substr(at, end - at), 40) + "' at byte " +
                      std::to_string(at) + ", expected a number");
    }
    values.push_back(value);
    at = end;
  }
  return values;
}

Result<std::vector<InitialTensor>> FromSpark(const std::vector<double>& values,
                                             const TensorList& network) {
  int64_t size = 0;
  for (const TensorInfo& t : network) {
    size += t.size;
    if (!IsTable(t)) continue;
    return FailedPrecondition(
        "found a network with categorical columns, whose weights have no place in Spark's layout; "
        "leave the weights out, or take numeric columns alone");
  }
  if (static_cast<int64_t>(values.size()) != size) {
    return FailedPrecondition("found " + std::to_string(values.size()) +
                              " numbers; the network has " + std::to_string(size));
  }
  if (!std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); })) {
    return BadInput("holds a value that is no finite number");
  }
  std::vector<InitialTensor> tensors;
  for (const TensorInfo& t : network) {
    const auto begin = values.begin() + t.offset;
    InitialTensor tensor{t.offset, {begin, begin + t.size}};
    const int64_t rows = t.shape[0], columns = t.shape.size() == 2 ? t.shape[1] : 1;
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) tensor.values[r * columns + c] = begin[c * rows + r];
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

Result<std::vector<InitialTensor>> ReadSpark(const FileSystem& files, const InitialSpec& initial,
                                             const TensorList& network) {
  std::string whose = "compat.spark-mlp.initialWeights";
  if (!initial.from.empty()) whose += ": " + Printable(initial.from, 4096);
  std::vector<double> values = initial.values;
  if (!initial.from.empty()) {
    auto text = files.ReadAll(initial.from, kBytesMax);
    if (!text.ok()) return text.status().Wrap(whose);
    auto parsed = ParseNumbers(*text);
    if (!parsed.ok()) return parsed.status().Wrap(whose);
    values = *std::move(parsed);
  }
  auto tensors = FromSpark(values, network);
  return tensors.ok() ? std::move(tensors) : tensors.status().Wrap(whose);
}

// Rows of tables stand for values by their place: those of both models must be the same.
Status CheckCategories(const FileSystem& files, const std::string& path,
                       const Preprocessing& fitted) {
  const std::string whose = "train.initial: " + Printable(path, 4096);
  auto text = files.ReadAll(path, kModelJsonBytesMax);
  if (!text.ok()) return text.status().Wrap("train.initial");
  const auto document = DecodeModelJson(*text);
  if (!document.ok()) return document.status().Wrap(whose);
  const auto coded = [](const Preprocessing& p) {
    std::vector<const FittedFeature*> features;
    for (const FittedFeature& f : p.features) {
      if (f.codes > 0) features.push_back(&f);
    }
    return features;
  };
  const auto earlier = coded(document->preprocessing), now = coded(fitted);
  for (size_t i = 0; i < now.size(); ++i) {
    const bool same = i < earlier.size() && earlier[i]->codes == now[i]->codes &&
                      earlier[i]->hashed == now[i]->hashed &&
                      earlier[i]->vocabulary == now[i]->vocabulary;
    if (same) continue;
    return FailedPrecondition(
        whose + ": the column '" + Printable(now[i]->name) +
        "' had other values in the training rows of that model, so its weights would be taken for "
        "other values; name the layers that do not depend on them: {from: MODEL, layers: [1]}, or "
        "hash the column (`hash`) in both");
  }
  return {};
}

}  // namespace

Result<std::vector<InitialTensor>> ReadInitialWeights(const FileSystem& files,
                                                      const InitialSpec& initial,
                                                      const TensorList& network,
                                                      const Preprocessing& fitted) {
  if (initial.spark) return ReadSpark(files, initial, network);
  const bool file = initial.from.ends_with(".safetensors");
  const std::string slash = initial.from.ends_with('/') ? "" : "/";
  const std::string path = file ? initial.from : initial.from + slash + kWeightsFile;
  const std::string whose = "train.initial: " + Printable(path, 4096);
  auto bytes = files.ReadAll(path, kBytesMax);
  if (!bytes.ok()) return bytes.status().Wrap("train.initial");
  auto view = DecodeSafetensors(*bytes);
  if (!view.ok()) return view.status().Wrap(whose);
  const bool tables = std::any_of(network.begin(), network.end(), [&](const TensorInfo& t) {
    return IsTable(t) && Wanted(t.name, initial.layers);
  });
  if (tables && !file) {
    ESPALIER_RETURN_IF_ERROR(CheckCategories(files, initial.from + slash + kModelFile, fitted));
  }
  std::vector<InitialTensor> tensors;
  for (const TensorInfo& wanted : network) {
    if (!Wanted(wanted.name, initial.layers)) continue;
    auto tensor = Take(*view, wanted);
    if (!tensor.ok())
      return Status(tensor.status().code(), whose + ": " + tensor.status().message());
    tensors.push_back(*std::move(tensor));
  }
  return tensors;
}

}  // namespace espalier
