// ToyJob: names of rounds and rows, members' signals, the undisturbed run, and shared trees.
#include <cstring>
#include <map>
#include <utility>

#include "src/base/check.h"
#include "src/base/checksum.h"
#include "src/base/random.h"
#include "src/member/round.h"
#include "src/training/state_codec.h"
#include "tests/sim/toy_job.h"

namespace espalier::sim {

int64_t ToyJob::RoundName(const training::Action& action) {
  if (const auto* step = std::get_if<training::GradientAction>(&action)) return step->step;
  return -1 - static_cast<int64_t>(std::get<training::EvaluateAction>(action).set);
}

double ToyJob::RowName(spec::FileRole set, int64_t row) {
  return static_cast<double>(Mix64(static_cast<uint64_t>(row) * 3 + static_cast<uint64_t>(set)) >>
                             40);
}

void ToyJob::Say(const training::Action& action, const member::SendSums& signals, int32_t self,
                 Contribution& sums) const {
  const collective::Payload& last = sums.back();
  collective::MutablePayload copy = collective::AllocatePayload(last.size);
  std::memcpy(copy.data, last.data, last.size);
  auto* stats = reinterpret_cast<double*>(copy.data + ShapeOf(action).back().float_bytes());
  const std::span<double> extras{stats + StatsSize(action) - training::kStepExtras,
                                 stats + NumbersSize(action)};
  if (self < members_heard_) {
    training::EncodeSignals(signals.root ? &*signals.root : nullptr, signals.own, self, extras);
  } else if (signals.root) {
    training::EncodeRootSignals(*signals.root, extras);
  }
  sums.back() = std::move(copy).Freeze();
}

std::optional<training::StepSignals> ToyJob::Heard(const training::Action& action,
                                                   const collective::Payload& last,
                                                   int64_t members) const {
  if (!std::holds_alternative<training::GradientAction>(action)) return std::nullopt;
  const double* extras =
      Marks(action, last) - NumbersSize(action) + StatsSize(action) - training::kStepExtras;
  const int64_t heard = members <= members_heard_ ? members : 0;
  return training::DecodeSignals({extras, static_cast<size_t>(training::SignalNumbers(heard))});
}

member::MemberCoreOptions ToyJob::member_options() const {
  member::MemberCoreOptions options;
  options.leaves = leaves_;
  options.agreement_steps = kAgreementSteps;
  options.pace_steps = 4;
  options.plan_tree = SharedTree;
  return options;
}

void ToyJob::RunAlone() {
  training::StepMachine<Real> machine(plan_);
  training::Action action = machine.Begin();
  const LeafUse all{{0, leaves_}};
  for (;;) {
    const uint64_t round = machine.state().round;
    states_.resize(round + 1);
    states_[round] = training::EncodeState(machine.state());
    if (std::holds_alternative<training::FinishAction>(action)) break;
    const Contribution totals = Contribute(action, WeightsFor(machine, action), all);
    const double* marks = Marks(action, totals.back());
    rows_in_[RoundName(action)] = {marks[kMarkRows], marks[kMarkNames]};
    const std::vector<double> stats = Stats(action, totals.back());
    action = member::CommitRound(machine, action, stats.data(), [&](const auto& update) {
      return Apply(machine, update, totals);
    });
    ESPALIER_CHECK(!std::holds_alternative<training::FailAction>(action), "a toy job fails");
  }
  last_round_ = machine.state().round;
  CheckEpochs();
  weights_hash_ = WeightsHash(machine.state().parameters);
  history_ = machine.state().history;
}

// Checks that each epoch contains every row exactly once.
void ToyJob::CheckEpochs() const {
  std::pair<double, double> all{static_cast<double>(plan_.train_rows), 0.0};
  for (int64_t r = 0; r < plan_.train_rows; ++r) all.second += RowName(spec::FileRole::kTrain, r);
  const int64_t per_epoch = plan_.StepsPerEpoch();
  std::pair<double, double> sum{0.0, 0.0};
  for (int64_t step = 0; rows_in_.contains(step); ++step) {
    sum.first += rows_in_.at(step).first;
    sum.second += rows_in_.at(step).second;
    if ((step + 1) % per_epoch != 0) continue;
    ESPALIER_CHECK(sum == all, "an epoch of " + std::to_string(sum.first) + " rows");
    sum = {0.0, 0.0};
  }
}

const std::string* ToyJob::StateAt(uint64_t round) const {
  return round < states_.size() && !states_[round].empty() ? &states_[round] : nullptr;
}

const AlignedVector<Real>& WeightsFor(const training::StepMachine<Real>& machine,
                                      const training::Action& action) {
  const bool step = std::holds_alternative<training::GradientAction>(action);
  return step ? machine.state().parameters : machine.Evaluated();
}

std::string WeightsHash(const AlignedVector<Real>& parameters) {
  return Sha256Hex(
      {reinterpret_cast<const char*>(parameters.data()), parameters.size() * sizeof(Real)});
}

std::shared_ptr<const member::Tree> SharedTree(const plan::Ownership& ownership, int32_t leaves) {
  static std::map<std::pair<int32_t, std::vector<int32_t>>, std::shared_ptr<const member::Tree>>
      trees;
  std::vector<int32_t> ends;
  for (const plan::LeafSpan& i : ownership.intervals) ends.push_back(i.end);
  std::shared_ptr<const member::Tree>& tree = trees[{leaves, ends}];
  if (!tree) tree = member::MakeTree(ownership, leaves);
  return tree;
}

}  // namespace espalier::sim
