// World: which faults strike, and when. Each seed enables some of the faults and determines their
// frequency.
#include <algorithm>
#include <utility>

#include "tests/sim/worker.h"
#include "tests/sim/world.h"

namespace espalier::sim {
namespace {

// The faults that the driver injects. The others strike at boundaries or occur by themselves.
constexpr Fault kStruck[] = {
    Fault::kCrashWorker,
    Fault::kHostLost,
    Fault::kPause,
    Fault::kZombie,
    Fault::kSlowMember,
    Fault::kSlowDisk,
    Fault::kFullDisk,
    Fault::kDelay,
    Fault::kLinkBreak,
    Fault::kBrokenPair,
    Fault::kOneWayLoss,
    Fault::kPartition,
    Fault::kCoordinatorStream,
    Fault::kHalfOpenStream,
    Fault::kSwizzleClog,
    Fault::kStaleReduceMessage,
    Fault::kStaleOrder,
    Fault::kOldIncarnationOrder,
    Fault::kStaleReport,
    Fault::kCoordinatorCrash,
    Fault::kJournalFull,
    Fault::kCoordinatorJump,
    Fault::kWorkerJump,
    Fault::kTwoCoordinators,
    Fault::kAllWorkersLost,
    Fault::kNewWorker,
    Fault::kTerminate,
    Fault::kCrashTold,
    Fault::kDrain,
    Fault::kJoinerLost,
    Fault::kPreparerLost,
    Fault::kLeaverLost,
    Fault::kCheckpointDamaged,
    Fault::kBitFlipped,
    Fault::kChunkCorrupted,
    Fault::kJobCancelled,
    Fault::kForeignReport,
    Fault::kLie,
};

constexpr int64_t kMs = 1000, kSecond = 1'000'000;

}  // namespace

void World::ChooseFaults() {
  for (size_t f = 0; f < kFaults; ++f) enabled_.set(f, dice.Once(3));
  if (dice.Once(4)) enabled_.set();
  // These faults stop the progress of all jobs, so they are rarer.
  for (const Fault f :
       {Fault::kAllWorkersLost, Fault::kCoordinatorCrash, Fault::kJournalFull,
        Fault::kTwoCoordinators, Fault::kCrashBeforeJournal, Fault::kCrashAfterJournal,
        Fault::kCrashBetweenSends, Fault::kTornJournal}) {
    enabled_.set(static_cast<size_t>(f), Enabled(f) && dice.Once(3));
  }
  gap_ = 20 << dice.Below(4);
  boundary_ = 300 << dice.Below(3);
  constexpr int64_t kPaces[] = {1, 1, 20, 60};
  constexpr int64_t kRebalanceMs[] = {500, 2000, 60'000};
  pace_ = kPaces[dice.Below(std::size(kPaces))];
  rebalance_ms_ = kRebalanceMs[dice.Below(std::size(kRebalanceMs))];
  checkpoints_ = dice.Once(2);
  corrupting_ = dice.Once(12);
  const bool was_slow = Enabled(Fault::kSlowMember), was_delayed = Enabled(Fault::kDelay);
  if (corrupting_) enabled_.reset();
  const auto set = [this](Fault f, bool on) { enabled_.set(static_cast<size_t>(f), on); };
  set(Fault::kBitFlipped, corrupting_);
  set(Fault::kChunkCorrupted, corrupting_);
  set(Fault::kSlowMember, was_slow);
  set(Fault::kDelay, was_delayed);
  if (!options.faults) return;
  enabled_ = *options.faults;
  corrupting_ = Enabled(Fault::kBitFlipped) || Enabled(Fault::kChunkCorrupted);
}

bool World::Strikes(Fault fault) {
  if (!faulty_ || !Enabled(fault)) return false;
  int64_t odds = 60;
  if (fault == Fault::kCrashAtBoundary) odds = boundary_;
  if (fault >= Fault::kNewWorker && fault != Fault::kPausedWrite) odds = 8;  // rare boundaries
  if (!dice.Once(odds)) return false;
  fired(fault);
  return true;
}

bool World::PausesBefore(const std::string& action, Fault fault) {
  if (!faulty_ || options.pause_before != action) return Strikes(fault);
  fired(fault);
  return true;
}

void World::MaybeStrike() {
  if (!dice.Once(tick_ ? gap_ * 8 : gap_)) return;
  const Fault fault = kStruck[dice.Below(static_cast<int64_t>(std::size(kStruck)))];
  if (Enabled(fault)) Strike(fault);
}

void World::Strike(Fault fault) {
  if (fault == Fault::kJobCancelled) return client.CancelOne();
  if (fault == Fault::kForeignReport) return InjectForeignReport();
  if (fault == Fault::kLie) return InjectLie();
  if (fault >= Fault::kCheckpointUsed) return StrikeStates(fault);
  if (fault >= Fault::kNewWorker) return StrikePlans(fault);
  if (fault <= Fault::kFullDisk || fault == Fault::kWorkerJump || fault == Fault::kAllWorkersLost) {
    StrikeWorkers(fault);
  } else if (fault <= Fault::kPartition || fault == Fault::kSwizzleClog) {
    StrikeLinks(fault);
  } else if (fault >= Fault::kStaleReduceMessage && fault <= Fault::kStaleReport) {
    StrikeMessages(fault);
  } else {
    StrikeCoordinators(fault);
  }
}

SimWorker* World::AnyWorker() {
  std::vector<SimWorker*> alive;
  for (const auto& w : workers_) {
    if (w->alive() && !w->paused()) alive.push_back(w.get());
  }
  return alive.empty() ? nullptr
                       : alive[static_cast<size_t>(dice.Below(static_cast<int64_t>(alive.size())))];
}

int World::AnyHost() const { return static_cast<int>(const_cast<Dice&>(dice).Between(1, hosts_)); }

// ---- workers ---------------------------------------------------------------------------------

void World::PauseFor(SimWorker& worker, int64_t us) {
  worker.Pause();
  queue.After(us, [&worker] { worker.Resume(); });
}

void World::PauseLong(SimWorker& worker) {
  PauseFor(worker, 6 * kSecond + dice.Below(25 * kSecond));
  if (dice.Once(2)) ReplaceLater(worker.host());
}

void World::StrikeWorkers(Fault fault) {
  SimWorker* worker = AnyWorker();
  if (worker == nullptr) return;
  if (fault != Fault::kFullDisk) fired(fault);  // SimWorker::Room counts the refused writes
  Say([&] { return std::string("strikes: ") + kFaultNames[static_cast<size_t>(fault)]; });
  switch (fault) {
    case Fault::kCrashWorker:
      return worker->Crash(true);
    case Fault::kHostLost:
      return worker->Crash(false);
    case Fault::kPause:
      return PauseFor(*worker, 10 * kMs + dice.Below(4 * kSecond));
    case Fault::kZombie:
      return PauseLong(*worker);
    case Fault::kSlowMember:
      worker->SlowDown(100);
      queue.After(dice.Below(5 * kSecond), [worker] { worker->SlowDown(1); });
      return;
    case Fault::kSlowDisk:
      worker->disk().slow = 30;
      queue.After(dice.Below(10 * kSecond), [worker] { worker->disk().slow = 1; });
      return;
    case Fault::kFullDisk:
      worker->disk().full = true;
      queue.After(dice.Below(20 * kSecond), [worker] { worker->disk().full = false; });
      return;
    case Fault::kWorkerJump:
      return worker->JumpClock(dice.Below(20'000));
    default:  // all at once
      for (size_t i = workers_.size(); i-- > 0;) workers_[i]->Crash(true);
  }
}

// ---- links -----------------------------------------------------------------------------------

void World::BlockFor(int from, int to, int64_t us) {
  net.Block(from, to);
  peers.Watch(from, to);
  queue.After(us, [this, from, to] { net.Free(from, to); });
}

// Blocks links in one order and frees them in another. Counts each link.
void World::Clog() {
  std::vector<std::pair<int, int>> pairs;
  for (int a = 0; a <= hosts_; ++a) {
    for (int b = 0; b <= hosts_; ++b) {
      if (a != b && dice.Once(3)) pairs.emplace_back(a, b);
    }
  }
  for (const auto& [a, b] : pairs) {
    const int64_t from_us = dice.Below(300 * kMs), us = dice.Below(3 * kSecond);
    queue.After(from_us, [this, a = a, b = b, us] {
      if (!faulty_) return;
      fired(Fault::kSwizzleClog);
      BlockFor(a, b, us);
    });
  }
}

void World::StrikeLinks(Fault fault) {
  const int a = AnyHost();
  int b = AnyHost();
  if (a == b) b = kCoordinatorHost;
  const int64_t us = dice.Below(dice.Once(3) ? 40 * kSecond : 2 * kSecond);
  if (fault == Fault::kLinkBreak && !peers.BreakOne()) return;
  if (fault == Fault::kBrokenPair && b == kCoordinatorHost) return;
  if (fault != Fault::kSwizzleClog) fired(fault);  // Clog counts its links
  Say([&] {
    return std::string("strikes: ") + kFaultNames[static_cast<size_t>(fault)] + " " +
           std::to_string(a) + " " + std::to_string(b) + " for " + std::to_string(us);
  });
  switch (fault) {
    case Fault::kDelay:
      net.SlowDown(a, b, 50);
      queue.After(us, [this, a, b] { net.SlowDown(a, b, 1); });
      return;
    case Fault::kBrokenPair:
      BlockFor(a, b, 300 * kSecond);
      BlockFor(b, a, 300 * kSecond);
      return;
    case Fault::kOneWayLoss:
      return BlockFor(a, b, us);
    case Fault::kPartition:
      for (int h = 0; h <= hosts_; ++h) {
        if (h == a) continue;
        BlockFor(a, h, us);
        BlockFor(h, a, us);
      }
      return;
    case Fault::kSwizzleClog:
      return Clog();
    default:
      return;
  }
}

// ---- coordinators ----------------------------------------------------------------------------

void World::StrikeCoordinators(Fault fault) {
  SimCoordinator* c = coordinator();
  SimWorker* worker = AnyWorker();
  const bool stream = fault == Fault::kCoordinatorStream || fault == Fault::kHalfOpenStream;
  if (!c->alive() || (stream && (worker == nullptr || !worker->stream()))) return;
  fired(fault);
  Say([&] { return std::string("strikes: ") + kFaultNames[static_cast<size_t>(fault)]; });
  switch (fault) {
    case Fault::kCoordinatorStream:
      return streams.Reset(worker->stream(), dice.Below(50 * kMs),
                           dice.Below(dice.Once(2) ? 3 * kSecond : 50 * kMs));
    case Fault::kHalfOpenStream:
      return dice.Once(2) ? streams.Reset(worker->stream(), dice.Below(50 * kMs), -1)
                          : streams.Reset(worker->stream(), -1, dice.Below(50 * kMs));
    case Fault::kJournalFull:
      journal.full = true;
      queue.After(dice.Below(10 * kSecond), [this] { journal.full = false; });
      return;
    case Fault::kCoordinatorJump:
      return c->JumpClock(dice.Below(30'000));
    case Fault::kTwoCoordinators:
      c->Pause();
      queue.After(dice.Below(8 * kSecond), [c] { c->Resume(); });
      return StartCoordinator();
    default:
      return c->Crash();
  }
}

}  // namespace espalier::sim
