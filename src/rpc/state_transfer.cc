#include "src/rpc/state_transfer.h"

#include <grpcpp/alarm.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "proto/espalier/v1/peer.grpc.pb.h"
#include "src/base/mutex.h"
#include "src/base/text.h"
#include "src/rpc/call_status.h"
#include "src/rpc/connections.h"
#include "src/rpc/transport.h"
#include "src/rpc/wire.h"

namespace espalier::rpc {
namespace {

namespace pb = ::espalier::v1;

constexpr int64_t kSendTimeoutMs = 120'000;  // a caller that is silent for this long has given up
constexpr int64_t kPartMessageBytesMax = int64_t{2} << 20;

std::string Describe(const MemberKey& key) {
  return "member " + std::to_string(key.member) + " of generation " +
         std::to_string(key.generation.value) + " of " + ToString(key.job);
}

// Cancels a call if no data arrives for the given time. Thread rule: one thread.
class SilenceLimit {
 public:
  SilenceLimit(grpc::ClientContext* context, int64_t ms)
      : ms_(ms), watched_(std::make_shared<Watched>(context)) {
    Heard();
  }
  ~SilenceLimit() {
    MutexLock lock(watched_->mutex);
    watched_->context = nullptr;
  }

  // Restarts the time.
  void Heard() {
    uint64_t part;
    {
      MutexLock lock(watched_->mutex);
      part = ++watched_->part;
    }
    alarm_ = std::make_unique<grpc::Alarm>();
    alarm_->Set(Deadline(ms_), [watched = watched_, part](bool expired) {
      MutexLock lock(watched->mutex);
      if (!expired || watched->part != part || watched->context == nullptr) return;
      watched->passed = true;
      watched->context->TryCancel();
    });
  }
  // Returns OK, or kDeadlineExceeded if the time has passed.
  Status status() const {
    MutexLock lock(watched_->mutex);
    return watched_->passed ? DeadlineExceeded("nothing came for " + HumanDuration(ms_)) : Status();
  }

