#include "tests/sim/coordinator.h"

#include <algorithm>
#include <set>
#include <utility>
#include <variant>

#include "tests/sim/worker.h"
#include "tests/sim/world.h"

namespace espalier::sim {
namespace {

constexpr int64_t kTickUs = 250'000;
constexpr int64_t kPauseMs = 2000;
constexpr int64_t kYoungUs = 4'700'000;  // the liveness limit, less a tick
constexpr int64_t kRetryUs = 1'000'000;
constexpr int64_t kEpochMs = 1'700'000'000'000;

void ReuseGeneration(cluster::ToWorker& message) {
  std::visit(
      [](auto& m) {
        if constexpr (requires { m.generation; }) {
          if (m.generation.value == 2) m.generation = {1};
        }
      },
      message);
}

bool IsOfPlan(const cluster::SendToWorker& send) {
  const auto* training = std::get_if<cluster::StartTraining>(&send.message);
  return (training != nullptr && training->planned) ||
         std::holds_alternative<cluster::SwitchOver>(send.message);
}

}  // namespace

void JournalStore::Append(const cluster::JournalEntry& entry) {
  entries.push_back(entry);
  if (const auto* w = std::get_if<cluster::WorkerIdGiven>(&entry)) workers.insert(w->worker);
  if (const auto* j = std::get_if<cluster::JobAccepted>(&entry)) jobs.insert(j->job);
  if (const auto* e = std::get_if<cluster::JobEnded>(&entry)) ended.insert(e->snapshot.job);
  if (const auto* i = std::get_if<cluster::IncarnationTaken>(&entry)) newest = i->incarnation;
  if (const auto* g = std::get_if<cluster::GenerationReserved>(&entry)) {
    reserved.insert({g->job, g->generation});
  }
  if (const auto* g = std::get_if<cluster::GenerationStarted>(&entry)) {
    bool& leaves = generations[{g->job, g->generation}];
    leaves = leaves || !g->leaves.empty();
  }
}

bool JournalStore::HasGeneration(JobId job, Generation generation, bool leaves) const {
  const auto it = generations.find({job, generation});
  return it != generations.end() && (it->second || !leaves);
}

SimCoordinator::SimCoordinator(World& world)
    : world_(world),
      incarnation_{world.journal.newest.value + 1},
      born_us_(world.queue.now_us()),
      ahead_ms_(world.dice.Below(5000)) {
  cluster::CoordinatorCoreOptions options;
  options.incarnation = incarnation_;
  options.start_timeout_ms = 30 * 60'000;
  options.profiling_timeout_ms = 10 * 60'000;
  options.jobs_kept_max = 100'000;
  options.workers_max = 20'000;
  options.rebalance_interval_ms = world_.rebalance_ms();
  if (world_.bugs(Bug::kDeathAfterRestart) && incarnation_.value > 1) {
    options.liveness_limit_ms = 300;
  }
  world_.journal.newest = incarnation_;
  core_ = std::make_unique<cluster::CoordinatorCore>(options, world_.journal.entries);
  Tick();
}

bool SimCoordinator::young() const {
  return incarnation_.value > 1 && world_.queue.now_us() - born_us_ + skipped_us_ < kYoungUs;
}

void SimCoordinator::JumpClock(int64_t ms) {
  ahead_ms_ += ms;
  // The core treats a jump of more than two heartbeats as a pause, and a shorter one as time.
  if (ms <= kPauseMs) skipped_us_ += ms * 1000;
}

int64_t SimCoordinator::NowMs() const {
  return kEpochMs + world_.queue.now_us() / 1000 + ahead_ms_;
}

void SimCoordinator::Tick() {
  if (!alive_) return;
  world_.Idle();
  if (!paused_) Feed(espalier::cluster::Tick{});
  world_.queue.After(kTickUs, [this] { Tick(); });
}

void SimCoordinator::Do(std::function<void()> f) {
  if (!alive_) return;
  if (paused_) {
    backlog_.push_back(std::move(f));
  } else {
    f();
  }
}

void SimCoordinator::Resume() {
  if (!std::exchange(paused_, false)) return;
  while (alive_ && !backlog_.empty()) {
    const auto next = std::move(backlog_.front());
    backlog_.pop_front();
    next();
  }
}

void SimCoordinator::Opened(const StreamRef& stream) {
  streams_[stream->session] = stream;
  Feed(cluster::SessionOpened{stream->session, "peer"});
}

void SimCoordinator::Feed(const cluster::CoordinatorEvent& event) {
  if (alive_) Push(core_->Step(event, NowMs()));
}

bool SimCoordinator::InjectReport(const StreamRef& stream, const cluster::FromWorker& report) {
  if (!stream || stream->coordinator != this || !stream->coordinator_open) return false;
  const cluster::CoordinatorActions actions =
      core_->Step(cluster::WorkerMessage{stream->session, report}, NowMs());
  // Any event can reveal that the coordinator itself was paused. It then takes a new incarnation.
  const bool kept = std::any_of(actions.persist.begin(), actions.persist.end(), [](auto& entry) {
    return !std::holds_alternative<cluster::IncarnationTaken>(entry);
  });
  if (kept || !actions.send.empty() || !actions.work.empty()) {
    world_.checks.Fail("a stale or foreign report changed the coordinator: report " +
                       std::to_string(report.index()));
  }
  return true;
}

bool SimCoordinator::InjectLie(const StreamRef& stream, const cluster::FromWorker& lie, JobId job) {
  if (!stream || stream->coordinator != this || !stream->coordinator_open) return false;
  world_.client.LiedTo(job);
  std::vector<spec::JobSnapshot> before = core_->Jobs();
  Feed(cluster::WorkerMessage{stream->session, lie});
  for (const spec::JobSnapshot& old : before) {
    const bool works = old.state == spec::JobState::kProfiling ||
                       old.state == spec::JobState::kLoading ||
                       old.state == spec::JobState::kTraining;
    const auto now = core_->Job(old.job);
    if (old.job == job || !works || !now) continue;
    if (now->state == old.state && now->generation == old.generation &&
        now->workers == old.workers && now->progress.step == old.progress.step) {
      continue;
    }
    world_.checks.Fail("a lie about " + ToString(job) + " changed " + ToString(old.job));
  }
  return true;
}

void SimCoordinator::Crash() {
  if (!alive_) return;
  world_.Say([] { return std::string("the coordinator dies"); });
  alive_ = false;
  backlog_.clear();
  waiting_.clear();
  for (const auto& [session, stream] : streams_) {
    if (!stream->coordinator_open) continue;
    stream->coordinator_open = false;
    world_.streams.Reset(stream, world_.dice.Below(20'000), -1);
  }
  world_.RestartCoordinatorLater();
}

// ---- actions ---------------------------------------------------------------------------------

// Records changes of a job's number of workers. A move of leaves alone is not recorded.
void SimCoordinator::NotePlans(const cluster::CoordinatorActions& actions) {
  for (const cluster::JournalEntry& entry : actions.persist) {
    const auto* started = std::get_if<cluster::GenerationStarted>(&entry);
    if (started != nullptr && started->members.empty()) world_.fired(Fault::kYielded);
  }
  std::set<JobId> noted;
  for (const cluster::SendToWorker& send : actions.send) {
    const auto* start = std::get_if<cluster::StartTraining>(&send.message);
    if (start == nullptr || !start->planned || !noted.insert(start->job).second) continue;
    const size_t before = core_->Job(start->job)->workers.size();
    if (start->members.size() != before) {
      world_.planned.push_back({start->job, world_.queue.now_us()});
    }
  }
}

void SimCoordinator::Push(cluster::CoordinatorActions actions) {
  world_.checks.Stepped(*this, actions);
  NotePlans(actions);
  for (const cluster::LogLine& line : actions.log) {
    world_.Say([&] { return "coordinator: " + line.text; });
  }
  actions.log.clear();
  if (world_.bugs(Bug::kSendBeforeJournal)) {
    std::vector<cluster::SendToWorker> sends = std::exchange(actions.send, {});
    if (!SendAll(sends)) return;
  }
  if (actions.persist.empty() && waiting_.empty()) return Perform(std::move(actions));
  const bool write = !actions.persist.empty();
  std::vector<cluster::SendToWorker> pulses;
  std::erase_if(actions.send, [&](const cluster::SendToWorker& send) {
    const bool pulse = std::holds_alternative<cluster::Pulse>(send.message);
    if (pulse) pulses.push_back(send);
    return pulse;
  });
  waiting_.push_back(std::move(actions));
  if (!SendAll(pulses)) return;
  if (write && !writing_)
    WriteLater(100 + world_.dice.Below(world_.dice.Once(30) ? 800'000 : 4000));
}

void SimCoordinator::WriteLater(int64_t us) {
  writing_ = true;
  world_.queue.After(us, [this] { Do([this] { WriteAll(); }); });
}

bool SimCoordinator::CrashesAtPlan() {
  const bool plans = std::any_of(waiting_.begin(), waiting_.end(), [](const auto& actions) {
    return std::any_of(actions.send.begin(), actions.send.end(), IsOfPlan);
  });
  if (!plans || !world_.Strikes(Fault::kCoordinatorLostPlanning)) return false;
  return Crash(), true;
}

bool SimCoordinator::CrashesAtWrite() {
  if (CrashesAtPlan()) return true;
  if (world_.Strikes(Fault::kCrashBeforeJournal)) return Crash(), true;
  if (!world_.Strikes(Fault::kTornJournal)) return false;
  // The journal keeps either all entries of a step or none.
  const auto kept = world_.dice.Below(static_cast<int64_t>(waiting_.size()));
  for (int64_t i = 0; i < kept; ++i) {
    for (const cluster::JournalEntry& entry : waiting_[static_cast<size_t>(i)].persist) {
      world_.journal.Append(entry);
      world_.checks.Persisted(*this, entry);
    }
  }
  return Crash(), true;
}

bool SimCoordinator::RefuseJobs() {
  for (cluster::CoordinatorActions& w : waiting_) {
    for (const cluster::JournalEntry& entry : w.persist) {
      const auto* accepted = std::get_if<cluster::JobAccepted>(&entry);
      if (accepted == nullptr) continue;
      const JobId job = accepted->job;
      const auto of_job = [job](const auto& one) {
        return std::visit(
            [job](const auto& m) {
              if constexpr (requires { m.snapshot; }) return m.snapshot.job == job;
              if constexpr (requires { m.job; }) return m.job == job;
              return false;
            },
            one);
      };
      for (cluster::CoordinatorActions& later : waiting_) {
        std::erase_if(later.persist, of_job);
        std::erase_if(later.send, [&](const auto& send) { return of_job(send.message); });
        std::erase_if(later.work, [&](const auto& work) { return work.job == job; });
        std::erase_if(later.tokens, [&](const auto& work) { return work.job == job; });
        std::erase_if(later.reply,
                      [&](const auto& r) { return r.result.ok() && *r.result == job; });
      }
      Feed(cluster::JobRefused{job, ResourceExhausted("the disk is full")});
      return true;
    }
  }
  return false;
}

void SimCoordinator::WriteAll() {
  writing_ = false;
  if (waiting_.empty()) return;
  if (world_.journal.newest != incarnation_) return Crash();  // a newer coordinator has taken over
  if (CrashesAtWrite()) return;
  if (world_.journal.full) {
    while (alive_ && RefuseJobs()) {
    }
    if (alive_) WriteLater(kRetryUs);
    return;
  }
  std::deque<cluster::CoordinatorActions> written = std::exchange(waiting_, {});
  for (const cluster::CoordinatorActions& actions : written) {
    for (const cluster::JournalEntry& entry : actions.persist) {
      world_.journal.Append(entry);
      world_.checks.Persisted(*this, entry);
      if (const auto* taken = std::get_if<cluster::IncarnationTaken>(&entry)) {
        incarnation_ = taken->incarnation;
      }
    }
  }
  if (world_.Strikes(Fault::kCrashAfterJournal)) return Crash();
  if (world_.dice.Once(50) && waiting_.empty()) world_.journal.Rewrite(core_->Remember());
  for (cluster::CoordinatorActions& actions : written) {
    if (alive_) Perform(std::move(actions));
  }
}

// Performs the actions in the order that CoordinatorActions states. Their entries are durable.
void SimCoordinator::Perform(cluster::CoordinatorActions actions) {
  if (!SendAll(actions.send)) return;
  for (const cluster::CloseSession& close : actions.close) {
    const auto it = streams_.find(close.session);
    if (it != streams_.end()) world_.streams.CloseByCoordinator(it->second, close.why);
  }
  for (const cluster::Reply& reply : actions.reply) world_.client.Replied(reply);
  for (const cluster::MergeWork& work : actions.work) Merge(work);
  for (const cluster::FenceWork& work : actions.fence) {
    Fence(work.job, work.submitted_ms, work.output, [this, job = work.job, at = work.output] {
      const SimBundle* there = world_.outputs.Find(at);
      const bool own = there != nullptr && there->job == job;
      Feed(cluster::OutputFenced{job, own ? std::optional(there->generation) : std::nullopt});
    });
  }
  for (const cluster::CheckWork& work : actions.check) Check(work);
  for (const cluster::ClearWork& work : actions.clear) {
    Fence(work.job, work.submitted_ms, work.output,
          [this, job = work.job] { Feed(cluster::JobCleared{job}); });
  }
}

bool SimCoordinator::SendAll(std::vector<cluster::SendToWorker>& sends) {
  for (cluster::SendToWorker& send : sends) {
    const auto it = streams_.find(send.session);
    if (it == streams_.end()) continue;
    if (world_.Strikes(Fault::kCrashBetweenSends)) return Crash(), false;
    if (IsOfPlan(send) && world_.Strikes(Fault::kCoordinatorLostPlanning)) return Crash(), false;
    world_.checks.Sends(*this, send.message);
    if (const auto* welcome = std::get_if<cluster::Welcome>(&send.message)) {
      welcomed_.insert(welcome->worker);
    }
    if (world_.bugs(Bug::kReuseGeneration)) ReuseGeneration(send.message);
    world_.streams.Down(it->second, std::move(send.message));
  }
  return true;
}

void SimCoordinator::Fence(JobId job, int64_t submitted_ms, const std::string& output,
                           std::function<void()> over) {
  FenceStep(
      std::make_shared<bundle::OutputSweep>([job, submitted_ms](const bundle::WriterName& writer) {
        return writer.IsOf(job, submitted_ms);
      }),
      output, {}, std::move(over));
}

void SimCoordinator::FenceStep(std::shared_ptr<bundle::OutputSweep> sweep,
                               const std::string& output, bundle::OutputResult last,
                               std::function<void()> over) {
  const auto action = sweep->Next(last);
  if (!action) return over();
  world_.queue.After(100 + world_.dice.Below(20'000), [=, this] {
    Do([=, this] { FenceStep(sweep, output, world_.outputs.Perform(output, *action), over); });
  });
}

void SimCoordinator::Check(const cluster::CheckWork& work) {
  world_.queue.After(100 + world_.dice.Below(20'000), [this, work] {
    Do([this, work] {
      const SimBundle* there = world_.outputs.Find(work.output);
      Feed(cluster::OutputChecked{work.job, there != nullptr && there->job == work.job &&
                                                there->hash == work.weights_sha256});
    });
  });
}

void SimCoordinator::Merge(const cluster::MergeWork& work) {
  cluster::ProfileMerged merged{work.job, work.generation, World::ToyOf(work.job_yaml).profile()};
  if (work.input->provisional) {  // plays a table whose rows differ from the sample
    auto input = std::make_shared<spec::InputPlan>(*work.input);
    input->provisional = false;
    merged = {work.job, work.generation,
              std::make_shared<const cluster::Replanned>(cluster::Replanned{
                  work.job_yaml, std::move(input), World::ToyOf(work.job_yaml).leaves()})};
  }
  world_.queue.After(1000 + world_.dice.Below(200'000),
                     [this, merged] { Do([this, merged] { Feed(merged); }); });
}

}  // namespace espalier::sim
