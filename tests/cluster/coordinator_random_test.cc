// Feeds a CoordinatorCore with random events from a seed and checks its invariants after each one.
// Sometimes another core replays the journal and continues.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "src/base/random.h"
#include "src/cluster/coordinator_core.h"
#include "tests/testing/scale.h"

namespace espalier::cluster {
namespace {

constexpr int64_t kQueuedMax = 5, kKeptMax = 4, kWorkersMax = 8;
const std::string kAside = "its entries crashed two starts";
constexpr int64_t kOwnerWaitingMax = 3, kOwnerRunningMax = 2, kOwnerWorkersMax = 3;

// Describes an entry, for comparisons.
std::string Text(const JournalEntry& entry) {
  std::string out = std::to_string(entry.index()) + " " + ToString(JobOf(entry));
  const auto add = [&](const auto&... numbers) { ((out += " " + std::to_string(numbers)), ...); };
  std::visit(
      [&](const auto& e) {
        if constexpr (requires { e.generation; }) add(e.generation.value);
        if constexpr (requires { e.worker; }) add(e.worker.value);
        if constexpr (requires { e.at_ms; }) add(e.at_ms);
        if constexpr (requires { e.times; }) add(e.times);
        if constexpr (requires { e.why; }) out += " " + e.why;
        if constexpr (requires { e.row; }) add(e.number, e.row.step);
        if constexpr (requires { e.submission; }) add(e.submission.packed_input != nullptr);
        if constexpr (requires { e.members; }) {
          add(e.leaves.size(), e.reverts);
          for (const Member& m : e.members) add(m.worker.value);
        }
      },
      entry);
  return out;
}

// Describes a core that a journal makes. Leaves out its next numbers, because a journal does not
// hold the numbers that workers have named.
std::vector<std::string> Replayed(const CoordinatorCore& core) {
  std::vector<std::string> out;
  for (const JournalEntry& entry : core.Remember()) {
    const bool number =
        std::holds_alternative<WorkerIdGiven>(entry) || std::holds_alternative<JobForgotten>(entry);
    if (!number) out.push_back(Text(entry));
  }
  for (const spec::JobSnapshot& s : core.Jobs()) {
    out.push_back(ToString(s.job) + " " + spec::JobStateName(s.state) + " " +
                  std::to_string(s.generation.value) + " " + std::to_string(s.submitted_ms) + " " +
                  std::to_string(s.started_ms) + " " + std::to_string(s.training_ms) + " " +
                  std::to_string(s.ended_ms) + " " + s.error.ToString());
  }
  return out;
}

class Chaos {
 public:
  explicit Chaos(uint64_t seed, bool quotas)
      : seed_(seed), quotas_(quotas), options_(Options(quotas)), core_(options_) {
    auto input = std::make_shared<spec::InputPlan>();
    for (int i = 0; i < 5; ++i) input->shards.push_back({0, i * 10, (i + 1) * 10});
    input->schema.features = {0};
    input_ = input;
  }

  void Run(int events) {
    for (int i = 0; i < events; ++i) OneEvent();
    // All workers fall silent, so whatever runs must end.
    for (int i = 0; i < 100; ++i) {
      now_ms_ += 500;
      Feed(Tick{});
    }
    CHECK(core_.Workers().empty());
    for (const spec::JobSnapshot& s : core_.Jobs()) {
      CHECK((s.state == spec::JobState::kQueued || spec::IsFinal(s.state)));
    }
    Feed(Shutdown{"end"});
    for (const spec::JobSnapshot& s : core_.Jobs()) CHECK(spec::IsFinal(s.state));
  }

 private:
  static CoordinatorCoreOptions Options(bool quotas) {
    CoordinatorCoreOptions o;
    if (quotas) {
      o.owner_waiting_jobs_max = kOwnerWaitingMax;
      o.owner_running_jobs_max = kOwnerRunningMax;
      o.owner_workers_max = kOwnerWorkersMax;
    }
    o.incarnation = {3};
    o.queue_max = kQueuedMax;
    o.jobs_kept_max = kKeptMax;
    o.workers_max = kWorkersMax;
    o.history_rows_max = 5;
    o.below_min_timeout_ms = 10'000;
    o.profiling_timeout_ms = o.start_timeout_ms = o.step_timeout_ms = 20'000;
    return o;
  }

  uint64_t Draw(uint64_t below) { return Mix64(seed_ * 1'000'003 + ++draws_) % below; }

