#include "tests/sim/checks.h"

#include <algorithm>
#include <set>
#include <utility>
#include <variant>

#include "src/training/state_codec.h"
#include "tests/sim/coordinator.h"
#include "tests/sim/member.h"
#include "tests/sim/worker.h"
#include "tests/sim/world.h"

namespace espalier::sim {
namespace {

std::string Name(const SimWorker& worker) { return "worker " + std::to_string(worker.id()); }

}  // namespace

void Checks::Fail(const std::string& what) {
  world_.Say([&] { return "VIOLATION: " + what; });
  if (failure_.empty()) failure_ = what;
}

// ---- members ---------------------------------------------------------------------------------

void Checks::Passes(const SimMember& member, const member::MemberEvent& event) {
  if (std::holds_alternative<member::RoundReached>(event)) {
    Reached(member.worker_, member.point(), member.toy_, member.state());
  }
  if (std::holds_alternative<member::TotalsCame>(event)) {
    Counted(member.worker_, member.toy_, member.action_, member.totals_.back());
  }
  const auto* fetched = std::get_if<member::StateFetched>(&event);
  if (fetched == nullptr || !fetched->status.ok() || !fetched->decoded.ok()) return;
  world_.fired(member.core_.joining() ? Fault::kJoined : Fault::kStateFetched);
}

void Checks::Performed(const SimMember& member, const member::MemberAction& action) {
  const SimWorker& worker = member.worker_;
  if (std::holds_alternative<member::Revert>(action)) {
    Restored(worker, member.toy_, member.point(), member.state());
  }
  if (std::holds_alternative<member::RunRound>(action) && !member.rows_.Holds(member.place_->own)) {
    Fail("a member begins a round without its rows");
  }
  if (const auto* adopt = std::get_if<member::AdoptRows>(&action)) {
    Adopts(worker, *member.place_, *adopt->place);
  }
  if (const auto* report = std::get_if<member::Report>(&action)) {
    const auto* broken = std::get_if<cluster::LinkBroken>(&report->message);
    if (broken != nullptr) Complains(worker, *member.place_, *broken);
    const bool differs = std::holds_alternative<cluster::StatesDiffer>(report->message);
    if (differs) world_.fired(Fault::kDivergence);
  }
  if (const auto* end = std::get_if<member::EndRun>(&action); end != nullptr && end->left) {
    Leaves(worker, member.point(), member.came_.signals->root.next);
    world_.fired(Fault::kLeft);
  }
}

void Checks::Reached(const SimWorker& worker, const MemberPoint& point, const ToyJob& toy,
                     const training::TrainingState<Real>& state) {
  world_.Say([&] {
    return Name(worker) + " is at round " + std::to_string(state.round) + " of generation " +
           std::to_string(point.generation.value);
  });
  const std::string* right = toy.StateAt(state.round);
  if (right == nullptr) {
    return Fail(Name(worker) + " is at round " + std::to_string(state.round) +
                ", which the undisturbed run does not have");
  }
  const bool excused = corrupted_.contains({point.job, point.generation});
  if (!excused && training::EncodeState(state) != *right) {
    return Fail(Name(worker) + " has another job state at round " + std::to_string(state.round) +
                " than the undisturbed run");
  }
  uint64_t& before = reached_[{&worker, &state}];
  if (state.round < before) {
    return Fail(Name(worker) + " went back from round " + std::to_string(before) + " to " +
                std::to_string(state.round));
  }
  before = state.round;
  Front& front = fronts_[{point.job, point.generation}];
  const auto [it, began] = front.rounds.try_emplace(&worker, state.round);
  if (began && front.level.value_or(state.round) != state.round) {
    return Fail(Name(worker) + " begins generation " + std::to_string(point.generation.value) +
                " at round " + std::to_string(state.round) + ", another member began at " +
                std::to_string(*front.level));
  }
  if (began) front.level = state.round;
  if (!began && --front.members_at[it->second] == 0) front.members_at.erase(it->second);
  it->second = state.round;
  ++front.members_at[state.round];
  if (front.members_at.rbegin()->first - front.members_at.begin()->first > 1) {
    Fail("members of one generation are at rounds " +
         std::to_string(front.members_at.begin()->first) + " and " +
         std::to_string(front.members_at.rbegin()->first));
  }
}

void Checks::Counted(const SimWorker& worker, const ToyJob& toy, const training::Action& action,
                     const collective::Payload& last) {
  const double* marks = toy.Marks(action, last);
  if (marks[kMarkLeaves] != toy.AllLeaves()) {
    return Fail(Name(worker) + " commits a total in which leaves are counted " +
                std::to_string(marks[kMarkLeaves]) +
                ", expected each once: " + std::to_string(toy.AllLeaves()));
  }
  const auto [rows, names] = toy.RowsIn(action);
  if (marks[kMarkRows] != rows || marks[kMarkNames] != names) {
    Fail(Name(worker) + " commits a total of " + std::to_string(marks[kMarkRows]) +
         " rows, expected other ones, " + std::to_string(rows));
  }
}

void Checks::Ignored(const SimWorker& worker, const collective::ReduceActions& actions) {
  if (actions.send.empty() && actions.totals.empty() && actions.error.ok()) return;
  Fail("a stale reduce message changed " + Name(worker) + ": " + actions.error.ToString());
}

void Checks::Works(const SimWorker& worker, JobId present, JobId begins) {
  if (present && present != begins) {
    Fail(Name(worker) + " begins " + ToString(begins) + " while it works on " + ToString(present));
  }
}

void Checks::Ordered(const SimWorker& worker, const cluster::StartTraining& order) {
  std::vector<std::pair<uint64_t, int32_t>> owners;
  auto& roster = rosters_[{order.job, order.generation}];
  if (order.planned) planned_.insert({order.job, order.generation});
  for (size_t i = 0; i < order.members.size(); ++i) {
    roster.insert(order.members[i].address);
    owners.emplace_back(order.members[i].worker.value, order.leaves[i].end);
  }
  const auto [it, first] = owners_.try_emplace({order.job, order.generation}, owners);
  if (!first && it->second != owners) {
    Fail(Name(worker) + " hears of other owners of generation " +
         std::to_string(order.generation.value) + " of " + ToString(order.job) +
         " than another member");
  }
}

void Checks::Complains(const SimWorker& worker, const member::Place& place,
                       const cluster::LinkBroken& report) {
  const std::vector<cluster::Member>& members = place.start().members;
  const auto about = std::find_if(members.begin(), members.end(), [&](const cluster::Member& m) {
    return m.worker == report.other;
  });
  Complains(worker, PointOf(place), static_cast<uint32_t>(about - members.begin()));
}

void Checks::Complains(const SimWorker& worker, const MemberPoint& point, uint32_t about) {
  world_.Say([&] {
    return Name(worker) + " complains about member " + std::to_string(about) + " of generation " +
           std::to_string(point.generation.value);
  });
  const auto ended = switched_.find({point.job, point.generation});
  if (ended != switched_.end() && !world_.peers.Harmed(point, about) &&
      rosters_[{point.job, ended->second}].contains(worker.address()) &&
      world_.peers.OtherEnd(point, about)->at() == cluster::JobPoint{point.job, ended->second}) {
    return Fail(Name(worker) + " lost its link to a member that has gone on to the next " +
                "generation before it had the last total");
  }
  if (world_.peers.IsFounded(point, about)) return;
  Fail(Name(worker) + " lost its link to member " + std::to_string(about) + " of generation " +
       std::to_string(point.generation.value) + ", which is well and in the same generation");
}

void Checks::Switches(const SimWorker& worker, const MemberPoint& point, Generation next) {
  world_.Say([&] {
    return Name(worker) + " goes on to generation " + std::to_string(next.value) + " of " +
           ToString(point.job);
  });
  const auto [it, first] = switched_.try_emplace({point.job, point.generation}, next);
  if (!first && it->second != next) Fail("a generation was ended for two different ones");
  if (corrupted_.contains({point.job, point.generation})) corrupted_.insert({point.job, next});
}

void Checks::Adopts(const SimWorker& worker, const member::Place& before,
                    const member::Place& next) {
  Switches(worker, PointOf(before), next.at().generation);
  const std::vector<cluster::Member>&old = before.start().members, &members = next.start().members;
  const bool joined = std::any_of(members.begin(), members.end(), [&](const cluster::Member& m) {
    return std::none_of(old.begin(), old.end(),
                        [&](const cluster::Member& o) { return o.worker == m.worker; });
  });
  world_.fired(joined                        ? Fault::kGrew
               : old.size() > members.size() ? Fault::kShrank
                                             : Fault::kLeavesMoved);
}

void Checks::Leaves(const SimWorker& worker, const MemberPoint& point, Generation next) {
  Switches(worker, point, next);
  if (!rosters_[{point.job, next}].contains(worker.address())) return;
  Fail(Name(worker) + " does not go on to generation " + std::to_string(next.value) +
       ", whose member it is");
}

void Checks::Restored(const SimWorker& worker, const ToyJob& toy, const MemberPoint& point,
                      const training::TrainingState<Real>& state) {
  const auto corrupted = corrupted_.lower_bound({point.job, Generation{}});
  if (corrupted == corrupted_.end() || corrupted->first != point.job) {
    return Fail(Name(worker) + " takes states for different that nobody harmed");
  }
  const std::string* right = toy.StateAt(state.round);
  if (right == nullptr || training::EncodeState(state) != *right) {
    return Fail(Name(worker) + " went back to another state than the undisturbed run had");
  }
  reached_.erase({&worker, &state});
}

void Checks::MemberFails(const SimWorker& worker, const member::EndRun& end) {
  const StatusCode code = end.status.code();
  const bool preparing = code == StatusCode::kUnavailable || code == StatusCode::kResourceExhausted;
  if (end.joining && preparing) return;
  Fail(Name(worker) + " fails its job: " + end.status.ToString());
}

void Checks::Written(const std::string& output, const SimBundle& bundle) {
  const auto of = accepted_.find(bundle.job);
  if (of == accepted_.end()) return Fail("nobody submitted " + ToString(bundle.job));
  if (bundle.hash != World::ToyOf(of->second.job_yaml).weights_hash()) {
    Fail("other weights were put in place at " + output);
  }
  if (cancelled_.contains(bundle.job)) Fail(ToString(bundle.job) + " writes, but is cancelled");
  for (const JobId later : trained_) {
    if (later <= bundle.job || accepted_.at(later).output != output) continue;
    Fail(ToString(bundle.job) + " writes " + output + ", for which " + ToString(later) +
         " has trained");
  }
}

void Checks::CancelledFor(JobId job, const std::string& output) {
  cancelled_.insert(job);
  const SimBundle* there = world_.outputs.Find(output);
  if (there != nullptr && there->job == job) Fail(ToString(job) + " is cancelled and was written");
}

// ---- the coordinator -------------------------------------------------------------------------

void Checks::Persisted(const SimCoordinator& coordinator, const cluster::JournalEntry& entry) {
  if (const auto* started = std::get_if<cluster::GenerationStarted>(&entry)) {
    PersistedGeneration(coordinator, *started);
  }
  if (const auto* accepted = std::get_if<cluster::JobAccepted>(&entry)) {
    accepted_[accepted->job] = accepted->submission;
  }
  const auto* begun = std::get_if<cluster::GenerationStarted>(&entry);
  if (begun != nullptr && !begun->leaves.empty()) trained_.insert(begun->job);
  if (const auto* ended = std::get_if<cluster::JobEnded>(&entry)) {
    members_.erase(ended->snapshot.job);
  }
}

void Checks::PersistedGeneration(const SimCoordinator& coordinator,
                                 const cluster::GenerationStarted& entry) {
  const auto it = members_.find(entry.job);
  if (it != members_.end()) {
    const auto& [generation, before] = it->second;
    const bool same = entry.generation == generation && entry.members == before;
    if (!same && entry.generation <= generation) {
      return Fail("generation " + std::to_string(entry.generation.value) + " of " +
                  ToString(entry.job) + " came again");
    }
    CheckPatience(coordinator, entry, before);
  }
  members_[entry.job] = {entry.generation, entry.members};
}

void Checks::Stepped(const SimCoordinator& coordinator,
                     const cluster::CoordinatorActions& actions) {
  const bool begun = std::any_of(actions.persist.begin(), actions.persist.end(), [](auto& entry) {
    return std::holds_alternative<cluster::GenerationStarted>(entry);
  });
  if (!begun) return;
  std::set<std::string> seen;
  for (const spec::JobSnapshot& job : coordinator.core().Jobs()) {
    // A job that waits for workers may have released some.
    if (spec::IsFinal(job.state) || !job.waiting_because.empty()) continue;
    for (const std::string& name : job.workers) {
      if (IsAwaited(coordinator, actions, job.job, name)) continue;
      if (!seen.insert(name).second) Fail(name + " is a member twice, or of two jobs");
    }
  }
}

// Such a member may have returned as another worker and joined another job, so it is not counted.
bool Checks::IsAwaited(const SimCoordinator& coordinator,
                       const cluster::CoordinatorActions& actions, JobId job,
                       const std::string& name) const {
  const auto it = members_.find(job);
  std::vector<cluster::Member> members =
      it == members_.end() ? std::vector<cluster::Member>() : it->second.second;
  for (const cluster::JournalEntry& entry : actions.persist) {
    const auto* started = std::get_if<cluster::GenerationStarted>(&entry);
    if (started != nullptr && started->job == job) members = started->members;
  }
  const std::vector<spec::WorkerSnapshot> here = coordinator.core().Workers();
  const auto has_come = [&](const cluster::Member& m) {
    return coordinator.welcomed(m.worker) ||
           std::any_of(here.begin(), here.end(),
                       [&](const spec::WorkerSnapshot& w) { return w.worker == m.worker; });
  };
  std::erase_if(members, [&](const cluster::Member& m) { return m.name != name; });
  return !members.empty() && std::none_of(members.begin(), members.end(), has_come);
}

// Checks that a restarted coordinator waits for members that can still return.
void Checks::CheckPatience(const SimCoordinator& coordinator,
                           const cluster::GenerationStarted& entry,
                           const std::vector<cluster::Member>& before) {
  if (!coordinator.young()) return;
  for (const cluster::Member& m : before) {
    const bool stays =
        std::any_of(entry.members.begin(), entry.members.end(),
                    [&](const cluster::Member& now) { return now.worker == m.worker; });
    const SimWorker& process = world_.AtAddress(m.address);
    // A member that was taken out may have returned as another worker.
    const bool here = coordinator.welcomed(m.worker) || process.attached();
    if (stays || here || !process.alive() || process.paused()) continue;
    Fail(ToString(m.worker) + " was given up by a coordinator that had only just begun");
  }
}

void Checks::Sends(const SimCoordinator& coordinator, const cluster::ToWorker& message) {
  const JournalStore& journal = world_.journal;
  if (const auto* m = std::get_if<cluster::Welcome>(&message);
      m && !journal.workers.contains(m->worker)) {
    Fail(ToString(m->worker) + " is welcomed before its number is in the journal");
  }
  const auto durable = [&](JobId job, Generation generation, bool leaves) {
    if (journal.HasGeneration(job, generation, leaves)) return;
    if (journal.reserved.contains({job, generation})) return;
    Fail("generation " + std::to_string(generation.value) + " of " + ToString(job) +
         " is ordered by incarnation " + std::to_string(coordinator.incarnation().value) +
         " before it is in the journal");
  };
  if (const auto* m = std::get_if<cluster::StartProfiling>(&message))
    durable(m->job, m->generation, false);
  if (const auto* m = std::get_if<cluster::StartTraining>(&message))
    durable(m->job, m->generation, true);
  const auto* m = std::get_if<cluster::SwitchOver>(&message);
  if (m != nullptr && !journal.HasGeneration(m->job, m->next, true)) {
    Fail("the end of a generation is ordered before the next one is in the journal");
  }
}

}  // namespace espalier::sim
