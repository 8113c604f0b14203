// Links (collective/link.h) over gRPC: one process's listener for its peers, and the links it opens
// for each generation of a job.
//
// Between two members that exchange messages there is one bidirectional stream of service
// espalier.v1.Peer; the member with the lower index dials, both directions flow on it. The
// dialler's first frame is a kHello that names (incarnation, job, generation, from, to).
//
// A stream that comes before its member has opened that generation is held for `open_timeout_ms`,
// with the messages of its dialler, bounded by flow control. This includes streams of a newer life
// of the coordinator than the links that are open. A stream is refused if its generation is over,
// if it is of an older life, for another member or for a connected one, or if its hello has a
// payload. The dialler sees a broken link.
//
// A message on the stream is one frame: 64 bytes of header, all numbers little-endian, and the
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
// The payload has no checksum: TCP has one, and members compare the hash of their parameters.
//
// Costs: sending copies no payload (gRPC refers to the message's owner until it is written);
// receiving copies it once, into a 64-byte aligned buffer.
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
  // Largest payload taken from or sent to a peer; compared before memory is reserved. A bucket of
  // up to kNodesAfterMove nodes must fit: of the widest table's row of weights, 8 MiB a node, or
  // the totals of an evaluation of kConfusionClassesMax classes (tests/worker/payload_test.cc).
  int64_t payload_bytes_max = int64_t{64} << 20;
  // For what all connections of the listener read at a time, whoever sends it.
  int64_t receive_bytes_max = int64_t{1} << 30;
  // A peer that cannot be reached for so long: OnBroken, at the one who dials.
  int64_t connect_timeout_ms = 10'000;
  // One that is reached, or that is to dial, but has not opened the generation for so long: it may
  // have a long step to end before, and whether it lives is the coordinator's affair.
  int64_t open_timeout_ms = 300'000;
  int64_t dial_retry_ms = 50;
  // Of a stream's first frame. Then it waits for its generation to be opened here, as long as the
  // other side does.
  int64_t hello_timeout_ms = 10'000;
  int64_t held_streams_max = 1024;
  // Of one name in certificates, which all workers of a cluster in YARN's containers share.
  int64_t held_streams_caller_max = 512;
  // Of one caller: watches of the health and streams of reflection.
  int64_t probes_caller_max = 100;
  // As in CoordinatorServerLimits, of these.
  int64_t recheck_interval_ms = 1'000;
  int64_t keepalive_interval_ms = 10'000;
  int64_t keepalive_timeout_ms = 5'000;
  ServerSecurity security;  // of the listener
  ClientSecurity dialling;
};

// Which links to open.
struct LinksRequest {
  Incarnation incarnation;
  JobId job;
  Generation generation;
  uint32_t self = 0;                   // index into addresses
  std::vector<std::string> addresses;  // host:port of each member's peer service, by member index
  // Of each member, as the coordinator told; with TLS the certificates must say the same. Those of
  // a plain network may be left out.
  std::vector<std::string> names;
  std::vector<uint32_t> partners;  // members this one exchanges messages with; both sides agree
  // Most that may wait to be sent to one partner; beyond it the link to that one breaks with
  // kResourceExhausted. The reduce itself needs a few rounds' sums.
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

// A member's job state for those who lack it.
struct StateOffer {
  std::vector<std::string> members;  // who may have it, by name; of a plain network left out
  std::function<std::shared_ptr<const std::string>()> encode;
};

struct StateFetch {
  std::string holder;               // its name, as in LinksRequest
  int64_t bytes_max = 0;            // a larger state is refused before memory is reserved
  int64_t timeout_ms = 60'000;      // so long nothing may come
  std::function<bool()> cancelled;  // looked at between parts; may be empty
};

// Thread rule: safe from any thread.
class PeerNetwork {
 public:
  // Listens on "host:port" (port 0: the system picks), with health and reflection. A port that is
  // taken is kAlreadyExists and is named.
  static Result<std::unique_ptr<PeerNetwork>> Make(const std::string& listen,
                                                   const PeerOptions& options = {});
  // REQUIRES: all Links opened here are destroyed. Breaks held streams and waits for gRPC.
  virtual ~PeerNetwork() = default;

  virtual int port() const = 0;
  virtual std::string address() const = 0;

  // Starts to connect with all partners and returns at once; Send may be called at once (what is
  // sent before the stream is up waits for it). A partner that is not there in time, or a stream
  // that breaks, is one OnBroken. `listener` must outlive the links; it is called from gRPC's
  // threads (one at a time for each partner) and must not destroy the links. Destroying the links
  // breaks their streams, also for the partners, and returns when no callback can come any more.
  // REQUIRES: no other links of the same job, generation and self are open here; self and partners
  // lie within addresses.
  virtual std::unique_ptr<collective::Links> Open(const LinksRequest& request,
                                                  collective::LinkListener* listener) = 0;

  // From now on members that lack the job state can fetch it here; `encode` is called for each of
  // them, on gRPC's threads, until WithdrawState returns.
  virtual void OfferState(const MemberKey& key, StateOffer offer) = 0;
  virtual void WithdrawState(const MemberKey& key) = 0;
  // The bytes that this member offers at `address` (its peer service). Blocks. kNotFound: it offers
  // none; kResourceExhausted: too large; kCancelled; others as the connection fails.
  virtual Result<std::string> FetchState(const std::string& address, const MemberKey& key,
                                         const StateFetch& fetch) = 0;
};

}  // namespace espalier::rpc
