// What goes wrong in a simulated world, and how often it did.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace espalier::sim {

enum class Fault {
  kCrashWorker,          // at any moment
  kCrashAtBoundary,      // between two actions of a worker
  kHostLost,             // its partners hear nothing
  kPause,                // SIGSTOP and SIGCONT below the liveness limit
  kZombie,               // ... beyond it, its place taken meanwhile
  kSlowMember,           // computes a hundred times longer
  kDelay,                // a link is slow for a while
  kLinkBreak,            // between two members, once
  kBrokenPair,           // between two hosts, lasting
  kOneWayLoss,           // nothing arrives in one direction
  kPartition,            // a host is cut off from all
  kCoordinatorStream,    // reset, noticed at different times
  kHalfOpenStream,       // broken, and one side does not notice
  kSwizzleClog,          // links clogged in one order, freed in another
  kEarlyRound,           // a message of the next round came early
  kEarlyStream,          // a link of a generation that is not open here yet
  kStaleReduceMessage,   // of an older generation, round or another job
  kStaleOrder,           // of an older generation
  kOldIncarnationOrder,  // of an older coordinator
  kStaleReport,          // of an older generation
  kRepeatedReport,       // told again on a new stream
  kRepeatedOrder,        // sent again on a new stream
  kCoordinatorCrash,     // at any moment
  kCrashBeforeJournal,   // before the entries are written
  kCrashAfterJournal,    // before anything is sent
  kCrashBetweenSends,    // some have gone out
  kTornJournal,          // the entries are written in part
  kJournalFull,          // the disk takes nothing for a while
  kCoordinatorJump,      // its clock
  kWorkerJump,           // a worker's clock
  kTwoCoordinators,      // an old one was only paused
  kAllWorkersLost,       // at once
  kLossDuringRecovery,   // a member is lost while its job recovers
  kStateFetched,         // a member that was behind fetched the state
  // Planned changes.
  kNewWorker,                // one more than there were
  kTerminate,                // SIGTERM
  kCrashTold,                // a worker crashes and says so; a second one would fail its job
  kDrain,                    // `espalier drain`
  kJoinerLost,               // before it has begun
  kPreparerLost,             // a member that loads rows beside the training
  kLeaverLost,               // before it was let go
  kRootLostAtSwitch,         // between the stamp and the next generation
  kPreparationFails,         // rows cannot be loaded
  kCoordinatorLostPlanning,  // around what a planned change writes and sends
  kGrew,                     // a planned change in which somebody joined
  kShrank,                   // ... in which somebody left
  kLeavesMoved,              // ... in which members exchanged leaves
  kJoined,
  kLeft,
  // Checkpoints and silent corruption.
  kCheckpointUsed,
  kStateKept,  // of a job that stands still
  kCheckpointHalfWritten,
  kCheckpointDamaged,  // one that lay there
  kCheckpointRefused,  // ... is left out
  kBitFlipped,         // in a member's parameters
  kChunkCorrupted,     // a total on its way down the tree
  kDivergence,         // members found that their states differ
  kYielded,            // a job gave all its workers to an older one
  // Commits.
  kPausedCommit,    // beyond the liveness limit, before one of its actions
  kFencedCommit,    // an action of it failed because its writer was fenced
  kJobCancelled,    // by a client
  kCancelledLate,   // ... when the model was in place
  kOutputReplaced,  // by that of a later job
  // A hostile worker.
  kForeignReport,  // about a job whose member it is not
  kLie,            // about its own job
  kCount,
};

constexpr size_t kFaults = static_cast<size_t>(Fault::kCount);

inline constexpr std::array<const char*, kFaults> kFaultNames = {
    "crash of a worker",
    "crash at an action's boundary",
    "host lost",
    "pause",
    "zombie",
    "slow member",
    "delay",
    "link break",
    "broken pair",
    "one-way loss",
    "partition",
    "coordinator stream reset",
    "half-open stream",
    "swizzle-clogging",
    "early message of the next round",
    "early stream of the next generation",
    "stale reduce message",
    "stale order",
    "order of an old incarnation",
    "stale report",
    "repeated report",
    "repeated order",
    "coordinator crash",
    "coordinator crash before the journal",
    "coordinator crash after the journal",
    "coordinator crash between sends",
    "torn journal",
    "journal full",
    "coordinator clock jump",
    "worker clock jump",
    "two coordinators",
    "all workers lost",
    "loss during recovery",
    "state fetched",
    "new worker",
    "SIGTERM",
    "drain",
    "loss of a joiner",
    "loss of a member that prepares",
    "loss of a leaver",
    "loss of the root at a switch",
    "preparation fails",
    "coordinator crash around a planned change",
    "growth",
    "shrinkage",
    "leaves moved",
    "joined",
    "left",
    "checkpoint used",
    "state kept",
    "checkpoint half written",
    "checkpoint damaged",
    "checkpoint refused",
    "bit flipped",
    "chunk corrupted",
    "states differ",
    "yielded",
    "pause within a commit",
    "fenced commit",
    "job cancelled",
    "job cancelled too late",
    "output replaced",
    "report about another job",
    "lie about the own job",
};

// How often each fired.
struct FaultCounts {
  std::array<int64_t, kFaults> fired{};
  void operator()(Fault f) { ++fired[static_cast<size_t>(f)]; }
  int64_t of(Fault f) const { return fired[static_cast<size_t>(f)]; }
  void Add(const FaultCounts& other) {
    for (size_t i = 0; i < kFaults; ++i) fired[i] += other.fired[i];
  }
};

}  // namespace espalier::sim
