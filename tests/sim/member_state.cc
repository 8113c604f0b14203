// SimMember: how all members get the same state.
#include <algorithm>
#include <map>
#include <utility>

#include "src/base/checksum.h"
#include "src/training/state_codec.h"
#include "tests/sim/member.h"
#include "tests/sim/worker.h"
#include "tests/sim/world.h"

namespace espalier::sim {
namespace {

constexpr int64_t kFetchRetryUs = 10'000, kFetchLimitUs = 60'000'000;
constexpr int64_t kJoinRetryUs = 40'000;  // retried without a limit: the change has no deadline

Status StateInterrupted() { return Cancelled("a newer order came"); }

}  // namespace

// Fetches the state of the round that all begin, or offers it to others.
void SimMember::Level(const espalier::cluster::Proceed& proceed) {
  if (interrupted_) return Finish(StateInterrupted());
  const uint64_t round = machine_.state().round;
  const bool lax = world_.bugs(Bug::kFetchFromBehind);
  if (!lax && (round > proceed.round || (proceed.holder == self_ && round != proceed.round))) {
    return Finish(FailedPrecondition("the coordinator's Proceed names round " +
                                     std::to_string(proceed.round) + ", this worker is at round " +
                                     std::to_string(round)));
  }
  if ((proceed.fetched && round >= proceed.round) || lax) OfferState();
  if (round >= proceed.round || (lax && proceed.holder == self_)) return Train();
  if (world_.bugs(Bug::kSkipFetch)) {
    machine_.state().round = proceed.round;
    return Train();
  }
  state_ = State::kFetching;
  FetchState(static_cast<uint32_t>(proceed.holder), world_.queue.now_us());
}

void SimMember::OfferState() {
  const bool stale = world_.bugs(Bug::kOfferOlderState) && !stale_.empty();
  world_.peers.Offer(point_, std::make_shared<const std::string>(
                                 stale ? stale_ : training::EncodeState(machine_.state())));
}

void SimMember::FetchState(uint32_t holder, int64_t since_us) {
  MemberPoint point = point_;
  point.member = holder;
  SimWorker& there = world_.AtAddress(order_.members[holder].address);
  world_.peers.Fetch(worker_, there, point,
                     [this, run = run_, since_us, holder](const Result<std::string>& bytes) {
                       if (run == run_ && state_ == State::kFetching) {
                         Fetched(holder, since_us, bytes);
                       }
                     });
}

void SimMember::Fetched(uint32_t holder, int64_t since_us, const Result<std::string>& bytes) {
  if (interrupted_) return Finish(StateInterrupted());
  if (bytes.ok()) return TakeState(*bytes);
  const bool early = bytes.status().code() == StatusCode::kNotFound &&
                     (joining_ || world_.queue.now_us() - since_us < kFetchLimitUs);
  if (early) {
    return After(joining_ ? kJoinRetryUs : kFetchRetryUs, [this, holder, since_us] {
      if (interrupted_) return Finish(StateInterrupted());
      FetchState(holder, since_us);
    });
  }
  OnBroken(order_.generation, holder, bytes.status());
  Finish(bytes.status());
}

void SimMember::TakeState(const std::string& bytes) {
  auto state = training::DecodeState<Real>(bytes, machine_.plan());
  if (!state.ok()) return Finish(state.status());
  if (!joining_ && state->round != proceed_->round && !world_.bugs(Bug::kFetchFromBehind)) {
    return Finish(FailedPrecondition("the state is of round " + std::to_string(state->round)));
  }
  ForgetWhatABugForgets(*state);
  world_.fired(Fault::kStateFetched);
  machine_ = training::StepMachine<Real>(machine_.plan(), *std::move(state));
  if (!joining_) {
    if (order_.reverts) agreed_ = bytes;
    if (proceed_->fetched) OfferState();  // others fetch it from here
    return Train();
  }
  if (world_.bugs(Bug::kJoinOneRoundLate)) ++machine_.state().round;
  // Reported first, because a link can break at once and LinkBroken must come later.
  joining_ = false;
  world_.fired(Fault::kJoined);
  hooks_.tell(cluster::Switched{order_.job, order_.generation, machine_.state().round});
  Connect();
  Train();
}

void SimMember::ForgetWhatABugForgets(training::TrainingState<Real>& state) const {
  if (world_.bugs(Bug::kForgetSlots)) {
    for (auto& slot : state.slots) std::fill(slot.begin(), slot.end(), Real{0});
  }
  if (world_.bugs(Bug::kForgetBest)) {
    state.best_parameters.clear();
    state.best_value.reset();
    state.notes = {};
    state.evaluations_without_gain = 0;
  }
}

// ---- silent corruption -------------------------------------------------------------------------

bool SimMember::FlipBit() {
  if (state_ != State::kComputing && state_ != State::kTotals) return false;
  auto& parameters = machine_.state().parameters;
  auto* bytes = reinterpret_cast<uint8_t*>(parameters.data());
  // A high bit of the mantissa. A flipped exponent gives infinite numbers, which other checks find.
  // The effect of a low bit can disappear by rounding before the next comparison.
  const auto at = static_cast<size_t>(world_.dice.Below(static_cast<int64_t>(parameters.size())));
  bytes[at * sizeof(Real) + 2] ^= static_cast<uint8_t>(1 << world_.dice.Below(7));
  return true;
}

// Compares the checksums that members sent before this step (worker/trainer_members.cc).
bool SimMember::Agree(const training::GradientAction& step) {
  if (step.step % kAgreementSteps != 0) return true;
  const AllWords all = toy_.Heard(action_, totals_.back());
  const auto members = static_cast<int32_t>(order_.members.size());
  std::map<double, int32_t> votes;
  for (int32_t m = 0; m < members && all.words != nullptr; ++m) {
    ++votes[all.checksum(static_cast<size_t>(m))];
  }
  if (alone_ || votes.size() <= 1 || world_.bugs(Bug::kIgnoreDivergence)) {
    agreed_ = compared_;
    if (root_) hooks_.on_agreed(step.step, agreed_);
    return true;
  }
  std::vector<int32_t> wrong;
  for (const auto& [checksum, count] : votes) {
    if (2 * count <= members) continue;
    for (int32_t m = 0; m < members; ++m) {
      if (all.checksum(static_cast<size_t>(m)) != checksum) wrong.push_back(m);
    }
  }
  world_.fired(Fault::kDivergence);
  diverged_ = differs_ = true;
  hooks_.tell(cluster::StatesDiffer{order_.job, order_.generation, step.step, std::move(wrong)});
  Finish(DataLoss("the members' job states differ"));
  return false;
}

// Goes back to the newest state that all members had.
void SimMember::GoBack() {
  machine_ = training::StepMachine<Real>(machine_.plan());
  machine_.Begin();
  if (!agreed_.empty()) {
    machine_ = training::StepMachine<Real>(machine_.plan(),
                                           *training::DecodeState<Real>(agreed_, machine_.plan()));
  }
  world_.checks.Restored(worker_, toy_, point_, machine_.state());
}

}  // namespace espalier::sim
