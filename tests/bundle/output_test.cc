#include "src/bundle/output.h"

#include <catch2/catch.hpp>

#include "src/bundle/model_json.h"
#include "tests/bundle/places.h"
#include "tests/storage/temporary_directory.h"
#include "tests/testing/says.h"

namespace espalier::bundle {
namespace {

Status Check(const std::string& path, bool overwrite) {
  return CheckOutput(*storage::MakeFileSystem(), {path, overwrite});
}

TEST_CASE("a new output is fine, an existing one needs overwrite") {
  const storage::TemporaryDirectory s;
  CHECK(Check(s / "new", false).ok());
  CHECK(Check(s / "new", true).ok());
  CHECK(Check(s.path(), false).code() == StatusCode::kAlreadyExists);
  CHECK(Check(s.path(), true).ok());  // an empty directory
}

TEST_CASE("overwrite replaces a bundle and nothing else") {
  const storage::TemporaryDirectory s;
  s.Put("model.json", "{}");
  s.Put("weights.safetensors", "");
  CHECK(Check(s.path(), true).ok());
  s.Put("model.onnx", "");  // written by `espalier export`
  CHECK(Check(s.path(), true).ok());
  s.Put(".hidden", "precious");
  const Status refused = Check(s.path(), true);
  CHECK(refused.code() == StatusCode::kInvalidArgument);
  CHECK_THAT(
      refused.message(),
      Says("output: " + s.path() + " holds '.hidden' ... not part of a bundle ... another place"));
}

TEST_CASE("an output may not have a name that another job removes") {
  const storage::TemporaryDirectory s;
  for (const char* name :
       {"m.checkpoints", "m.checkpoints/", "m.checkpoints/step-000000010.ckpt",
        "m.writing-g1-m0-t7000-job-7", "m.draft-g1-m4-t7000-job-7", "m.fenced-g1-m5-t7000-job-7"}) {
    INFO(name);
    CHECK(Check(s / name, false).code() == StatusCode::kInvalidArgument);
    CHECK(Check(s / name, true).code() == StatusCode::kInvalidArgument);
  }
  CHECK(Check(s / "m.writing-4", false).ok());
  CHECK(Check(s / "m.draft", false).ok());
  CHECK(Check(s / "m.checkpoints/n", false).ok());
}

TEST_CASE("neither a file nor a README alone is taken for a bundle") {
  const storage::TemporaryDirectory s;
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
  const spec::TensorList tensors = {{"layers.0.weight", {1, 1}, 0, 1}};
  return MakeBundle(d, tensors, &weight, ElementType::kFloat32, {});
}

const std::vector<std::string> kBundleFiles = {kWriterFile, "README.md", "history.csv",
                                               "model.json", "weights.safetensors"};

OutputWriter WriterOf(uint64_t job, uint64_t generation = 1, int32_t member = 0) {
  return {{{job}, {generation}, member, static_cast<int64_t>(1000 * job)},
          {1},
          "submission " + std::to_string(job)};
}

// Reserves the output like a member that becomes the root, and writes the bundle.
Status Commit(const storage::FileSystem& files, const Bundle& bundle,
              const spec::OutputSpec& output, const OutputWriter& writer) {
  const Status reserved = ReserveOutput(files, output.path, writer.name);
  return reserved.ok() ? PutBundle(files, bundle, output, writer) : reserved;
}

Status FenceAll(const Place& place) {
  return FenceOutput(*place.files, place.root + "/m", [](const WriterName&) { return true; });
}

bool Holds(const Place& place, const Bundle& bundle) {
  return place.files->Stat(place.root + "/m").ok() &&
         place.Get("m/model.json") == bundle.files.at("model.json");
}

// Checks that "m", if it exists, is one of these bundles as a whole.
void CheckWhole(const Place& place, const Bundle& one, const Bundle& other) {
  if (!place.files->Stat(place.root + "/m").ok()) return;
  CHECK(place.Names("m") == kBundleFiles);
  for (const auto& [name, bytes] : (Holds(place, one) ? one : other).files) {
    CHECK(place.Get("m/" + name) == bytes);
  }
}

TEST_CASE("putting a bundle again succeeds and changes nothing") {
  for (const Place& place : MakePlaces()) {
    INFO(place.name);
    const Bundle bundle = BundleOf(1);
    const spec::OutputSpec output = {place.root + "/m/", GENERATE(false, true)};
    for (const uint64_t generation : {1, 2, 3}) {
      const Status put = Commit(*place.files, bundle, output, WriterOf(7, generation));
      INFO(put.ToString());
      CHECK(put.ok());
    }
    CHECK(place.Names() == std::vector<std::string>{"m"});
    CheckWhole(place, bundle, bundle);
    CHECK(WrittenBy(*place.files, output.path, "submission 7").value() == Generation{1});
    const Status other = Commit(*place.files, BundleOf(2), output, WriterOf(8));
    CHECK(other.ok() == output.overwrite);
    CHECK(place.Names() == std::vector<std::string>{"m"});
    CheckWhole(place, output.overwrite ? BundleOf(2) : bundle, bundle);
    CHECK(WrittenBy(*place.files, output.path, "submission 7").value().has_value() !=
          output.overwrite);
  }
}

TEST_CASE("a writer that dies leaves no half bundle") {
  const bool overwrite = GENERATE(false, true);
  const Bundle old = BundleOf(3, "old"), bundle = BundleOf(1);
  for (const Place& place : MakePlaces()) {
    int changes = 0;
    for (bool died = true; died; ++changes) {
      INFO(place.name << (overwrite ? ", overwriting" : "") << ", dies after " << changes);
      const spec::OutputSpec output = {place.root + "/m", overwrite};
      if (overwrite) REQUIRE(Commit(*place.files, old, output, WriterOf(6, 5)).ok());
      const MortalFiles mortal(*place.files, changes);
      const Status first = Commit(mortal, bundle, output, WriterOf(7, 1, 2));
      died = mortal.died();
      CHECK((first.ok() || died));
      CheckWhole(place, bundle, old);
      if (place.name == "local" && overwrite) CHECK(place.files->Stat(output.path).ok());
      const Status second = Commit(*place.files, bundle, output, WriterOf(7, 2));
      INFO(second.ToString());
      CHECK(second.ok());
      CHECK(place.Names() == std::vector<std::string>{"m"});
      CheckWhole(place, bundle, bundle);
      REQUIRE(place.files->RemoveTree(place.root + "/m").ok());
    }
    CHECK(changes > 6);
  }
}

TEST_CASE("the old bundle returns if its writer dies between renames") {
  const Bundle old = BundleOf(3, "old"), bundle = BundleOf(1);
  for (const Place& place : MakePlaces()) {
    const spec::OutputSpec output = {place.root + "/m", true};
    for (int changes = 0, died = 1; died != 0; ++changes) {
      INFO(place.name << ", dies after " << changes);
      REQUIRE(Commit(*place.files, old, output, WriterOf(6)).ok());
      const MortalFiles mortal(*place.files, changes);
      (void)Commit(mortal, bundle, output, WriterOf(7));
      died = mortal.died();
      REQUIRE(FenceAll(place).ok());
      CHECK(place.Names() == std::vector<std::string>{"m"});
      CHECK((Holds(place, old) || Holds(place, bundle)));
      REQUIRE(place.files->RemoveTree(place.root + "/m").ok());
    }
  }
}

// Job 7 is paused in generation 1, generation 2 ends it, and job 8 replaces its model.
TEST_CASE("a writer paused at any step never replaces a newer model") {
  const bool overwrite = GENERATE(false, true), repeated = GENERATE(false, true);
  const Bundle old = BundleOf(3, "old"), bundle = BundleOf(1), newer = BundleOf(2, "newer");
  for (const Place& place : MakePlaces()) {
    const spec::OutputSpec output = {place.root + "/m", overwrite};
    const auto meanwhile = [&] {
      if (repeated) REQUIRE(Commit(*place.files, bundle, output, WriterOf(7, 2)).ok());
      REQUIRE(Commit(*place.files, newer, {output.path, true}, WriterOf(8)).ok());
    };
    int calls = 0;
    for (bool paused = true; paused; ++calls) {
      INFO(place.name << (overwrite ? ", overwriting" : "") << ", paused before " << calls);
      if (overwrite) REQUIRE(Commit(*place.files, old, output, WriterOf(6)).ok());
      const PausedFiles files(*place.files, calls, meanwhile);
      REQUIRE(ReserveOutput(*place.files, output.path, WriterOf(7).name).ok());
      const Status first = PutBundle(files, bundle, output, WriterOf(7));
      paused = files.paused();
      INFO(first.ToString());
      CHECK(place.Names() == std::vector<std::string>{"m"});
      CHECK(Holds(place, paused ? newer : bundle));
      CheckWhole(place, newer, bundle);
      REQUIRE(place.files->RemoveTree(place.root + "/m").ok());
    }
    CHECK(calls > 12);
  }
}

TEST_CASE("a job cancelled during its commit writes all or nothing") {
  const bool overwrite = GENERATE(false, true);
  const Bundle old = BundleOf(3, "old"), bundle = BundleOf(1);
  for (const Place& place : MakePlaces()) {
    const spec::OutputSpec output = {place.root + "/m", overwrite};
    std::optional<Generation> written;
    const auto meanwhile = [&] {
      REQUIRE(FenceOutput(*place.files, output.path, [](const WriterName& w) {
                return w.job == JobId{7};
              }).ok());
      written = WrittenBy(*place.files, output.path, "submission 7").value();
    };
    int none = 0, all = 0;
    for (bool paused = true; paused;) {
      INFO(place.name << (overwrite ? ", overwriting" : "") << ", paused before " << none + all);
      if (overwrite) REQUIRE(Commit(*place.files, old, output, WriterOf(6)).ok());
      const PausedFiles files(*place.files, none + all, meanwhile);
      REQUIRE(ReserveOutput(*place.files, output.path, WriterOf(7).name).ok());
      const Status put = PutBundle(files, bundle, output, WriterOf(7));
      INFO(put.ToString());
      paused = files.paused();
      if (!paused) break;
      ++(written ? all : none);
      CHECK(put.ok() == written.has_value());
      CHECK(Holds(place, bundle) == written.has_value());
      CHECK(Holds(place, old) == (overwrite && !written));
      CHECK(place.Names().size() == (overwrite || written ? 1 : 0));
      if (!place.Names().empty()) REQUIRE(place.files->RemoveTree(output.path).ok());
    }
    CHECK(none > 6);
    CHECK(all > 1);
    REQUIRE(place.files->RemoveTree(output.path).ok());
  }
}

TEST_CASE("a commit stopped at any step leaves nothing") {
  for (const Place& place : MakePlaces()) {
    INFO(place.name);
    const spec::OutputSpec output = {place.root + "/m", false};
    for (int steps = 0;; ++steps) {
      int left = steps;
      REQUIRE(ReserveOutput(*place.files, output.path, WriterOf(7).name).ok());
      const Status put =
          PutBundle(*place.files, BundleOf(1), output, WriterOf(7), {[&] { return left-- <= 0; }});
      if (put.ok()) break;
      CHECK((put.code() == StatusCode::kCancelled || Holds(place, BundleOf(1))));
      if (Holds(place, BundleOf(1))) REQUIRE(place.files->RemoveTree(output.path).ok());
      CHECK(place.Names().empty());
    }
  }
}

// Refuses all calls after the job is interrupted, as HDFS does for a worker.
class InterruptedFiles : public PausedFiles {
 public:
  InterruptedFiles(const storage::FileSystem& files, int calls, bool* interrupted)
      : PausedFiles(files, calls, [interrupted] { *interrupted = true; }) {}
  Result<std::vector<std::string>> Names(const std::string& p) const override {
    auto names = PausedFiles::Names(p);
    return paused() ? Result<std::vector<std::string>>(Cancelled("it was cancelled")) : names;
  }
  Status Rename(const std::string& from, const std::string& to) const override {
    return paused() ? Cancelled("it was cancelled") : PausedFiles::Rename(from, to);
  }
  Status RemoveTree(const std::string& p) const override {
    return paused() ? Cancelled("it was cancelled") : PausedFiles::RemoveTree(p);
  }
};

TEST_CASE("an interrupted commit cleans up by its other files") {
  for (const Place& place : MakePlaces()) {
    INFO(place.name);
    const spec::OutputSpec output = {place.root + "/m", false};
    for (int calls = 0;; ++calls) {
      bool interrupted = false;
      const InterruptedFiles files(*place.files, calls, &interrupted);
      REQUIRE(ReserveOutput(*place.files, output.path, WriterOf(7).name).ok());
      const Status put = PutBundle(files, BundleOf(1), output, WriterOf(7),
                                   {[&] { return interrupted; }, place.files});
      INFO(calls << ": " << put.ToString());
      if (Holds(place, BundleOf(1))) REQUIRE(place.files->RemoveTree(output.path).ok());
      CHECK(place.Names().empty());
      if (!files.paused()) break;
    }
  }
}

// Has no exchange unless `swaps` is set. Calls `before` and `after` around the rename that moves
// the output.
class WatchedOutput : public storage::PassingFiles {
 public:
  WatchedOutput(const storage::FileSystem& files, std::string output)
      : storage::PassingFiles(files), output_(std::move(output)) {}
  Status Rename(const std::string& from, const std::string& to) const override {
    const bool taken = from == output_;
    if (taken && before) before();
    Status renamed = storage::PassingFiles::Rename(from, to);
    if (taken && after) after();
    return renamed;
  }
  Status Exchange(const std::string& one, const std::string& other) const override {
    if (!swaps) return Unimplemented("no swap");
    if (before) before();
    return storage::PassingFiles::Exchange(one, other);
  }
  bool swaps = false;
  std::function<void()> before, after;

