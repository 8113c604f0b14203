// A coordinator core and worker cores joined by links with latency that break, workers that are
// killed and replaced, a coordinator that restarts: all in one thread, from a seed. The workers'
// own work is played: a survey and a training take a while, and a training ends early for all when
// a member is gone.
#include <catch2/catch.hpp>
#include <deque>
#include <map>
#include <set>

#include "src/base/random.h"
#include "src/cluster/coordinator_core.h"
#include "src/cluster/worker_core.h"
#include "tests/testing/scale.h"

namespace espalier {
namespace {

constexpr int64_t kStepMs = 20;

// A worker process and its link.
struct Process {
  Process(uint64_t number, uint64_t seed) : core(Options(number, seed)) {}
  static WorkerCoreOptions Options(uint64_t number, uint64_t seed) {
    WorkerCoreOptions o;
    o.hello.version = kVersion;
    o.hello.session = "process " + std::to_string(number);
    o.hello.name = o.hello.address = "process-" + std::to_string(number);
    o.hello.arithmetic_id = "a";
    o.seed = seed + number;
    return o;
  }
  WorkerCore core;
  bool ended = false;
  uint64_t attempt = 0;
  bool linked = false;
  SessionId session;
  std::deque<std::pair<int64_t, FromWorker>> outgoing;  // by time of arrival
  std::deque<std::pair<int64_t, ToWorker>> incoming;
  JobPoint job;  // its threads work on
  JobMembers members;
  std::multimap<int64_t, FromWorker> results;  // by time they are ready
};

class Simulation {
 public:
  explicit Simulation(uint64_t seed) : seed_(seed) {
    Restart();
    for (int i = 0; i < 4; ++i) Start();
  }

  // Breaks things for a while.
  void Storm(int64_t ms) {
    for (const int64_t until = now_ms_ + ms; now_ms_ < until;) {
      if (Draw(50) == 0) SubmitOne(1 + static_cast<int64_t>(Draw(4)));
      if (Draw(150) == 0) Kill(Draw(processes_.size()));
      if (Draw(100) == 0) Break(processes_[Draw(processes_.size())]);
      if (Draw(600) == 0) Restart();
      Pass();
    }
  }

  // With nothing broken any more, all jobs end, and one more succeeds.
  void Calm() {
    for (int i = 0; i < 3000 && !Quiet(); ++i) Pass();
    for (const JobSnapshot& s : core_->Jobs()) {
      CHECK(IsFinal(s.state));
      if (s.state == JobState::kFailed)
        CHECK(s.error.ToString().find(" (worker-") != std::string::npos);
    }
    CHECK(core_->Workers().size() == processes_.size());
    const JobId last = SubmitOne(4);
    for (int i = 0; i < 3000 && !Quiet(); ++i) Pass();
    CHECK(core_->Job(last)->state == JobState::kSucceeded);
    CHECK(core_->HistoryEnd(last) == 1);
    for (int i = 0; i < 50; ++i) Pass();
    for (const auto& p : processes_) CHECK(p->job == JobPoint{});
  }

  // SIGTERM to all workers.
  void End() {
    for (auto& p : processes_) Apply(*p, p->core.Step(Terminate{"SIGTERM"}, now_ms_));
    for (int i = 0; i < 150; ++i) Pass();
    for (const auto& p : processes_) CHECK(p->ended);
    CHECK(core_->Workers().empty());
  }

