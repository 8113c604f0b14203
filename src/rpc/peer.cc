#include "src/rpc/peer.h"

#include <map>
#include <tuple>
#include <utility>

#include "src/base/mutex.h"
#include "src/config/address.h"
#include "src/rpc/frame_stream.h"
#include "src/rpc/open_calls.h"
#include "src/rpc/peer_edge.h"
#include "src/rpc/rechecker.h"
#include "src/rpc/server.h"
#include "src/rpc/state_transfer.h"

namespace espalier::rpc {

namespace {

using rpc::AcceptedStream;
using rpc::PeerEdge;

// The address of a stream. A later coordinator incarnation may reuse job numbers.
using Place = MemberKey;

Place PlaceOf(const collective::ReduceMessage& hello) {
  return {hello.incarnation, hello.job, hello.generation, hello.to};
}

std::string Describe(const Place& place) {
  return "member " + std::to_string(place.member) + " of generation " +
         std::to_string(place.generation.value) + " of " + ToString(place.job);
}

using Edges = std::map<uint32_t, std::shared_ptr<PeerEdge>>;  // by partner

// Open members, members that were open, and streams that arrived early. Thread rule: any thread.
class Registry {
 public:
  Registry(int64_t held_max, int64_t caller_max) : held_max_(held_max), caller_max_(caller_max) {}

  struct Held {
    std::shared_ptr<AcceptedStream> stream;
    collective::ReduceMessage hello;
    std::string caller;  // key for the count
  };

  // Registers a member's edges and returns the streams that wait for it.
  std::vector<Held> Open(const Place& place, const Edges& edges) {
    MutexLock lock(mutex_);
    ESPALIER_CHECK(open_.emplace(place, edges).second, Describe(place) + " is open already");
    Generation& newest = newest_[{place.incarnation, place.job, place.member}];
    newest = std::max(newest, place.generation);
    if (newest_.size() > kJobsKept) newest_.erase(newest_.begin());
    std::vector<Held> out;
    for (auto it = held_.begin(); it != held_.end();) {
      if (PlaceOf(it->second.hello) == place) {
        out.push_back(it->second);
        it = Drop(it);
      } else {
        ++it;
      }
    }
    return out;
  }
  void Close(const Place& place) {
    MutexLock lock(mutex_);
    open_.erase(place);
  }
  // Returns the edge for a stream, or null if the stream is now held, or the reason for a refusal.
  Result<std::shared_ptr<PeerEdge>> Find(const std::shared_ptr<AcceptedStream>& stream,
                                         const collective::ReduceMessage& hello) {
    const Place place = PlaceOf(hello);
    MutexLock lock(mutex_);
    if (const auto it = open_.find(place); it != open_.end()) {
      const auto edge = it->second.find(hello.from);
      if (edge != it->second.end() && hello.from < hello.to) return edge->second;
      return InvalidArgument(Describe(place) + " expects no stream from member " +
                             std::to_string(hello.from));
    }
    // An older coordinator incarnation never returns. Links of a newer one will open here soon.
    for (const auto& [open, edges] : open_) {
      const bool same = open.job == place.job && open.generation == place.generation &&
                        open.member == place.member;
      if (same && open.incarnation > place.incarnation) {
        return FailedPrecondition("the hello is of coordinator incarnation " +
                                  std::to_string(place.incarnation.value) +
                                  ", this generation of " + std::to_string(open.incarnation.value));
      }
    }
    const auto newest = newest_.find({place.incarnation, place.job, place.member});
    if (newest != newest_.end() && place.generation <= newest->second) {
      return Aborted(Describe(place) + " is over here");
    }
    if (static_cast<int64_t>(held_.size()) >= held_max_) {
      return ResourceExhausted(std::to_string(held_.size()) +
                               " streams wait here for their generation to be opened");
    }
    // Without certificates, callers on the same host are indistinguishable.
    const std::string caller = stream->caller().known ? stream->caller().Key() : "";
    if (!caller.empty() && callers_[caller] >= caller_max_) {
      return ResourceExhausted(std::to_string(caller_max_) + " streams of " + caller +
                               " wait here for their generation to be opened, the limit");
    }
    ++callers_[caller];
    held_[stream.get()] = {stream, hello, caller};
    return std::shared_ptr<PeerEdge>();
  }
  void Forget(AcceptedStream* stream) {
    std::shared_ptr<AcceptedStream> last;  // destroyed after the lock is released
    MutexLock lock(mutex_);
    const auto it = held_.find(stream);
    if (it == held_.end()) return;
    last = it->second.stream;
    Drop(it);
  }

 private:
  using HeldStreams = std::map<AcceptedStream*, Held>;
  HeldStreams::iterator Drop(HeldStreams::iterator it) REQUIRES(mutex_) {
    const auto counted = callers_.find(it->second.caller);
    if (--counted->second == 0) callers_.erase(counted);
    return held_.erase(it);
  }

  static constexpr size_t kJobsKept = 1024;
  const int64_t held_max_, caller_max_;
  Mutex mutex_;
  std::map<Place, Edges> open_ GUARDED_BY(mutex_);
  std::map<std::tuple<Incarnation, JobId, uint32_t>, Generation> newest_
      GUARDED_BY(mutex_);  // ever opened
  HeldStreams held_ GUARDED_BY(mutex_);
  std::map<std::string, int64_t> callers_ GUARDED_BY(mutex_);  // number in held_
};

// Counts the streams that gRPC still uses.
class Countdown {
 public:
  void Add() {
    MutexLock lock(mutex_);
    ++count_;
  }
  void Done() {
    MutexLock lock(mutex_);
    if (--count_ == 0) zero_.NotifyAll();
  }
  void Wait() {
    MutexLock lock(mutex_);
    while (count_ != 0) zero_.Wait(mutex_);
  }

