// Files of models and checkpoints. The targets correct the checksums, so that the input reaches the
// parsers.
#include <cstring>

#include "src/base/check.h"
#include "src/base/checksum.h"
#include "src/bundle/checkpoint.h"
#include "src/bundle/model_json.h"
#include "src/bundle/safetensors.h"
#include "tests/fuzz_targets/input.h"
#include "tests/fuzz_targets/targets.h"

namespace espalier::fuzz {
namespace {

spec::JobSpec Job() {
  spec::JobSpec job;
  job.name = "demo";
  job.data.train = {"/data/*.csv"};
  job.data.label = {std::string("y")};
  job.data.weight = int64_t{4};
  job.data.features.columns = {std::string("a"), int64_t{1}, spec::ColumnRange{2, 3}};
  job.data.validation.fraction = 0.1;
  job.model.hidden = {3};
  job.model.loss = spec::Loss::kBinaryCrossEntropy;
  job.train.leaves = 2;
  job.train.early_stopping = spec::EarlyStopping{};
  job.output.path = "/models/m";
  return job;
}

spec::Preprocessing Fitted() {
  spec::Preprocessing fitted;
  for (const char* name : {"a", "b", "c", "d"}) fitted.features.push_back({name, 0.1, 3, -2});
  fitted.features[3].codes = 3;
  fitted.features[3].vocabulary = {"", "u"};
  fitted.classes = {"no", "caf\xe9"};
  return fitted;
}

bundle::ModelDocument Document() {
  bundle::ModelDocument d;
  d.job = Job();
  d.schema = {{"a", "b", "c", "d", "w", "y"}, {0, 1, 2, 3}, {5}, 4, -1};
  d.preprocessing = Fitted();
  d.storage = spec::StorageType::kFloat32;
  d.train_rows = 90, d.validation_rows = 10, d.steps = 77, d.epochs = 2.5;
  d.stopped_because = "epochs";
  d.data_fingerprint = "d1", d.arithmetic_id = "a1", d.weights_sha256 = "w1";
  d.accepted = {"data_fingerprint d0 until step 5"};
  return d;
}

// Returns a checkpoint with lengths and checksums that match the header and the state.
std::string CheckpointOf(std::string_view header, std::string_view state) {
  std::string out = bundle::EncodeCheckpoint({}, {}).substr(0, 12);
  const auto append = [&out](auto value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  append(static_cast<uint32_t>(header.size()));
  append(static_cast<uint64_t>(state.size()));
  out += header;
  append(Crc32c(out.data(), out.size()));
  out += state;
  return out + Sha256Hex(out);
}

}  // namespace

// Input: the header as Input::Text, then the state.
void RunCheckpoint(std::string_view bytes) {
  Input input(bytes);
  const std::string_view header = input.Text();
  const auto checkpoint = bundle::DecodeCheckpoint(CheckpointOf(header, input.Rest()));
  if (!checkpoint.ok()) {
    ESPALIER_CHECK(!checkpoint.status().message().empty(), "an error without words");
    return;
  }
  bundle::CheckpointDemand demand;
  demand.job = spec::CanonicalText(Job());
  for (const bool accepts : {false, true}) {
    demand.accept_data = demand.accept_arithmetic = demand.accept_history = accepts;
    (void)bundle::AcceptedDifferences(checkpoint->header, demand);
  }
  (void)bundle::DecodePreprocessing(checkpoint->header.preprocessing);
  const auto again =
      bundle::DecodeCheckpoint(bundle::EncodeCheckpoint(checkpoint->header, checkpoint->state));
  ESPALIER_CHECK(again.ok(), again.status().ToString());
  ESPALIER_CHECK(again->header == checkpoint->header, "the header changes");
  ESPALIER_CHECK(again->state == checkpoint->state, "the state changes");
}

std::vector<std::string> CheckpointSeeds() {
  bundle::CheckpointHeader header{
      12, spec::CanonicalText(Job()), "data-1", "caf\xe9", {"arithmetic_id x"}};
  std::vector<std::string> seeds;
  for (const bool fitted : {false, true}) {
    if (fitted) header.preprocessing = bundle::EncodePreprocessing(Fitted());
    header.compared = fitted;
    const std::string file = bundle::EncodeCheckpoint(header, "state");
    const auto parts =
        bundle::ParseCheckpointPrefix(file.substr(0, bundle::kCheckpointPrefixBytes), file.size());
    seeds.push_back(Packed(file.substr(bundle::kCheckpointPrefixBytes, parts->header_bytes)) +
                    "state");
  }
  return seeds;
}

// Input: the header as Input::Text, then the elements.
void RunSafetensors(std::string_view bytes) {
  Input input(bytes);
  const std::string_view header = input.Text();
  const uint64_t size = header.size();
  std::string file(reinterpret_cast<const char*>(&size), sizeof size);
  file.append(header).append(input.Rest());
  const auto view = bundle::DecodeSafetensors(file);
  if (!view.ok()) {
    ESPALIER_CHECK(!view.status().message().empty(), "an error without words");
    return;
  }
  int64_t elements = 0;
  for (const spec::TensorInfo& t : view->tensors) elements += t.size;
  ESPALIER_CHECK(
      static_cast<size_t>(elements) * bundle::ElementSize(view->type) == view->data.size(),
      std::to_string(elements));
  const std::string data(view->data);
  const std::string again = bundle::EncodeSafetensors(view->tensors, data.data(), view->type);
  const auto back = bundle::DecodeSafetensors(again);
  ESPALIER_CHECK(back.ok(), back.status().ToString());
  ESPALIER_CHECK(back->data == view->data && back->tensors == view->tensors, "another file");
}

std::vector<std::string> SafetensorsSeeds() {
  const spec::TensorList tensors = {{"layers.0.weight", {1, 2}, 0, 2},
                                    {"layers.0.bias", {1}, 2, 1}};
  const double flat[] = {0.5, 1, 2};
  std::vector<std::string> seeds;
  for (const bundle::ElementType type :
       {bundle::ElementType::kFloat32, bundle::ElementType::kFloat64}) {
    const std::string file = bundle::EncodeSafetensors(tensors, flat, type);
    const size_t size = file.size() - 8 - 3 * bundle::ElementSize(type);
    seeds.push_back(Packed(file.substr(8, size)) + file.substr(8 + size));
  }
  return seeds;
}

void RunModelJson(std::string_view bytes) {
  const auto document = bundle::DecodeModelJson(bytes);
  if (!document.ok()) {
    ESPALIER_CHECK(!document.status().message().empty(), "an error without words");
    return;
  }
  const std::string text = bundle::EncodeModelJson(*document);
  const auto again = bundle::DecodeModelJson(text);
  ESPALIER_CHECK(again.ok(), again.status().ToString());
  ESPALIER_CHECK(bundle::EncodeModelJson(*again) == text, "another model.json");
}

std::vector<std::string> ModelJsonSeeds() {
  bundle::ModelDocument regression = Document();
  regression.job.model.task = spec::Task::kRegression;
  regression.job.model.loss = spec::Loss::kMse;
  regression.preprocessing.classes.clear();
  regression.preprocessing.targets = {{"y", 0.5, 2}};
  return {bundle::EncodeModelJson(Document()), bundle::EncodeModelJson(regression)};
}

}  // namespace espalier::fuzz