 private:
  struct Watched {
    explicit Watched(grpc::ClientContext* call) : context(call) {}
    Mutex mutex;
    grpc::ClientContext* context GUARDED_BY(mutex);  // null: the call has ended
    uint64_t part GUARDED_BY(mutex) = 0;             // number of the awaited part
    bool passed GUARDED_BY(mutex) = false;
  };
  const int64_t ms_;
  const std::shared_ptr<Watched> watched_;
  std::unique_ptr<grpc::Alarm> alarm_;
};

// Reads the request and sends the state in parts, each within kSendTimeoutMs. Keeps itself alive
// until the call is done.
class Sending final : public grpc::ServerGenericBidiReactor,
                      public std::enable_shared_from_this<Sending> {
 public:
  Sending(grpc::CallbackServerContext* context, Caller caller, StateOffers* offers)
      : context_(context), caller_(std::move(caller)), offers_(offers) {}

  void Start() {
    self_ = shared_from_this();
    Limit();
    StartRead(&incoming_);
  }
  void OnReadDone(bool ok) override {
    const auto request = ok ? ReadMessage<pb::FetchStateRequest>(&incoming_)
                            : InvalidArgument("the call ended without a request");
    if (!request.ok()) return Finish(ToGrpc(request.status(), context_));
    auto state = offers_->Encode(
        {{request->incarnation()}, {request->job()}, {request->generation()}, request->member()},
        caller_);
    if (!state.ok()) return Finish(ToGrpc(state.status(), context_));
    state_ = *std::move(state);
    Next();
  }
  void OnWriteDone(bool ok) override {
    if (!ok) return Finish(grpc::Status(grpc::StatusCode::CANCELLED, "the caller disconnected"));
    Next();
  }
  void OnDone() override {
    {
      MutexLock lock(mutex_);
      done_ = true;
      alarm_.reset();
    }
    const std::shared_ptr<Sending> self = std::move(self_);  // may be the last reference
  }

 private:
  void Next() {
    const std::string& bytes = *state_;
    if (at_ == bytes.size()) return Finish(grpc::Status::OK);
    const size_t size = std::min(kStatePartBytes, bytes.size() - at_);
    Limit();
    pb::StatePart part;
    part.set_total_bytes(bytes.size());
    part.set_data(bytes.data() + at_, size);
    at_ += size;
    outgoing_ = WriteMessage(part);
    StartWrite(&outgoing_);
  }

  // Gives the caller kSendTimeoutMs from now to send its request or to read the next part.
  void Limit() {
    MutexLock lock(mutex_);
    alarm_ = std::make_unique<grpc::Alarm>();
    ++limited_;
    alarm_->Set(Deadline(kSendTimeoutMs), [weak = weak_from_this(), part = limited_](bool expired) {
      const auto self = weak.lock();
      if (!expired || self == nullptr) return;
      MutexLock lock(self->mutex_);
      if (!self->done_ && self->limited_ == part) CancelCall(self->context_);
    });
  }

  grpc::CallbackServerContext* const context_;  // valid until done_
  const Caller caller_;
  StateOffers* const offers_;
  grpc::ByteBuffer incoming_, outgoing_;
  StateOffers::Bytes state_;
  size_t at_ = 0;
  std::shared_ptr<Sending> self_;
  Mutex mutex_;
  bool done_ GUARDED_BY(mutex_) = false;
  uint64_t limited_ GUARDED_BY(mutex_) =
      0;  // number of calls of Limit; older alarms have no effect
  std::unique_ptr<grpc::Alarm> alarm_ GUARDED_BY(mutex_);
};

}  // namespace

void StateOffers::Offer(const MemberKey& key, StateOffer offer) {
  auto entry = std::make_shared<Entry>();
  entry->offer = std::move(offer);
  MutexLock lock(mutex_);
  offers_[key] = std::move(entry);
}

void StateOffers::Withdraw(const MemberKey& key) {
  MutexLock lock(mutex_);
  const auto found = offers_.find(key);
  if (found == offers_.end()) return;
  const std::shared_ptr<Entry> entry = found->second;
  offers_.erase(found);
  while (entry->encoding != 0) idle_.Wait(mutex_);
}

Result<StateOffers::Bytes> StateOffers::Encode(const MemberKey& key, const Caller& caller) {
  std::shared_ptr<Entry> entry;
  {
    MutexLock lock(mutex_);
    const auto found = offers_.find(key);
    if (found == offers_.end()) return NotFound(Describe(key) + " offers no state here");
    entry = found->second;
    const std::vector<std::string>& members = entry->offer.members;
    const bool member = !caller.known ||
                        std::any_of(members.begin(), members.end(),
                                    [&](const std::string& name) { return caller.IsWorker(name); });
    if (!member) {
      return PermissionDenied(caller.ToString() + " takes no part in generation " +
                              std::to_string(key.generation.value) + " of " + ToString(key.job));
    }
    ++entry->encoding;
  }
  Bytes bytes = entry->offer.encode();
  {
    MutexLock lock(mutex_);
    --entry->encoding;
  }
  idle_.NotifyAll();
  return bytes;
}

Methods StateOffers::MakeMethods() {
  Methods out;
  out["/espalier.v1.StateTransfer/Fetch"] = [this](grpc::CallbackServerContext* context,
                                                   const Caller& caller) {
    const auto sending = std::make_shared<Sending>(context, caller, this);
    sending->Start();
    return sending.get();
  };
  return out;
}

Result<std::string> FetchState(const std::string& address, const MemberKey& key,
                               const PeerOptions& options, const StateFetch& fetch) {
  TransportSettings settings;
  settings.message_bytes_max = kPartMessageBytesMax;
  settings.keepalive_interval_ms = options.keepalive_interval_ms;
  settings.keepalive_timeout_ms = options.keepalive_timeout_ms;
  settings.connect_timeout_ms = options.connect_timeout_ms;
  settings.retry_ms = options.dial_retry_ms;
  const Connection connection = MakeChannel(address, settings, options.dialling, fetch.holder);
  const auto stub = pb::StateTransfer::NewStub(connection.channel);
  grpc::ClientContext context;
  pb::FetchStateRequest request;
  request.set_incarnation(key.incarnation.value);
  request.set_job(key.job.value);
  request.set_generation(key.generation.value);
  request.set_member(key.member);
  SilenceLimit limit(&context, fetch.timeout_ms);
  const auto reader = stub->Fetch(&context, request);
  std::string bytes;
  uint64_t total_bytes = 0;
  Status fault;
  pb::StatePart part;
  while (fault.ok() && reader->Read(&part)) {
    limit.Heard();
    total_bytes = part.total_bytes();
    const auto total = static_cast<int64_t>(total_bytes);
    if (total < 0 || total > fetch.bytes_max ||
        bytes.size() + part.data().size() > part.total_bytes()) {
      fault = ResourceExhausted("the state of " + Describe(key) + " is said to have " +
                                std::to_string(part.total_bytes()) + " bytes, expected at most " +
                                std::to_string(fetch.bytes_max));
    } else if (fetch.cancelled && fetch.cancelled()) {
      fault = Cancelled("the state is no longer needed");
    } else {
      bytes.reserve(static_cast<size_t>(total));
      bytes += part.data();
    }
  }
  if (!fault.ok()) context.TryCancel();
  const grpc::Status end = reader->Finish();
  if (!fault.ok()) return fault;
  if (!end.ok()) {
    Status refused = limit.status();
    if (refused.ok()) refused = WhyNotTogether(connection, end);
    return (refused.ok() ? FromGrpc(end, context) : refused)
        .Wrap("the state of " + Describe(key) + " at " + address);
  }
  if (bytes.size() != total_bytes) {
    return Unavailable("the state of " + Describe(key) + " ended after " +
                       std::to_string(bytes.size()) + " of " + std::to_string(total_bytes) +
                       " bytes");
  }
  return bytes;
}

}  // namespace espalier::rpc
