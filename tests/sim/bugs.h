// Faults planted into the simulated shells to see that the checks find them. They exist in the
// simulation only.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>

namespace espalier::sim {

enum class Bug {
  kApplyBeforeWholeTotal,  // a step is applied when its first bucket is there
  kDropEarlyMessages,      // those of the next round are not held
  kRefuseEarlyStreams,     // of a generation that is not opened here yet
  kReuseGeneration,        // the second generation has the number of the first
  kSkipFetch,              // who is behind goes on from its own state
  kFetchFromBehind,        // Proceed names a member that is behind as the holder
  kBeginBeforeLevel,       // the round begins before all are ready
  kObeyTwice,              // an order that was sent again is begun again
  kSumInOrderOfArrival,    // leaves are added as they finish
  kSkipMovedLeaf,          // a leaf that came over from another member is left out
  kCountMovedLeafTwice,    // a leaf that went to another member is still counted
  kRowsOfOldOwnership,     // the rows of the leaves owned before
  kAbortedRootWrites,      // a root that lost the job puts its weights in place
  kDropLinksAtOnce,        // a broken link closes all others
  kIgnoreIncarnation,      // orders of an old coordinator are obeyed
  kSendBeforeJournal,      // an order leaves before its generation is durable
  kForgetSlots,            // the state that is handed over lacks the optimizer's
  kForgetBest,             // ... lacks what early stopping keeps
  kInterruptBeforeUpdate,  // between the total's statistics and its update
  kEvaluateOwnRows,        // the evaluation counts the member's own rows only
  kKeepOldJob,             // a worker does not drop its job when another one begins
  kForgetReports,          // what was told on a stream that broke is not told again
  kDeathAfterRestart,      // a restarted coordinator does not wait for its members
  kJoinAsIfAtFirst,        // one that joins does not wait for the state
  kJoinOneRoundLate,       // ... begins a round late
  kOfferOlderState,        // the state that is handed over is of the round before
  kReadyBeforeRows,        // told before they are loaded
  kSwitchWithoutRows,      // those of leaves that come are not loaded at all
  kSwitchBeforeUpdate,     // the last total of a generation is not applied
  kStampTwice,             // the root ends the new generation as well
  kDropLinksOfBefore,      // ... of the old generation at once
  kLeaverDropsLinks,       // a leaver does so after its last total
  kDoNotGoBack,            // who was interrupted before it saw that states differ keeps its own
  kIgnoreDivergence,       // states that differ are taken for agreed
  kTellOnlyNewHistory,     // a new generation does not tell the evaluations before it
  kDoNotFence,             // older writers keep their slots
  kFillAnySlot,            // a slot is made again when a bundle is moved into it
  kReserveLate,            // a slot is made at the commit, not before the member is ready
  kCount,
};

constexpr size_t kBugs = static_cast<size_t>(Bug::kCount);
using Bugs = std::bitset<kBugs>;

inline constexpr std::array<const char*, kBugs> kBugNames = {
    "apply before the whole total",
    "drop early messages",
    "refuse early streams",
    "re-use a generation number",
    "skip the fetch when behind",
    "fetch from a member that is behind",
    "begin a round before all are level",
    "obey an order twice",
    "sum in order of arrival",
    "skip a leaf after a move",
    "count a leaf twice after a move",
    "rows of an old ownership",
    "an aborted root writes its bundle",
    "drop all links at once",
    "ignore the incarnation",
    "send before journal",
    "forget the optimizer's slots",
    "forget the best weights",
    "interrupt between total and update",
    "evaluate own rows only",
    "keep the old job",
    "forget reports",
    "declare death right after a restart",
    "join as if at first",
    "join one round late",
    "offer an older state",
    "ready before the rows are there",
    "switch without rows",
    "switch before the update",
    "stamp twice",
    "drop the links of before at once",
    "a leaver drops its links",
    "do not go back",
    "ignore that states differ",
    "tell only new history",
    "do not fence",
    "fill any slot",
    "reserve late",
};

}  // namespace espalier::sim