  void OneEvent() {
    now_ms_ += static_cast<int64_t>(Draw(100));
    if (Draw(100) == 0) return Restart();
    switch (Draw(16)) {
      case 0:
        Feed(SessionOpened{{++sessions_}, "peer"});
        break;
      case 1:
        if (Draw(8) == 0) Feed(SessionClosed{AnySession(), Unavailable("gone")});
        break;
      case 2:
        SubmitOne();
        break;
      case 3:
        if (Draw(4) == 0) CancelOne();
        break;
      case 4:
        Merge();
        Answer();
        if (Draw(4) == 0) Drain();
        break;
      case 5:
        Feed(Tick{});
        break;
      case 6:
      case 7:
        Feed(WorkerMessage{AnySession(), AnyHello()});
        break;
      default:
        Sensible();
        break;
    }
  }

  // Replaces the core by one that replays the journal. The new core has the same state. If the
  // journal sets a job aside, that job has ended after the first event.
  void Restart() {
    if (!TrainsUnmet()) {
      CHECK(Replayed(CoordinatorCore(options_, core_.Remember())) ==
            Replayed(CoordinatorCore(options_, journal_)));
    }
    const JobId aside = Draw(2) == 0 ? AnyBegun() : JobId{};
    if (aside) SetAside(aside);
    ++options_.incarnation.value;
    core_ = CoordinatorCore(options_, journal_);
    const std::vector<std::string> replayed = Replayed(core_);
    journal_ = core_.Remember();
    CHECK(Replayed(CoordinatorCore(options_, journal_)) == replayed);
    if (Draw(2) == 0) core_ = CoordinatorCore(options_, journal_);
    orders_.clear();
    profiled_.clear();
    merges_.clear();
    checks_.clear();
    fences_.clear();
    trains_.clear();
    for (const spec::JobSnapshot& s : core_.Jobs()) {
      awaited_.insert(s.job);
      if (s.training_ms != 0) trains_.insert(s.job);
    }
    const bool ended = ended_.contains(aside);
    Feed(Tick{});
    const auto job = core_.Job(aside);
    if (!job || ended) return;
    CHECK(job->state == spec::JobState::kFailed);
    CHECK(job->error.message() == kAside);
  }

  // Returns whether a root reported progress before all members were ready for the first time. The
  // journal does not hold that start, because not all members may have their orders.
  bool TrainsUnmet() const {
    const auto jobs = core_.Jobs();
    return std::any_of(jobs.begin(), jobs.end(), [&](const spec::JobSnapshot& s) {
      return !spec::IsFinal(s.state) && s.training_ms != 0 && !trains_.contains(s.job);
    });
  }

  // Returns an unfinished job that has had workers. If none exists, returns any job.
  JobId AnyBegun() {
    std::vector<JobId> begun;
    for (const spec::JobSnapshot& s : core_.Jobs()) {
      if (s.generation.value != 0 && !spec::IsFinal(s.state)) begun.push_back(s.job);
    }
    return begun.empty() ? AnyJob() : begun[Draw(begun.size())];
  }

  // Adds JobSetAside to the journal, perhaps after reducing the job's entries to their outlines.
  void SetAside(JobId job) {
    if (Draw(2) == 0) {
      std::erase_if(journal_, [&](const JournalEntry& e) {
        return JobOf(e) == job &&
               (std::holds_alternative<ProfileRecorded>(e) ||
                std::holds_alternative<HistoryRecorded>(e) ||
                std::holds_alternative<TrainingStarted>(e) ||
                std::holds_alternative<MergeTried>(e) || std::holds_alternative<JobReplanned>(e));
      });
      for (JournalEntry& entry : journal_) {
        if (JobOf(entry) != job) continue;
        if (auto* accepted = std::get_if<JobAccepted>(&entry)) {
          accepted->submission.input.reset();
          accepted->submission.packed_input.reset();
        }
        if (auto* started = std::get_if<GenerationStarted>(&entry)) started->leaves.clear();
      }
    }
    journal_.push_back(JobSetAside{job, kAside});
  }

  SessionId AnySession() {
    const uint64_t recent = std::min<uint64_t>(sessions_, 12);
    return {sessions_ - (recent == 0 ? 0 : Draw(recent))};
  }
  JobId AnyJob() { return {1 + Draw(accepted_ + 2)}; }
  Generation AnyGeneration() { return {Draw(12) == 0 ? Draw(4) : 1}; }

  Hello AnyHello() {
    Hello h;
    h.version = Draw(20) == 0 ? "other" : kVersion;
    h.arithmetic_id = Draw(20) == 0 ? "b" : "a";
    h.session = "session " + std::to_string(Draw(40));
    h.name = "w";
    h.address = "w:1";
    h.threads = static_cast<int32_t>(Draw(30)) - 1 + (Draw(30) != 0);
    h.worker = {Draw(20)};
    if (Draw(4) == 0) h.job = AnyJob();
    h.generation = AnyGeneration();
    return h;
  }

