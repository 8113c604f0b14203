// Options and requests of a PeerNetwork (peer.h).
//
// Thread rule: values.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/base/ids.h"
#include "src/rpc/security.h"

namespace espalier::rpc {

struct PeerOptions {
  // Largest payload received from or sent to a peer, checked before memory is reserved. A bucket of
  // up to kNodesAfterMove nodes must fit. It holds either the widest table's row of weights, 8 MiB
  // a node, or the totals of an evaluation of kConfusionClassesMax classes
  // (tests/worker/payload_test.cc).
  int64_t payload_bytes_max = int64_t{64} << 20;
  // Bytes that all connections of the listener may read at a time, for all senders together.
  int64_t receive_bytes_max = int64_t{1} << 30;
  // Time to reach a peer. After it, the dialling side receives OnBroken.
  int64_t connect_timeout_ms = 10'000;
  // Time for a peer to open the generation, if it is reached or has to dial. It may first have to
  // finish a long step. The coordinator decides whether the peer is alive.
  int64_t open_timeout_ms = 300'000;
  int64_t dial_retry_ms = 50;
  // Time for a stream's first frame. The stream then waits until its generation is opened here, as
  // long as the other side waits.
  int64_t hello_timeout_ms = 10'000;
  int64_t held_streams_max = 1024;
  // Held streams of one certificate name. All workers of a cluster in YARN containers share a name.
  int64_t held_streams_caller_max = 512;
  // Health watches and reflection streams of one caller.
  int64_t probes_caller_max = 100;
  // As in CoordinatorServerLimits, for the listener's calls.
  int64_t recheck_interval_ms = 1'000;
  int64_t keepalive_interval_ms = 10'000;
  int64_t keepalive_timeout_ms = 5'000;
  ServerSecurity security;  // for the listener
  ClientSecurity dialling;
};

// The links to open.
struct LinksRequest {
  Incarnation incarnation;
  JobId job;
  Generation generation;
  uint32_t self = 0;                   // index into addresses
  std::vector<std::string> addresses;  // host:port of each member's peer service, by member index
  // Name of each member, as the coordinator provided it. With TLS the certificates must match. The
  // names may be empty on a plain network.
  std::vector<std::string> names;
  std::vector<uint32_t> partners;  // members that exchange messages with this one; both sides agree
  // Limits of the messages that wait to be sent to one partner. Above them the link to that partner
  // breaks with kResourceExhausted. The reduce algorithm itself needs the sums of a few rounds.
  int64_t queue_bytes_max = int64_t{1} << 30;
  int64_t queue_messages_max = 1 << 20;
};

// A member of one generation of a job.
struct MemberKey {
  Incarnation incarnation;
  JobId job;
  Generation generation;
  uint32_t member = 0;
  auto operator<=>(const MemberKey&) const = default;
};

// A member's job state, offered to members that do not have it.
struct StateOffer {
  std::vector<std::string> members;  // names of allowed members; empty on a plain network
  std::function<std::shared_ptr<const std::string>()> encode;
};

struct StateFetch {
  std::string holder;               // name, as in LinksRequest
  int64_t bytes_max = 0;            // a larger state is refused before memory is reserved
  int64_t timeout_ms = 60'000;      // maximum time without data
  std::function<bool()> cancelled;  // checked between parts; may be empty
};

}  // namespace espalier::rpc