 private:
  uint64_t Draw(uint64_t below) { return Mix64(seed_ * 7'919 + ++draws_) % below; }
  int64_t Soon(uint64_t ms) { return now_ms_ + static_cast<int64_t>(Draw(ms)); }

  void Start() { processes_.push_back(std::make_unique<Process>(++started_, seed_)); }

  void Kill(uint64_t i) {
    Break(processes_[i]);
    processes_[i] = std::make_unique<Process>(++started_, seed_);
  }

  void Break(std::unique_ptr<Process>& p) {
    if (!p->linked) return;
    p->linked = false;
    p->outgoing.clear();
    p->incoming.clear();
    // The coordinator may hear of it late: the worker is then back before.
    closes_.emplace(Draw(2) == 0 ? now_ms_ : Soon(3000), p->session);
    Apply(*p, p->core.Step(LinkDown{p->attempt, Unavailable("reset")}, now_ms_));
  }

  // A new life of the coordinator, which remembers nothing.
  void Restart() {
    CoordinatorCoreOptions options;
    options.incarnation = {++incarnation_};
    options.jobs_kept_max = 100'000;
    core_ = std::make_unique<CoordinatorCore>(options);
    for (auto& p : processes_) Break(p);
  }

  JobId SubmitOne(int64_t workers) {
    auto input = std::make_shared<InputPlan>();
    for (int i = 0; i < 6; ++i) input->shards.push_back({0, i, i + 1});
    Submission s;
    s.client_request_id = "request " + std::to_string(++submitted_);
    s.output = "/out/" + std::to_string(submitted_);
    s.workers_min = s.workers_max = workers;
    s.leaves = 4;
    s.input = input;
    reply_ = {};
    Feed(Submit{{submitted_}, std::move(s)});
    return reply_;
  }

  bool Quiet() const {
    for (const JobSnapshot& s : core_->Jobs()) {
      if (!IsFinal(s.state)) return false;
    }
    return core_->Workers().size() == processes_.size();
  }

  void Pass() {
    now_ms_ += kStepMs;
    Feed(Tick{});
    for (auto it = closes_.begin(); it != closes_.end() && it->first <= now_ms_;) {
      Feed(SessionClosed{it->second, Unavailable("reset")});
      it = closes_.erase(it);
    }
    for (size_t i = 0; i < processes_.size(); ++i) Serve(*processes_[i]);
    for (auto it = merges_.begin(); it != merges_.end() && it->first <= now_ms_;) {
      Feed(SurveyMerged{it->second.job, it->second.generation,
                        std::make_shared<const SurveyResult>()});
      it = merges_.erase(it);
    }
  }

  void Serve(Process& p) {
    if (p.ended) return;
    Apply(p, p.core.Step(WorkerTick{0}, now_ms_));
    MissPartner(p);
    while (!p.results.empty() && p.results.begin()->first <= now_ms_) {
      const FromWorker message = p.results.begin()->second;
      p.results.erase(p.results.begin());
      Apply(p, p.core.Step(Report{message}, now_ms_));
    }
    while (p.linked && !p.outgoing.empty() && p.outgoing.front().first <= now_ms_) {
      const FromWorker message = p.outgoing.front().second;
      p.outgoing.pop_front();
      Feed(WorkerMessage{p.session, message});
    }
    while (p.linked && !p.incoming.empty() && p.incoming.front().first <= now_ms_) {
      const ToWorker message = p.incoming.front().second;
      p.incoming.pop_front();
      Apply(p, p.core.Step(CoordinatorMessage{p.attempt, message}, now_ms_));
    }
  }

  // A member in training whose partner no longer works on the same generation reports it.
  void MissPartner(Process& p) {
    if (!p.job.job || p.results.empty()) return;
    if (!std::holds_alternative<JobDone>(p.results.rbegin()->second)) return;
    for (const Member& m : p.members.members) {
      bool there = false;
      for (const auto& other : processes_) {
        there = there || (!other->ended && other->core.job() == p.job &&
                          other->members.members[static_cast<size_t>(other->members.self)] == m);
      }
      if (there) continue;
      p.results.clear();
      p.results.emplace(Soon(300),
                        JobFailed{p.job.job, p.job.generation, Unavailable("no data"), m.worker});
      return;
    }
  }

  void Apply(Process& p, std::vector<WorkerAction> actions) {
    for (WorkerAction& action : actions) {
      std::visit([&](auto& a) { Do(p, a); }, action);
    }
  }
  void Do(Process& p, const Connect& a) {
    p.attempt = a.attempt;
    p.linked = true;
    p.session = {++sessions_};
    Feed(SessionOpened{p.session, "process"});
    Apply(p, p.core.Step(LinkUp{a.attempt}, now_ms_));
  }
  void Do(Process& p, const Disconnect&) {
    p.linked = false;
    p.outgoing.clear();
    p.incoming.clear();
    Feed(SessionClosed{p.session, Status::Ok()});
  }
  void Do(Process& p, const SendToCoordinator& a) {
    const int64_t last = p.outgoing.empty() ? now_ms_ : p.outgoing.back().first;
    if (p.linked) p.outgoing.emplace_back(std::max(last, Soon(60)), a.message);
  }
  void Do(Process& p, const RunSurvey& a) {
    CHECK(p.job == JobPoint{});  // what it did before was aborted first
    p.job = {a.order.job, a.order.generation};
    p.members = a.order.members;
    int64_t ready_ms = now_ms_;
    for (int32_t k : a.order.shards) {
      SurveyPart part{a.order.job, a.order.generation, {}};
      auto survey = std::make_shared<ShardSurvey>();
      survey->shard = k;
      part.shards.push_back(std::move(survey));
      ready_ms = std::max(ready_ms, Soon(500));  // in shard order
      p.results.emplace(ready_ms, std::move(part));
    }
  }
  void Do(Process& p, const RunTraining& a) {
    CHECK(p.job == JobPoint{a.order.job, a.order.generation});
    p.results.emplace(now_ms_ + 10, MemberReady{p.job.job, p.job.generation});
    if (p.members.self != 0) return;
    HistoryEntry history{p.job.job, p.job.generation, {}};
    history.row.step = 7;
    p.results.emplace(now_ms_ + 400, history);
    p.results.emplace(now_ms_ + 800, JobDone{p.job.job, p.job.generation, {}});
  }
  void Do(Process& p, const AbortJob& a) {
    CHECK(p.job == a.at);
    p.job = {};
    p.results.clear();
  }
  void Do(Process& p, const Exit& a) {
    CHECK(a.why.ok());
    p.ended = true;
    p.linked = false;
  }
  void Do(Process&, const WorkerLog&) {}

  void Feed(const CoordinatorEvent& event) {
    CoordinatorActions actions = core_->Step(event, now_ms_);
    for (SendToWorker& send : actions.send) {
      for (auto& p : processes_) {
        if (!p->linked || p->session != send.session) continue;
        const int64_t last = p->incoming.empty() ? now_ms_ : p->incoming.back().first;
        p->incoming.emplace_back(std::max(last, Soon(60)), std::move(send.message));
      }
    }
    for (const Reply& reply : actions.reply) reply_ = *reply.result;
    for (const MergeWork& work : actions.work) merges_.emplace(Soon(300), work);
    for (const JournalEntry& entry : actions.persist) {
      if (const auto* ended = std::get_if<JobEnded>(&entry)) {
        successes_ += ended->state == JobState::kSucceeded;
      }
    }
  }

 public:
  int successes_ = 0;

 private:
  const uint64_t seed_;
  uint64_t draws_ = 0, started_ = 0, sessions_ = 0, submitted_ = 0, incarnation_ = 0;
  int64_t now_ms_ = 1'000'000;
  std::unique_ptr<CoordinatorCore> core_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::multimap<int64_t, MergeWork> merges_;
  std::multimap<int64_t, SessionId> closes_;
  JobId reply_;
};

TEST_CASE("through kills, broken links and restarts every job ends, and the cluster goes on") {
  int successes = 0;
  for (uint64_t seed = 1; seed <= 60 * TestScale(); ++seed) {
    INFO("seed " << seed);
    Simulation simulation(seed);
    simulation.Storm(20'000);
    simulation.Calm();
    simulation.End();
    successes += simulation.successes_;
  }
  CHECK(successes > 120);  // the storm lets some jobs through: not everything here is a failure
}

TEST_CASE("a coordinator core serves ten thousand workers") {
  CoordinatorCoreOptions options;
  options.workers_max = 10'000;
  CoordinatorCore core(options);
  int64_t now_ms = 1;
  for (uint64_t i = 1; i <= 10'000; ++i) {
    core.Step(SessionOpened{{i}, "peer"}, now_ms);
    Hello hello{.version = kVersion, .arithmetic_id = "a", .session = "s" + std::to_string(i)};
    hello.name = hello.address = "w" + std::to_string(i);
    CHECK(core.Step(WorkerMessage{{i}, hello}, now_ms).persist.size() == 1);
  }
  for (int round = 0; round < 10; ++round) {
    now_ms += 1000;
    for (uint64_t i = 1; i <= 10'000; ++i) core.Step(WorkerMessage{{i}, Heartbeat{}}, now_ms);
    core.Step(Tick{}, now_ms);
  }
  CHECK(core.Workers().size() == 10'000);
}

}  // namespace
}  // namespace espalier
