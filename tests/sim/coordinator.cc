#include "tests/sim/coordinator.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "tests/sim/worker.h"
#include "tests/sim/world.h"

namespace espalier::sim {
namespace {

constexpr int64_t kTickUs = 250'000;
constexpr int64_t kEpochMs = 1'700'000'000'000;

}  // namespace

void JournalStore::Append(const JournalEntry& entry) {
  entries.push_back(entry);
  if (const auto* w = std::get_if<WorkerIdGiven>(&entry)) workers.insert(w->worker);
  if (const auto* j = std::get_if<JobAccepted>(&entry)) jobs.insert(j->job);
  if (const auto* e = std::get_if<JobEnded>(&entry)) ended.insert(e->job);
  if (const auto* g = std::get_if<GenerationStarted>(&entry)) {
    bool& leaves = generations[{g->job, g->generation}];
    leaves = leaves || !g->leaves.empty();
  }
}

bool JournalStore::HasGeneration(JobId job, Generation generation, bool leaves) const {
  const auto it = generations.find({job, generation});
  return it != generations.end() && (it->second || !leaves);
}

SimCoordinator::SimCoordinator(World& world, Incarnation incarnation)
    : world_(world), incarnation_(incarnation), born_us_(world.queue.now_us()) {
  CoordinatorCoreOptions options;
  options.incarnation = incarnation;
  options.jobs_kept_max = 100'000;
  options.workers_max = 20'000;
  world_.journal.newest = incarnation;
  core_ = std::make_unique<CoordinatorCore>(options);
  world_.journal.entries.clear();  // this core remembers nothing
  Tick();
}

int64_t SimCoordinator::NowMs() const { return kEpochMs + world_.queue.now_us() / 1000 + ahead_ms_; }

void SimCoordinator::Tick() {
  if (!alive_) return;
  world_.Idle();
  if (!paused_) Feed(espalier::Tick{});
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
  Feed(SessionOpened{stream->session, "peer"});
}

void SimCoordinator::Feed(const CoordinatorEvent& event) {
  if (alive_) Perform(core_->Step(event, NowMs()));
}

bool SimCoordinator::InjectReport(const StreamRef& stream, const FromWorker& report) {
  if (!stream || stream->coordinator != this || !stream->coordinator_open) return false;
  const CoordinatorActions actions =
      core_->Step(WorkerMessage{stream->session, report}, NowMs());
  if (!actions.persist.empty() || !actions.send.empty() || !actions.work.empty()) {
    world_.checks.Fail("a stale report changed the coordinator: report " +
                       std::to_string(report.index()));
  }
  return true;
}

void SimCoordinator::Crash() {
  if (!alive_) return;
  world_.Say([] { return std::string("the coordinator dies"); });
  alive_ = false;
  backlog_.clear();
  for (const auto& [session, stream] : streams_) {
    if (!stream->coordinator_open) continue;
    stream->coordinator_open = false;
    world_.streams.Reset(stream, world_.dice.Below(20'000), -1);
  }
  world_.RestartCoordinatorLater();
}

// ---- actions ---------------------------------------------------------------------------------

// In the order that CoordinatorActions states.
void SimCoordinator::Perform(CoordinatorActions actions) {
  for (const LogLine& line : actions.log) world_.Say([&] { return "coordinator: " + line.text; });
  if (world_.bugs(Bug::kSendBeforeJournal) && !SendAll(actions.send)) return;
  if (!Write(actions.persist)) return;
  if (!world_.bugs(Bug::kSendBeforeJournal) && !SendAll(actions.send)) return;
  for (const CloseSession& close : actions.close) {
    const auto it = streams_.find(close.session);
    if (it != streams_.end()) world_.streams.CloseByCoordinator(it->second, close.why);
  }
  for (const Reply& reply : actions.reply) world_.client.Replied(reply);
  for (const MergeWork& work : actions.work) Merge(work);
}

bool SimCoordinator::Write(const std::vector<JournalEntry>& entries) {
  if (entries.empty()) return true;
  if (world_.Strikes(Fault::kCrashBeforeJournal)) return Crash(), false;
  if (world_.Strikes(Fault::kTornJournal)) {
    const auto kept = static_cast<size_t>(world_.dice.Below(static_cast<int64_t>(entries.size())));
    for (size_t i = 0; i < kept; ++i) world_.journal.Append(entries[i]);
    return Crash(), false;
  }
  if (world_.journal.full || world_.journal.newest != incarnation_) return Crash(), false;
  for (const JournalEntry& entry : entries) {
    world_.journal.Append(entry);
    world_.checks.Persisted(*this, entry);
  }
  if (world_.Strikes(Fault::kCrashAfterJournal)) return Crash(), false;
  return true;
}

bool SimCoordinator::SendAll(std::vector<SendToWorker>& sends) {
  for (SendToWorker& send : sends) {
    const auto it = streams_.find(send.session);
    if (it == streams_.end()) continue;
    if (world_.Strikes(Fault::kCrashBetweenSends)) return Crash(), false;
    world_.checks.Sends(*this, send.message);
    if (world_.bugs(Bug::kReuseGeneration)) {
      std::visit(
          [](auto& m) {
            if constexpr (requires { m.generation; }) {
              if (m.generation.value == 2) m.generation = {1};
            }
          },
          send.message);
    }
    world_.streams.Down(it->second, std::move(send.message));
  }
  return true;
}

void SimCoordinator::Merge(const MergeWork& work) {
  SurveyMerged merged{work.job, work.generation, World::ToyOf(work.job_yaml).survey()};
  world_.queue.After(1000 + world_.dice.Below(200'000),
                     [this, merged] { Do([this, merged] { Feed(merged); }); });
}

}  // namespace espalier::sim
