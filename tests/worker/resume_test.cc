#include "src/worker/resume.h"

#include <catch2/catch.hpp>

#include "src/bundle/checkpoint_store.h"
#include "src/storage/file_systems.h"
#include "src/training/state_codec.h"
#include "tests/storage/temporary_directory.h"

namespace espalier::worker {
namespace {

using Catch::Matchers::Contains;

// A job whose run writes its checkpoints to "DIRECTORY/own.checkpoints".
struct Fixture {
  storage::TemporaryDirectory directory;
  std::unique_ptr<storage::FileSystem> files = storage::MakeLocalFileSystem();
  spec::JobSpec spec;
  ResumeOptions options{"data-1", "arithmetic-1", false, false};
  int64_t features = 2;

  Fixture() {
    spec.data.train = {"/data/*.csv"};
    spec.data.label = {std::string("y")};
    spec.output.path = directory / "own";
  }
  training::TrainingPlan Plan() const {
    training::TrainingPlan plan;
    plan.shape = *model::MakeNetworkShape(spec.model, features, 2);
    plan.train = spec.train;
    plan.train_rows = 4000;
    return plan;
  }
  // Writes a checkpoint of a run; its first parameter is its step.
  std::string Write(const std::string& run, int64_t step,
                    const std::vector<std::string>& accepted = {}, bool compared = true) {
    training::StepMachine<float> machine(Plan());
    (void)machine.Begin();
    training::TrainingState<float> state = machine.state();
    state.step = step;
    state.parameters[0] = static_cast<float>(step);
    const bundle::CheckpointHeader header{
        step, spec::CanonicalText(spec), "data-1", "arithmetic-1", accepted, compared};
    const auto path = bundle::WriteCheckpoint(*files, directory / (run + ".checkpoints"), header,
                                              training::EncodeState(state), 10, {{1}, {1}, 0});
    REQUIRE(path.ok());
    return *path;
  }
  Result<std::optional<training::TrainingState<float>>> Load() const {
    return LoadCheckpoint<float>(*files, spec, Plan(), options);
  }
  // Returns the step that the job begins with, or -1 if it starts over.
  int64_t Begins() const {
    const auto state = Load();
    INFO(state.status().ToString());
    REQUIRE(state.ok());
    auto loaded = *state;
    if (!loaded) return -1;
    CHECK(loaded->parameters[0] == static_cast<float>(loaded->step));
    return loaded->step;
  }
  std::string Error() const {
    const auto state = Load();
    return state.ok() ? "OK" : state.status().ToString();
  }
};

TEST_CASE("a job starts over unless it resumes or has trained before") {
  Fixture f;
  f.options.trained_before = true;
  CHECK(f.Begins() == -1);  // there is no checkpoint
  f.Write("own", 10);
  f.Write("own", 20);
  CHECK(f.Begins() == 20);
  f.options.trained_before = false;
  CHECK(f.Begins() == -1);
  f.spec.resume = spec::ResumeSpec{f.spec.output.path, false, false};
  CHECK(f.Begins() == 20);
}

TEST_CASE("a job does not start over if its storage is unreachable") {
  Fixture f;
  storage::StorageOptions away;
  away.webhdfs.retry.give_up_ms = away.webhdfs.retry.first_contact_ms = 1;
  f.files = storage::MakeFileSystem(away);
  f.spec.output.path = "webhdfs://127.0.0.1:1/own";
  CHECK(f.Begins() == -1);
  f.options.trained_before = true;
  CHECK(f.Load().status().code() == StatusCode::kUnavailable);
  CHECK_THAT(f.Error(), Contains("127.0.0.1:1"));
}

TEST_CASE("after a divergence only compared checkpoints are used") {
  Fixture f;
  f.options.trained_before = true;
  f.options.reverts = true;
  f.Write("own", 30, {}, false);
  CHECK(f.Begins() == -1);
  f.Write("own", 20);
  CHECK(f.Begins() == 20);
  f.spec.resume = spec::ResumeSpec{f.directory / "other", false, false};
  f.Write("other", 25, {}, false);
  CHECK(f.Begins() == 20);
  f.options.reverts = false;
  CHECK(f.Begins() == 30);
}

TEST_CASE("a resumed job uses the furthest checkpoint") {
  Fixture f;
  f.spec.resume = spec::ResumeSpec{f.directory / "old/", false, false};
  CHECK_THAT(f.Error(),
             Contains("the run cannot be resumed") && Contains("no checkpoint found in"));
  f.Write("old", 30);
  CHECK(f.Begins() == 30);
  f.Write("own", 40);
  CHECK(f.Begins() == 40);
  f.Write("old", 50);
  CHECK(f.Begins() == 50);
}

TEST_CASE("damaged checkpoints are skipped and fail only a resumption") {
  Fixture f;
  f.options.trained_before = true;
  const std::string first = f.Write("own", 10), second = f.Write("own", 20);
  f.directory.Put("own.checkpoints/step-000000020.ckpt", storage::Content(second).substr(0, 900));
  CHECK(f.Begins() == 10);
  f.directory.Put("own.checkpoints/step-000000010.ckpt", "");
  CHECK(f.Begins() == -1);
  f.spec.resume = spec::ResumeSpec{f.spec.output.path, false, false};
  CHECK_THAT(f.Error(), Contains("(found 2 checkpoints)"));
  CHECK(f.Load().status().code() == StatusCode::kDataLoss);
}

TEST_CASE("accepted differences are recorded in the state") {
  Fixture f;
  f.Write("own", 10);
  f.options.data_fingerprint = "data-2";
  f.options.arithmetic_id = "arithmetic-2";
  f.spec.resume = spec::ResumeSpec{f.spec.output.path, true, false};
  CHECK_THAT(f.Error(), Contains("(arithmetic-1, now arithmetic-2)"));
  f.spec.resume->accept_arithmetic = true;
  const auto state = f.Load();
  REQUIRE(state.ok());
  CHECK((*Result(state))->accepted ==
        std::vector<std::string>{"data_fingerprint data-1 until step 10",
                                 "arithmetic_id arithmetic-1 until step 10"});
}

TEST_CASE("only a resumption uses a state with accepted differences") {
  Fixture f;
  f.options.trained_before = true;
  f.Write("own", 10);
  f.Write("own", 20, {"data_fingerprint data-0 until step 3"});
  CHECK(f.Begins() == 10);
  f.spec.resume = spec::ResumeSpec{f.spec.output.path, false, false};
  CHECK(f.Begins() == 20);
}

TEST_CASE("a state of another network is always an error") {
  Fixture f;
  f.Write("own", 10);
  f.features = 3;
  f.options.data_fingerprint = "data-2";
  f.spec.resume = spec::ResumeSpec{f.spec.output.path, true, false};
  CHECK_THAT(f.Error(), Contains("step-000000010.ckpt does not fit") && Contains("parameters"));
}

}  // namespace
}  // namespace espalier::worker
