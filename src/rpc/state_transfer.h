// The service through which a member gives its job state to members that do not have it, and the
// call that fetches it. Private to rpc/; see PeerNetwork.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "src/base/mutex.h"
#include "src/rpc/gate.h"
#include "src/rpc/peer_options.h"

namespace espalier::rpc {

// Size of the parts in which a state is sent.
inline constexpr size_t kStatePartBytes = size_t{1} << 20;

// Thread rule: any thread.
class StateOffers {
 public:
  void Offer(const MemberKey& key, StateOffer offer);
  void Withdraw(const MemberKey& key);

  // Returns the methods of espalier.v1.StateTransfer. The offers must outlive them.
  Methods MakeMethods();

  using Bytes = std::shared_ptr<const std::string>;
  // Returns the bytes of the state, or the reason why the caller cannot get them.
  Result<Bytes> Encode(const MemberKey& key, const Caller& caller);

 private:
  struct Entry {
    StateOffer offer;
    int encoding = 0;  // calls of `encode` in progress
  };

  Mutex mutex_;
  CondVar idle_;
  std::map<MemberKey, std::shared_ptr<Entry>> offers_ GUARDED_BY(mutex_);
};

Result<std::string> FetchState(const std::string& address, const MemberKey& key,
                               const PeerOptions& options, const StateFetch& fetch);

}  // namespace espalier::rpc
