// ToyJob: names of rounds and rows, the undisturbed run, and trees that are remembered.
#include <cstring>
#include <map>
#include <utility>

#include "src/base/check.h"
#include "src/base/checksum.h"
#include "src/base/random.h"
#include "src/training/state_codec.h"
#include "tests/sim/toy_job.h"

namespace espalier::sim {

int64_t ToyJob::RoundName(const Action& action) {
  if (const auto* step = std::get_if<GradientAction>(&action)) return step->step;
  return -1 - static_cast<int64_t>(std::get<EvaluateAction>(action).set);
}

double ToyJob::RowName(FileRole set, int64_t row) {
  return static_cast<double>(Mix64(static_cast<uint64_t>(row) * 3 + static_cast<uint64_t>(set)) >>
                             40);
}

void ToyJob::Say(const Action& action, const OwnWords& words, Contribution& sums) const {
  const Payload& last = sums.back();
  MutablePayload copy = AllocatePayload(last.size);
  std::memcpy(copy.data, last.data, last.size);
  auto* stats = reinterpret_cast<double*>(copy.data + ShapeOf(action).back().float_bytes());
  stats[StatsSize(action) - kStepExtras + kExtraSwitch] = static_cast<double>(words.next.value);
  if (words.member < members_heard_) {
    double* own = stats + StatsSize(action) + kMarks + kWords * static_cast<size_t>(words.member);
    own[0] = words.leaf_ms;
    own[1] = words.checksum;
  }
  sums.back() = std::move(copy).Freeze();
}

AllWords ToyJob::Heard(const Action& action, const Payload& last) const {
  const double* marks = Marks(action, last);
  return {{static_cast<uint64_t>(marks[-kStepExtras + kExtraSwitch])},
          members_heard_ > 0 ? marks + kMarks : nullptr};
}

void ToyJob::RunAlone() {
  StepMachine<Real> machine(plan_);
  Action action = machine.Begin();
  const LeafUse all{{0, leaves_}};
  for (;;) {
    const uint64_t round = machine.state().round;
    states_.resize(round + 1);
    states_[round] = EncodeState(machine.state());
    if (std::holds_alternative<FinishAction>(action)) break;
    const Contribution totals = Contribute(action, WeightsFor(machine, action), all);
    const double* marks = Marks(action, totals.back());
    rows_in_[RoundName(action)] = {marks[kMarkRows], marks[kMarkNames]};
    const std::vector<double> stats = Stats(action, totals.back());
    if (std::holds_alternative<EvaluateAction>(action)) {
      action = machine.OnEvaluation(stats);
      continue;
    }
    action = machine.OnGradient(stats);
    if (const auto* update = std::get_if<UpdateAction>(&action)) {
      action = Apply(machine, *update, totals);
    }
    ESPALIER_CHECK(!std::holds_alternative<FailAction>(action), "a toy job fails");
  }
  last_round_ = machine.state().round;
  CheckEpochs();
  weights_hash_ = WeightsHash(machine.state().parameters);
  history_ = machine.state().history;
}

// Every row exactly once an epoch.
void ToyJob::CheckEpochs() const {
  std::pair<double, double> all{static_cast<double>(plan_.train_rows), 0.0};
  for (int64_t r = 0; r < plan_.train_rows; ++r) all.second += RowName(FileRole::kTrain, r);
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

const AlignedVector<Real>& WeightsFor(const StepMachine<Real>& machine, const Action& action) {
  const bool step = std::holds_alternative<GradientAction>(action);
  return step ? machine.state().parameters : machine.Evaluated();
}

std::string WeightsHash(const AlignedVector<Real>& parameters) {
  return Sha256Hex(
      {reinterpret_cast<const char*>(parameters.data()), parameters.size() * sizeof(Real)});
}

const std::vector<TreePlace>& TreeOf(const std::vector<LeafSpan>& intervals, int32_t leaves) {
  static std::map<std::pair<int32_t, std::vector<int32_t>>, std::vector<TreePlace>> trees;
  std::vector<int32_t> ends;
  for (const LeafSpan& i : intervals) ends.push_back(i.end);
  auto [it, made] = trees.try_emplace({leaves, ends});
  if (made) it->second = PlanTree({intervals}, leaves);
  return it->second;
}

}  // namespace espalier::sim
