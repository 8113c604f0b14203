#include "src/training/async_holder.h"

#include <algorithm>
#include <utility>

#include "src/base/check.h"
#include "src/model/metrics.h"
#include "src/training/update.h"

namespace espalier::training {

template <typename T>
AsyncHolder<T>::AsyncHolder(StepMachine<T>& machine, std::span<const plan::Chunk> chunks,
                            int32_t members, int32_t self, int64_t staleness)
    : machine_(machine), chunks_(chunks), self_(self), staleness_(staleness), members_(members) {}

template <typename T>
AsyncActions AsyncHolder<T>::Begin() {
  AsyncActions actions;
  action_ = machine_.Resume();
  Advance(actions);
  return actions;
}

template <typename T>
typename AsyncHolder<T>::MemberState& AsyncHolder<T>::Answer(int32_t member, AsyncTask task) {
  MemberState& m = members_[member];
  ESPALIER_CHECK(m.doing == task, "an answer of member " + std::to_string(member));
  m.doing.reset();
  m.began = true;
  return m;
}

template <typename T>
AsyncActions AsyncHolder<T>::OnPush(int32_t member, AsyncPush<T> push) {
  AsyncActions actions;
  MemberState& m = Answer(member, AsyncTask::kGradient);
  m.push = std::move(push);
  waiting_.push_back(member);
  Advance(actions);
  return actions;
}

template <typename T>
AsyncActions AsyncHolder<T>::OnEvaluated(int32_t member, std::vector<double> totals) {
  AsyncActions actions;
  Answer(member, AsyncTask::kEvaluation).totals = std::move(totals);
  Advance(actions);
  return actions;
}

template <typename T>
AsyncActions AsyncHolder<T>::OnLevelled(int32_t member) {
  Answer(member, AsyncTask::kLevel).levelled = true;
  return {};
}

template <typename T>
AsyncActions AsyncHolder<T>::OnOffered() {
  AsyncActions actions;
  Answer(self_, AsyncTask::kLevel).levelled = true;
  offered_ = true;
  Advance(actions);
  return actions;
}

template <typename T>
AsyncActions AsyncHolder<T>::SwitchTo(Generation next) {
  AsyncActions actions;
  if (next_) return actions;
  next_ = next;
  Advance(actions);
  return actions;
}

// Performs all work that is possible now, and gives orders to the members that wait for one.
template <typename T>
void AsyncHolder<T>::Advance(AsyncActions& actions) {
  for (;;) {
    if (const auto* failed = std::get_if<FailAction>(&action_)) {
      actions.error = failed->error;
      return;
    }
    const auto* evaluation = std::get_if<EvaluateAction>(&action_);
    if (evaluation != nullptr) {
      if (!Evaluate(*evaluation, actions)) return;
      continue;
    }
    if (std::holds_alternative<FinishAction>(action_) || next_) return End(actions);
    if (waiting_.empty()) break;
    MemberState& member = members_[waiting_.front()];
    waiting_.pop_front();
    TakePush(member, actions);
  }
  for (int32_t i = 0; i < static_cast<int32_t>(members_.size()); ++i) {
    MemberState& m = members_[i];
    if (m.doing || m.empty) continue;
    m.pulled = machine_.state().step;
    Order(i, {i, AsyncTask::kGradient, {}, m.again}, actions);
  }
}

template <typename T>
void AsyncHolder<T>::TakePush(MemberState& member, AsyncActions& actions) {
  AsyncPush<T> push = *std::exchange(member.push, std::nullopt);
  TrainingState<T>& state = machine_.state();
  const auto rows = static_cast<int64_t>(push.stats[model::kTotalRows]);
  member.empty = rows == 0;
  if (member.empty) return;
  const int64_t lag = state.step - member.pulled;
  member.again = lag > staleness_;
  if (member.again) {
    ++state.async.refused;
    return;
  }
  state.async.largest_lag = std::max(state.async.largest_lag, lag);
  const auto extras =
      static_cast<size_t>(model::TotalsSize(machine_.plan().shape, model::TotalsKind::kTraining));
  push.stats[extras + kExtraEnds] = static_cast<double>(end_soon_);
  action_ = machine_.OnGradient(push.stats);
  if (const auto* update = std::get_if<UpdateAction>(&action_)) {
    const model::ForEach each = [](int64_t count, const std::function<void(int64_t)>& body) {
      for (int64_t i = 0; i < count; ++i) body(i);
    };
    const bool finite =
        PerformUpdate<T>(machine_.plan(), *update, chunks_, push.gradient, each, state);
    action_ = finite ? machine_.OnUpdated() : machine_.OnNonfiniteGradient();
  }
  ++actions.applied;
  actions.rows += rows;
}

// Returns true if all totals have arrived and the machine has continued.
template <typename T>
bool AsyncHolder<T>::Evaluate(const EvaluateAction& evaluation, AsyncActions& actions) {
  bool complete = true;
  for (int32_t i = 0; i < static_cast<int32_t>(members_.size()); ++i) {
    MemberState& m = members_[i];
    complete = complete && m.totals;
    if (m.doing || m.totals) continue;
    Order(i, {i, AsyncTask::kEvaluation, evaluation.set, false}, actions);
  }
  if (!complete) return false;
  std::vector<double> sum = *std::exchange(members_[0].totals, std::nullopt);
  for (size_t i = 1; i < members_.size(); ++i) {
    const std::vector<double> more = *std::exchange(members_[i].totals, std::nullopt);
    model::AddTotals(sum.data(), more.data(), static_cast<int64_t>(sum.size()));
  }
  action_ = machine_.OnEvaluation(sum);
  return true;
}

template <typename T>
void AsyncHolder<T>::End(AsyncActions& actions) {
  for (const int32_t member : std::exchange(waiting_, {})) members_[member].push.reset();
  for (int32_t i = 0; i < static_cast<int32_t>(members_.size()); ++i) {
    const bool now = i == self_ || offered_;
    if (!now || members_[i].doing || members_[i].levelled) continue;
    Order(i, {i, AsyncTask::kLevel, {}, false}, actions);
  }
}

template <typename T>
void AsyncHolder<T>::Order(int32_t member, AsyncOrder order, AsyncActions& actions) {
  members_[member].doing = order.task;
  actions.orders.push_back(order);
}

template <typename T>
bool AsyncHolder<T>::over() const {
  return std::all_of(members_.begin(), members_.end(), [](const auto& m) { return m.levelled; });
}

template <typename T>
bool AsyncHolder<T>::all_began() const {
  return std::all_of(members_.begin(), members_.end(),
                     [](const auto& m) { return m.began || m.empty; });
}

template <typename T>
std::vector<int32_t> AsyncHolder<T>::Missing() const {
  std::vector<int32_t> missing;
  for (int32_t i = 0; i < static_cast<int32_t>(members_.size()); ++i) {
    if (members_[i].doing) missing.push_back(i);
  }
  return missing;
}

template class AsyncHolder<float>;
template class AsyncHolder<double>;

}  // namespace espalier::training
