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

#include <memory>
#include <string>

#include "src/base/status.h"
#include "src/collective/link.h"
#include "src/rpc/peer_options.h"

namespace espalier::rpc {

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
