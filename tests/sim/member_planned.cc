// SimMember: generations that begin by plan, next to the training (worker/job_member_planned.cc).
#include <algorithm>
#include <utility>

#include "src/cluster/arrangement.h"
#include "src/training/state_codec.h"
#include "tests/sim/member.h"
#include "tests/sim/worker.h"
#include "tests/sim/world.h"

namespace espalier::sim {
namespace {

constexpr int64_t kPaceSteps = 4, kPaceTellUs = 1'000'000;
constexpr double kPaceSmoothing = 0.2;

}  // namespace

void SimMember::Prepare(const MemberOrder& order) {
  prepared_.reset();
  const uint64_t number = ++preparation_;
  preparing_ = true;
  const bool early = world_.bugs(Bug::kReadyBeforeRows);
  if (early) hooks_.tell(cluster::MemberReady{order.order.job, order.order.generation, 1});
  worker_.After(1000 + world_.dice.Below(200'000), [this, number, order, early] {
    if (number != preparation_) return;
    preparing_ = false;
    if (world_.Strikes(Fault::kPreparationFails)) {
      hooks_.tell(cluster::JobFailed{order.order.job, order.order.generation,
                                     Unavailable("its rows cannot be read")});
      return;
    }
    Prepared(order);
    if (!early) hooks_.tell(cluster::MemberReady{order.order.job, order.order.generation, 1});
  });
}

void SimMember::Prepared(const MemberOrder& order) {
  const cluster::LeafInterval& own = order.order.leaves[static_cast<size_t>(order.self)];
  if (!world_.bugs(Bug::kSwitchWithoutRows)) rows_.Stage({own.begin, own.end});
  if (IsRoot(order)) hooks_.reserve_output(order);
  prepared_ = order;
}

void SimMember::StopPreparing() {
  ++preparation_;
  preparing_ = false;
  prepared_.reset();
  switch_to_ = {};
}

void SimMember::SwitchTo(Generation next) {
  if (next > running_) switch_to_ = next;  // otherwise a repeated order for a begun generation
}

// Ends the generation after the update of the total that the root stamped.
void SimMember::EndGeneration(Generation next) {
  switch_to_ = {};
  const auto into = std::exchange(prepared_, std::nullopt);
  if (into && into->order.generation == next) return SwitchInto(*into);
  world_.checks.Leaves(worker_, point_, next);
  world_.fired(Fault::kLeft);
  if (world_.bugs(Bug::kLeaverDropsLinks)) Disconnect();
  Finish(Status::Ok(), true);
}

void SimMember::SwitchInto(const MemberOrder& next) {
  if (worker_.Boundary()) return;
  const std::vector<cluster::Member> members = order_.members;
  world_.peers.Withdraw(point_);
  CloseBefore();
  if (std::exchange(linked_, false)) before_ = point_;
  world_.checks.Switches(worker_, point_, next.order.generation);
  if (world_.bugs(Bug::kDropLinksOfBefore)) CloseBefore();
  Place(next);
  rows_.Adopt(own_);
  hooks_.tell(cluster::Switched{order_.job, order_.generation, machine_.state().round});
  Connect();
  const auto was_there = [&](const cluster::Member& m) {
    return std::any_of(members.begin(), members.end(),
                       [&](const cluster::Member& b) { return b.worker == m.worker; });
  };
  const bool joined = !std::all_of(order_.members.begin(), order_.members.end(), was_there);
  world_.fired(joined                                   ? Fault::kGrew
               : members.size() > order_.members.size() ? Fault::kShrank
                                                        : Fault::kLeavesMoved);
  if (joined && order_.holder == self_) OfferState();
  Train();
}

void SimMember::CloseBefore() {
  if (const auto point = std::exchange(before_, std::nullopt)) world_.peers.Close(*point);
}

// ---- the pace of members -----------------------------------------------------------------------

void SimMember::HearPace() {
  const double leaf_ms =
      static_cast<double>(compute_us_) / 1000 / static_cast<double>(own_.end - own_.begin);
  leaf_ms_ += (leaf_ms - leaf_ms_) * (leaf_ms_ == 0 ? 1 : kPaceSmoothing);
  const AllWords all = toy_.Heard(action_, totals_.back());
  if (alone_ || all.words == nullptr) return;
  for (size_t m = 0; m < pace_sum_.size(); ++m) pace_sum_[m] += all.leaf_ms(m);
  if (++pace_steps_ < kPaceSteps) return;
  for (double& p : pace_sum_) p /= static_cast<double>(pace_steps_);
  if (root_) TellPace();
  std::fill(pace_sum_.begin(), pace_sum_.end(), 0);
  pace_steps_ = 0;
}

void SimMember::TellPace() {
  if (std::any_of(pace_sum_.begin(), pace_sum_.end(), [](double ms) { return !(ms > 0); })) return;
  const int64_t now_us = world_.queue.now_us();
  if (now_us - pace_told_us_ < kPaceTellUs || !cluster::BetterOwnership(order_.leaves, pace_sum_))
    return;
  pace_told_us_ = now_us;
  hooks_.tell(cluster::Uneven{order_.job, order_.generation, machine_.state().step, pace_sum_});
}

}  // namespace espalier::sim
