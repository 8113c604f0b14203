// World: faults of planned changes, checkpoints and job states.
#include <vector>

#include "tests/sim/worker.h"
#include "tests/sim/world.h"

namespace espalier::sim {

void World::StrikePlans(Fault fault) {
  SimWorker* worker = AnyWorker();
  if (worker == nullptr) return;
  switch (fault) {
    case Fault::kNewWorker:
      if (workers_.size() > 30) return;
      fired(fault);
      return StartWorker(++hosts_);
    case Fault::kTerminate:
      fired(fault);
      return worker->Terminate();
    case Fault::kCrashTold:
      if (crash_told_) return;
      crash_told_ = true;
      fired(fault);
      return worker->Handle(cluster::Crash{"SIGSEGV"});
    case Fault::kDrain: {
      const auto known = coordinator()->core().Workers();
      if (known.empty() || !coordinator()->alive() || coordinator()->paused()) return;
      fired(fault);
      const auto& one = known[static_cast<size_t>(dice.Below(static_cast<int64_t>(known.size())))];
      return coordinator()->Feed(
          cluster::DrainWorker{cluster::RequestId{~uint64_t{0}}, one.worker, "drain"});
    }
    default:
      break;
  }
  for (const auto& w : workers_) {  // SimWorker::Crash counts these faults
    if (!w->alive() || w->paused()) continue;
    const SimMember* member = w->runner() ? w->runner()->member() : nullptr;
    const bool fits = fault == Fault::kJoinerLost     ? w->joining()
                      : fault == Fault::kPreparerLost ? member && member->core().staging()
                                                      : w->leaving() && w->at().job;
    if (fits) return w->Crash(dice.Once(2));
  }
}

// Returns a member whose state can be corrupted, or null. It must have other members to compare
// with, and enough steps left for a comparison. All members must be computing.
SimMember* World::Corruptible() {
  SimMember* found = nullptr;
  for (const auto& w : workers_) {
    if (!w->alive()) continue;
    SimMember* member = w->runner() ? w->runner()->member() : nullptr;
    if (member == nullptr) return nullptr;
    const member::MemberCore& core = member->core();
    if (core.joining() || core.staging() || Recovers(core)) return nullptr;
    const int64_t steps = member->states().machine().plan().train.steps.value_or(0);
    if (core.place() == nullptr || core.place()->alone()) return nullptr;
    if (member->state().step + 3 * kAgreementSteps > steps) return nullptr;
    if (found == nullptr || dice.Once(2)) found = member;
  }
  return found;
}

bool World::FlipBit(SimMember& member) {
  if (!member.computing()) return false;
  auto& parameters = member.states().machine().state().parameters;
  auto* bytes = reinterpret_cast<uint8_t*>(parameters.data());
  // A high bit of the mantissa. A flipped exponent gives infinite numbers, which other checks find.
  // The effect of a low bit can disappear by rounding before the next comparison.
  const auto at = static_cast<size_t>(dice.Below(static_cast<int64_t>(parameters.size())));
  bytes[at * sizeof(Real) + 2] ^= static_cast<uint8_t>(1 << dice.Below(7));
  return true;
}

void World::StrikeStates(Fault fault) {
  if (fault == Fault::kCheckpointDamaged) {
    if (outputs.Damage(dice)) fired(fault);
    return;
  }
  SimMember* member = Corruptible();
  if (member == nullptr) return;
  Say([&] {
    return std::string("strikes: ") + kFaultNames[static_cast<size_t>(fault)] + " at round " +
           std::to_string(member->state().round);
  });
  if (fault == Fault::kChunkCorrupted) {
    checks.Corrupted(member->point());
    peers.CorruptLater(member->point(), member->state().round);
  } else if (FlipBit(*member)) {
    fired(fault);
    checks.Corrupted(member->point());
  }
}

}  // namespace espalier::sim
