// The service by which a member gives its job state to those who lack it, and the call that gets
// it. Private to rpc/; see PeerNetwork.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "proto/espalier/v1/peer.grpc.pb.h"
#include "src/rpc/authorizer.h"
#include "src/rpc/peer.h"

namespace espalier::rpc {

// A state is sent in parts of so many bytes.
inline constexpr size_t kStatePartBytes = size_t{1} << 20;

// Thread rule: any thread.
class StateOffers final : public espalier::v1::StateTransfer::CallbackService {
 public:
  // `authorizer`: null on a plain server.
  explicit StateOffers(std::shared_ptr<const Authorizer> authorizer)
      : authorizer_(std::move(authorizer)) {}
  void Offer(const MemberKey& key, StateOffer offer);
  void Withdraw(const MemberKey& key);

  grpc::ServerWriteReactor<espalier::v1::StatePart>* Fetch(
      grpc::CallbackServerContext* context,
      const espalier::v1::FetchStateRequest* request) override;

 private:
  struct Entry {
    StateOffer offer;
    int encoding = 0;  // calls of `encode` underway
  };
  using Bytes = std::shared_ptr<const std::string>;
  // The state's bytes, or why there are none for the caller.
  Result<Bytes> Encode(const MemberKey& key, const Caller& caller);

  const std::shared_ptr<const Authorizer> authorizer_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable idle_;
  std::map<MemberKey, std::shared_ptr<Entry>> offers_;
};

Result<std::string> FetchState(const std::string& address, const MemberKey& key,
                               const PeerOptions& options, const StateFetch& fetch);

}  // namespace espalier::rpc
