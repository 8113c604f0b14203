#include "src/worker/reducer.h"

#include <chrono>
#include <utility>

#include "src/base/text.h"

namespace espalier::worker {

Reducer::Reducer(collective::ReduceIdentity identity, plan::TreePlace place,
                 std::vector<std::string> names, int64_t round_bytes_max,
                 std::function<void(int32_t, const Status&)> on_broken)
    : place_(place),
      names_(std::move(names)),
      reducer_(identity, std::move(place)),
      round_bytes_max_(round_bytes_max),
      on_broken_(std::move(on_broken)),
      events_([this](Event& event) { Handle(event); }),
      received_bytes_(names_.size()) {}

Reducer::~Reducer() {
  events_.Stop();
  links_.reset();
}

void Reducer::Start(std::unique_ptr<collective::Links> links) { links_ = std::move(links); }

void Reducer::BeginRound(uint64_t round, collective::RoundShape shape) {
  {
    MutexLock lock(mutex_);
    totals_.Begin(shape.size());
    missing_members_.reset();
  }
  if (alone()) return;
  {
    MutexLock lock(count_mutex_);
    ++rounds_begun_;
  }
  events_.Post(Begin{round, std::move(shape)});
}

void Reducer::Contribute(uint32_t bucket, collective::Payload own_nodes) {
  if (alone()) {
    Deliver(bucket, std::move(own_nodes));
  } else {
    events_.Post(Own{bucket, std::move(own_nodes)});
  }
}

Result<std::vector<collective::Payload>> Reducer::WaitTotals(int64_t timeout_ms) {
  constexpr auto kAnswerLimit = std::chrono::seconds(1);
  ReleasableMutexLock lock(mutex_);
  const auto over = [this]() REQUIRES(mutex_) { return totals_.over(); };
  if (!changed_.WaitFor(mutex_, std::chrono::milliseconds(timeout_ms), over)) {
    lock.Unlock();
    events_.Post(WhoIsMissing{});
    lock.Lock();
    changed_.WaitFor(mutex_, kAnswerLimit,
                     [this]() REQUIRES(mutex_) { return missing_members_.has_value(); });
  }
  if (totals_.over()) return totals_.Finish();
  std::string who;
  for (int32_t m : missing_members_.value_or(std::vector<int32_t>())) {
    who += (who.empty() ? "" : ", ") + names_[m];
  }
  return DeadlineExceeded("the sum of this step was not finished within " +
                          HumanDuration(timeout_ms) +
                          "; missing: " + (who.empty() ? "not known" : who));
}

void Reducer::Abort(Status why) {
  {
    MutexLock lock(mutex_);
    totals_.Fail(std::move(why));
  }
  changed_.NotifyAll();
}

bool Reducer::broken() const {
  MutexLock lock(mutex_);
  return broken_;
}

void Reducer::OnMessage(collective::ReduceMessage message) {
  Status fits;
  {
    MutexLock lock(count_mutex_);
    fits = CountLocked(message);
  }
  if (fits.ok()) return events_.Post(std::move(message));
  Abort(fits.Wrap("the reduce broke down"));
}

Status Reducer::CountLocked(const collective::ReduceMessage& message) {
  if (message.from >= received_bytes_.size()) {
    return InvalidArgument("a message is from member " + std::to_string(message.from) + " of " +
                           std::to_string(received_bytes_.size()));
  }
  int64_t& received = received_bytes_[message.from];
  received += kMessageBytesMin + static_cast<int64_t>(message.payload.size);
  // A partner is at most one round ahead. Messages without a payload count, too.
  const int64_t most = (rounds_begun_ + 1) * kVectorsARoundMax * round_bytes_max_;
  if (received <= most) return Status::Ok();
  return ResourceExhausted(names_[message.from] + " sent " + std::to_string(received) +
                           " bytes in " + std::to_string(rounds_begun_) +
                           " rounds, more than the " + std::to_string(most) +
                           " that the reduce has; is it of the same version?");
}

void Reducer::OnBroken(Generation, uint32_t member, Status why) {
  bool first = false;
  {
    MutexLock lock(mutex_);
    first = !std::exchange(broken_, true);
  }
  if (first && on_broken_) on_broken_(static_cast<int32_t>(member), why);
  Abort(
      why.Wrap("the link to " + (member < names_.size() ? names_[member] : "a member") + " broke"));
}

void Reducer::Handle(Event& event) {
  if (auto* begin = std::get_if<Begin>(&event)) {
    Perform(reducer_.BeginRound(begin->round, std::move(begin->shape)));
  } else if (auto* own = std::get_if<Own>(&event)) {
    Perform(reducer_.OnOwn(own->bucket, std::move(own->nodes)));
  } else if (auto* message = std::get_if<collective::ReduceMessage>(&event)) {
    Perform(reducer_.OnMessage(std::move(*message)));
  } else {
    {
      MutexLock lock(mutex_);
      missing_members_ = reducer_.Missing();
    }
    changed_.NotifyAll();
  }
}

void Reducer::Perform(collective::ReduceActions actions) {
  for (collective::ReduceMessage& m : actions.send) links_->Send(std::move(m));
  for (collective::BucketTotal& t : actions.totals) Deliver(t.bucket, std::move(t.payload));
  if (!actions.error.ok()) Abort(actions.error.Wrap("the reduce broke down"));
}

void Reducer::Deliver(uint32_t bucket, collective::Payload payload) {
  bool complete = false;
  {
    MutexLock lock(mutex_);
    totals_.Take(bucket, std::move(payload));
    complete = totals_.complete();
  }
  if (complete) changed_.NotifyAll();
}

}  // namespace espalier::worker
