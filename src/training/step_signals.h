// The signals that members add to the totals of a step, in addition to the leaves' statistics.
//
// Each number of a total is a sum over the members. One member writes a signal and the others leave
// it 0, so the sum is that member's value. Before they apply the total, all members therefore know
// the same signals: whether the job or the generation ends, which members are slow, and whether all
// have the same state.
//
// Layout, after the TotalsKind::kTraining part of the statistics (model/metrics.h):
//
//   0  kExtraNonfiniteLeaves  from leaves: sum of NonfiniteMark over those with a non-finite row
//   1  kExtraEnds             from the root: StepEnds, otherwise 0
//   2  kExtraSwitch           from the root: the generation that begins after the step, otherwise 0
//   3  kExtraCompare          from the root: 1 if the next step also compares the states
//   4 + 2 i                   from member i: its milliseconds per leaf
//   5 + 2 i                   from member i: checksum of its state plus 1; 0 if it sends none
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/base/ids.h"

namespace espalier::training {

enum StepExtra : int64_t {
  kExtraNonfiniteLeaves = 0,
  kExtraEnds = 1,
  kExtraSwitch = 2,
  kExtraCompare = 3,
  kStepExtras = 4,
};
inline constexpr int64_t kMemberNumbers = 2;  // numbers of each member after the extras

// Reason why a step is the last one: `max_time` is over, or a client wants the current weights.
enum class StepEnds : uint8_t { kNo = 0, kByTime = 1, kByRequest = 2 };

// The root's signals.
struct RootSignals {
  StepEnds ends = StepEnds::kNo;
  Generation next;            // generation that begins after this step; none: this one continues
  bool compare_next = false;  // the next step also compares the states
};

// A member's signals about itself.
struct MemberSignals {
  double leaf_ms = 0;          // milliseconds per leaf; 0: unknown
  int64_t state_checksum = 0;  // 1 to 2^32; 0: the step does not compare the states
};

struct StepSignals {
  RootSignals root;
  std::vector<MemberSignals> members;  // one per member; empty: the totals have no room for them
};

// Returns the number of doubles that the signals of `members` members take.
constexpr int64_t SignalNumbers(int64_t members) { return kStepExtras + kMemberNumbers * members; }

// Writes the signals of one member into its part of the sums, whose extras begin at `extras`.
// `root`: null unless the member is the root. REQUIRES: SignalNumbers(self + 1) <= extras.size().
void EncodeSignals(const RootSignals* root, const MemberSignals& own, int32_t self,
                   std::span<double> extras);
// Does the same where the totals have no room for members' signals.
void EncodeRootSignals(const RootSignals& root, std::span<double> extras);

// Reads the signals of all members from the total. Any numbers are valid input: a total from a
// faulty partner gives wrong signals, but no undefined behavior.
StepSignals DecodeSignals(std::span<const double> extras);

}  // namespace espalier::training
