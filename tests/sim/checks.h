// The invariants of a simulated world, looked at after every event that could break them. The
// first violation sticks and ends the run.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "src/cluster/coordinator_actions.h"
#include "tests/sim/member.h"
#include "tests/sim/outputs.h"
#include "tests/sim/peers.h"
#include "tests/sim/toy_job.h"

namespace espalier::sim {

class SimCoordinator;
class SimWorker;
class World;

class Checks {
 public:
  explicit Checks(World& world) : world_(world) {}

  void Fail(const std::string& what);
  bool failed() const { return !failure_.empty(); }
  const std::string& failure() const { return failure_; }

  // A member stands between two rounds of a generation: its state is that of the undisturbed run,
  // it never goes back, and no other member of the generation is more than one round away.
  void Reached(const SimWorker& worker, const MemberPoint& point, const ToyJob& toy,
               const training::TrainingState<Real>& state);
  // A total is about to be committed: each leaf is in it once, and each of its rows.
  void Counted(const SimWorker& worker, const ToyJob& toy, const training::Action& action,
               const collective::Payload& last);
  // A message that must be ignored led to this.
  void Ignored(const SimWorker& worker, const collective::ReduceActions& actions);
  // A worker takes part in `begins`; it works on `present`.
  void Works(const SimWorker& worker, JobId present, JobId begins);
  // A generation has one owner of each leaf: all hear the same.
  void Ordered(const SimWorker& worker, const cluster::StartTraining& order);
  // A member says that another one cannot be reached.
  void Complains(const SimWorker& worker, const MemberPoint& point, uint32_t about);
  // A member ended its generation because the root stamped that into a total: the next one has it,
  // or has not.
  void Switches(const SimWorker& worker, const MemberPoint& point, Generation next);
  void Leaves(const SimWorker& worker, const MemberPoint& point, Generation next);
  // That generation of a job was, or is to be, begun by plan.
  bool Planned(JobId job, Generation generation) const {
    return planned_.contains({job, generation});
  }
  // From now on the states of that generation's members may be wrong, until they find out.
  void Corrupted(const MemberPoint& point) { corrupted_.insert({point.job, point.generation}); }
  // A member went back to a state that all agreed on.
  void Restored(const SimWorker& worker, const ToyJob& toy, const MemberPoint& point,
                const training::TrainingState<Real>& state);
  // Nothing here makes a member fail its job, but one that is to join may not be able to.
  void MemberFails(const SimWorker& worker, const SimMember::End& end);
  // A bundle is put in place: the right one, and not after a later job with this output trained.
  void Written(const std::string& output, const SimBundle& bundle);
  // A client was told that the job is cancelled and has no output.
  void CancelledFor(JobId job, const std::string& output);

  // No worker is a member of two jobs.
  void Stepped(const SimCoordinator& coordinator, const cluster::CoordinatorActions& actions);
  // The coordinator wrote, or is about to send: what it sends is durable, no number is used twice.
  void Persisted(const SimCoordinator& coordinator, const cluster::JournalEntry& entry);
  void Sends(const SimCoordinator& coordinator, const cluster::ToWorker& message);

 private:
  void PersistedGeneration(const SimCoordinator& coordinator,
                           const cluster::GenerationStarted& entry);
  // A member of the job that has not come to this life of the coordinator.
  bool IsAwaited(const SimCoordinator& coordinator, const cluster::CoordinatorActions& actions,
                 JobId job, const std::string& name) const;
  void CheckPatience(const SimCoordinator& coordinator, const cluster::GenerationStarted& entry,
                     const std::vector<cluster::Member>& before);

  using GenerationKey = std::pair<JobId, Generation>;
  struct Front {
    std::map<const SimWorker*, uint64_t> rounds;
    std::map<uint64_t, int> members_at;
    std::optional<uint64_t> level;  // where all began
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
