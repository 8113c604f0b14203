#include "src/rpc/peer_edge.h"

#include <utility>

#include "src/rpc/call_status.h"

namespace espalier::rpc {

PeerEdge::PeerEdge(const LinksRequest& request, uint32_t partner, const PeerOptions& options,
                   collective::LinkListener* listener)
    : incarnation_(request.incarnation),
      job_(request.job),
      generation_(request.generation),
      self_(request.self),
      partner_(partner),
      address_(request.addresses[partner]),
      name_(partner < request.names.size() ? request.names[partner] : ""),
      options_(options),
      queue_bytes_max_(request.queue_bytes_max),
      queue_messages_max_(request.queue_messages_max),
      listener_(listener) {}

collective::ReduceMessage PeerEdge::Hello() const {
  collective::ReduceMessage hello;
  hello.incarnation = incarnation_;
  hello.job = job_;
  hello.generation = generation_;
  hello.kind = collective::MessageKind::kHello;
  hello.from = self_;
  hello.to = partner_;
  return hello;
}

void PeerEdge::Dialled(std::shared_ptr<FrameStream> stream) {
  MutexLock lock(mutex_);
  if (broken_) return;  // it broke immediately
  stream_ = std::move(stream);
  for (const collective::ReduceMessage& message : waiting_) stream_->Send(message);
  waiting_.clear();
}

void PeerEdge::ExpectStream() {
  MutexLock lock(mutex_);
  if (broken_ || stream_ != nullptr) return;
  alarm_.Set(Deadline(options_.open_timeout_ms), [weak = weak_from_this()](bool expired) {
    const auto self = weak.lock();
    if (!expired || self == nullptr) return;
    {
      MutexLock lock(self->mutex_);
      if (self->stream_ != nullptr) return;
    }
    self->Broken(DeadlineExceeded("it did not connect within " +
                                  std::to_string(self->options_.open_timeout_ms) +
                                  " ms; is the worker running, and can it reach this one?"));
  });
}

Status PeerEdge::Accept(const std::shared_ptr<AcceptedStream>& stream) {
  if (!stream->caller().IsWorker(name_)) {  // not the partner's stream, which may still arrive
    return PermissionDenied("expected a stream of worker " + name_ + ", found one of " +
                            stream->caller().ToString());
  }
  {
    MutexLock lock(mutex_);
    if (broken_) return Aborted("the link to this member is broken");
    if (stream_ != nullptr) return AlreadyExists("the two members are connected already");
    if (stream->Accept(shared_from_this())) {
      stream_ = stream;
      alarm_.Cancel();
      for (const collective::ReduceMessage& message : waiting_) stream_->Send(message);
      waiting_.clear();
      return Status::Ok();
    }
  }
  // The partner dials only once, so no other stream follows.
  const Status why = Unavailable("its stream ended before it was taken");
  Broken(why);
  return why;
}

void PeerEdge::Send(collective::ReduceMessage message) {
  if (static_cast<int64_t>(message.payload.size) > options_.payload_bytes_max) {
    return Broken(ResourceExhausted("a payload of " + std::to_string(message.payload.size) +
                                    " bytes is too large, expected at most " +
                                    std::to_string(options_.payload_bytes_max)));
  }
  Status room;
  {
    MutexLock lock(mutex_);
    if (broken_) return;
    const auto bytes = static_cast<int64_t>(kFrameHeaderBytes + message.payload.size);
    room = RoomLocked(bytes);
    if (room.ok() && stream_ != nullptr) {
      stream_->Send(message);
    } else if (room.ok()) {
      waiting_bytes_ += bytes;
      waiting_.push_back(std::move(message));
    }
  }
  if (!room.ok()) Broken(room);
}

Status PeerEdge::RoomLocked(int64_t bytes) const {
  FrameStream::Queued queued{waiting_bytes_, static_cast<int64_t>(waiting_.size())};
  if (stream_ != nullptr) queued = stream_->queued();
  if (queued.bytes + bytes <= queue_bytes_max_ && queued.messages < queue_messages_max_) {
    return Status::Ok();
  }
  return ResourceExhausted("it does not read: " + std::to_string(queued.messages) +
                           " messages of " + std::to_string(queued.bytes) +
                           " bytes wait for it, at most " + std::to_string(queue_messages_max_) +
                           " of " + std::to_string(queue_bytes_max_) + " may");
}

Status PeerEdge::OnFrame(collective::ReduceMessage m) {
  if (m.job != job_ || m.generation != generation_ || m.from != partner_ || m.to != self_ ||
      m.kind == collective::MessageKind::kHello) {
    return InvalidArgument("a message of " + ToString(m.job) + " generation " +
                           std::to_string(m.generation.value) + " from member " +
                           std::to_string(m.from) + " to member " + std::to_string(m.to) +
                           " came on the stream of " + ToString(job_) + " generation " +
                           std::to_string(generation_.value) + " from member " +
                           std::to_string(partner_) + " to member " + std::to_string(self_));
  }
  RecursiveMutexLock lock(deliver_);
  if (listener_ != nullptr) listener_->OnMessage(std::move(m));
  return Status::Ok();
}

void PeerEdge::Broken(const Status& why) {
  std::shared_ptr<FrameStream> stream;
  {
    MutexLock lock(mutex_);
    if (std::exchange(broken_, true)) return;
    stream = std::move(stream_);
    waiting_.clear();
    alarm_.Cancel();
  }
  if (stream != nullptr) stream->Break(why);
  RecursiveMutexLock lock(deliver_);
  if (listener_ == nullptr) return;
  listener_->OnBroken(
      generation_, partner_,
      why.Wrap("the link to member " + std::to_string(partner_) + " at " + address_ + " broke"));
}

void PeerEdge::Detach() {
  {
    RecursiveMutexLock lock(deliver_);
    listener_ = nullptr;
  }
  Broken(Aborted("the other side left generation " + std::to_string(generation_.value) + " of " +
                 ToString(job_)));
}

}  // namespace espalier::rpc
