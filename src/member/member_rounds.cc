// MemberCore: the rounds of a generation.
#include <algorithm>
#include <map>
#include <utility>

#include "src/cluster/arrangement.h"
#include "src/member/member_core.h"

namespace espalier::member {
namespace {

constexpr double kPaceSmoothing = 0.2;  // weight of the newest step in the time per leaf

}  // namespace

void MemberCore::Handle(RoundReached event) {
  if (phase_ != Phase::kTraining) return;
  reached_ = std::move(event);
  round_ = reached_.round;
  if (place_->root()) {
    // A new root does not know what earlier ones reported. The coordinator ignores repeated rows.
    const size_t rows = reached_.evaluations;
    const size_t first = history_reported_.value_or(
        rows - std::min<size_t>(rows, static_cast<size_t>(cluster::kHistoryRowsMax)));
    if (first < rows) Do(ReportHistory{place_, first});
    history_reported_ = rows;
  }
  if (reached_.kind == RoundReached::Kind::kFail) return End(std::move(reached_.error));
  if (reached_.kind == RoundReached::Kind::kFinish) return End(Status::Ok(), false, true);
  if (interrupted_) return End(OrderCame());
  if (next_) return EndGeneration(std::exchange(next_, {}));
  if (!failure_.ok()) return End(failure_);
  if (!Compares()) return Do(RunRound{});
  // The copy is made before the step, so that memory corrupted during the step cannot reach it.
  if (!place_->alone()) Do(HoldCompared{});
  Do(RunRound{!place_->alone()});
}

bool MemberCore::Compares() const {
  if (reached_.kind != RoundReached::Kind::kGradient) return false;
  return compare_next_ || reached_.step % options_.agreement_steps == 0 ||
         (options_.checkpoint_steps > 0 && reached_.step % options_.checkpoint_steps == 0);
}

void MemberCore::Handle(const LeavesDone& event) {
  if (phase_ != Phase::kTraining) return;
  SendSums sums;
  sums.own = {leaf_ms_, event.state_checksum};
  if (place_->root()) {
    const bool late = options_.max_time_us > 0 && now_us_ - *begun_us_ >= options_.max_time_us;
    training::RootSignals& root = sums.root.emplace();
    root.ends = ends_early_ == running_ ? training::StepEnds::kByRequest
                : late                  ? training::StepEnds::kByTime
                                        : training::StepEnds::kNo;
    if (switch_to_ > running_) root.next = switch_to_;
    root.compare_next = event.checkpoint_due && !Compares();
  }
  Do(std::move(sums));
}

void MemberCore::Handle(const TotalsCame& event) {
  if (phase_ != Phase::kTraining) return;
  ReleaseBefore();
  if (event.signals) {
    leaf_ms_ += (event.leaf_ms - leaf_ms_) * (leaf_ms_ == 0 ? 1 : kPaceSmoothing);
    NotePace(event.signals->members);
    if (Compares() && !Compare(event.signals->members)) return;
    next_ = event.signals->root.next;
    compare_next_ = event.signals->root.compare_next;
  }
  Do(Commit{});
}

// Totals prove that every member has begun the generation.
void MemberCore::ReleaseBefore() {
  if (std::exchange(all_began_, true)) return;
  Do(WithdrawState{});
  Do(CloseLinksAside{});
}

// Compares the checksums that all members sent with a step. Returns false if the states differ.
bool MemberCore::Compare(const std::vector<training::MemberSignals>& members) {
  std::map<int64_t, int32_t> votes;
  if (!place_->alone()) {
    for (const training::MemberSignals& m : members) ++votes[m.state_checksum];
  }
  if (votes.size() <= 1) {
    if (place_->alone()) {
      Do(AgreeOnPresent{});
    } else {
      Do(AgreeOnCompared{});
    }
    if (place_->root()) Do(OfferCheckpoint{place_});
    return true;
  }
  std::vector<int32_t> wrong;  // outside the majority, if there is one
  for (const auto& [checksum, count] : votes) {
    if (2 * count <= place_->members()) continue;
    for (size_t m = 0; m < members.size(); ++m) {
      if (members[m].state_checksum != checksum) wrong.push_back(static_cast<int32_t>(m));
    }
  }
  diverged_ = differs_ = true;
  Do(Report{cluster::StatesDiffer{place_->at().job, place_->at().generation, reached_.step,
                                  std::move(wrong)}});
  End(Status(StatusCode::kDataLoss,
             "the members' job states differ before step " + std::to_string(reached_.step + 1)));
  return false;
}

// Averages each member's time per leaf over several steps. The root reports members of different
// speeds, if other owners of the leaves would make steps notably shorter.
void MemberCore::NotePace(const std::vector<training::MemberSignals>& members) {
  if (place_->alone() || members.size() != pace_sum_.size()) return;
  for (size_t m = 0; m < members.size(); ++m) pace_sum_[m] += members[m].leaf_ms;
  if (++pace_steps_ < options_.pace_steps) return;
  for (double& ms : pace_sum_) ms /= static_cast<double>(pace_steps_);
  pace_steps_ = 0;
  std::vector<double> leaf_ms = std::exchange(pace_sum_, std::vector<double>(members.size(), 0));
  const bool known = std::all_of(leaf_ms.begin(), leaf_ms.end(), [](double ms) { return ms > 0; });
  const bool soon = pace_reported_us_ && now_us_ - *pace_reported_us_ < options_.pace_interval_us;
  if (!place_->root() || !known || soon) return;
  if (!cluster::BetterOwnership(place_->start().leaves, leaf_ms)) return;
  pace_reported_us_ = now_us_;
  Do(Report{cluster::Uneven{place_->at().job, place_->at().generation, reached_.step,
                            std::move(leaf_ms)}});
}

void MemberCore::Handle(Failed event) {
  if (phase_ == Phase::kIdle) return;
  // After a failed allocation in a round, the state may contain half of an update.
  if (phase_ == Phase::kTraining && event.why.code() == StatusCode::kResourceExhausted) {
    differs_ = true;
  }
  End(interrupted_ ? OrderCame() : std::move(event.why));
}

void MemberCore::Handle(LoopEnded event) {
  if (phase_ != Phase::kTraining) return;
  if (event.status.code() == StatusCode::kResourceExhausted) differs_ = true;
  if (!event.status.ok()) return End(interrupted_ ? OrderCame() : std::move(event.status));
  if (event.finished) return End(Status::Ok(), false, true);
  if (interrupted_) return End(OrderCame());
  round_ = event.round;
  EndGeneration(event.next);
}

}  // namespace espalier::member