  std::string AnyOwner() { return std::vector<std::string>{"", "anna", "bob"}[Draw(3)]; }

  // Cancels or withdraws a job. Only its owner and admins may end a job that has an owner.
  void CancelOne() {
    const Requester by{AnyOwner(), Draw(4) == 0};
    const std::string id = "request " + std::to_string(Draw(500));
    const JobId job = AnyJob();
    const bool withdraws = Draw(4) == 0;
    const auto before = ended_;
    Request([&](RequestId r) {
      if (withdraws) {
        Feed(WithdrawSubmission{r, id, by});
      } else {
        Feed(CancelJob{r, job, "chance", by});
      }
      for (const JobId fenced : std::exchange(fences_, {})) {
        std::optional<Generation> written;
        if (Draw(4) == 0) written = AnyGeneration();
        Feed(OutputFenced{fenced, written});
      }
    });
    for (const auto& [ended, state] : ended_) {
      if (before.contains(ended) || by.admin) continue;
      CHECK((owners_[ended].empty() || owners_[ended] == by.name));
    }
  }

  void Drain() {
    const auto workers = core_.Workers();
    if (workers.empty()) return;
    const WorkerId worker = workers[Draw(workers.size())].worker;
    Request([&](RequestId r) { Feed(DrainWorker{r, worker, "chance"}); });
  }

  void SubmitOne() {
    Request([&](RequestId r) {
      Submission s;
      s.owner = AnyOwner();
      s.client_request_id = RequestKey(s.owner, "request " + std::to_string(Draw(500)));
      s.output = "/out/" + std::to_string(Draw(30));
      s.workers_min = static_cast<int64_t>(Draw(5));
      s.workers_max = static_cast<int64_t>(Draw(4));
      s.leaves = static_cast<int64_t>(1 + Draw(8));
      s.input = input_;
      Feed(Submit{r, s});
    });
  }

  void Merge() {
    if (merges_.empty()) return;
    const MergeWork work = merges_[Draw(merges_.size())];
    if (Draw(6) == 0) {
      return Feed(ProfileMerged{work.job, work.generation,
                                std::make_shared<const Replanned>(Replanned{
                                    "again", input_, static_cast<int64_t>(1 + Draw(8))})});
    }
    Feed(ProfileMerged{work.job, work.generation,
                       Draw(8) == 0 ? Result<MergedProfile>(BadInput("no rows"))
                                    : std::make_shared<const spec::TableProfile>()});
  }

  // Answers a check of the output, perhaps twice.
  void Answer() {
    if (checks_.empty()) return;
    const JobId job = checks_[Draw(checks_.size())];
    Feed(OutputChecked{job, Draw(4) == 0 ? Result<bool>(Unavailable("away")) : Draw(4) != 0});
  }

  // Sends mostly what a worker in that place would send, sometimes anything.
  void Sensible() {
    const SessionId session = AnySession();
    const auto it = orders_.find(session);
    const JobId job = it != orders_.end() && Draw(10) != 0 ? it->second.job : AnyJob();
    Feed(WorkerMessage{session,
                       Anything(job, AnyGeneration(),
                                it == orders_.end() ? std::vector<int32_t>{} : it->second.shards)});
  }

  FromWorker Anything(JobId job, Generation generation, const std::vector<int32_t>& shards) {
    const int64_t number = Draw(30) == 0 ? -1 : static_cast<int64_t>(Draw(1000));
    switch (Draw(15)) {
      case 14:
        return Leaving{"chance"};
      case 0:
        return Goodbye{"chance", Draw(2) == 0};
      case 1:
        return JobFailed{job, generation, Internal("chance")};
      case 2: {
        JobDone done{job, generation, {}};
        done.result.steps = number;
        return done;
      }
      case 3: {
        HistoryEntry h{job, generation, {}};
        h.row.step = number;
        h.number = static_cast<int64_t>(Draw(8));
        h.first = static_cast<int64_t>(Draw(4));
        return h;
      }
      case 4: {
        Progress p{job, generation};
        p.progress.step = number;
        return p;
      }
      case 5:
      case 6:
        return MemberReady{job, generation, Draw(3)};
      case 7:
        if (Draw(2) == 0) return LinkBroken{job, generation, {1 + Draw(20)}, Unavailable("cut")};
        return ProfilingProgress{job, generation, number};
      case 8:
      case 9:
        return Heartbeat{job, generation, number, {}};
      default: {
        ProfilePart part{job, generation, {}};
        for (int32_t k : shards) {
          if (Draw(4) == 0) continue;  // later
          spec::ShardProfile s;
          s.shard = Draw(60) == 0 ? 3 : k;
          s.features.resize(Draw(60) == 0 ? 2 : 1);
          part.shards.push_back(std::make_shared<const spec::ShardResult>(std::move(s)));
        }
        return part;
      }
    }
  }

