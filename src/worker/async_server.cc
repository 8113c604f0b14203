#include "src/worker/async_server.h"

#include <cmath>
#include <cstring>
#include <utility>

#include "src/model/metrics.h"

namespace espalier {

template <typename T>
AsyncServer<T>::AsyncServer(StepMachine<T>& machine, const LeafWork<T>& work,
                            AsyncExchange& exchange, int32_t members, int64_t staleness,
                            StepTimes& times, Hooks hooks)
    : machine_(machine),
      work_(work),
      exchange_(exchange),
      times_(times),
      hooks_(std::move(hooks)),
      holder_(machine, work.chunks(), members, exchange.self(), staleness),
      orders_(members) {}

template <typename T>
void AsyncServer<T>::Begin() {
  last_step_us_ = hooks_.now_us();
  exchange_.Do([this] {
    AsyncActions actions;
    WithState([&](AsyncHolder<T>& holder) { actions = holder.Begin(); });
    Take(std::move(actions));
  });
}

template <typename T>
void AsyncServer<T>::OnOffered() {
  exchange_.Do([this] {
    AsyncActions actions;
    WithState([&](AsyncHolder<T>& holder) { actions = holder.OnOffered(); });
    Take(std::move(actions));
  });
}

template <typename T>
void AsyncServer<T>::SwitchTo(Generation next) {
  exchange_.Do([this, next] {
    AsyncActions actions;
    WithState([&](AsyncHolder<T>& holder) { actions = holder.SwitchTo(next); });
    Take(std::move(actions));
  });
}

template <typename T>
void AsyncServer<T>::OnAnswer(Letter letter) {
  Result<AsyncActions> actions = Internal("no answer");
  {
    std::lock_guard lock(mutex_);
    actions = TakeAnswer(letter);
    ++events_;
    if (actions.ok() && actions->applied > 0) {
      const int64_t now = hooks_.now_us();
      const double ms = static_cast<double>(now - last_step_us_) / 1000;
      last_step_us_ = now;
      rows_done_ += actions->rows;
      times_.Add(static_cast<float>(ms / static_cast<double>(actions->applied)), actions->applied);
    }
  }
  if (!actions.ok()) {
    return exchange_.Abort(
        actions.status().Wrap("the answer of " + exchange_.NameOf(letter.member) + " is none"));
  }
  Take(*std::move(actions));
}

template <typename T>
Result<AsyncActions> AsyncServer<T>::TakeAnswer(Letter& letter) {
  const auto doing = holder_.Doing(letter.member);
  if (!doing || letter.number != orders_[letter.member] ||
      letter.header[kLetterTask] != static_cast<double>(*doing)) {
    return FailedPrecondition("it is to order " + std::to_string(letter.number) +
                              ", the last one was " + std::to_string(orders_[letter.member]));
  }
  ESPALIER_RETURN_IF_ERROR(CheckParts(letter, *doing));
  if (*doing == AsyncTask::kLevel) return holder_.OnLevelled(letter.member);
  if (*doing == AsyncTask::kEvaluation) {
    const auto* totals = reinterpret_cast<const double*>(letter.parts[0].data);
    return holder_.OnEvaluated(letter.member, {totals, totals + letter.parts[0].size / 8});
  }
  AsyncPush<T> push;
  const double* stats = work_.StatsOf(letter.parts);
  push.stats.assign(stats, stats + work_.StatsSize());
  push.gradient = [this, parts = std::move(letter.parts)](int64_t chunk) {
    return work_.ChunkOf(parts, chunk);
  };
  return holder_.OnPush(letter.member, std::move(push));
}

template <typename T>
Status AsyncServer<T>::CheckParts(const Letter& letter, AsyncTask task) const {
  std::vector<int64_t> bytes;
  if (task == AsyncTask::kGradient) {
    for (const BucketShape& bucket : work_.round_shape()) bytes.push_back(bucket.bytes());
  } else if (task == AsyncTask::kEvaluation) {
    bytes = {TotalsSize(machine_.plan().shape, TotalsKind::kEvaluation) * int64_t{sizeof(double)}};
  }
  bool fits = bytes.size() == letter.parts.size();
  for (size_t i = 0; fits && i < bytes.size(); ++i) {
    fits = static_cast<int64_t>(letter.parts[i].size) == bytes[i];
  }
  if (!fits) return FailedPrecondition("its parts are not those of its task");
  if (task != AsyncTask::kGradient) return Status::Ok();
  const double rows = work_.StatsOf(letter.parts)[kTotalRows];
  if (rows >= 0 && rows <= static_cast<double>(machine_.plan().train_rows)) return Status::Ok();
  return FailedPrecondition("it is of " + std::to_string(rows) + " rows");
}

template <typename T>
void AsyncServer<T>::Take(AsyncActions actions) {
  if (!actions.error.ok()) return hooks_.on_error(actions.error);
  for (const AsyncOrder& order : actions.orders) {
    Letter letter = MakeOrder(order);
    if (order.member == exchange_.self()) {
      hooks_.on_own_order(std::move(letter));
    } else {
      exchange_.Send(letter);
    }
  }
}

template <typename T>
Letter AsyncServer<T>::MakeOrder(const AsyncOrder& order) {
  std::lock_guard lock(mutex_);
  const TrainingState<T>& state = machine_.state();
  Letter letter;
  letter.member = order.member;
  letter.number = ++orders_[order.member];
  letter.header[kLetterTask] = static_cast<double>(order.task);
  letter.header[kLetterSet] = static_cast<double>(order.set);
  letter.header[kLetterAgain] = order.again ? 1 : 0;
  letter.header[kLetterStep] = static_cast<double>(state.step);
  letter.header[kLetterAllBegan] = holder_.all_began() ? 1 : 0;
  letter.header[kLetterNext] = static_cast<double>(holder_.next().value);
  letter.header[kLetterRound] = static_cast<double>(state.round);
  if (order.task == AsyncTask::kLevel) return letter;
  std::vector<MutablePayload> parts;
  for (size_t b = 0; b < work_.round_shape().size(); ++b) {
    parts.push_back(AllocatePayload(static_cast<size_t>(work_.BucketSize(b)) * sizeof(T)));
    std::memset(parts.back().data, 0, parts.back().size);
  }
  const T* from =
      order.task == AsyncTask::kEvaluation ? machine_.Evaluated().data() : state.parameters.data();
  const std::vector<Chunk>& chunks = work_.chunks();
  for (size_t c = 0; c < chunks.size(); ++c) {
    std::memcpy(work_.ChunkOf(parts, static_cast<int64_t>(c)), from + chunks[c].offset,
                static_cast<size_t>(chunks[c].size) * sizeof(T));
  }
  for (MutablePayload& part : parts) letter.parts.push_back(std::move(part).Freeze());
  return letter;
}

template <typename T>
void AsyncServer<T>::WithState(const std::function<void(AsyncHolder<T>&)>& what) {
  std::lock_guard lock(mutex_);
  what(holder_);
}

template <typename T>
bool AsyncServer<T>::IsDone(int32_t member) {
  std::lock_guard lock(mutex_);
  return holder_.Levelled(member);
}

template <typename T>
bool AsyncServer<T>::over() {
  std::lock_guard lock(mutex_);
  return holder_.over();
}

template <typename T>
std::vector<int32_t> AsyncServer<T>::Missing() {
  std::lock_guard lock(mutex_);
  return holder_.Missing();
}

template <typename T>
int64_t AsyncServer<T>::events() {
  std::lock_guard lock(mutex_);
  return events_;
}

template <typename T>
int64_t AsyncServer<T>::rows_done() {
  std::lock_guard lock(mutex_);
  return rows_done_;
}

template class AsyncServer<float>;
template class AsyncServer<double>;

}  // namespace espalier
