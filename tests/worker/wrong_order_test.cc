// JobRunner: orders of a coordinator that do not fit the kind of the job.
#include <catch2/catch.hpp>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "src/worker/job_runner.h"

namespace espalier::worker {
namespace {

constexpr const char* kTraining = "name: t\ndata: {train: /in.csv, label: y}\noutput: /out\n";
constexpr const char* kPrediction = "predict: {model: /m, data: /in.csv}\noutput: /out\n";
constexpr const char* kEvaluation = "evaluate: {model: /m, data: /in.csv}\n";

// The reports of a runner.
class Reports {
 public:
  void Add(cluster::FromWorker message) {
    const std::lock_guard lock(mutex_);
    all_.push_back(std::move(message));
    changed_.notify_all();
  }
  // Returns the first report when it has come.
  cluster::FromWorker First() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !all_.empty(); });
    return all_.front();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<cluster::FromWorker> all_;
};

class Runner {
 public:
  explicit Runner(const std::string& yaml)
      : peers_(*rpc::PeerNetwork::Make("127.0.0.1:0")),
        runner_({}, *peers_, OrderOf(yaml),
                [this](cluster::FromWorker message) { reports_.Add(std::move(message)); }) {}
  JobRunner& operator*() { return runner_; }
  cluster::FromWorker First() { return reports_.First(); }

 private:
  // Returns an order without shards: the worker reads the job and waits.
  static cluster::StartProfiling OrderOf(const std::string& yaml) {
    cluster::StartProfiling order;
    order.job = {1};
    order.generation = {1};
    order.job_yaml = yaml;
    order.input = std::make_shared<const spec::InputPlan>();
    return order;
  }

  Reports reports_;
  const std::unique_ptr<rpc::PeerNetwork> peers_;
  JobRunner runner_;
};

TEST_CASE("an order to train fails a scoring job") {
  const char* const yaml = GENERATE(kPrediction, kEvaluation);
  const bool planned = GENERATE(false, true);
  CAPTURE(yaml, planned);
  Runner runner(yaml);
  member::TrainingOrder order;
  order.order.job = {1};
  order.order.generation = {2};
  order.order.profile = std::make_shared<const spec::TableProfile>();
  planned ? (*runner).Prepare(order) : (*runner).Train(order);
  const cluster::FromWorker report = runner.First();
  const auto* failed = std::get_if<cluster::JobFailed>(&report);
  REQUIRE(failed != nullptr);
  CHECK(failed->generation.value == 2);
  CHECK_THAT(failed->error.message(), Catch::Contains("nothing to train"));
}

TEST_CASE("orders for a member do nothing in jobs without one") {
  for (const char* yaml : {kTraining, kPrediction, kEvaluation}) {
    CAPTURE(yaml);
    Runner runner(yaml);
    cluster::Proceed proceed;
    proceed.generation = {1};
    (*runner).Proceed(proceed);
    (*runner).SwitchTo({2});
    (*runner).EndEarly({1});
    (*runner).Keep({.at = {{1}, {1}}, .reverts = true});
    const cluster::FromWorker report = runner.First();
    const auto* kept = std::get_if<cluster::StateKept>(&report);
    REQUIRE(kept != nullptr);
    CHECK(kept->step == 0);
    CHECK(kept->path.empty());
  }
}

}  // namespace
}  // namespace espalier::worker