  template <typename F>
  void Request(F&& call) {
    const RequestId id{++requests_};
    replies_.erase(id);
    call(id);
    CHECK(replies_.contains(id));
  }

  void Feed(const CoordinatorEvent& event) {
    const CoordinatorActions actions = core_.Step(event, now_ms_);
    for (const JournalEntry& entry : actions.persist) {
      std::visit([this](const auto& e) { Persisted(e); }, entry);
      journal_.push_back(entry);
    }
    for (const SendToWorker& send : actions.send) Sent(send);
    for (const CloseSession& close : actions.close) {
      orders_.erase(close.session);
      CHECK(closed_.insert(close.session).second);
    }
    for (const Reply& reply : actions.reply) CHECK(replies_.insert(reply.request).second);
    for (const auto& drained : actions.drained) {
      CHECK(replies_.insert(drained.request).second);
    }
    for (const FenceWork& work : actions.fence) fences_.push_back(work.job);
    for (const MergeWork& work : actions.work) {
      CHECK(started_.contains(work.job));
      CHECK(work.shards.size() == input_->shards.size());
      for (const auto& shard : work.shards) CHECK(shard != nullptr);
      merges_.push_back(work);
    }
    for (const CheckWork& work : actions.check) checks_.push_back(work.job);
    if (const auto* closed = std::get_if<SessionClosed>(&event)) orders_.erase(closed->session);
    CheckSnapshots();
  }

  void Persisted(const WorkerIdGiven& e) {
    CHECK(e.worker > last_worker_);
    last_worker_ = e.worker;
  }
  void Persisted(const JobAccepted& e) {
    CHECK(e.job.value > accepted_);  // skips numbers that workers have named
    accepted_ = e.job.value;
    owners_[e.job] = e.submission.owner;
  }
  void Persisted(const GenerationStarted& e) {
    CHECK(e.job.value <= accepted_);
    auto& generation = started_[e.job];
    // Jobs start in order of submission. Quotas let jobs of other owners pass.
    for (auto it = started_.rbegin(); generation == 0 && it->first != e.job; ++it) {
      CHECK((quotas_ && owners_[it->first] != owners_[e.job]));
    }
    // A number is used once, except that the profiling generation is persisted again with its
    // leaves.
    CHECK((e.generation.value > generation ||
           (e.generation.value == generation && !e.leaves.empty())));
    generation = e.generation.value;
    CHECK(!ended_.contains(e.job));
    CHECK((!e.members.empty() || e.leaves.empty()));  // without members: the job was preempted
    if (e.members.empty()) trains_.erase(e.job);
  }
  void Persisted(const ProfileRecorded& e) {
    CHECK(!ended_.contains(e.job));
    CHECK(profiled_.insert(e.job).second);
  }
  void Persisted(const GenerationReserved& e) {
    CHECK(e.generation.value > reserved_[e.job]);
    CHECK(e.generation.value > started_[e.job]);
    reserved_[e.job] = e.generation.value;
  }
  void Persisted(const JobReplanned& e) {
    CHECK(!ended_.contains(e.job));
    CHECK(!profiled_.contains(e.job));
  }
  void Persisted(const MemberCrashed& e) { CHECK(!ended_.contains(e.job)); }
  void Persisted(const JobSetAside&) { CHECK(false); }  // only a replay of the journal adds it
  void Persisted(const MergeTried& e) { CHECK(!ended_.contains(e.job)); }
  void Persisted(const TrainingStarted& e) {
    CHECK(started_.contains(e.job));
    trains_.insert(e.job);
  }
  void Persisted(const IncarnationTaken&) {}
  void Persisted(const TokensReplaced& e) { CHECK(!ended_.contains(e.job)); }
  void Persisted(const HistoryRecorded& e) { CHECK(!ended_.contains(e.job)); }
  void Persisted(const JobEnded& e) {
    const spec::JobSnapshot& s = e.snapshot;
    CHECK(spec::IsFinal(s.state));
    CHECK(s.error.ok() == (s.state == spec::JobState::kSucceeded));
    CHECK(ended_.emplace(s.job, s.state).second);
  }
  void Persisted(const JobForgotten& e) { CHECK(ended_.contains(e.job)); }

