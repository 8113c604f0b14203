#include "src/bundle/initial_weights.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "src/base/checksum.h"
#include "src/base/text.h"
#include "src/bundle/bundle.h"
#include "src/bundle/checkpoint_store.h"
#include "src/bundle/model_json.h"
#include "src/bundle/safetensors.h"
#include "src/bundle/same_columns.h"

namespace espalier::bundle {
namespace {

std::string Shown(const std::vector<int64_t>& shape) {
  std::string text;
  for (int64_t d : shape) text += (text.empty() ? "[" : ", ") + std::to_string(d);
  return text + "]";
}

// Returns whether a tensor belongs to the selected layers. "layers.3.norm.bias" belongs to layer 3.
bool Wanted(const std::string& name, const std::vector<int64_t>& layers) {
  return layers.empty() || std::any_of(layers.begin(), layers.end(), [&](int64_t layer) {
           return name.starts_with("layers." + std::to_string(layer) + ".");
         });
}

// Returns whether a tensor is the table of a categorical column.
bool IsTable(const spec::TensorInfo& t) {
  return t.name.find(".one_hot.") != std::string::npos ||
         t.name.find(".embeddings.") != std::string::npos ||
         t.name.find(".numbers.") != std::string::npos || t.name == "layers.0.scale";
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

// Returns the prefix of the tensor names of one fit in a model of several fits.
std::string PrefixOf(int64_t fit) { return "fits." + std::to_string(fit) + "."; }

// Returns the number of fits of the model. 1: its tensors have no prefix.
int64_t FitsOf(const SafetensorsView& view) {
  int64_t fits = 0;
  for (const spec::TensorInfo& t : view.tensors) {
    if (fits < spec::kFitsMax && t.name.starts_with(PrefixOf(fits))) ++fits;
  }
  return std::max<int64_t>(1, fits);
}

// Returns whether a tensor of the earlier model has the wanted shape. `places` contains the sides
// with elements that move.
bool Fits(const std::vector<int64_t>& shape, const std::vector<int64_t>& wanted,
          const Placement& places) {
  if (shape.size() != wanted.size()) return false;
  for (size_t side = 0; side < shape.size(); ++side) {
    const std::vector<int64_t>& moved = side == 0 ? places.rows : places.columns;
    const bool moves = side < 2 && !moved.empty();
    if (shape[side] != (moves ? static_cast<int64_t>(moved.size()) : wanted[side])) return false;
  }
  return true;
}

Result<spec::InitialTensor> Take(const SafetensorsView& view, const spec::TensorInfo& wanted,
                                 int64_t fit, int64_t fits, const Placement& places) {
  const std::string name = (fits > 1 ? PrefixOf(fit) : "") + wanted.name;
  const auto at = std::find_if(view.tensors.begin(), view.tensors.end(),
                               [&](const spec::TensorInfo& t) { return t.name == name; });
  if (at == view.tensors.end() || !Fits(at->shape, wanted.shape, places)) {
    const std::string found = at == view.tensors.end() ? "none" : "one of " + Shown(at->shape);
    return FailedPrecondition("found " + found + " for the tensor " + wanted.name + " of " +
                              Shown(wanted.shape) +
                              "; train a network of the same layers and inputs, or name the layers "
                              "that are the same: {from: MODEL, layers: [0]}");
  }
  spec::InitialTensor tensor{wanted.offset, {}, fit, fits};
  tensor.values.assign(static_cast<size_t>(wanted.size), std::numeric_limits<double>::quiet_NaN());
  const int64_t rows = at->shape[0], columns = at->size / std::max<int64_t>(1, rows);
  const int64_t width = wanted.size / std::max<int64_t>(1, wanted.shape[0]);
  for (int64_t i = 0; i < at->size; ++i) {
    const double value = Element(view, at->offset + i);
    if (!std::isfinite(value)) {
      return BadInput("the tensor " + wanted.name + " has a value that is not finite");
    }
    const auto r = static_cast<size_t>(i / columns), c = static_cast<size_t>(i % columns);
    const int64_t row = places.rows.empty() ? i / columns : places.rows[r];
    const int64_t column = places.columns.empty() ? i % columns : places.columns[c];
    if (row >= 0 && column >= 0) tensor.values[static_cast<size_t>(row * width + column)] = value;
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

Result<std::vector<spec::InitialTensor>> FromSpark(const std::vector<double>& values,
                                                   const spec::TensorList& network) {
  int64_t size = 0;
  for (const spec::TensorInfo& t : network) {
    size += t.size;
    if (!IsTable(t)) continue;
    return FailedPrecondition(
        "found a network with categorical columns, embedded numbers or a scaling layer; Spark's "
        "layout has no place for their weights; leave out the weights, or use only numeric "
        "columns");
  }
  if (static_cast<int64_t>(values.size()) != size) {
    return FailedPrecondition("found " + std::to_string(values.size()) +
                              " numbers; the network has " + std::to_string(size));
  }
  if (!std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); })) {
    return BadInput("has a value that is not finite");
  }
  std::vector<spec::InitialTensor> tensors;
  for (const spec::TensorInfo& t : network) {
    const auto begin = values.begin() + t.offset;
    spec::InitialTensor tensor{t.offset, {begin, begin + t.size}};
    const int64_t rows = t.shape[0], columns = t.shape.size() == 2 ? t.shape[1] : 1;
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) tensor.values[r * columns + c] = begin[c * rows + r];
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

Result<std::vector<spec::InitialTensor>> ReadSpark(const storage::FileSystem& files,
                                                   const spec::InitialSpec& initial,
                                                   const spec::TensorList& network) {
  std::string whose = "compat.spark-mlp.initialWeights";
  if (!initial.from.empty()) whose += ": " + Printable(initial.from, 4096);
  std::vector<double> values = initial.values;
  if (!initial.from.empty()) {
    auto text = files.ReadAll(initial.from, kWeightsBytesMax);
    if (!text.ok()) return text.status().Wrap(whose);
    auto parsed = ParseNumbers(*text);
    if (!parsed.ok()) return parsed.status().Wrap(whose);
    values = *std::move(parsed);
  }
  auto tensors = FromSpark(values, network);
  return tensors.ok() ? std::move(tensors) : tensors.status().Wrap(whose);
}

// Returns the widths of the hidden layers.
std::vector<int64_t> HiddenOf(const spec::TensorList& network) {
  std::vector<int64_t> widths;
  for (const spec::TensorInfo& t : network) {
    if (t.name == "layers." + std::to_string(widths.size()) + ".bias") widths.push_back(t.size);
  }
  if (!widths.empty()) widths.pop_back();
  return widths;
}
std::vector<int64_t> HiddenOf(const CheckpointHeader& header) {
  constexpr std::string_view kField = "\nmodel.hidden[]=";
  std::vector<int64_t> widths;
  for (size_t at = 0; (at = header.job.find(kField, at)) != std::string::npos;) {
    at += kField.size();
    int64_t width = -1;
    std::from_chars(header.job.data() + at, header.job.data() + header.job.size(), width);
    widths.push_back(width);
  }
  return widths;
}

int64_t LayersOf(const spec::TensorList& network) {
  return static_cast<int64_t>(HiddenOf(network).size()) + 1;
}

// Returns whether the network has normalization. It adds two numbers for each input of a hidden
// layer, and additional inputs could add the same number of parameters.
bool HasNorms(const spec::TensorList& network) {
  return std::any_of(network.begin(), network.end(),
                     [](const spec::TensorInfo& t) { return t.name.ends_with(".norm.weight"); });
}
bool HasNorms(const CheckpointHeader& header) {
  return header.job.find("\nmodel.layer_norm=true\n") != std::string::npos;
}

// Returns the weights of a checkpoint's step in the form of a file with the network's tensors. The
// state (training/state_codec.h) begins with "ESPS", its layout (uint32) and the bytes of a number
// (uint32). The parameters follow, after their count (int64). With lbfgs these are only a trial
// point. The first of its slots, after the number of slots (int64), contains the accepted point.
Result<SafetensorsView> ViewWeights(const Checkpoint& checkpoint, const spec::TensorList& network) {
  std::string_view state = checkpoint.state;
  const Status bad = DataLoss("its state does not begin with parameters");
  const auto take = [&](auto* value) {
    if (state.size() < sizeof *value) return false;
    std::memcpy(value, state.data(), sizeof *value);
    state.remove_prefix(sizeof *value);
    return true;
  };
  uint32_t magic = 0, layout = 0, element = 0;
  if (!take(&magic) || std::memcmp(&magic, "ESPS", sizeof magic) != 0 || !take(&layout) ||
      !take(&element) || (element != sizeof(float) && element != sizeof(double))) {
    return bad;
  }
  int64_t count = -1, slots = 0;
  const auto begins = [&] {
    return take(&count) && count >= 0 && static_cast<uint64_t>(count) <= state.size() / element;
  };
  if (!begins()) return bad;
  if (checkpoint.header.job.find("\ntrain.optimizer.kind=lbfgs\n") != std::string::npos) {
    state.remove_prefix(static_cast<size_t>(count) * element);
    if (!take(&slots) || slots < 1 || !begins()) return bad;
  }
  int64_t size = 0;
  for (const spec::TensorInfo& t : network) size += t.size;
  const auto words = [](int64_t parameters, const std::vector<int64_t>& hidden, bool norms) {
    return HumanCount(parameters) + " parameters and hidden layers of " + Shown(hidden) +
           (norms ? ", normalised" : "");
  };
  const std::string found = words(count, HiddenOf(checkpoint.header), HasNorms(checkpoint.header));
  const std::string wanted = words(size, HiddenOf(network), HasNorms(network));
  if (found != wanted) {
    return FailedPrecondition("found " + found + "; the network has " + wanted +
                              ": a checkpoint is for a network of the same layers and inputs");
  }
  SafetensorsView view;
  view.type = element == sizeof(float) ? ElementType::kFloat32 : ElementType::kFloat64;
  view.tensors = network;
  view.data = state.substr(0, static_cast<size_t>(count) * element);
  return view;
}

// Refuses a model with a tensor that the network does not have. The other tensors have a different
// meaning without it.
Status CheckPlacesOfAll(const SafetensorsView& view, const spec::TensorList& network) {
  const bool several = FitsOf(view) > 1;
  for (const spec::TensorInfo& t : view.tensors) {
    const std::string name = several ? t.name.substr(t.name.find(".", 5) + 1) : t.name;
    const auto same = [&](const spec::TensorInfo& wanted) { return wanted.name == name; };
    if (!name.starts_with("layers.") || std::any_of(network.begin(), network.end(), same)) continue;
    return FailedPrecondition("found the tensor " + name +
                              ", for which the network has no place; " +
                              (name.ends_with(".scale") ? "set model.scaling_layer: true"
                               : name.find(".norm.") != std::string::npos
                                   ? "set model.layer_norm: true"
                                   : "train a network of the same layers and inputs") +
                              ", or name the layers that are the same: {from: MODEL, layers: [1]}");
  }
  return {};
}

Result<std::vector<spec::InitialTensor>> TakeAll(const SafetensorsView& view,
                                                 const spec::InitialSpec& initial,
                                                 const spec::TensorList& network,
                                                 const std::string& whose,
                                                 const Placements* places = nullptr) {
  std::vector<spec::InitialTensor> tensors;
  if (places != nullptr && initial.layers.empty()) {
    if (Status s = CheckPlacesOfAll(view, network); !s.ok()) {
      return Status(s.code(), whose + ": " + s.message());
    }
  }
  const int64_t fits = FitsOf(view);
  for (int64_t fit = 0; fit < fits; ++fit) {
    for (const spec::TensorInfo& wanted : network) {
      if (!Wanted(wanted.name, initial.layers)) continue;
      auto tensor =
          Take(view, wanted, fit, fits, places != nullptr ? places->Of(wanted.name) : Placement());
      if (!tensor.ok()) {
        return Status(tensor.status().code(), whose + ": " + tensor.status().message());
      }
      tensors.push_back(*std::move(tensor));
    }
  }
  return tensors;
}

bool HasTables(const spec::InitialSpec& initial, const spec::TensorList& network) {
  return std::any_of(network.begin(), network.end(), [&](const spec::TensorInfo& t) {
    return IsTable(t) && Wanted(t.name, initial.layers);
  });
}

Status CheckNamesOf(const spec::Preprocessing& model, const spec::Preprocessing& fitted,
                    const spec::InitialSpec& initial, const spec::TensorList& network,
                    const std::string& otherwise) {
  const auto last = static_cast<int64_t>(HiddenOf(network).size());
  const auto wanted = [&](int64_t layer) {
    return Wanted("layers." + std::to_string(layer) + ".bias", initial.layers);
  };
  return CheckNames(model, fitted, {wanted(0), wanted(last)}, otherwise);
}

// Checks the header, because the positions of weights do not show whether they belong to these
// columns and answers.
Status CheckHeader(const CheckpointHeader& header, const spec::InitialSpec& initial,
                   const spec::TensorList& network, const spec::Preprocessing& fitted) {
  const bool tables = HasTables(initial, network);
  if (header.preprocessing.empty()) {
    if (!tables) return {};
    return FailedPrecondition(
        "this checkpoint does not record which values of a categorical column its weights belong "
        "to; use a finished model, or, if that run's columns had as many values, name the layers "
        "that do not depend on them: {from: RUN, layers: [1]}");
  }
  ESPALIER_ASSIGN_OR_RETURN(const auto model, DecodePreprocessing(header.preprocessing));
  if (tables) ESPALIER_RETURN_IF_ERROR(CheckCategories(model, fitted));
  ESPALIER_RETURN_IF_ERROR(CheckNamesOf(model, fitted, initial, network, ""));
  return CheckPlaces(model, fitted);
}

std::string WithoutSlash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

// Returns the checkpoint of a file, or the newest one of a directory.
Result<Checkpoint> ReadCheckpointAt(const storage::FileSystem& files, const std::string& from) {
  if (from.ends_with(kCheckpointsSuffix)) {
    auto found = FindCheckpoint(files, from, {}, CheckpointPart::kAll);
    if (!found.ok()) return found.status().Wrap("train.initial");
    return std::move(found->checkpoint);
  }
  auto bytes = files.ReadAll(from, kWeightsBytesMax);
  if (!bytes.ok()) return bytes.status().Wrap("train.initial");
  auto decoded = DecodeCheckpoint(*std::move(bytes));
  if (!decoded.ok()) return decoded.status().Wrap("train.initial: " + Printable(from, 4096));
  return decoded;
}

Result<std::vector<spec::InitialTensor>> ReadCheckpointed(const storage::FileSystem& files,
                                                          const spec::InitialSpec& initial,
                                                          const spec::TensorList& network,
                                                          const spec::Preprocessing& fitted) {
  const std::string from = WithoutSlash(initial.from);
  const std::string whose = "train.initial: " + Printable(from, 4096);
  ESPALIER_ASSIGN_OR_RETURN(const Checkpoint checkpoint, ReadCheckpointAt(files, from));
  const Status same = CheckHeader(checkpoint.header, initial, network, fitted);
  if (!same.ok()) return Status(same.code(), whose + ": " + same.message());
  const auto view = ViewWeights(checkpoint, network);
  if (!view.ok()) return Status(view.status().code(), whose + ": " + view.status().message());
  if (checkpoint.header.preprocessing.empty()) return TakeAll(*view, initial, network, whose);
  ESPALIER_ASSIGN_OR_RETURN(const auto model, DecodePreprocessing(checkpoint.header.preprocessing));
  const Placements places(model, fitted, LayersOf(network));
  return TakeAll(*view, initial, network, whose, &places);
}

}  // namespace

Result<std::vector<spec::InitialTensor>> ReadInitialWeights(const storage::FileSystem& files,
                                                            const spec::InitialSpec& initial,
                                                            const spec::TensorList& network,
                                                            const spec::Preprocessing& fitted) {
  if (initial.spark) return ReadSpark(files, initial, network);
  if (const std::string from = WithoutSlash(initial.from);
      from.ends_with(".ckpt") || from.ends_with(kCheckpointsSuffix)) {
    return ReadCheckpointed(files, initial, network, fitted);
  }
  const bool file = initial.from.ends_with(".safetensors");
  const std::string slash = initial.from.ends_with('/') ? "" : "/";
  const std::string path = file ? initial.from : initial.from + slash + kWeightsFile;
  const std::string whose = "train.initial: " + Printable(path, 4096);
  auto bytes = files.ReadAll(path, kWeightsBytesMax);
  if (!bytes.ok()) return bytes.status().Wrap("train.initial");
  auto view = DecodeSafetensors(*bytes);
  if (!view.ok()) return view.status().Wrap(whose);
  if (file) return TakeAll(*view, initial, network, whose);
  // Without model.json, the weights in a directory are treated as a file, unless they depend on
  // values.
  const std::string model = initial.from + slash + kModelFile;
  auto text = files.ReadAll(model, kModelJsonBytesMax);
  const bool tables = HasTables(initial, network);
  if (text.status().code() == StatusCode::kNotFound && !tables) {
    return TakeAll(*view, initial, network, whose);
  }
  if (!text.ok()) return text.status().Wrap("train.initial");
  const auto refuse = [&model](const Status& why) {
    return Status(why.code(), "train.initial: " + Printable(model, 4096) + ": " + why.message());
  };
  const auto document = DecodeModelJson(*text);
  if (!document.ok()) return refuse(document.status());
  if (Sha256Hex(*bytes) != document->weights_sha256) {
    return DataLoss(whose +
                    ": its SHA-256 is not the one in model.json; it was damaged or "
                    "replaced: copy the bundle again, or name this file to take its weights "
                    "unchecked");
  }
  if (tables) {
    if (Status s = CheckCategories(document->preprocessing, fitted); !s.ok()) return refuse(s);
  }
  const Status same =
      CheckNamesOf(document->preprocessing, fitted, initial, network,
                   "; if they mean the same, name the file to take its weights unchecked: MODEL/" +
                       std::string(kWeightsFile));
  if (!same.ok()) return refuse(same);
  const Placements places(document->preprocessing, fitted, LayersOf(network));
  return TakeAll(*view, initial, network, whose, &places);
}

Result<std::optional<spec::EarlierFit>> ReadEarlierFit(const storage::FileSystem& files,
                                                       const spec::JobSpec& job) {
  if (!job.train.initial) return std::optional<spec::EarlierFit>();
  const spec::InitialSpec& initial = *job.train.initial;
  const std::string from = WithoutSlash(initial.from);
  if (!initial.keeps_preprocessing()) return std::optional<spec::EarlierFit>();
  const auto wanted = [&](size_t layer) {
    return Wanted("layers." + std::to_string(layer) + ".bias", initial.layers);
  };
  spec::EarlierFit fit{.features = wanted(0), .answers = wanted(job.model.hidden.size())};
  const auto refuse = [](const std::string& path, const Status& why) {
    return Status(why.code(), "train.initial: " + Printable(path, 4096) + ": " + why.message());
  };
  if (from.ends_with(".ckpt") || from.ends_with(kCheckpointsSuffix)) {
    auto checkpoint = ReadCheckpointAt(files, from);
    if (!checkpoint.ok()) return checkpoint.status();
    const std::string& text = checkpoint->header.preprocessing;
    if (text.empty()) return std::optional<spec::EarlierFit>();
    auto preprocessing = DecodePreprocessing(text);
    if (!preprocessing.ok()) return refuse(from, preprocessing.status());
    fit.preprocessing = *std::move(preprocessing);
    return std::optional(std::move(fit));
  }
  const std::string model = from + "/" + kModelFile;
  auto text = files.ReadAll(model, kModelJsonBytesMax);
  if (text.status().code() == StatusCode::kNotFound) return std::optional<spec::EarlierFit>();
  if (!text.ok()) return text.status().Wrap("train.initial");
  auto document = DecodeModelJson(*text);
  if (!document.ok()) return refuse(model, document.status());
  for (size_t i = 0; i < document->preprocessing.features.size(); ++i) {
    const spec::FeatureOptions options =
        spec::OptionsOf(document->job.data.features, document->schema.rule(i));
    fit.readings.push_back({spec::FillsNulls(options.nulls->kind), options.log1p});
  }
  fit.preprocessing = std::move(document->preprocessing);
  return std::optional(std::move(fit));
}

std::optional<spec::EarlierModel> ReadEarlierModel(const storage::FileSystem& files,
                                                   const spec::JobSpec& job) {
  if (!job.train.initial || job.train.initial->spark) return std::nullopt;
  const spec::InitialSpec& initial = *job.train.initial;
  const std::string from = WithoutSlash(initial.from);
  const auto text = files.ReadAll(from + "/" + kModelFile, kModelJsonBytesMax);
  if (!text.ok()) return std::nullopt;
  auto document = DecodeModelJson(*text);
  if (!document.ok()) return std::nullopt;
  const spec::ModelSpec& model = document->job.model;
  const auto wanted = [&](size_t layer) {
    return Wanted("layers." + std::to_string(layer) + ".bias", initial.layers);
  };
  spec::EarlierModel earlier{.schema = std::move(document->schema)};
  earlier.columns = initial.keeps_preprocessing() && wanted(0);
  if (wanted(model.hidden.size())) earlier.task = model.task;
  earlier.scaling_layer = model.scaling_layer && initial.layers.empty();
  for (size_t i = 0; i < earlier.schema.features.size(); ++i) {
    const spec::FeatureRule rule = earlier.schema.rule(i);
    earlier.options.push_back(spec::OptionsOf(document->job.data.features, rule));
    earlier.options.back().type = rule.type;
  }
  return earlier;
}

}  // namespace espalier::bundle
