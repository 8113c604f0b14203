// Bugs to plant into the simulation, which prove that the checks find them. The cores are the
// shipped ones. A bug of a core changes an event or an action at its border (planted.cc).
#pragma once

#include <array>
#include <bitset>
#include <cstddef>

namespace espalier::sim {

enum class Bug {
  kApplyBeforeWholeTotal,  // a member applies a step before all buckets of the total are there
  kDropEarlyMessages,      // a member drops messages of the next round
  kRefuseEarlyStreams,     // a member refuses streams of a generation that it has not opened yet
  kReuseGeneration,        // the second generation has the number of the first
  kSkipFetch,              // a member that is behind continues from its own state
  kFetchFromBehind,        // Proceed names a member that is behind as the holder
  kBeginBeforeLevel,       // a member begins the round before all are ready
  kObeyTwice,              // a worker performs a repeated order again
  kSumInOrderOfArrival,    // a member adds leaves in the order in which they finish
  kSkipMovedLeaf,          // a member leaves out a leaf that it took over
  kCountMovedLeafTwice,    // a member still counts a leaf that another member took over
  kRowsOfOldOwnership,     // a member uses the rows of its previous leaves
  kAbortedRootWrites,      // a root that lost the job commits its weights
  kDropLinksAtOnce,        // a broken link closes all others
  kIgnoreIncarnation,      // a worker obeys orders of an old coordinator
  kSendBeforeJournal,      // the coordinator sends an order before its generation is durable
  kForgetSlots,            // a fetched state has no optimizer slots
  kForgetBest,             // a fetched state has no data of early stopping
  kInterruptBeforeUpdate,  // an interruption counts between a total's statistics and its update
  kEvaluateOwnRows,        // an evaluation counts only the member's own rows
  kKeepOldJob,             // a worker keeps its job when another one begins
  kForgetReports,          // a worker does not repeat reports after a broken stream
  kDeathAfterRestart,      // a restarted coordinator does not wait for its members
  kJoinAsIfAtFirst,        // a joining member does not wait for the state
  kJoinOneRoundLate,       // a joining member begins one round late
  kOfferOlderState,        // a member offers its state of the previous round
  kReadyBeforeRows,        // a member reports ready before its rows are loaded
  kSwitchWithoutRows,      // a member does not load the rows of leaves that it takes over
  kSwitchBeforeUpdate,     // a member does not apply the last total of a generation
  kStampTwice,             // the root also ends the new generation
  kDropLinksOfBefore,      // a member closes the links of the old generation at once
  kLeaverDropsLinks,       // a leaving member closes its links after its last total
  kDoNotGoBack,            // an interrupted member keeps a state that differs
  kIgnoreDivergence,       // members accept states that differ
  kTellOnlyNewHistory,     // a new generation does not report earlier evaluations
  kDoNotFence,             // older writers keep their slots
  kFillAnySlot,            // a bundle that moves into a missing slot creates it
  kReserveLate,            // the root creates its slot at the commit, not before it is ready
  kAgreeBeforeVote,        // a member takes its state for agreed before the members compared it
  kRevertAlways,           // a member goes back although no states differed
  kReadyOneRoundLate,      // a member reports the round after the one in flight
  kStampUnasked,           // the root ends a generation without an order
  kWithdrawAtOnce,         // the holder does not offer its state
  kDoNotAbort,             // a member waits for the totals after a broken link or a newer order
  kForgetBrokenLink,       // a member does not report a broken link
  kForgetDivergence,       // a member does not report that the states differ
  kSkipHistoryRow,         // the root does not report an evaluation
  kBreakOfBeforeCounts,    // a broken link of the generation before counts for the present one
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
    "agree before the vote",
    "go back always",
    "ready one round late",
    "stamp without an order",
    "do not offer the state",
    "do not abort a round",
    "forget a broken link",
    "forget that states differ",
    "skip a row of the history",
    "count a break of the generation before",
};

}  // namespace espalier::sim
