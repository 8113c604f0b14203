#include "src/rpc/state_transfer.h"

#include <algorithm>
#include <utility>

#include "src/rpc/transport.h"

namespace espalier::rpc {
namespace {

namespace pb = ::espalier::v1;

constexpr size_t kPartBytes = 1 << 20;
constexpr int64_t kPartMessageBytesMax = int64_t{2} << 20;

std::string Describe(const MemberKey& key) {
  return "member " + std::to_string(key.member) + " of generation " +
         std::to_string(key.generation.value) + " of " + ToString(key.job);
}

// Sends the parts one after the other; deletes itself at the end.
class Sending final : public grpc::ServerWriteReactor<pb::StatePart> {
 public:
  Sending(grpc::CallbackServerContext* context, Result<std::string> state)
      : state_(std::move(state)) {
    if (state_.ok()) {
      Next();
    } else {
      Finish(ToGrpc(state_.status(), context));
    }
  }
  void OnWriteDone(bool ok) override {
    if (!ok) return Finish(grpc::Status(grpc::StatusCode::CANCELLED, "the caller went away"));
    Next();
  }
  void OnDone() override { delete this; }

 private:
  void Next() {
    const std::string& bytes = state_.value();
    if (at_ == bytes.size()) return Finish(grpc::Status::OK);
    const size_t size = std::min(kPartBytes, bytes.size() - at_);
    part_.set_total_bytes(bytes.size());
    part_.set_data(bytes.data() + at_, size);
    at_ += size;
    StartWrite(&part_);
  }

  const Result<std::string> state_;
  size_t at_ = 0;
  pb::StatePart part_;
};

}  // namespace

void StateOffers::Offer(const MemberKey& key, std::function<std::string()> encode) {
  auto entry = std::make_shared<Entry>();
  entry->encode = std::move(encode);
  std::lock_guard lock(mutex_);
  offers_[key] = std::move(entry);
}

void StateOffers::Withdraw(const MemberKey& key) {
  std::unique_lock lock(mutex_);
  const auto found = offers_.find(key);
  if (found == offers_.end()) return;
  const std::shared_ptr<Entry> entry = found->second;
  offers_.erase(found);
  idle_.wait(lock, [&] { return entry->encoding == 0; });
}

Result<std::string> StateOffers::Encode(const MemberKey& key) {
  std::shared_ptr<Entry> entry;
  {
    std::lock_guard lock(mutex_);
    const auto found = offers_.find(key);
    if (found == offers_.end()) return NotFound(Describe(key) + " offers no state here");
    entry = found->second;
    ++entry->encoding;
  }
  std::string bytes = entry->encode();
  {
    std::lock_guard lock(mutex_);
    --entry->encoding;
  }
  idle_.notify_all();
  return bytes;
}

grpc::ServerWriteReactor<pb::StatePart>* StateOffers::Fetch(grpc::CallbackServerContext* context,
                                                            const pb::FetchStateRequest* request) {
  const MemberKey key{
      {request->incarnation()}, {request->job()}, {request->generation()}, request->member()};
  return new Sending(context, Encode(key));
}

Result<std::string> FetchState(const std::string& address, const MemberKey& key,
                               const PeerOptions& options, const StateFetch& fetch) {
  TransportSettings settings;
  settings.message_bytes_max = kPartMessageBytesMax;
  settings.keepalive_interval_ms = options.keepalive_interval_ms;
  settings.keepalive_timeout_ms = options.keepalive_timeout_ms;
  settings.connect_timeout_ms = options.connect_timeout_ms;
  settings.retry_ms = options.dial_retry_ms;
  const auto stub = pb::StateTransfer::NewStub(MakeChannel(address, settings));
  grpc::ClientContext context;
  context.set_deadline(Deadline(fetch.timeout_ms));
  pb::FetchStateRequest request;
  request.set_incarnation(key.incarnation.value);
  request.set_job(key.job.value);
  request.set_generation(key.generation.value);
  request.set_member(key.member);
  const auto reader = stub->Fetch(&context, request);
  std::string bytes;
  uint64_t total_bytes = 0;
  Status fault;
  pb::StatePart part;
  while (fault.ok() && reader->Read(&part)) {
    total_bytes = part.total_bytes();
    const auto total = static_cast<int64_t>(total_bytes);
    if (total < 0 || total > fetch.bytes_max ||
        bytes.size() + part.data().size() > part.total_bytes()) {
      fault = ResourceExhausted("the state of " + Describe(key) + " is said to have " +
                                std::to_string(part.total_bytes()) + " bytes, expected at most " +
                                std::to_string(fetch.bytes_max));
    } else if (fetch.cancelled && fetch.cancelled()) {
      fault = Cancelled("the state is not wanted any more");
    } else {
      bytes.reserve(static_cast<size_t>(total));
      bytes += part.data();
    }
  }
  if (!fault.ok()) context.TryCancel();
  const grpc::Status end = reader->Finish();
  if (!fault.ok()) return fault;
  if (!end.ok())
    return FromGrpc(end, context).Wrap("the state of " + Describe(key) + " at " + address);
  if (bytes.size() != total_bytes) {
    return Unavailable("the state of " + Describe(key) + " ended after " +
                       std::to_string(bytes.size()) + " of " + std::to_string(total_bytes) +
                       " bytes");
  }
  return bytes;
}

}  // namespace espalier::rpc
