#include "src/worker/async_server.h"

#include <cmath>
#include <cstring>
#include <latch>
#include <memory>
#include <utility>

#include "src/model/arithmetic.h"
#include "src/model/metrics.h"

namespace espalier::worker {

template <typename T>
AsyncServer<T>::AsyncServer(training::StepMachine<T>& machine, const LeafWork<T>& work,
                            AsyncExchange& exchange, int32_t members, int64_t staleness,
                            StepTimes& times, Hooks hooks)
    : machine_(machine),
      work_(work),
      exchange_(exchange),
      times_(times),
      hooks_(std::move(hooks)),
      inboxes_(members),
      holder_(machine, work.chunks(), members, exchange.self(), staleness),
      orders_(members) {
  thread_.Submit(model::PrepareComputeThread);
}

template <typename T>
AsyncServer<T>::~AsyncServer() {
  stopped_ = true;
}

template <typename T>
void AsyncServer<T>::Do(std::function<void()> what) {
  thread_.Submit([this, what = std::move(what)] {
    if (!stopped_) what();
  });
}

template <typename T>
void AsyncServer<T>::Begin() {
  last_step_us_ = hooks_.now_us();
  Do([this] { Take(holder_.Begin()); });
}

template <typename T>
void AsyncServer<T>::OnOffered() {
  Do([this] { Take(holder_.OnOffered()); });
}

template <typename T>
void AsyncServer<T>::SwitchTo(Generation next) {
  Do([this, next] { Take(holder_.SwitchTo(next)); });
}

template <typename T>
void AsyncServer<T>::WithState(const std::function<void(training::AsyncHolder<T>&)>& what) {
  struct Turn {
    std::latch come{1}, over{1};
  };
  const auto turn = std::make_shared<Turn>();
  Do([turn] {
    turn->come.count_down();
    turn->over.wait();
  });
  turn->come.wait();
  what(holder_);
  turn->over.count_down();
}

// A member is done as soon as its answer has arrived, because its link may break right after it.
template <typename T>
void AsyncServer<T>::OnAnswer(Letter letter) {
  Inbox& inbox = inboxes_[letter.member];
  if (letter.header[kLetterTask] == static_cast<double>(training::AsyncTask::kLevel))
    inbox.done = true;
  if (inbox.waits.exchange(true)) {
    return exchange_.Abort(FailedPrecondition(exchange_.NameOf(letter.member) +
                                              " sent a second answer before it had an order"));
  }
  Do([this, letter = std::move(letter)]() mutable { Handle(letter); });
}

template <typename T>
void AsyncServer<T>::Handle(Letter& letter) {
  inboxes_[letter.member].waits = false;
  Result<training::AsyncActions> actions = TakeAnswer(letter);
  ++events_;
  if (!actions.ok()) {
    return exchange_.Abort(
        actions.status().Wrap("the answer of " + exchange_.NameOf(letter.member) + " is none"));
  }
  if (actions->applied > 0) {
    const int64_t now = hooks_.now_us();
    const double ms = static_cast<double>(now - last_step_us_) / 1000;
    last_step_us_ = now;
    rows_done_ += actions->rows;
    times_.Add(static_cast<float>(ms / static_cast<double>(actions->applied)), actions->applied);
  }
  Take(*std::move(actions));
}

template <typename T>
Result<training::AsyncActions> AsyncServer<T>::TakeAnswer(Letter& letter) {
  const auto doing = holder_.Doing(letter.member);
  if (!doing || letter.number != orders_[letter.member] ||
      letter.header[kLetterTask] != static_cast<double>(*doing)) {
    return FailedPrecondition("it is to order " + std::to_string(letter.number) +
                              ", the last one was " + std::to_string(orders_[letter.member]));
  }
  ESPALIER_RETURN_IF_ERROR(CheckParts(letter, *doing));
  if (*doing == training::AsyncTask::kLevel) return holder_.OnLevelled(letter.member);
  if (*doing == training::AsyncTask::kEvaluation) {
    const auto* totals = reinterpret_cast<const double*>(letter.parts[0].data);
    return holder_.OnEvaluated(letter.member, {totals, totals + letter.parts[0].size / 8});
  }
  training::AsyncPush<T> push;
  const double* stats = work_.StatsOf(letter.parts);
  push.stats.assign(stats, stats + work_.StatsSize());
  push.gradient = [this, parts = std::move(letter.parts)](int64_t chunk) {
    return work_.ChunkOf(parts, chunk);
  };
  return holder_.OnPush(letter.member, std::move(push));
}

template <typename T>
Status AsyncServer<T>::CheckParts(const Letter& letter, training::AsyncTask task) const {
  std::vector<int64_t> bytes;
  if (task == training::AsyncTask::kGradient) {
    for (const collective::BucketShape& bucket : work_.round_shape())
      bytes.push_back(bucket.bytes());
  } else if (task == training::AsyncTask::kEvaluation) {
    bytes = {model::TotalsSize(machine_.plan().shape, model::TotalsKind::kEvaluation) *
             int64_t{sizeof(double)}};
  }
  bool fits = bytes.size() == letter.parts.size();
  for (size_t i = 0; fits && i < bytes.size(); ++i) {
    fits = static_cast<int64_t>(letter.parts[i].size) == bytes[i];
  }
  if (!fits) return FailedPrecondition("its parts are not those of its task");
  if (task != training::AsyncTask::kGradient) return Status::Ok();
  const double rows = work_.StatsOf(letter.parts)[model::kTotalRows];
  if (rows >= 0 && rows <= static_cast<double>(machine_.plan().train_rows)) return Status::Ok();
  return FailedPrecondition("it is of " + std::to_string(rows) + " rows");
}

template <typename T>
void AsyncServer<T>::Take(training::AsyncActions actions) {
  if (!actions.error.ok()) return hooks_.on_error(actions.error);
  for (const training::AsyncOrder& order : actions.orders) {
    Letter letter = MakeOrder(order);
    if (order.member == exchange_.self()) {
      hooks_.on_own_order(std::move(letter));
    } else {
      exchange_.Send(letter);
    }
  }
  over_ = holder_.over();
}

template <typename T>
Letter AsyncServer<T>::MakeOrder(const training::AsyncOrder& order) {
  const training::TrainingState<T>& state = machine_.state();
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
  if (order.task != training::AsyncTask::kLevel) letter.parts = Parameters();
  return letter;
}

// Returns the parameters as parts. The parameters of a round never change, so one copy serves all
// its orders.
template <typename T>
const std::vector<collective::Payload>& AsyncServer<T>::Parameters() {
  const training::TrainingState<T>& state = machine_.state();
  if (!parameters_.empty() && parameters_round_ == state.round) return parameters_;
  parameters_round_ = state.round;
  parameters_.clear();
  std::vector<collective::MutablePayload> parts;
  for (size_t b = 0; b < work_.round_shape().size(); ++b) {
    parts.push_back(
        collective::AllocatePayload(static_cast<size_t>(work_.BucketSize(b)) * sizeof(T)));
    std::memset(parts.back().data, 0, parts.back().size);
  }
  const bool steps = state.phase == training::TrainingPhase::kSteps;
  const T* from = steps ? state.parameters.data() : machine_.Evaluated().data();
  const std::vector<plan::Chunk>& chunks = work_.chunks();
  for (size_t c = 0; c < chunks.size(); ++c) {
    std::memcpy(work_.ChunkOf(parts, static_cast<int64_t>(c)), from + chunks[c].offset,
                static_cast<size_t>(chunks[c].size) * sizeof(T));
  }
  for (collective::MutablePayload& part : parts) parameters_.push_back(std::move(part).Freeze());
  return parameters_;
}

template class AsyncServer<float>;
template class AsyncServer<double>;

}  // namespace espalier::worker
