// One member's end of the link to one partner: the stream, when there is one, and what waits for
// it. Private to rpc/.
#pragma once

#include <grpcpp/alarm.h>

#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include "src/collective/link.h"
#include "src/rpc/frame_stream.h"
#include "src/rpc/peer.h"

namespace espalier::rpc {

// It breaks once and stays broken. Thread rule: any thread.
class PeerEdge final : public FrameHandler, public std::enable_shared_from_this<PeerEdge> {
 public:
  PeerEdge(const LinksRequest& request, uint32_t partner, const PeerOptions& options,
           collective::LinkListener* listener);

  // The hello of the stream that this member dials.
  collective::ReduceMessage Hello() const;
  const std::string& name() const { return name_; }
  // A stream of our own making.
  void Dialled(std::shared_ptr<FrameStream> stream);
  // Breaks the edge when no stream was accepted within the connect timeout.
  void ExpectStream();
  // Takes the partner's stream, or says why not.
  Status Accept(const std::shared_ptr<AcceptedStream>& stream);

  void Send(collective::ReduceMessage message);
  // The listener is not called any more when this returns; the stream is broken.
  void Detach();

  Status OnFrame(collective::ReduceMessage message) override;
  void OnClosed(Status why) override { Broken(why); }

 private:
  void Broken(const Status& why);
  // OK when one more message of that many bytes may wait for the partner.
  Status RoomLocked(int64_t bytes) const;

  const Incarnation incarnation_;
  const JobId job_;
  const Generation generation_;
  const uint32_t self_;
  const uint32_t partner_;
  const std::string address_;  // of the partner
  const std::string name_;     // of the partner
  const PeerOptions options_;
  const int64_t queue_bytes_max_, queue_messages_max_;

  // Held while the listener is called, which may Send and, by a message too large, break this very
  // link; guards listener_. Taken before mutex_.
  std::recursive_mutex deliver_;
  collective::LinkListener* listener_;

  std::mutex mutex_;  // guards what follows; taken before the stream's
  std::shared_ptr<FrameStream> stream_;
  std::deque<collective::ReduceMessage> waiting_;  // for the stream
  int64_t waiting_bytes_ = 0;
  bool broken_ = false;
  grpc::Alarm alarm_;
};

}  // namespace espalier::rpc
