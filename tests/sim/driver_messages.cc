// World: messages of yesterday.
#include <type_traits>
#include <utility>

#include "tests/sim/worker.h"
#include "tests/sim/world.h"

namespace espalier::sim {

void World::StrikeMessages(Fault fault) {
  if (fault == Fault::kStaleReduceMessage) return InjectReduce();
  if (fault == Fault::kStaleReport) return InjectReport();
  InjectOrder(fault == Fault::kOldIncarnationOrder);
}

// Of an older round or generation, or of another job.
void World::InjectReduce() {
  const ReduceMessage* recorded = peers.Recorded();
  SimWorker* worker = AnyWorker();
  if (recorded == nullptr || worker == nullptr || worker->runner() == nullptr) return;
  SimMember* member = worker->runner()->member();
  if (member == nullptr || !member->running()) return;
  ReduceMessage m = *recorded;
  m.job = member->point().job;
  m.generation = member->point().generation;
  m.round = member->machine().state().round;
  switch (dice.Below(3)) {
    case 0:
      m.job = {m.job.value + 7};
      break;
    case 1:
      m.generation = {m.generation.value - 1};
      break;
    default:
      m.round -= 1;
  }
  fired(Fault::kStaleReduceMessage);
  member->Inject(m);
}

void World::InjectOrder(bool old_incarnation) {
  SimWorker* worker = AnyWorker();
  if (worker == nullptr || worker->orders().empty()) return;
  const auto& orders = worker->orders();
  ToWorker order = orders[static_cast<size_t>(dice.Below(static_cast<int64_t>(orders.size())))];
  const JobPoint at = worker->at();
  const bool fits = std::visit(
      [&](auto& m) {
        if constexpr (requires { m.generation; }) {
          if (old_incarnation) {
            m.incarnation = {m.incarnation.value - 1};
            m.job = at.job;
            m.generation = {at.generation.value + static_cast<uint64_t>(dice.Below(2))};
            return at.job.value != 0;
          }
          return at.job.value != 0 && m.job == at.job && m.generation < at.generation;
        }
        return false;
      },
      order);
  if (fits && worker->InjectOrder(order)) {
    fired(old_incarnation ? Fault::kOldIncarnationOrder : Fault::kStaleOrder);
  }
}

void World::InjectReport() {
  SimWorker* worker = AnyWorker();
  SimCoordinator* c = coordinator();
  if (worker == nullptr || !worker->attached() || worker->told().empty() || !c->alive() ||
      c->paused())
    return;
  const auto& told = worker->told();
  const FromWorker& report =
      told[static_cast<size_t>(dice.Below(static_cast<int64_t>(told.size())))];
  const bool stale = std::visit(
      [&](const auto& m) {
        if constexpr (requires { m.generation; }) {
          const auto job = c->core().Job(m.job);
          // One that had not begun a planned generation says with it that it misses that.
          using M = std::decay_t<decltype(m)>;
          const bool misses =
              std::is_same_v<M, LinkBroken> && job && checks.Planned(m.job, job->generation);
          return job && m.generation < job->generation && !misses;
        }
        return false;
      },
      report);
  if (stale && c->InjectReport(worker->stream(), report)) fired(Fault::kStaleReport);
}

}  // namespace espalier::sim