  // Checks that messages about a job follow its persisted entries.
  void Sent(const SendToWorker& send) {
    CHECK(!closed_.contains(send.session));
    if (const auto* m = std::get_if<StartProfiling>(&send.message)) {
      CHECK(started_.contains(m->job));
      CHECK(!ended_.contains(m->job));
      const auto it = orders_.find(send.session);
      CHECK((it == orders_.end() || it->second.job == m->job));  // one job for each worker
      orders_[send.session] = *m;
    }
    if (const auto* m = std::get_if<StartTraining>(&send.message)) {
      CHECK(!ended_.contains(m->job));
      CHECK(m->leaves.front().begin == 0);
    }
    if (const auto* m = std::get_if<Release>(&send.message)) {
      const auto it = orders_.find(send.session);
      if (it == orders_.end() || it->second.job != m->job) return;  // another worker's claim
      orders_.erase(it);  // ended, or preempted by an older job
    }
  }

  void CheckSnapshots() {
    int64_t queued = 0, final_count = 0;
    std::map<std::string, int64_t> waiting, begun, used;
    std::set<JobId> running;
    for (const spec::JobSnapshot& s : core_.Jobs()) {
      // A preempted job waits again beyond the limit, because it was accepted.
      queued += s.state == spec::JobState::kQueued && s.generation.value == 0;
      final_count += spec::IsFinal(s.state);
      CHECK(s.owner == owners_[s.job]);
      waiting[s.owner] += s.state == spec::JobState::kQueued && s.generation.value == 0;
      begun[s.owner] += s.state != spec::JobState::kQueued && !spec::IsFinal(s.state);
      CHECK(spec::IsFinal(s.state) == ended_.contains(s.job));
      if (spec::IsFinal(s.state)) CHECK(ended_[s.job] == s.state);
      CHECK((s.waiting_because.empty() || s.state == spec::JobState::kQueued ||
             s.state == spec::JobState::kRecovering));
      CHECK((s.state != spec::JobState::kQueued || !s.waiting_because.empty()));
      if (s.state == spec::JobState::kRecovering && !s.waiting_because.empty()) continue;
      if (s.state != spec::JobState::kQueued && !spec::IsFinal(s.state)) running.insert(s.job);
      CHECK(core_.History(s.job, 0).size() <= 5);
    }
    CHECK(queued <= kQueuedMax);
    CHECK(final_count <= 2 * kKeptMax);  // jobs to be cleared count separately
    const auto workers = core_.Workers();
    CHECK(static_cast<int64_t>(workers.size()) <= kWorkersMax);
    std::set<JobId> worked;
    for (const spec::WorkerSnapshot& w : workers) {
      if (w.job) worked.insert(w.job);
      if (w.job) ++used[owners_[w.job]];
    }
    for (const std::string owner : {"anna", "bob"}) {
      if (!quotas_) break;
      CHECK(waiting[owner] <= kOwnerWaitingMax);
      CHECK(begun[owner] <= kOwnerRunningMax);
      CHECK(used[owner] <= kOwnerWorkersMax);
    }
    for (const JobId job : worked) awaited_.erase(job);
    for (const JobId job : awaited_) running.erase(job);
    CHECK(std::includes(worked.begin(), worked.end(), running.begin(), running.end()));
    for (JobId job : worked) CHECK(!ended_.contains(job));
  }

  const uint64_t seed_;
  const bool quotas_;
  uint64_t draws_ = 0, sessions_ = 0, requests_ = 0, accepted_ = 0;
  int64_t now_ms_ = 1'000'000;
  CoordinatorCoreOptions options_;
  CoordinatorCore core_;
  std::vector<JournalEntry> journal_;
  std::set<JobId> awaited_;  // after a restart, no worker of the job has returned yet
  std::shared_ptr<const spec::InputPlan> input_;
  WorkerId last_worker_;
  std::map<JobId, uint64_t> started_;  // newest generation
  std::map<JobId, uint64_t> reserved_;
  std::set<JobId> profiled_, trains_;
  std::map<JobId, spec::JobState> ended_;
  std::map<JobId, std::string> owners_;
  std::set<SessionId> closed_;
  std::set<RequestId> replies_;
  std::map<SessionId, StartProfiling> orders_;
  std::vector<MergeWork> merges_;
  std::vector<JobId> checks_, fences_;
};

TEST_CASE("arbitrary messages never break the core's invariants") {
  for (uint64_t seed = 1; seed <= 300 * TestScale(); ++seed) {
    INFO("seed " << seed);
    Chaos(seed, seed % 3 == 0).Run(400);
  }
}

}  // namespace
}  // namespace espalier::cluster