 private:
  Mutex mutex_;
  CondVar zero_;
  int64_t count_ GUARDED_BY(mutex_) = 0;
};

class MemberLinks final : public collective::Links {
 public:
  MemberLinks(Place place, Edges edges, Registry* registry)
      : place_(place), edges_(std::move(edges)), registry_(registry) {}
  ~MemberLinks() override {
    registry_->Close(place_);
    for (auto& [partner, edge] : edges_) edge->Detach();
  }
  void Send(collective::ReduceMessage message) override {
    const auto it = edges_.find(message.to);
    ESPALIER_CHECK(it != edges_.end(),
                   Describe(place_) + " has no link to member " + std::to_string(message.to));
    it->second->Send(std::move(message));
  }

 private:
  const Place place_;
  const Edges edges_;
  Registry* const registry_;
};

class Network final : public PeerNetwork {
 public:
  explicit Network(const PeerOptions& options)
      : options_(options),
        authorizer_(rpc::MakeAuthorizer(options.security)),
        registry_(options.held_streams_max, options.held_streams_caller_max),
        calls_({.caller_max = options.probes_caller_max}) {}
  ~Network() override {
    rechecker_.reset();
    calls_.EndAll(Unavailable("the worker is shutting down"));
    rpc::StopServer(&running_, 0);
    dialled_.Wait();
  }

  Status Start(const std::string& listen) {
    rpc::TransportSettings settings;
    settings.message_bytes_max =
        options_.payload_bytes_max + static_cast<int64_t>(rpc::kFrameHeaderBytes);
    settings.keepalive_interval_ms = options_.keepalive_interval_ms;
    settings.keepalive_timeout_ms = options_.keepalive_timeout_ms;
    settings.memory_bytes_max = options_.receive_bytes_max;
    rpc::Methods methods = states_.MakeMethods();
    methods["/espalier.v1.Peer/Link"] = [this](grpc::CallbackServerContext* context,
                                               const rpc::Caller& caller) {
      return Link(context, caller);
    };
    ESPALIER_ASSIGN_OR_RETURN(
        running_, rpc::StartServer(listen, std::move(methods), settings, &calls_, authorizer_));
    if (authorizer_ != nullptr) {
      rechecker_ =
          std::make_unique<rpc::Rechecker>(authorizer_, &calls_, options_.recheck_interval_ms);
    }
    return Status::Ok();
  }

  int port() const override { return running_.address.port; }
  std::string address() const override { return config::ToString(running_.address); }

  grpc::ServerGenericBidiReactor* Link(grpc::CallbackServerContext* context,
                                       const rpc::Caller& caller) {
    auto stream = std::make_shared<AcceptedStream>(
        context, caller, options_,
        AcceptedStream::Callbacks{
            [this](const auto& s, const collective::ReduceMessage& hello) { Arrived(s, hello); },
            [this](AcceptedStream* s) { registry_.Forget(s); }});
    stream->Start();
    return stream.get();
  }

  std::unique_ptr<collective::Links> Open(const LinksRequest& request,
                                          collective::LinkListener* listener) override {
    Edges edges;
    for (uint32_t partner : request.partners) {
      ESPALIER_CHECK(partner < request.addresses.size() && partner != request.self,
                     std::to_string(partner));
      edges[partner] = std::make_shared<PeerEdge>(request, partner, options_, listener);
    }
    const Place place{request.incarnation, request.job, request.generation, request.self};
    for (const Registry::Held& held : registry_.Open(place, edges)) {
      Arrived(held.stream, held.hello);
    }
    for (auto& [partner, edge] : edges) {
      if (partner < request.self) {
        edge->ExpectStream();
      } else {
        dialled_.Add();
        edge->Dialled(rpc::Dial(request.addresses[partner], edge->name(), options_, edge->Hello(),
                                edge, [this] { dialled_.Done(); }));
      }
    }
    return std::make_unique<MemberLinks>(place, std::move(edges), &registry_);
  }

  void OfferState(const MemberKey& key, StateOffer offer) override {
    states_.Offer(key, std::move(offer));
  }
  void WithdrawState(const MemberKey& key) override { states_.Withdraw(key); }
  Result<std::string> FetchState(const std::string& address, const MemberKey& key,
                                 const StateFetch& fetch) override {
    return rpc::FetchState(address, key, options_, fetch);
  }

 private:
  void Arrived(const std::shared_ptr<AcceptedStream>& stream,
               const collective::ReduceMessage& hello) {
    Result<std::shared_ptr<PeerEdge>> edge = registry_.Find(stream, hello);
    if (!edge.ok()) return stream->Break(edge.status());
    if (edge.value() == nullptr) return;  // the stream is held
    if (Status taken = edge.value()->Accept(stream); !taken.ok()) stream->Break(taken);
  }

  const PeerOptions options_;
  const std::shared_ptr<rpc::Authorizer> authorizer_;
  Registry registry_;
  Countdown dialled_;
  rpc::OpenCalls calls_;
  rpc::StateOffers states_;
  rpc::RunningServer running_;
  std::unique_ptr<rpc::Rechecker> rechecker_;  // null on a plain server
};

}  // namespace

Result<std::unique_ptr<PeerNetwork>> PeerNetwork::Make(const std::string& listen,
                                                       const PeerOptions& options) {
  auto network = std::make_unique<Network>(options);
  ESPALIER_RETURN_IF_ERROR(network->Start(listen));
  return std::unique_ptr<PeerNetwork>(std::move(network));
}

}  // namespace espalier::rpc
