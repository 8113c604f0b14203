// The faults of a simulated world, their short names, and their counts.
#pragma once

#include <algorithm>
#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>

namespace espalier::sim {

enum class Fault {
  kCrashWorker,          // a worker crashes at any moment
  kCrashAtBoundary,      // a worker crashes between two actions
  kHostLost,             // a worker disappears without a connection reset
  kPause,                // SIGSTOP and SIGCONT, shorter than the liveness limit
  kZombie,               // the same, longer than the limit; a replacement can start
  kSlowMember,           // a worker computes 100 times slower
  kSlowDisk,             // a worker's disk is 30 times slower for a while
  kFullDisk,             // a write fails because the disk of a worker is full for a while
  kDelay,                // a link is slow for a while
  kLinkBreak,            // a link between two members breaks once
  kBrokenPair,           // two hosts cannot reach each other for a long time
  kOneWayLoss,           // nothing arrives in one direction
  kPartition,            // a host is cut off from all others
  kCoordinatorStream,    // a stream is reset, which the ends notice at different times
  kHalfOpenStream,       // a stream breaks, and one end does not notice
  kSwizzleClog,          // links are clogged in one order and freed in another
  kEarlyRound,           // a message of the next round arrives early
  kEarlyStream,          // a stream arrives before the member has opened the generation
  kStaleReduceMessage,   // a message of an older generation or round, or of another job
  kStaleOrder,           // an order of an older generation
  kOldIncarnationOrder,  // an order of an older coordinator
  kStaleReport,          // a report of an older generation
  kRepeatedReport,       // a worker repeats a report on a new stream
  kRepeatedOrder,        // the coordinator repeats an order on a new stream
  kCoordinatorCrash,     // the coordinator crashes at any moment
  kCrashBeforeJournal,   // the coordinator crashes before it writes entries
  kCrashAfterJournal,    // the coordinator crashes after the write, before it sends
  kCrashBetweenSends,    // the coordinator crashes between two messages
  kTornJournal,          // the coordinator crashes within a write of several steps
  kJournalFull,          // the disk is full for a while
  kCoordinatorJump,      // the coordinator's clock jumps
  kWorkerJump,           // a worker's clock jumps
  kTwoCoordinators,      // a new coordinator starts while the old one is paused
  kAllWorkersLost,       // all workers crash at once
  kLossDuringRecovery,   // a member is lost while its job recovers
  kStateFetched,         // a member that was behind fetched the state
  // Planned changes.
  kNewWorker,                // an additional worker starts
  kTerminate,                // a worker receives SIGTERM
  kCrashTold,                // a worker crashes and reports it; a second one would fail its job
  kDrain,                    // `espalier drain`
  kJoinerLost,               // a joining member is lost before it begins
  kPreparerLost,             // a member is lost while it loads rows next to the training
  kLeaverLost,               // a leaving member is lost before its release
  kRootLostAtSwitch,         // the root is lost between the stamp and the next generation
  kPreparationFails,         // a member cannot load its rows
  kCoordinatorLostPlanning,  // the coordinator crashes before or while it sends a planned change
  kGrew,                     // a planned change added members
  kShrank,                   // a planned change removed members
  kLeavesMoved,              // a planned change moved leaves between members
  kJoined,
  kLeft,
  // Checkpoints and silent corruption.
  kCheckpointUsed,
  kStateKept,  // a waiting job wrote its state
  kCheckpointHalfWritten,
  kCheckpointDamaged,  // an existing checkpoint was damaged
  kCheckpointRefused,  // a job skipped a damaged checkpoint
  kBitFlipped,         // a bit flipped in a member's parameters
  kChunkCorrupted,     // a bit flipped in a total on its way down the tree
  kDivergence,         // members found that their states differ
  kYielded,            // a job gave all its workers to an older one
  // Commits.
  kPausedCommit,    // the root paused beyond the liveness limit, before an action of the commit
  kPausedWrite,     // the same, before an action that writes a checkpoint
  kFencedCommit,    // an action failed because the writer was fenced
  kJobCancelled,    // a client cancelled a job
  kCancelledLate,   // a client cancelled a job after its model was in place
  kOutputReplaced,  // a later job replaced an output
  // A hostile worker.
  kForeignReport,  // a report about a job of which the worker is not a member
  kLie,            // a false report about the worker's own job
  kCount,
};

constexpr size_t kFaults = static_cast<size_t>(Fault::kCount);

using FaultSet = std::bitset<kFaults>;

// Names for the command line and for the counts.
inline constexpr std::array<const char*, kFaults> kFaultNames = {
    "crash",
    "crash-at-boundary",
    "host-lost",
    "pause",
    "zombie",
    "slow-member",
    "slow-disk",
    "full-disk",
    "delay",
    "link-break",
    "broken-pair",
    "one-way-loss",
    "partition",
    "stream-reset",
    "half-open-stream",
    "swizzle-clog",
    "early-round",
    "early-stream",
    "stale-reduce",
    "stale-order",
    "old-incarnation",
    "stale-report",
    "repeated-report",
    "repeated-order",
    "coordinator-crash",
    "crash-before-journal",
    "crash-after-journal",
    "crash-between-sends",
    "torn-journal",
    "journal-full",
    "coordinator-jump",
    "worker-jump",
    "two-coordinators",
    "all-workers-lost",
    "loss-in-recovery",
    "state-fetched",
    "new-worker",
    "sigterm",
    "reported-crash",
    "drain",
    "joiner-lost",
    "preparer-lost",
    "leaver-lost",
    "root-lost-at-switch",
    "preparation-fails",
    "coordinator-lost-planning",
    "grew",
    "shrank",
    "leaves-moved",
    "joined",
    "left",
    "checkpoint-used",
    "state-kept",
    "checkpoint-half-written",
    "checkpoint-damaged",
    "checkpoint-refused",
    "bit-flipped",
    "chunk-corrupted",
    "divergence",
    "yielded",
    "paused-commit",
    "paused-write",
    "fenced-commit",
    "job-cancelled",
    "cancelled-late",
    "output-replaced",
    "foreign-report",
    "lie",
};
static_assert(std::ranges::none_of(kFaultNames, [](const char* name) { return name == nullptr; }));

// Returns whether a world injects the fault. The others result from it and are only counted.
constexpr bool IsInjected(Fault fault) {
  switch (fault) {
    case Fault::kEarlyRound:
    case Fault::kEarlyStream:
    case Fault::kRepeatedReport:
    case Fault::kRepeatedOrder:
    case Fault::kLossDuringRecovery:
    case Fault::kStateFetched:
    case Fault::kGrew:
    case Fault::kShrank:
    case Fault::kLeavesMoved:
    case Fault::kJoined:
    case Fault::kLeft:
    case Fault::kCheckpointUsed:
    case Fault::kStateKept:
    case Fault::kCheckpointRefused:
    case Fault::kDivergence:
    case Fault::kYielded:
    case Fault::kFencedCommit:
    case Fault::kCancelledLate:
    case Fault::kOutputReplaced:
      return false;
    default:
      return true;
  }
}

// The number of times each fault occurred.
struct FaultCounts {
  std::array<int64_t, kFaults> fired{};
  void operator()(Fault f) { ++fired[static_cast<size_t>(f)]; }
  int64_t of(Fault f) const { return fired[static_cast<size_t>(f)]; }
  void Add(const FaultCounts& other) {
    for (size_t i = 0; i < kFaults; ++i) fired[i] += other.fired[i];
  }
};

}  // namespace espalier::sim
