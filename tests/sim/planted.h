// The planted bugs of a member. Each one changes an event before the core gets it, or an action
// after the core has ordered it, like a fault in the core would.
//
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/collective/tree_reducer.h"
#include "src/member/member_core.h"
#include "tests/sim/bugs.h"
#include "tests/sim/toy_job.h"

namespace espalier::sim {

class SimMember;

class PlantedBugs {
 public:
  explicit PlantedBugs(SimMember& member) : m_(member) {}

  void Distort(member::MemberEvent& event);
  // Performs the action in another way. Returns false if no bug concerns it.
  bool PerformWrongly(const member::MemberAction& action);
  // Returns whether the member drops a message. Counts early messages.
  bool Drops(const collective::ReduceMessage& message);
  // Returns the bytes of a fetched state.
  Result<std::string> Distorted(const Result<std::string>& bytes) const;
  // Keeps an incomplete total with zeros in place of the missing buckets, which the step applies.
  void TakeEarly();
  std::vector<collective::Payload> Early(std::vector<collective::Payload> totals);
  // Returns how the member uses its leaves.
  LeafUse Use() const;

 private:
  bool operator()(Bug bug) const;
  void Note(const member::MemberAction& action);
  bool FetchWrongly(const member::FetchState& fetch);
  bool StageWrongly(const member::StageRows& stage);
  bool StampWrongly(const member::SendSums& sums);
  bool PerformStateWrongly(const member::MemberAction& action);
  bool ReportWrongly(const member::Report& report);
  bool CommitWrongly();

  SimMember& m_;
  member::PlaceRef place_, before_;              // present place, and that of another generation
  std::string stale_;                            // older state to offer
  size_t history_before_ = 0;                    // evaluations before this generation
  std::vector<collective::Payload> incomplete_;  // of TakeEarly
};

}  // namespace espalier::sim
