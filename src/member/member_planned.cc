// MemberCore: generations that begin by plan, without a pause.
#include <algorithm>
#include <utility>

#include "src/member/member_core.h"

namespace espalier::member {
namespace {

bool HasWorker(const std::vector<cluster::Member>& members, WorkerId worker) {
  return std::any_of(members.begin(), members.end(),
                     [&](const cluster::Member& m) { return m.worker == worker; });
}

}  // namespace

void MemberCore::Handle(Prepare event) {
  staged_.reset();
  staging_.reset();
  const cluster::JobPoint at{event.order.order.job, event.order.order.generation};
  auto place = PlaceIn(std::move(event.order), options_.leaves, options_.plan_tree);
  if (!place.ok()) {
    Do(StopStaging{});
    return Do(Report{cluster::JobFailed{at.job, at.generation, place.status()}});
  }
  staging_ = *std::move(place);
  Do(StageRows{staging_, ++staging_number_});
}

void MemberCore::Handle(RowsStaged event) {
  if (!staging_ || event.number != staging_number_) return;  // stopped, or replaced
  const PlaceRef place = std::exchange(staging_, nullptr);
  if (interrupted_) return;  // its load was cancelled
  const cluster::JobPoint at = place->at();
  if (!event.status.ok()) {
    return Do(Report{cluster::JobFailed{at.job, at.generation, std::move(event.status)}});
  }
  staged_ = place;
  // The round of the next generation is that of all members of this one. So the report has none.
  Do(Report{cluster::MemberReady{at.job, at.generation, 1}});
}

void MemberCore::StopPreparing() {
  if (std::exchange(staging_, nullptr)) Do(StopStaging{});
  staged_.reset();
  switch_to_ = {};
}

void MemberCore::Handle(SwitchTo event) {
  if (event.next <= running_) return;  // a repeated order: that generation has begun
  switch_to_ = event.next;
  if (options_.async && phase_ == Phase::kTraining) Do(EndLoop{event.next});
}

void MemberCore::Handle(EndEarly event) {
  ends_early_ = event.generation;
  if (options_.async && phase_ == Phase::kTraining && event.generation == running_) {
    Do(EndLoop{{}, true});
  }
}

// Ends the generation after the total that the root stamped.
void MemberCore::EndGeneration(Generation next) {
  switch_to_ = {};
  const PlaceRef into = std::exchange(staged_, nullptr);
  if (into && into->at().generation == next) return SwitchInto(into);
  End(Status::Ok(), true);
}

void MemberCore::SwitchInto(PlaceRef next) {
  const PlaceRef before = place_;
  Do(WithdrawState{});
  Do(SetLinksAside{});
  Enter(std::move(next));
  Do(AdoptRows{place_});
  Do(Report{cluster::Switched{place_->at().job, place_->at().generation, round_}});
  Do(OpenLinks{place_});
  const bool joined = std::any_of(
      place_->start().members.begin(), place_->start().members.end(),
      [&](const cluster::Member& m) { return !HasWorker(before->start().members, m.worker); });
  if (joined && place_->start().holder == place_->self()) Do(OfferState{place_});
  Train();
}

}  // namespace espalier::member