 private:
  const std::string output_;
};

TEST_CASE("a file saved just before the exchange is kept") {
  for (const Place& place : MakePlaces()) {
    const spec::OutputSpec output = {place.root + "/m", true};
    for (const bool swaps : {false, true}) {
      if (swaps && place.name == "hdfs") continue;
      INFO(place.name << (swaps ? ", swaps" : ""));
      REQUIRE(Commit(*place.files, BundleOf(1), output, WriterOf(6)).ok());
      WatchedOutput files(*place.files, output.path);
      files.swaps = swaps;
      files.before = [&] { place.Put("m/notes.md", "mine"); };
      CHECK(Commit(files, BundleOf(2), output, WriterOf(7)).ok());
      CHECK(Holds(place, BundleOf(2)));
      const std::string kept = "m.kept-" + WriterOf(7).name.Text();
      CHECK(place.Names() == std::vector<std::string>{"m", kept});
      CHECK(place.Get(kept + "/notes.md") == "mine");
      REQUIRE(FenceAll(place).ok());
      CHECK(place.Get(kept + "/model.json") == BundleOf(1).files.at("model.json"));
      REQUIRE(place.files->RemoveTree(place.root + "/" + kept).ok());
      REQUIRE(place.files->RemoveTree(output.path).ok());
    }
  }
}

TEST_CASE("an old bundle that cannot be moved back is kept") {
  for (const Place& place : MakePlaces()) {
    INFO(place.name);
    const spec::OutputSpec output = {place.root + "/m", true};
    REQUIRE(Commit(*place.files, BundleOf(1), output, WriterOf(6)).ok());
    const std::string kept = "m.kept-" + WriterOf(7).name.Text();
    WatchedOutput files(*place.files, output.path);
    files.after = [&] { place.Put("m/notes.md", "mine"); };
    const Status put = Commit(files, BundleOf(2), output, WriterOf(7));
    CHECK_THAT(put.message(), Catch::EndsWith("is in " + place.root + "/" + kept));
    REQUIRE(FenceAll(place).ok());
    CHECK(place.Names() == std::vector<std::string>{"m", kept});
    CHECK(place.Get(kept + "/model.json") == BundleOf(1).files.at("model.json"));
    CHECK(place.Get("m/notes.md") == "mine");
  }
}

// Reports the rename of the output as cancelled, although it happened.
class CancelledAside : public storage::PassingFiles {
 public:
  CancelledAside(const storage::FileSystem& files, std::string output)
      : storage::PassingFiles(files), output_(std::move(output)) {}
  Status Rename(const std::string& from, const std::string& to) const override {
    const Status renamed = storage::PassingFiles::Rename(from, to);
    return from == output_ ? Cancelled("it was cancelled") : renamed;
  }
  Status Exchange(const std::string&, const std::string&) const override {
    return Unimplemented("no swap");
  }

