#include "src/bundle/output.h"

#include <catch2/catch.hpp>

#include "src/bundle/model_json.h"
#include "tests/bundle/places.h"
#include "tests/storage/temporary_directory.h"

namespace espalier {
namespace {

Status Check(const std::string& path, bool overwrite) {
  return CheckOutput(*MakeFileSystem(), {path, overwrite});
}

TEST_CASE("an output that is not there is fine, one that is there needs overwrite") {
  const TemporaryDirectory s;
  CHECK(Check(s / "new", false).ok());
  CHECK(Check(s / "new", true).ok());
  CHECK(Check(s.path(), false).code() == StatusCode::kAlreadyExists);
  CHECK(Check(s.path(), true).ok());  // empty
}

TEST_CASE("overwrite replaces a bundle and nothing else") {
  const TemporaryDirectory s;
  s.Put("model.json", "{}");
  s.Put("weights.safetensors", "");
  CHECK(Check(s.path(), true).ok());
  s.Put("model.onnx", "");  // of `espalier export`
  CHECK(Check(s.path(), true).ok());
  s.Put(".hidden", "precious");
  const Status refused = Check(s.path(), true);
  CHECK(refused.code() == StatusCode::kInvalidArgument);
  CHECK(refused.message() == "output: " + s.path() +
                                 " holds '.hidden', which is no part of a bundle; overwrite "
                                 "replaces only a bundle: name another place for the output");
}

TEST_CASE("neither a file nor a README alone is taken for a bundle") {
  const TemporaryDirectory s;
  s.Put("README.md", "mine");
  CHECK(Check(s.path(), true).code() == StatusCode::kInvalidArgument);
  CHECK(Check(s / "README.md", true).code() == StatusCode::kInvalidArgument);
}

Bundle BundleOf(float weight, const std::string& name = "demo") {
  ModelDocument d;
  d.job.name = name;
  d.job.data.train = {"/data/*.csv"};
  d.job.data.label = {std::string("y")};
  d.schema = {{"a", "y"}, {0}, {1}, -1, -1};
  d.preprocessing.features.push_back({"a", 0, 1, 0});
  d.preprocessing.classes = {"no", "yes"};
  const TensorList tensors = {{"layers.0.weight", {1, 1}, 0, 1}};
  return MakeBundle(d, tensors, &weight, ElementType::kFloat32, {});
}

const std::vector<std::string> kBundleFiles = {"README.md", "history.csv", "model.json",
                                               "weights.safetensors"};

// What lies at "m", if anything, must be this or that bundle, whole.
void CheckWhole(const Place& place, const Bundle& one, const Bundle& other) {
  if (!place.files->Stat(place.root + "/m").ok()) return;
  CHECK(place.Names("m") == kBundleFiles);
  const std::string model = place.Get("m/model.json");
  const Bundle& there = model == one.files.at("model.json") ? one : other;
  for (const auto& [name, bytes] : there.files) CHECK(place.Get("m/" + name) == bytes);
}

TEST_CASE("a bundle is put in place, and putting it there again is success and changes nothing") {
  for (const Place& place : MakePlaces()) {
    INFO(place.name);
    const Bundle bundle = BundleOf(1);
    const OutputSpec output = {place.root + "/m/", GENERATE(false, true)};
    for (const uint64_t generation : {1, 2, 1}) {
      const Status put = PutBundle(*place.files, bundle, output, {{7}, {generation}, 0});
      INFO(put.ToString());
      CHECK(put.ok());
    }
    CHECK(place.Names() == std::vector<std::string>{"m"});
    CheckWhole(place, bundle, bundle);
    const Status other = PutBundle(*place.files, BundleOf(2), output, {{8}, {1}, 0});
    CHECK(other.ok() == output.overwrite);
    CHECK(place.Names() == std::vector<std::string>{"m"});
    CheckWhole(place, output.overwrite ? BundleOf(2) : bundle, bundle);
  }
}

TEST_CASE(
    "a writer that dies at any moment leaves no half bundle, and the next one ends its work") {
  const bool overwrite = GENERATE(false, true);
  const Bundle old = BundleOf(3, "old"), bundle = BundleOf(1);
  for (const Place& place : MakePlaces()) {
    int changes = 0;
    for (bool died = true; died; ++changes) {
      INFO(place.name << (overwrite ? ", overwriting" : "") << ", dies after " << changes);
      const OutputSpec output = {place.root + "/m", overwrite};
      if (overwrite) REQUIRE(PutBundle(*place.files, old, output, {{6}, {5}, 0}).ok());
      const MortalFiles mortal(*place.files, changes);
      const Status first = PutBundle(mortal, bundle, output, {{7}, {1}, 2});
      died = mortal.died();
      CHECK((first.ok() || died));
      CheckWhole(place, bundle, old);
      const Status second = PutBundle(*place.files, bundle, output, {{7}, {2}, 0});
      INFO(second.ToString());
      CHECK(second.ok());
      CHECK(place.Names() == std::vector<std::string>{"m"});
      CheckWhole(place, bundle, bundle);
      REQUIRE(place.files->RemoveTree(place.root + "/m").ok());
    }
    CHECK(changes > 6);
  }
}

TEST_CASE("a newer writer removes what an older one has begun, never the reverse") {
  for (const Place& place : MakePlaces()) {
    INFO(place.name);
    for (const char* begun :
         {"m.writing-g1-m4-job-7", "m.writing-g3-m0-job-7", "m.writing-g8-m0-job-6",
          "m.replaced-g1-m4-job-7", "m.replaced-g1-m0-job-6", "mm.writing-g1-m4-job-7"}) {
      place.Put(std::string(begun) + "/model.json", "{}");
    }
    REQUIRE(PutBundle(*place.files, BundleOf(1), {place.root + "/m", false}, {{7}, {2}, 0}).ok());
    CHECK(place.Names() == std::vector<std::string>{"m", "m.replaced-g1-m0-job-6",
                                                    "m.writing-g3-m0-job-7",
                                                    "mm.writing-g1-m4-job-7"});
  }
}

}  // namespace
}  // namespace espalier
