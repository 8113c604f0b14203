// World: stale messages, and messages of a hostile worker.
#include <algorithm>
#include <memory>
#include <string>
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

// Injects a message of an older round or generation, or of another job.
void World::InjectReduce() {
  const collective::ReduceMessage* recorded = peers.Recorded();
  SimWorker* worker = AnyWorker();
  if (recorded == nullptr || worker == nullptr || worker->runner() == nullptr) return;
  SimMember* member = worker->runner()->member();
  if (member == nullptr || member->core().phase() == member::MemberCore::Phase::kIdle) return;
  collective::ReduceMessage m = *recorded;
  m.job = member->point().job;
  m.generation = member->point().generation;
  m.round = member->state().round;
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
  collective::TreeReducer* reducer = member->reducer();
  if (reducer == nullptr || reducer->failed()) return;
  checks.Ignored(*worker, reducer->OnMessage(m));
}

void World::InjectOrder(bool old_incarnation) {
  SimWorker* worker = AnyWorker();
  if (worker == nullptr || worker->orders().empty()) return;
  const auto& orders = worker->orders();
  cluster::ToWorker order =
      orders[static_cast<size_t>(dice.Below(static_cast<int64_t>(orders.size())))];
  const cluster::JobPoint at = worker->at();
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
  const cluster::FromWorker& report =
      told[static_cast<size_t>(dice.Below(static_cast<int64_t>(told.size())))];
  const bool stale = std::visit(
      [&](const auto& m) {
        if constexpr (requires { m.generation; }) {
          const auto job = c->core().Job(m.job);
          // A member that has not begun a planned generation sends LinkBroken to report that. The
          // report is not stale.
          using M = std::decay_t<decltype(m)>;
          const bool misses = std::is_same_v<M, cluster::LinkBroken> && job &&
                              checks.Planned(m.job, job->generation);
          return job && m.generation < job->generation && !misses;
        }
        return false;
      },
      report);
  if (stale && c->InjectReport(worker->stream(), report)) fired(Fault::kStaleReport);
}

// Sends the report of a member from a worker that is not a member. It must change nothing.
void World::InjectForeignReport() {
  SimWorker *worker = AnyWorker(), *member = AnyWorker();
  SimCoordinator* c = coordinator();
  if (worker == nullptr || !worker->attached() || !c->alive() || c->paused()) return;
  const cluster::JobPoint at = member->at();
  const auto job = c->core().Job(at.job);
  if (!job || spec::IsFinal(job->state) || at.generation != job->generation) return;
  const auto& names = job->workers;
  const bool is_member = std::find(names.begin(), names.end(), worker->name()) != names.end();
  if (is_member || worker->at().job == at.job) return;
  cluster::FromWorker report = cluster::JobDone{at.job, at.generation, {}};
  const auto& told = member->told();
  if (!told.empty() && dice.Below(4) != 0) {
    report = told[static_cast<size_t>(dice.Below(static_cast<int64_t>(told.size())))];
  }
  // A worker that is to join by plan may send MemberReady of the planned generation, although it
  // has not received the order yet.
  const bool fits = std::visit(
      [&](const auto& m) {
        using M = std::decay_t<decltype(m)>;
        if constexpr (std::is_same_v<M, cluster::MemberReady>) {
          return m.job == at.job && m.generation <= at.generation;
        } else if constexpr (requires { m.generation; }) {
          return m.job == at.job;
        }
        return false;
      },
      report);
  if (fits && c->InjectReport(worker->stream(), report)) fired(Fault::kForeignReport);
}

// Sends a false report of a member. Its job may fail, but no other job may change.
void World::InjectLie() {
  SimWorker* worker = AnyWorker();
  SimCoordinator* c = coordinator();
  if (worker == nullptr || !worker->attached() || !c->alive() || c->paused()) return;
  const cluster::JobPoint at = worker->at();
  if (!at.job) return;
  cluster::FromWorker lie;
  switch (dice.Below(8)) {
    case 0: {
      cluster::JobDone done{at.job, at.generation, {}};
      done.result.weights_sha256 = std::string(64, '0');
      lie = std::move(done);
      break;
    }
    case 1:
      lie = cluster::JobFailed{at.job, at.generation, Internal("a lie")};
      break;
    case 2: {
      cluster::HistoryEntry entry{at.job, at.generation, {}};
      entry.row.step = 1 + dice.Below(1'000'000);
      entry.number = dice.Below(2);
      lie = std::move(entry);
      break;
    }
    case 3: {
      cluster::Progress progress{at.job, at.generation};
      progress.progress.step = dice.Below(1'000'000'000);
      lie = std::move(progress);
      break;
    }
    case 4:
      lie = cluster::Uneven{at.job, at.generation, 1, {1.0}};
      break;
    case 5: {
      cluster::LinkBroken broken{at.job, at.generation, {}, Unavailable("a lie")};
      for (const spec::WorkerSnapshot& other : c->core().Workers()) {
        if (other.job == at.job && (!broken.other || dice.Once(2))) broken.other = other.worker;
      }
      lie = std::move(broken);
      break;
    }
    case 6: {
      cluster::StateKept kept{at.job, at.generation, 1 + dice.Below(1'000'000), "/out/lie", {}};
      lie = std::move(kept);
      break;
    }
    default:
      lie = cluster::ProfilePart{
          at.job, at.generation, {std::make_shared<const spec::ShardResult>()}};
  }
  if (c->InjectLie(worker->stream(), lie, at.job)) fired(Fault::kLie);
}

}  // namespace espalier::sim