 private:
  const std::string output_;
};

TEST_CASE("the old bundle is back although its rename seemed cancelled") {
  for (const Place& place : MakePlaces()) {
    INFO(place.name);
    const spec::OutputSpec output = {place.root + "/m", true};
    REQUIRE(Commit(*place.files, BundleOf(1), output, WriterOf(6)).ok());
    const CancelledAside files(*place.files, output.path);
    CHECK(Commit(files, BundleOf(2), output, WriterOf(7)).code() == StatusCode::kCancelled);
    CHECK(Holds(place, BundleOf(1)));
    CHECK(place.Names() == std::vector<std::string>{"m"});
  }
}

TEST_CASE("a sweep keeps an old bundle that was not replaced") {
  for (const Place& place : MakePlaces()) {
    INFO(place.name);
    const std::string slot = "m.writing-" + WriterOf(7).name.Text();
    for (const char* part : {"/old", "/new"}) {
      for (const std::string& name : kBundleFiles) place.Put(slot + part + "/" + name, part);
    }
    place.Put("m/notes.md", "mine");
    REQUIRE(FenceAll(place).ok());
    const std::string kept = "m.kept-" + WriterOf(7).name.Text();
    CHECK(place.Names() == std::vector<std::string>{"m", kept});
    CHECK(place.Get(kept + "/model.json") == "/old");
    CHECK(place.Get("m/notes.md") == "mine");
  }
}

TEST_CASE("a generation that prepares does not fence one that trains") {
  for (const Place& place : MakePlaces()) {
    INFO(place.name);
    const spec::OutputSpec output = {place.root + "/m", false};
    REQUIRE(ReserveOutput(*place.files, output.path, WriterOf(7, 1).name).ok());
    REQUIRE(ReserveOutput(*place.files, output.path, WriterOf(7, 2, 1).name).ok());
    CHECK(PutBundle(*place.files, BundleOf(1), output, WriterOf(7, 1)).ok());
  }
}

TEST_CASE("a later job restores the old bundle before it trains") {
  for (const Place& place : MakePlaces()) {
    INFO(place.name);
    REQUIRE(Commit(*place.files, BundleOf(1), {place.root + "/m", false}, WriterOf(6)).ok());
    const std::string slot = "m.writing-" + WriterOf(7).name.Text();
    REQUIRE(place.files->MakeDirectory(place.root + "/" + slot).ok());
    REQUIRE(place.files->Rename(place.root + "/m", place.root + "/" + slot + "/old").ok());
    REQUIRE(ReserveOutput(*place.files, place.root + "/m", WriterOf(8).name).ok());
    CHECK(Holds(place, BundleOf(1)));
    CHECK(place.Names() == std::vector<std::string>{"m", "m.writing-" + WriterOf(8).name.Text()});
  }
}

// Jobs 7 and 8 belong to two coordinators, so no coordinator prevents them from sharing an output.
TEST_CASE("a fenced job that tries again keeps a later job's model") {
  for (const Place& place : MakePlaces()) {
    INFO(place.name);
    const spec::OutputSpec output = {place.root + "/m", true};
    REQUIRE(ReserveOutput(*place.files, output.path, WriterOf(7, 1).name).ok());
    REQUIRE(Commit(*place.files, BundleOf(2), output, WriterOf(8)).ok());
    CHECK(PutBundle(*place.files, BundleOf(1), output, WriterOf(7, 1)).code() ==
          StatusCode::kFailedPrecondition);
    const Status again = ReserveOutput(*place.files, output.path, WriterOf(7, 2).name);
    CHECK(again.code() == StatusCode::kFailedPrecondition);
    CHECK_THAT(again.message(),
               Catch::Contains("job-8") && Catch::Contains("submitted 1.0 s after"));
    // A worker created this slot after it read the output, before job 8 wrote it.
    REQUIRE(
        place.files->MakeDirectory(output.path + ".writing-" + WriterOf(7, 2).name.Text()).ok());
    CHECK(PutBundle(*place.files, BundleOf(1), output, WriterOf(7, 2)).code() ==
          StatusCode::kFailedPrecondition);
    CHECK(Holds(place, BundleOf(2)));
    CHECK(place.Names() == std::vector<std::string>{"m"});
    CHECK(Commit(*place.files, BundleOf(3), output, WriterOf(9)).ok());
  }
}

TEST_CASE("an output is checked for the model that a root reports") {
  for (const Place& place : MakePlaces()) {
    INFO(place.name);
    const std::string output = place.root + "/m/";
    const Bundle bundle = BundleOf(1);
    const auto holds = [&](uint64_t job, const std::string& sha) {
      return HoldsModel(*place.files, output, WriterOf(job).name,
                        "submission " + std::to_string(job), sha)
          .value();
    };
    CHECK_FALSE(holds(7, bundle.weights_sha256));
    REQUIRE(Commit(*place.files, bundle, {output, false}, WriterOf(7)).ok());
    CHECK(holds(7, bundle.weights_sha256));
    CHECK_FALSE(holds(7, std::string(64, '0')));
    CHECK(holds(6, std::string(64, '0')));  // job 7 has replaced the model of job 6
    CHECK_FALSE(holds(8, bundle.weights_sha256));
  }
}

// Saves a file in the output while the draft is written.
class SavingFiles : public storage::PassingFiles {
 public:
  using storage::PassingFiles::PassingFiles;
  using storage::PassingFiles::WriteAtomically;
  Status WriteAtomically(const std::string& path, std::string_view content,
                         const std::string& writer) const override {
    if (path.ends_with("weights.safetensors")) on_weights();
    return storage::PassingFiles::WriteAtomically(path, content, writer);
  }
  std::function<void()> on_weights;
};

TEST_CASE("a file saved in the output during a draft is kept") {
  for (const Place& place : MakePlaces()) {
    INFO(place.name);
    const spec::OutputSpec output = {place.root + "/m", true};
    REQUIRE(Commit(*place.files, BundleOf(1), output, WriterOf(6)).ok());
    SavingFiles files(*place.files);
    int seen = 0;
    files.on_weights = [&] {
      if (++seen == 1) place.Put("m/notes.md", "mine");
    };
    CHECK_FALSE(Commit(files, BundleOf(2), output, WriterOf(7)).ok());
    CHECK(seen > 0);
    CHECK(place.Get("m/notes.md") == "mine");
    CHECK(Holds(place, BundleOf(1)));
    CHECK(place.Names() == std::vector<std::string>{"m"});
  }
}

TEST_CASE("a writer removes only what earlier writers have begun") {
  for (const Place& place : MakePlaces()) {
    INFO(place.name);
    for (const char* begun : {"m.writing-g1-m4-t7000-job-7", "m.draft-g1-m4-t7000-job-7",
                              "m.fenced-g1-m5-t7000-job-7", "m.writing-g3-m0-t7000-job-7",
                              "m.writing-g8-m0-t6000-job-6", "m.writing-g1-m0-t6500-job-9",
                              "m.writing-g1-m0-t8000-job-2", "mm.writing-g1-m4-t7000-job-7"}) {
      place.Put(std::string(begun) + "/new/model.json", "{}");
    }
    REQUIRE(Commit(*place.files, BundleOf(1), {place.root + "/m", false}, WriterOf(7, 2)).ok());
    CHECK(place.Names() == std::vector<std::string>{"m", "m.writing-g1-m0-t8000-job-2",
                                                    "m.writing-g3-m0-t7000-job-7",
                                                    "mm.writing-g1-m4-t7000-job-7"});
    REQUIRE(FenceAll(place).ok());
    CHECK(place.Names() == std::vector<std::string>{"m", "mm.writing-g1-m4-t7000-job-7"});
  }
}

}  // namespace
}  // namespace espalier::bundle
