// The service by which a member gives its job state to those who lack it, and the call that gets
// it. Private to rpc/; see PeerNetwork.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "proto/espalier/v1/peer.grpc.pb.h"
#include "src/rpc/peer.h"

namespace espalier::rpc {

// Thread rule: any thread.
class StateOffers final : public espalier::v1::StateTransfer::CallbackService {
 public:
  void Offer(const MemberKey& key, std::function<std::string()> encode);
  void Withdraw(const MemberKey& key);

  grpc::ServerWriteReactor<espalier::v1::StatePart>* Fetch(
      grpc::CallbackServerContext* context,
      const espalier::v1::FetchStateRequest* request) override;

 private:
  struct Entry {
    std::function<std::string()> encode;
    int encoding = 0;  // calls of `encode` underway
  };
  // The state's bytes, or why there are none.
  Result<std::string> Encode(const MemberKey& key);

  std::mutex mutex_;  // guards what follows
  std::condition_variable idle_;
  std::map<MemberKey, std::shared_ptr<Entry>> offers_;
};

Result<std::string> FetchState(const std::string& address, const MemberKey& key,
                               const PeerOptions& options, const StateFetch& fetch);

}  // namespace espalier::rpc
