// MemberCore: a run, from its order to its first round.
#include "src/member/member_core.h"

#include <string>

namespace espalier::member {

MemberActions MemberCore::Step(MemberEvent event, int64_t now_us) {
  actions_.clear();
  now_us_ = now_us;
  std::visit([this](auto& e) { Handle(std::move(e)); }, event);
  return std::exchange(actions_, {});
}

void MemberCore::Enter(PlaceRef place) {
  place_ = std::move(place);
  joining_ = broken_ = diverged_ = false;
  failure_ = unread_ = {};
  fetches_.reset();
  history_reported_.reset();
  all_began_ = compare_next_ = false;
  next_ = {};
  leaf_ms_ = 0;
  pace_sum_.assign(static_cast<size_t>(place_->members()), 0);
  pace_steps_ = 0;
}

void MemberCore::Handle(TakePart event) {
  StopPreparing();
  joining_ = broken_ = diverged_ = false;
  if (interrupted_) return End(OrderCame());
  auto place = PlaceIn(std::move(event.order), options_.leaves, options_.plan_tree);
  if (!place.ok()) return End(place.status());
  Enter(*std::move(place));
  Do(CloseLinks{});
  if (place_->start().planned) {
    joining_ = true;
    phase_ = Phase::kCovering;
    return Do(CoverRows{place_});
  }
  phase_ = Phase::kFinding;
  Do(OpenLinks{place_});
  Do(FindState{place_});
}

void MemberCore::Handle(StateFound event) {
  if (phase_ != Phase::kFinding) return;
  if (interrupted_) return End(OrderCame());
  if (!event.status.ok()) return End(std::move(event.status));
  unread_ = std::move(event.unread);
  // A member that has never trained has no state that could differ.
  if (place_->start().reverts && begun_us_) Do(Revert{});
  differs_ = false;
  phase_ = Phase::kCovering;
  Do(CoverRows{place_});
}

void MemberCore::Handle(RowsCovered event) {
  if (phase_ != Phase::kCovering) return;
  if (interrupted_) return End(OrderCame());
  if (!event.status.ok()) return End(std::move(event.status));
  round_ = event.round;
  Do(Report{cluster::MemberReady{place_->at().job, place_->at().generation, round_}});
  if (joining_) return Fetch(place_->start().holder, std::nullopt);
  phase_ = Phase::kReady;
  if (proceed_ && proceed_->generation == place_->at().generation) Equalize();
}

void MemberCore::Handle(const ProceedCame& event) {
  proceed_ = event.proceed;
  if (phase_ != Phase::kReady || interrupted_) return;
  if (proceed_->generation == place_->at().generation) Equalize();
}

// Brings the state to the round that all members begin.
void MemberCore::Equalize() {
  const int32_t holder = proceed_->holder;
  const bool known = holder >= 0 && holder < place_->members();
  if (!known || round_ > proceed_->round ||
      (holder == place_->self() && round_ != proceed_->round)) {
    return End(FailedPrecondition(
        "the coordinator's Proceed names round " + std::to_string(proceed_->round) + " of member " +
        std::to_string(holder) + ", this worker is at round " + std::to_string(round_)));
  }
  if (round_ < proceed_->round) return Fetch(holder, proceed_->round);
  if (!unread_.ok()) {
    return End(unread_.Wrap(
        "the state to resume from cannot be read; submit the job again when it is readable"));
  }
  if (proceed_->fetched) Do(OfferState{place_});
  Train();
}

void MemberCore::Fetch(int32_t holder, std::optional<uint64_t> round) {
  if (holder < 0 || holder >= place_->members()) {
    return End(FailedPrecondition("the coordinator's order names member " + std::to_string(holder) +
                                  " as the holder of the state"));
  }
  phase_ = Phase::kFetching;
  holder_ = holder;
  fetches_ = round;
  fetch_begun_us_ = now_us_;
  Do(FetchState{place_, holder, round});
}

void MemberCore::Handle(StateFetched event) {
  if (phase_ != Phase::kFetching) return;
  if (interrupted_) return End(OrderCame());
  if (!event.status.ok()) {
    // The holder may not have received its Proceed yet. The time of a planned change is unknown.
    const bool early = event.status.code() == StatusCode::kNotFound &&
                       (!fetches_ || now_us_ - fetch_begun_us_ < options_.fetch_limit_us);
    if (early) return Do(FetchState{place_, holder_, fetches_, options_.fetch_retry_us});
    if (!std::exchange(broken_, true)) ReportBroken(holder_, event.status);
    return End(std::move(event.status));
  }
  if (!event.decoded.ok()) return End(std::move(event.decoded));
  if (fetches_ && event.round != *fetches_) {
    return End(FailedPrecondition("the state of " + place_->start().members[holder_].name +
                                  " is of round " + std::to_string(event.round) + ", expected " +
                                  std::to_string(*fetches_)));
  }
  round_ = event.round;
  if (joining_) return Join();
  if (place_->start().reverts) Do(AgreeOnPresent{});
  if (proceed_->fetched) Do(OfferState{place_});
  Train();
}

// Begins a planned generation that other members may have begun already.
void MemberCore::Join() {
  joining_ = differs_ = false;
  // Reported first, because a link can break at once, and LinkBroken must come later.
  Do(Report{cluster::Switched{place_->at().job, place_->at().generation, round_}});
  Do(OpenLinks{place_});
  Train();
}

void MemberCore::Train() {
  phase_ = Phase::kTraining;
  running_ = place_->at().generation;
  if (!begun_us_) begun_us_ = now_us_;
  if (!options_.async) return Do(NextRound{place_});
  Do(RunLoop{place_});
  if (switch_to_ > running_) Do(EndLoop{switch_to_});
  if (ends_early_ == running_) Do(EndLoop{{}, true});
}

void MemberCore::End(Status status, bool left, bool finished) {
  StopPreparing();
  phase_ = Phase::kIdle;
  Do(EndRun{std::move(status), broken_ || diverged_, left, joining_, finished, place_});
}

void MemberCore::Handle(Interrupt) {
  interrupted_ = true;
  if (phase_ == Phase::kReady) return End(OrderCame());
  if (phase_ == Phase::kTraining) Do(AbortRound{OrderCame()});
}

void MemberCore::Handle(const LinkBroke& event) {
  // A member that has begun the next generation drops its links of the one before.
  if (!place_ || event.generation != place_->at().generation) return;
  if (std::exchange(broken_, true)) return;
  failure_ = event.why.Wrap("a link broke");
  ReportBroken(event.member, event.why);
  if (phase_ == Phase::kTraining) Do(AbortRound{failure_});
}

void MemberCore::ReportBroken(int32_t member, const Status& why) {
  // For a newer generation, others drop their links of this one.
  if (interrupted_ || member < 0 || member >= place_->members()) return;
  Do(Report{cluster::LinkBroken{place_->at().job, place_->at().generation,
                                place_->start().members[static_cast<size_t>(member)].worker, why}});
}

}  // namespace espalier::member
