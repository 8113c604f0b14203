// The worker's stream to its coordinator. One object is one attempt to connect and the session that
// comes of it; to try again, make another (the worker decides when and, as the address may have
// moved, where).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "src/base/status.h"
#include "src/cluster/messages.h"
#include "src/rpc/message_size.h"
#include "src/rpc/security.h"

namespace espalier::rpc {

// Called from gRPC's threads, one call at a time: implementations only enqueue. They must not
// destroy the link.
class CoordinatorLinkListener {
 public:
  virtual ~CoordinatorLinkListener() = default;
  // The stream is open. What was sent earlier has been waiting for this.
  virtual void OnConnected() = 0;
  virtual void OnMessage(cluster::ToWorker message) = 0;
  // Last call, exactly once unless the link is destroyed first. OK: the coordinator ended the
  // stream in order (after a Refused or a Dismiss, say); kUnavailable: not reached, or the
  // coordinator went away, or its certificate is not valid at this time; kDeadlineExceeded: no
  // connection in time; kInvalidArgument: it sent something malformed; kPermissionDenied: the
  // coordinator refused this side's certificate, token or role; kFailedPrecondition: this side does
  // not believe the coordinator's certificate, or only one side speaks TLS; any other error is the
  // one the coordinator closed with.
  virtual void OnClosed(Status why) = 0;
};

struct CoordinatorLinkOptions {
  int64_t connect_timeout_ms = 5'000;
  int64_t message_bytes_max = kMessageBytesMax;
  // Beyond these the link breaks: kResourceExhausted.
  int64_t queue_bytes_max = int64_t{256} << 20;
  int64_t queue_messages_max = 20'000;  // twice what may be told of a history at once
  int64_t keepalive_interval_ms = 10'000;
  int64_t keepalive_timeout_ms = 5'000;
  ClientSecurity security;
};

class CoordinatorLink {
 public:
  // Starts to connect to "host:port" and returns at once. `listener` must outlive the link.
  static std::unique_ptr<CoordinatorLink> Open(const std::string& address,
                                               CoordinatorLinkListener* listener,
                                               const CoordinatorLinkOptions& options = {});
  // Breaks the stream and waits until no callback can come any more.
  virtual ~CoordinatorLink() = default;

  // Queues a message; never blocks; any thread. After OnClosed it does nothing.
  virtual void Send(cluster::FromWorker message) = 0;
  // Says that nothing more will be sent; the coordinator then ends the stream and OnClosed follows.
  // What is queued goes out first.
  virtual void CloseAfterSending() = 0;
};

}  // namespace espalier::rpc
