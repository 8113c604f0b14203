// Links (collective/link.h) over gRPC: a process's listener for its peers, and the links that it
// opens for each generation of a job.
//
// Two members that exchange messages share one bidirectional stream of service espalier.v1.Peer.
// The member with the lower index dials, and both directions use the stream. The dialler's first
// frame is a kHello with (incarnation, job, generation, from, to).
//
// A stream that arrives before its member has opened that generation is held for `open_timeout_ms`.
// Its dialler's messages wait with it, bounded by flow control. This includes streams of a newer
// coordinator incarnation than the open links have. A stream is refused if its generation is over,
// if it is of an older incarnation, if it is for another member or an already connected one, or if
// its hello has a payload. The dialler then sees a broken link.
//
// A message on the stream is one frame: a 64-byte header with little-endian numbers, then the
// payload.
//
//   offset  size
//        0     4  magic "ESPL" (45 53 50 4c)
//        4     2  version of this layout: 1
//        6     1  kind: 0 hello, 1 leaf up, 2 join up, 3 down, 4 across
//        7     1  zero
//        8     8  incarnation
//       16     8  job
//       24     8  generation
//       32     8  round
//       40     4  from, a member index
//       44     4  to, a member index
//       48     4  bucket
//       52     4  payload length in bytes, at most `payload_bytes_max`
//       56     4  zero
//       60     4  CRC-32C of bytes 0..59
//
// A kDown of generation 3 of job 7 from member 0 to member 2, incarnation 1, round 9, bucket 4,
// payload of 1 MiB:
//   45 53 50 4c  01 00 03 00  01 00 00 00  00 00 00 00
//   07 00 00 00  00 00 00 00  03 00 00 00  00 00 00 00
//   09 00 00 00  00 00 00 00  00 00 00 00  02 00 00 00
//   04 00 00 00  00 00 10 00  00 00 00 00  <crc>
// The payload has no checksum, because TCP has one and members compare the hash of their
// parameters.
//
// Costs: sending copies no payload (gRPC refers to the message's owner until it is written).
// Receiving copies the payload once, into a 64-byte aligned buffer.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/base/ids.h"
#include "src/base/status.h"
#include "src/collective/link.h"
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

// Thread rule: safe from any thread.
class PeerNetwork {
 public:
  // Listens on "host:port" (port 0: the system chooses), with health and reflection. If the port is
  // in use, returns kAlreadyExists and names the port.
  static Result<std::unique_ptr<PeerNetwork>> Make(const std::string& listen,
                                                   const PeerOptions& options = {});
  // REQUIRES: all Links opened here are destroyed. Breaks held streams and waits for gRPC.
  virtual ~PeerNetwork() = default;

  virtual int port() const = 0;
  virtual std::string address() const = 0;

  // Starts to connect to all partners and returns at once. Send may be called at once, and messages
  // wait until the stream is open. If a partner does not appear in time or a stream breaks,
  // OnBroken is called once. `listener` must outlive the links. gRPC's threads call it, one at a
  // time for each partner, and it must not destroy the links. Destroying the links also breaks the
  // streams for the partners, and returns when no more callbacks can occur.
  // REQUIRES: no other links of the same job, generation and self are open here. self and partners
  // are within addresses.
  virtual std::unique_ptr<collective::Links> Open(const LinksRequest& request,
                                                  collective::LinkListener* listener) = 0;

  // Offers the job state to members that do not have it. gRPC's threads call `encode` for each of
  // them until WithdrawState returns.
  virtual void OfferState(const MemberKey& key, StateOffer offer) = 0;
  virtual void WithdrawState(const MemberKey& key) = 0;
  // Returns the bytes that this member offers at `address` (its peer service). Blocks. Errors:
  // kNotFound, the member offers none; kResourceExhausted, too large; kCancelled; others from the
  // connection.
  virtual Result<std::string> FetchState(const std::string& address, const MemberKey& key,
                                         const StateFetch& fetch) = 0;
};

}  // namespace espalier::rpc
