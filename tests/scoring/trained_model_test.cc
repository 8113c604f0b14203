#include "src/scoring/trained_model.h"

#include <filesystem>

#include "src/base/memory.h"
#include "tests/scoring/fixture.h"

namespace espalier::scoring {
namespace {

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

TEST_CASE("a bundle reads back: document, network and parameters") {
  const ScoringFixture f;
  for (const spec::Precision precision : {spec::Precision::kFloat32, spec::Precision::kFloat64}) {
    bundle::ModelDocument document = ClassesDocument();
    document.job.model.precision = precision;
    document.job.model.layer_norm = true;
    const TrainedModel model = f.Model(document);
    CHECK(model.document.preprocessing == document.preprocessing);
    CHECK(model.document.schema == document.schema);
    CHECK(model.document.storage == spec::StorageType::kFloat64);
    CHECK(model.width() == 3);
    AlignedVector<double> wide(static_cast<size_t>(model::ParameterCount(model.shape)));
    AlignedVector<float> narrow(wide.size());
    model::InitialParameters(model.shape, 5, wide.data());
    model::InitialParameters(model.shape, 5, narrow.data());
    const bool is_wide = precision == spec::Precision::kFloat64;
    CHECK((is_wide ? std::get<AlignedVector<double>>(model.parameters) == wide
                   : std::get<AlignedVector<float>>(model.parameters) == narrow));
  }
}

TEST_CASE("weights too large for memory are refused before reading") {
  const ScoringFixture f;
  const std::string path = f.PutBundle(BundleOf(ClassesDocument()));
  const std::string weights = path + "/" + bundle::kWeightsFile;
  std::filesystem::resize_file(weights, static_cast<uintmax_t>(PhysicalMemoryBytes()) / 2 + 4096);
  const Status refused = LoadTrainedModel(*f.files, path).status();
  CHECK(refused.code() == StatusCode::kResourceExhausted);
  CHECK(refused.message().find(weights) != std::string::npos);
  CHECK(refused.message().find("of memory") != std::string::npos);
}

TEST_CASE("a missing or damaged bundle is refused with file and reason") {
  const ScoringFixture f;
  const bundle::Bundle good = BundleOf(ClassesDocument());
  const std::string& json = good.files.at(bundle::kModelFile);
  const std::string& weights = good.files.at(bundle::kWeightsFile);
  std::string flipped = weights;
  flipped.back() = static_cast<char>(flipped.back() ^ 1);
  const bundle::Bundle other = BundleOf(NumbersDocument());
  struct Bad {
    std::string file, bytes, says;
    StatusCode code;
  };
  const Bad kBad[] = {
      {bundle::kWeightsFile, flipped, "SHA-256", StatusCode::kDataLoss},
      {bundle::kWeightsFile, weights.substr(0, 40), "SHA-256", StatusCode::kDataLoss},
      {bundle::kWeightsFile, other.files.at(bundle::kWeightsFile), "SHA-256",
       StatusCode::kDataLoss},
      {bundle::kModelFile, "{", "no JSON object", StatusCode::kBadInput},
      {bundle::kModelFile, Replaced(json, "\"format\": 2", "\"format\": 99"), "format 99",
       StatusCode::kFailedPrecondition},
      {bundle::kModelFile, Replaced(json, "\"features\":[1,3]", "\"features\":[1,4]"),
       "schema.features", StatusCode::kBadInput},
      {bundle::kModelFile, Replaced(json, "\"label\":[2]", "\"label\":[9]"), "schema.label",
       StatusCode::kBadInput},
      {bundle::kModelFile, Replaced(json, "\"storage\": \"float64\"", "\"storage\": \"float128\""),
       "storage", StatusCode::kBadInput},
      {bundle::kModelFile, Replaced(json, "\"hidden\":[5]", "\"hidden\":[6]"), "layers.0.weight",
       StatusCode::kDataLoss},
      {bundle::kModelFile, Replaced(json, "\"precision\":\"float32\"", "\"precision\":\"float64\""),
       "float32", StatusCode::kDataLoss},
      {bundle::kModelFile, Replaced(json, "\"hidden\":[5]", "\"hidden\":[99999999999]"),
       "model.hidden", StatusCode::kBadInput},
  };
  for (const Bad& bad : kBad) {
    bundle::Bundle bundle = good;
    bundle.files[bad.file] = bad.bytes;
    const auto model = LoadTrainedModel(*f.files, f.PutBundle(bundle) + "/");
    INFO(bad.says << ": " << model.status().ToString());
    REQUIRE(!model.ok());
    CHECK(model.status().code() == bad.code);
    CHECK(model.status().message().find(bad.says) != std::string::npos);
    CHECK(model.status().message().find(f.dir / "model") != std::string::npos);
  }
  const auto nothing = LoadTrainedModel(*f.files, f.dir / "nowhere");
  CHECK(nothing.status().code() == StatusCode::kNotFound);
  CHECK(nothing.status().message().find("nowhere' does not exist; expected the directory") !=
        std::string::npos);
  REQUIRE(f.files->MakeDirectory(f.dir / "empty").ok());
  const auto empty = LoadTrainedModel(*f.files, f.dir / "empty");
  CHECK(empty.status().code() == StatusCode::kNotFound);
  CHECK(empty.status().message().find("it contains no model.json") != std::string::npos);
  const auto table = LoadTrainedModel(*f.files, f.dir.Put("t.csv", "a,b\n1,2\n"));
  CHECK(table.status().code() == StatusCode::kInvalidArgument);
  CHECK(table.status().message().find("t.csv' is a file; expected the directory") !=
        std::string::npos);
  CHECK(table.status().message().find("the model comes before the data") != std::string::npos);
}

TEST_CASE("a bundle without a storage type, as older ones, is read") {
  bundle::ModelDocument document = ClassesDocument();
  document.storage.reset();
  CHECK(!ScoringFixture().Model(document).document.storage);
}

}  // namespace
}  // namespace espalier::scoring
