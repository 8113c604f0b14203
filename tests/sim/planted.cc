// SimMember: the planted bugs of members. Each one changes an event before the core gets it, or an
// action after the core has ordered it, like a fault in the core would.
#include <algorithm>
#include <utility>

#include "src/training/state_codec.h"
#include "tests/sim/member.h"
#include "tests/sim/worker.h"
#include "tests/sim/world.h"

namespace espalier::sim {

void SimMember::Distort(member::MemberEvent& event) {
  auto* proceed = std::get_if<member::ProceedCame>(&event);
  if (proceed != nullptr && world_.bugs(Bug::kFetchFromBehind) && members() > 0) {
    int32_t& holder = proceed->proceed.holder;
    if (static_cast<uint32_t>(holder) != point_.member) {
      holder = static_cast<int32_t>((holder + 1) % members());
    }
  }
  auto* came = std::get_if<member::TotalsCame>(&event);
  if (came != nullptr && came->signals && world_.bugs(Bug::kIgnoreDivergence)) {
    for (auto& m : came->signals->members) m.state_checksum = 0;
  }
  auto* broke = std::get_if<member::LinkBroke>(&event);
  if (broke != nullptr && world_.bugs(Bug::kBreakOfBeforeCounts)) {
    broke->generation = point_.generation;
  }
}

bool SimMember::PerformWrongly(const member::MemberAction& action) {
  const auto bug = [this](Bug b) { return world_.bugs(b); };
  if (const auto* fetch = std::get_if<member::FetchState>(&action)) {
    if (fetch->round && bug(Bug::kSkipFetch)) {
      machine_.state().round = *fetch->round;
      Post(member::StateFetched{{}, {}, *fetch->round});
      return true;
    }
    if (!fetch->round && bug(Bug::kJoinAsIfAtFirst)) {
      Post(member::StateFetched{{}, {}, machine_.state().round});
      return true;
    }
  }
  if (const auto* stage = std::get_if<member::StageRows>(&action);
      stage != nullptr && bug(Bug::kReadyBeforeRows)) {
    Post(member::RowsStaged{stage->number, {}});
    After(1000 + world_.dice.Below(200'000), [this, place = stage->place] {
      rows_.Stage(place->own);
      if (place->root()) hooks_.reserve_output(place->order);
    });
    return true;
  }
  if (const auto* sums = std::get_if<member::SendSums>(&action); sums != nullptr && sums->root) {
    const bool again = bug(Bug::kStampTwice) && core_.place()->start().planned;
    if (!sums->root->next && (again || (bug(Bug::kStampUnasked) && world_.dice.Once(50)))) {
      member::SendSums stamped = *sums;
      stamped.root->next = {point_.generation.value + (again ? 0 : 1)};
      Perform(stamped);
      return true;
    }
  }
  if (std::holds_alternative<member::OfferState>(action)) {
    if (bug(Bug::kWithdrawAtOnce)) return true;
    if (bug(Bug::kOfferOlderState) && !stale_.empty()) {
      world_.peers.Offer(point_, std::make_shared<const std::string>(stale_));
      return true;
    }
  }
  return PerformStateWrongly(action) || ReportWrongly(action);
}

bool SimMember::PerformStateWrongly(const member::MemberAction& action) {
  const auto bug = [this](Bug b) { return world_.bugs(b); };
  if (std::holds_alternative<member::SetLinksAside>(action) && bug(Bug::kDropLinksOfBefore)) {
    Perform(member::SetLinksAside{});
    Perform(member::CloseLinksAside{});
    return true;
  }
  if (std::holds_alternative<member::FindState>(action) && bug(Bug::kRevertAlways)) {
    if (!agreed_.empty()) Perform(member::Revert{});
  }
  if (std::holds_alternative<member::HoldCompared>(action) && bug(Bug::kAgreeBeforeVote)) {
    Perform(member::HoldCompared{});
    agreed_ = compared_;
    return true;
  }
  if (const auto* history = std::get_if<member::ReportHistory>(&action)) {
    size_t first = history->first;
    if (bug(Bug::kTellOnlyNewHistory)) first = std::max(first, history_before_);
    if (bug(Bug::kSkipHistoryRow)) ++first;
    if (first != history->first) {
      Perform(member::ReportHistory{history->place, first});
      return true;
    }
  }
  if (const auto* end = std::get_if<member::EndRun>(&action);
      end != nullptr && end->left && bug(Bug::kLeaverDropsLinks)) {
    Perform(member::CloseLinks{});
  }
  return (std::holds_alternative<member::Revert>(action) && bug(Bug::kDoNotGoBack)) ||
         (std::holds_alternative<member::AbortRound>(action) && bug(Bug::kDoNotAbort));
}

bool SimMember::ReportWrongly(const member::MemberAction& action) {
  const auto bug = [this](Bug b) { return world_.bugs(b); };
  const auto* report = std::get_if<member::Report>(&action);
  if (report == nullptr) return false;
  if (auto* ready = std::get_if<cluster::MemberReady>(&report->message)) {
    if (bug(Bug::kReadyOneRoundLate) && core_.phase() == Phase::kReady) {
      hooks_.report(cluster::MemberReady{ready->job, ready->generation, ready->round + 1});
      return true;
    }
    if (bug(Bug::kBeginBeforeLevel) && core_.phase() == Phase::kReady) {
      Perform(*report);
      Post(member::ProceedCame{{point_.incarnation, ready->job, ready->generation, ready->round,
                                static_cast<int32_t>(point_.member), false}});
      return true;
    }
  }
  if (std::holds_alternative<cluster::LinkBroken>(report->message)) {
    return bug(Bug::kForgetBrokenLink);
  }
  if (std::holds_alternative<cluster::StatesDiffer>(report->message)) {
    return bug(Bug::kForgetDivergence);
  }
  return false;
}

bool SimMember::CommitWrongly() {
  const bool gradient = std::holds_alternative<training::GradientAction>(action_);
  if (!gradient && world_.bugs(Bug::kEvaluateOwnRows)) {
    Reach(machine_.OnEvaluation(toy_.Stats(action_, own_sums_.back())));
    return true;
  }
  if (!gradient) return false;
  if (world_.bugs(Bug::kOfferOlderState)) stale_ = training::EncodeState(machine_.state());
  if (world_.bugs(Bug::kSwitchBeforeUpdate) && signals_->root.next && !core_.place()->root()) {
    Reach(machine_.Resume());
    return true;
  }
  if (!world_.bugs(Bug::kInterruptBeforeUpdate)) return false;
  training::Action next = machine_.OnGradient(toy_.Stats(action_, totals_.back()));
  const auto* update = std::get_if<training::UpdateAction>(&next);
  if (update == nullptr) {
    Reach(std::move(next));
    return true;
  }
  After(5000, [this, u = *update] {
    if (core_.interrupted() || !failure_.ok()) return Post(member::Failed{failure_});
    Update(u);
  });
  return true;
}

// Keeps an incomplete total with zeros in place of the missing buckets, which the step applies.
void SimMember::TakeEarly() {
  if (!world_.bugs(Bug::kApplyBeforeWholeTotal) || missing_ == 0) return;
  if (totals_.back().data == nullptr) return;
  const collective::RoundShape shape = toy_.ShapeOf(action_);
  early_ = totals_;
  for (size_t b = 0; b < early_.size(); ++b) {
    const auto size = static_cast<size_t>(shape[b].floats + 2 * shape[b].doubles);
    if (early_[b].data == nullptr)
      early_[b] = collective::MakePayload(AlignedVector<Real>(size, Real{0}));
  }
}

void SimMember::Forget(training::TrainingState<Real>& state) const {
  if (world_.bugs(Bug::kForgetSlots)) {
    for (auto& slot : state.slots) std::fill(slot.begin(), slot.end(), Real{0});
  }
  if (world_.bugs(Bug::kForgetBest)) {
    state.best_parameters.clear();
    state.best_value.reset();
    state.notes = {};
    state.evaluations_without_gain = 0;
  }
  if (world_.bugs(Bug::kJoinOneRoundLate) && core_.joining()) ++state.round;
}

LeafUse SimMember::Use() const {
  LeafUse use{own_};
  use.in_order_of_arrival = world_.bugs(Bug::kSumInOrderOfArrival);
  if (!moved_) return use;
  const plan::LeafSpan before = own_before_;
  const int32_t leaves = toy_.leaves();
  if (world_.bugs(Bug::kSkipMovedLeaf)) {
    use.rows_of = [before](int32_t l) { return l >= before.begin && l < before.end ? l : -1; };
  }
  if (world_.bugs(Bug::kRowsOfOldOwnership)) {
    const int32_t shift = before.begin - own_.begin;
    use.rows_of = [shift, leaves](int32_t l) { return std::clamp(l + shift, 0, leaves - 1); };
  }
  if (world_.bugs(Bug::kCountMovedLeafTwice)) {
    if (before.begin < own_.begin) use.counted_too = before.begin;
    if (before.end > own_.end) use.counted_too = before.end - 1;
  }
  return use;
}

}  // namespace espalier::sim
