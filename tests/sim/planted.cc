#include "tests/sim/planted.h"

#include <algorithm>
#include <utility>

#include "src/training/state_codec.h"
#include "tests/sim/member.h"
#include "tests/sim/runner.h"
#include "tests/sim/worker.h"
#include "tests/sim/world.h"

namespace espalier::sim {

bool PlantedBugs::operator()(Bug bug) const { return m_.world_.bugs(bug); }

void PlantedBugs::Distort(member::MemberEvent& event) {
  const bool placed = m_.core_.place() != nullptr;
  auto* proceed = std::get_if<member::ProceedCame>(&event);
  if (proceed != nullptr && (*this)(Bug::kFetchFromBehind) && placed) {
    int32_t& holder = proceed->proceed.holder;
    if (static_cast<uint32_t>(holder) != m_.point().member) {
      holder = (holder + 1) % m_.core_.place()->members();
    }
  }
  auto* came = std::get_if<member::TotalsCame>(&event);
  if (came != nullptr && came->signals && (*this)(Bug::kIgnoreDivergence)) {
    for (auto& m : came->signals->members) m.state_checksum = 0;
  }
  auto* broke = std::get_if<member::LinkBroke>(&event);
  if (broke != nullptr && (*this)(Bug::kBreakOfBeforeCounts)) {
    broke->generation = m_.point().generation;
  }
}

// Notes the data that bugs need later.
void PlantedBugs::Note(const member::MemberAction& action) {
  const auto* open = std::get_if<member::OpenLinks>(&action);
  const auto* cover = std::get_if<member::CoverRows>(&action);
  const member::PlaceRef place = open ? open->place : cover ? cover->place : nullptr;
  if (place && !(place_ && place_->at() == place->at())) before_ = std::exchange(place_, place);
  if (std::holds_alternative<member::NextRound>(action))
    history_before_ = m_.state().history.size();
}

bool PlantedBugs::PerformWrongly(const member::MemberAction& action) {
  Note(action);
  if (const auto* a = std::get_if<member::FetchState>(&action)) return FetchWrongly(*a);
  if (const auto* a = std::get_if<member::StageRows>(&action)) return StageWrongly(*a);
  if (const auto* a = std::get_if<member::SendSums>(&action)) return StampWrongly(*a);
  if (const auto* a = std::get_if<member::Report>(&action)) return ReportWrongly(*a);
  if (std::holds_alternative<member::Commit>(action)) return CommitWrongly();
  if (std::holds_alternative<member::OfferState>(action)) {
    if ((*this)(Bug::kWithdrawAtOnce)) return true;
    if (!(*this)(Bug::kOfferOlderState) || stale_.empty()) return false;
    m_.world_.peers.Offer(m_.point(), stale_);
    return true;
  }
  return PerformStateWrongly(action);
}

bool PlantedBugs::FetchWrongly(const member::FetchState& fetch) {
  if (fetch.round && (*this)(Bug::kSkipFetch)) {
    m_.states_.machine().state().round = *fetch.round;
    m_.Post(member::StateFetched{{}, {}, *fetch.round});
    return true;
  }
  if (fetch.round || !(*this)(Bug::kJoinAsIfAtFirst)) return false;
  m_.Post(member::StateFetched{{}, {}, m_.state().round});
  return true;
}

bool PlantedBugs::StageWrongly(const member::StageRows& stage) {
  if (!(*this)(Bug::kReadyBeforeRows)) return false;
  m_.Post(member::RowsStaged{stage.number, {}});
  m_.After(1000 + m_.world_.dice.Below(200'000), [this, place = stage.place] {
    m_.rows_.Load(place->own);
    (void)m_.runner_.Reserve(Status::Ok(), *place);
  });
  return true;
}

bool PlantedBugs::StampWrongly(const member::SendSums& sums) {
  if (!sums.root || sums.root->next) return false;
  const bool again = (*this)(Bug::kStampTwice) && m_.core_.place()->start().planned;
  if (!again && !((*this)(Bug::kStampUnasked) && m_.world_.dice.Once(50))) return false;
  member::SendSums stamped = sums;
  stamped.root->next = {m_.point().generation.value + (again ? 0 : 1)};
  m_.Do(stamped);
  return true;
}

bool PlantedBugs::PerformStateWrongly(const member::MemberAction& action) {
  const PlantedBugs& bug = *this;
  if (std::holds_alternative<member::SetLinksAside>(action) && bug(Bug::kDropLinksOfBefore)) {
    m_.Do(member::SetLinksAside{});
    m_.Do(member::CloseLinksAside{});
    return true;
  }
  if (std::holds_alternative<member::FindState>(action) && bug(Bug::kRevertAlways)) {
    if (m_.states_.agreed()) m_.Do(member::Revert{});
  }
  if (std::holds_alternative<member::HoldCompared>(action) && bug(Bug::kAgreeBeforeVote)) {
    m_.Do(member::HoldCompared{});
    m_.Do(member::AgreeOnPresent{});
    return true;
  }
  if (const auto* history = std::get_if<member::ReportHistory>(&action)) {
    size_t first = history->first;
    if (bug(Bug::kTellOnlyNewHistory)) first = std::max(first, history_before_);
    if (bug(Bug::kSkipHistoryRow)) ++first;
    if (first == history->first) return false;
    m_.Do(member::ReportHistory{history->place, first});
    return true;
  }
  if (const auto* end = std::get_if<member::EndRun>(&action);
      end != nullptr && end->left && bug(Bug::kLeaverDropsLinks)) {
    m_.Do(member::CloseLinks{});
  }
  return (std::holds_alternative<member::Revert>(action) && bug(Bug::kDoNotGoBack)) ||
         (std::holds_alternative<member::AbortRound>(action) && bug(Bug::kDoNotAbort));
}

bool PlantedBugs::ReportWrongly(const member::Report& report) {
  const bool waits = m_.core_.phase() == member::MemberCore::Phase::kReady;
  if (auto* ready = std::get_if<cluster::MemberReady>(&report.message); ready != nullptr && waits) {
    if ((*this)(Bug::kReadyOneRoundLate)) {
      m_.runner_.Report(cluster::MemberReady{ready->job, ready->generation, ready->round + 1});
      return true;
    }
    if ((*this)(Bug::kBeginBeforeLevel)) {
      m_.Do(report);
      m_.Post(member::ProceedCame{{m_.point().incarnation, ready->job, ready->generation,
                                   ready->round, static_cast<int32_t>(m_.point().member), false}});
      return true;
    }
  }
  if (std::holds_alternative<cluster::LinkBroken>(report.message)) {
    return (*this)(Bug::kForgetBrokenLink);
  }
  return std::holds_alternative<cluster::StatesDiffer>(report.message) &&
         (*this)(Bug::kForgetDivergence);
}

bool PlantedBugs::CommitWrongly() {
  training::StepMachine<Real>& machine = m_.states_.machine();
  if (!std::holds_alternative<training::GradientAction>(m_.action_)) {
    if (!(*this)(Bug::kEvaluateOwnRows)) return false;
    m_.Reach(machine.OnEvaluation(m_.toy_.Stats(m_.action_, m_.own_sums_.back())));
    return true;
  }
  if ((*this)(Bug::kOfferOlderState)) stale_ = training::EncodeState(machine.state());
  if ((*this)(Bug::kSwitchBeforeUpdate) && m_.came_.signals->root.next && !m_.place_->root()) {
    m_.Reach(machine.Resume());
    return true;
  }
  if (!(*this)(Bug::kInterruptBeforeUpdate)) return false;
  training::Action next = machine.OnGradient(m_.toy_.Stats(m_.action_, m_.totals_.back()));
  const auto* update = std::get_if<training::UpdateAction>(&next);
  if (update == nullptr) {
    m_.Reach(std::move(next));
    return true;
  }
  m_.After(5000, [this, u = *update] {
    const Status& failure = m_.arriving_.failure();
    if (m_.core_.interrupted() || !failure.ok()) return m_.Post(member::Failed{failure});
    m_.Reach(m_.runner_.Stepped(m_.toy_.Apply(m_.states_.machine(), u, m_.totals_)));
  });
  return true;
}

bool PlantedBugs::Drops(const collective::ReduceMessage& message) {
  if (message.round <= m_.state().round) return false;
  m_.world_.fired(Fault::kEarlyRound);
  return (*this)(Bug::kDropEarlyMessages);
}

void PlantedBugs::TakeEarly() {
  if (!(*this)(Bug::kApplyBeforeWholeTotal) || m_.arriving_.complete()) return;
  if (m_.arriving_.arrived().back().data == nullptr) return;
  const collective::RoundShape shape = m_.toy_.ShapeOf(m_.action_);
  incomplete_ = m_.arriving_.arrived();
  for (size_t b = 0; b < incomplete_.size(); ++b) {
    const auto size = static_cast<size_t>(shape[b].floats + 2 * shape[b].doubles);
    if (incomplete_[b].data == nullptr)
      incomplete_[b] = collective::MakePayload(AlignedVector<Real>(size, Real{0}));
  }
}

std::vector<collective::Payload> PlantedBugs::Early(std::vector<collective::Payload> totals) {
  if (!incomplete_.empty()) totals = std::exchange(incomplete_, {});
  return totals;
}

Result<std::string> PlantedBugs::Distorted(const Result<std::string>& bytes) const {
  const bool late = (*this)(Bug::kJoinOneRoundLate) && m_.core_.joining();
  if (!bytes.ok() || !((*this)(Bug::kForgetSlots) || (*this)(Bug::kForgetBest) || late)) {
    return bytes;
  }
  training::TrainingState<Real> state = *training::DecodeState<Real>(*bytes, m_.toy_.plan());
  if ((*this)(Bug::kForgetSlots)) {
    for (auto& slot : state.slots) std::fill(slot.begin(), slot.end(), Real{0});
  }
  if ((*this)(Bug::kForgetBest)) {
    state.best_parameters.clear();
    state.best_value.reset();
    state.notes = {};
    state.evaluations_without_gain = 0;
  }
  if (late) ++state.round;
  return training::EncodeState(state);
}

LeafUse PlantedBugs::Use() const {
  const plan::LeafSpan own = m_.place_->own;
  LeafUse use{own};
  use.in_order_of_arrival = (*this)(Bug::kSumInOrderOfArrival);
  if (!before_) return use;
  const plan::LeafSpan before = before_->own;
  const int32_t leaves = m_.toy_.leaves();
  if ((*this)(Bug::kSkipMovedLeaf)) {
    use.rows_of = [before](int32_t l) { return l >= before.begin && l < before.end ? l : -1; };
  }
  if ((*this)(Bug::kRowsOfOldOwnership)) {
    const int32_t shift = before.begin - own.begin;
    use.rows_of = [shift, leaves](int32_t l) { return std::clamp(l + shift, 0, leaves - 1); };
  }
  if ((*this)(Bug::kCountMovedLeafTwice)) {
    if (before.begin < own.begin) use.counted_too = before.begin;
    if (before.end > own.end) use.counted_too = before.end - 1;
  }
  return use;
}

}  // namespace espalier::sim
