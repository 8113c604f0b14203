// The invariants of a simulated world. They are checked after every event that could break them.
// The first violation is final and ends the run.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "src/cluster/coordinator_actions.h"
#include "src/member/member_core.h"
#include "tests/sim/outputs.h"
#include "tests/sim/peers.h"
#include "tests/sim/toy_job.h"

namespace espalier::sim {

class SimCoordinator;
class SimMember;
class SimWorker;
class World;

class Checks {
 public:
  explicit Checks(World& world) : world_(world) {}

  void Fail(const std::string& what);
  bool failed() const { return !failure_.empty(); }
  const std::string& failure() const { return failure_; }

  // A member passes an event to its core, or has performed an action of its core. Calls the checks
  // of members below, and counts the faults that these show.
  void Passes(const SimMember& member, const member::MemberEvent& event);
  void Performed(const SimMember& member, const member::MemberAction& action);

  // A member is between two rounds of a generation. Checks that its state is that of the
  // undisturbed run, that it never goes back, and that all members are within one round.
  void Reached(const SimWorker& worker, const MemberPoint& point, const ToyJob& toy,
               const training::TrainingState<Real>& state);
  // A member is about to commit a total. Checks that it contains each leaf and each row once.
  void Counted(const SimWorker& worker, const ToyJob& toy, const training::Action& action,
               const collective::Payload& last);
  // The actions are the result of a stale message. Checks that there are none.
  void Ignored(const SimWorker& worker, const collective::ReduceActions& actions);
  // A worker begins the job `begins`. Checks that `present` is not another job.
  void Works(const SimWorker& worker, JobId present, JobId begins);
  // A worker receives an order to train. Checks that all members receive the same leaf owners.
  void Ordered(const SimWorker& worker, const cluster::StartTraining& order);
  // A member reports that another one is unreachable. Checks that there is a reason.
  void Complains(const SimWorker& worker, const member::Place& place,
                 const cluster::LinkBroken& report);
  void Complains(const SimWorker& worker, const MemberPoint& point, uint32_t about);
  // A member ended its generation because the root's stamp in a total ordered it. Checks that all
  // go to the same generation, and that a leaving member is not in it.
  void Switches(const SimWorker& worker, const MemberPoint& point, Generation next);
  void Adopts(const SimWorker& worker, const member::Place& before, const member::Place& next);
  void Leaves(const SimWorker& worker, const MemberPoint& point, Generation next);
  // Returns whether that generation of a job begins by plan.
  bool Planned(JobId job, Generation generation) const {
    return planned_.contains({job, generation});
  }
  // From now on, the states of that generation's members may be wrong until they compare them.
  void Corrupted(const MemberPoint& point) { corrupted_.insert({point.job, point.generation}); }
  // A member went back to a state that all agreed on. Checks that the state is correct and that
  // there was a corruption.
  void Restored(const SimWorker& worker, const ToyJob& toy, const MemberPoint& point,
                const training::TrainingState<Real>& state);
  // A member fails its job. No fault causes this, except that a joining member may fail to prepare.
  void MemberFails(const SimWorker& worker, const member::EndRun& end);
  // A bundle becomes the output. Checks its weights, and that no later job with this output has
  // trained.
  void Written(const std::string& output, const SimBundle& bundle);
  // The coordinator confirmed a cancel to the client. Checks that the job has no output.
  void CancelledFor(JobId job, const std::string& output);

  // Checks that no worker is a member of two jobs.
  void Stepped(const SimCoordinator& coordinator, const cluster::CoordinatorActions& actions);
  // The coordinator wrote an entry. Checks that no generation is used twice.
  void Persisted(const SimCoordinator& coordinator, const cluster::JournalEntry& entry);
  // The coordinator is about to send a message. Checks that its entries are durable.
  void Sends(const SimCoordinator& coordinator, const cluster::ToWorker& message);

 private:
  void PersistedGeneration(const SimCoordinator& coordinator,
                           const cluster::GenerationStarted& entry);
  // Returns whether no member of the job with that name has attached since the coordinator started.
  bool IsAwaited(const SimCoordinator& coordinator, const cluster::CoordinatorActions& actions,
                 JobId job, const std::string& name) const;
  void CheckPatience(const SimCoordinator& coordinator, const cluster::GenerationStarted& entry,
                     const std::vector<cluster::Member>& before);

  using GenerationKey = std::pair<JobId, Generation>;
  struct Front {
    std::map<const SimWorker*, uint64_t> rounds;
    std::map<uint64_t, int> members_at;
    std::optional<uint64_t> level;  // round in which all began
  };

  World& world_;
  std::string failure_;
  std::map<GenerationKey, Front> fronts_;
  std::map<GenerationKey, std::vector<std::pair<uint64_t, int32_t>>> owners_;
  std::map<std::pair<const SimWorker*, const training::TrainingState<Real>*>, uint64_t> reached_;
  std::map<JobId, std::pair<Generation, std::vector<cluster::Member>>> members_;
  std::map<GenerationKey, std::set<std::string>> rosters_;  // addresses
  std::map<GenerationKey, Generation> switched_;
  std::set<GenerationKey> planned_, corrupted_;
  std::map<JobId, cluster::Submission> accepted_;
  std::set<JobId> trained_, cancelled_;
};

}  // namespace espalier::sim
