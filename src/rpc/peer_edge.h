// One member's end of the link to one partner: the stream, if it exists, and the messages that wait
// for it. Private to rpc/.
#pragma once

#include <grpcpp/alarm.h>

#include <deque>
#include <memory>
#include <string>

#include "src/base/mutex.h"
#include "src/collective/link.h"
#include "src/rpc/frame_stream.h"
#include "src/rpc/peer_options.h"

namespace espalier::rpc {

// Breaks once and stays broken. Thread rule: any thread.
class PeerEdge final : public FrameHandler, public std::enable_shared_from_this<PeerEdge> {
 public:
  PeerEdge(const LinksRequest& request, uint32_t partner, const PeerOptions& options,
           collective::LinkListener* listener);

  // Returns the hello of the stream that this member dials.
  collective::ReduceMessage Hello() const;
  const std::string& name() const { return name_; }
  // Takes the stream that this side dialled.
  void Dialled(std::shared_ptr<FrameStream> stream);
  // Breaks the edge if no stream is accepted within the open timeout.
  void ExpectStream();
  // Accepts the partner's stream, or returns the reason for the refusal.
  Status Accept(const std::shared_ptr<AcceptedStream>& stream);

  void Send(collective::ReduceMessage message);
  // Breaks the stream. After it returns, the listener is not called again.
  void Detach();

  Status OnFrame(collective::ReduceMessage message) override;
  void OnClosed(Status why) override { Broken(why); }

 private:
  void Broken(const Status& why);
  // Returns OK if another message of this size may wait for the partner.
  Status RoomLocked(int64_t bytes) const REQUIRES(mutex_);

  const Incarnation incarnation_;
  const JobId job_;
  const Generation generation_;
  const uint32_t self_;
  const uint32_t partner_;
  const std::string address_;  // partner's address
  const std::string name_;     // partner's name
  const PeerOptions options_;
  const int64_t queue_bytes_max_, queue_messages_max_;

  // Held while the listener is called. The listener may call Send and, with a message that is too
  // large, break this very link. Taken before mutex_.
  RecursiveMutex deliver_;
  collective::LinkListener* listener_ GUARDED_BY(deliver_);

  Mutex mutex_;  // taken before the stream's mutex
  std::shared_ptr<FrameStream> stream_ GUARDED_BY(mutex_);
  std::deque<collective::ReduceMessage> waiting_ GUARDED_BY(mutex_);  // messages for the stream
  int64_t waiting_bytes_ GUARDED_BY(mutex_) = 0;
  bool broken_ GUARDED_BY(mutex_) = false;
  grpc::Alarm alarm_ GUARDED_BY(mutex_);
};

}  // namespace espalier::rpc
