#include "src/cli/sweep_results.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "src/cli/command_table.h"
#include "src/cli/parse_arguments.h"

namespace espalier::cli {
namespace {

// Returns a sweep of two trials with two folds.
config::Sweep Made(const std::string& metric) {
  config::Sweep sweep;
  sweep.name = "iris";
  sweep.output = "/out";
  sweep.metric = metric;
  sweep.keys = {"train.batch"};
  sweep.values = {{"32"}, {"64"}};
  for (int64_t trial = 0; trial < 2; ++trial) {
    for (int64_t fold = 0; fold < 2; ++fold) {
      sweep.runs.push_back(
          {.trial = trial,
           .fold = fold,
           .name = "trial-00" + std::to_string(trial + 1) + "/fold-" + std::to_string(fold)});
    }
  }
  return sweep;
}

std::vector<SweepOutcome> Done(const std::vector<double>& values) {
  std::vector<SweepOutcome> outcomes;
  for (const double value : values) {
    outcomes.push_back({.state = SweepState::kDone, .value = value});
  }
  return outcomes;
}

TEST_CASE("the best trial has the best mean metric over its folds") {
  const auto outcomes = Done({0.5, 0.7, 0.1, 0.9});
  const config::Sweep loss = Made("val_loss"), accuracy = Made("val_accuracy");
  const auto results = TrialResults(loss, outcomes);
  CHECK(results[0].mean == Approx(0.6));
  CHECK(results[0].deviation == Approx(0.1));
  CHECK(results[1].mean == Approx(0.5));
  CHECK(BestTrial(loss, results) == 1);
  CHECK(BestTrial(accuracy, results) == 0);
  const Json json = SweepJson(loss, outcomes, {});
  CHECK(json["status"] == "SUCCEEDED");
  CHECK(json["best"]["trial"] == 2);
  CHECK(json["best"]["values"]["train.batch"] == "64");
  CHECK(json["best"]["bundles"][1] == "/out/trial-002/fold-1");
  CHECK(json["trials"][0]["runs"][1]["value"] == 0.7);
  const std::string text = SweepText(loss, outcomes, {}, false);
  CHECK_THAT(text, Catch::Contains("best: trial 2, val_loss 0.5"));
  CHECK_THAT(text, Catch::Contains("/out/trial-002/fold-0"));
}

TEST_CASE("a trial with a failed or missing run is not the best") {
  const config::Sweep sweep = Made("val_loss");
  auto outcomes = Done({0.5, 0.7, 0.1, 0.2});
  outcomes[3].state = SweepState::kFailed;
  outcomes[3].error = BadInput("row 7 is bad");
  CHECK(BestTrial(sweep, TrialResults(sweep, outcomes)) == 0);
  CHECK(SweepJson(sweep, outcomes, {})["status"] == "FAILED");
  CHECK(SweepJson(sweep, outcomes, {})["trials"][1]["runs"][1]["error"]["message"] ==
        "row 7 is bad");
  CHECK_THAT(SweepText(sweep, outcomes, {}, false), Catch::Contains("row 7 is bad"));
  outcomes[3] = {};
  CHECK(BestTrial(sweep, TrialResults(sweep, outcomes)) == 0);
  CHECK(SweepJson(sweep, outcomes, {})["status"] == "CANCELLED");
  outcomes = Done({0.5, std::nan(""), std::nan(""), 0.1});
  CHECK_FALSE(BestTrial(sweep, TrialResults(sweep, outcomes)));
  CHECK(SweepJson(sweep, outcomes, {})["best"].is_null());
  CHECK(SweepJson(sweep, outcomes, {})["trials"][0]["mean"].is_null());
}

TEST_CASE("the best trial's job on all rows is known after all runs") {
  config::Sweep sweep = Made("val_loss");
  auto outcomes = Done({0.5, 0.7, 0.1, 0.2});
  CHECK_FALSE(RefitOfBest(sweep, outcomes));
  CHECK_THAT(SweepText(sweep, outcomes, {}, false), Catch::Contains("`refit: true`"));
  CHECK(SweepJson(sweep, outcomes, {})["refit"].is_null());
  for (int64_t trial = 0; trial < 2; ++trial) {
    sweep.refits.push_back({.trial = trial, .refit = true, .name = "best"});
  }
  outcomes[1] = {};
  CHECK_FALSE(RefitOfBest(sweep, outcomes));
  outcomes[1].state = SweepState::kFailed;  // never completes, so the others decide
  auto refit = RefitOfBest(sweep, outcomes);
  REQUIRE(refit);
  CHECK(refit->run.trial == 1);
  outcomes = Done({0.5, 0.7, 0.1, 0.2});
  CHECK(SweepJson(sweep, outcomes, refit)["status"] == "CANCELLED");
  CHECK(SweepJson(sweep, outcomes, refit, true)["status"] == "RUNNING");
  CHECK_THAT(SweepText(sweep, outcomes, refit, false), Catch::Contains("not trained on all rows"));
  refit->outcome = {.state = SweepState::kDone, .value = std::nan("")};
  const Json json = SweepJson(sweep, outcomes, refit);
  CHECK(json["status"] == "SUCCEEDED");
  CHECK(json["refit"]["bundle"] == "/out/best");
  CHECK(json["refit"]["value"].is_null());
  CHECK_THAT(SweepText(sweep, outcomes, refit, false),
             Catch::Contains("and on all rows\n  /out/best\n"));
  CHECK(SweepEventJson(sweep, refit->run, refit->outcome)["event"] == "refit");
  refit->outcome = {.state = SweepState::kFailed, .error = BadInput("row 7 is bad")};
  CHECK(SweepJson(sweep, outcomes, refit)["status"] == "FAILED");
  CHECK_THAT(SweepText(sweep, outcomes, refit, false),
             Catch::Contains("best failed") && Catch::Contains("row 7 is bad"));
  for (auto& outcome : outcomes) outcome.state = SweepState::kFailed;
  CHECK_FALSE(RefitOfBest(sweep, outcomes));
}

TEST_CASE("sweep takes a file and a cluster or its workers") {
  const std::vector<std::string> words = {"sweep", "s.yaml", "--workers", "2", "--json"};
  const auto parsed = ParseArguments(words, {});
  REQUIRE(parsed.options);
  CHECK(parsed.command->name == "sweep");
  CHECK(parsed.options->job_file == "s.yaml");
  CHECK(parsed.options->workers == 2);
  CHECK(parsed.options->coordinator.empty());  // on this machine
  CHECK(ParseArguments(words, {.coordinator = "head:1"}).options->coordinator.empty());
  const std::vector<std::string> bare = {"sweep", "s.yaml"};
  CHECK(ParseArguments(bare, {.coordinator = "head:1"}).options->coordinator == "head:1");
  CHECK(ParseArguments(bare, {}).options->coordinator.empty());
  auto both = words;
  both.insert(both.end(), {"--coordinator", "head:1"});
  CHECK_THAT(ParseArguments(both, {}).error.message(), Catch::Contains("Leave them out"));
  CHECK_FALSE(ParseArguments(std::vector<std::string>{"sweep"}, {}).error.ok());
}

TEST_CASE("a refit lasts for the mean best epoch of the folds") {
  config::Sweep sweep = Made("val_loss");
  for (int64_t trial = 0; trial < 2; ++trial) {
    sweep.refits.push_back({.trial = trial, .refit = true, .name = "best"});
  }
  auto outcomes = Done({0.5, 0.7, 0.1, 0.9});
  CHECK_FALSE(RefitOfBest(sweep, outcomes)->epochs);
  outcomes[2].best_epoch = 7;
  CHECK_FALSE(RefitOfBest(sweep, outcomes)->epochs);  // known for one fold only
  outcomes[3].best_epoch = 12;
  auto refit = RefitOfBest(sweep, outcomes);
  CHECK(refit->epochs == 10);
  CHECK(SweepJson(sweep, outcomes, refit)["refit"]["epochs"] == 10);
  CHECK(SweepJson(sweep, outcomes, refit)["trials"][1]["runs"][0]["best_epoch"] == 7);
  refit->outcome = {.state = SweepState::kDone, .value = std::nan("")};
  CHECK_THAT(SweepText(sweep, outcomes, refit, false),
             Catch::Contains("and on all rows, for the mean best epoch of the folds: 10"));
  outcomes[2].best_epoch = outcomes[3].best_epoch = 0.25;
  CHECK(RefitOfBest(sweep, outcomes)->epochs == 0.25);
  sweep.refits[1].spec.data.validation.fraction = 0.1;  // the refit stops early by itself
  CHECK_FALSE(RefitOfBest(sweep, outcomes)->epochs);
}

}  // namespace
}  // namespace espalier::cli
