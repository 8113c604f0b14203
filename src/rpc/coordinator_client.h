// The worker's stream to its coordinator. One object is one connection attempt and the resulting
// session. To try again, create another object. The worker decides when, and which address to use,
// because the coordinator may have moved.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "src/base/status.h"
#include "src/cluster/messages.h"
#include "src/rpc/message_size.h"
#include "src/rpc/security.h"

namespace espalier::rpc {

// Receives the events of a link. gRPC's threads make the calls, one at a time. Implementations may
// only enqueue and must not destroy the link.
class CoordinatorLinkListener {
 public:
  virtual ~CoordinatorLinkListener() = default;
  // The stream is open. Messages sent earlier have been waiting for this.
  virtual void OnConnected() = 0;
  virtual void OnMessage(cluster::ToWorker message) = 0;
  // Last call, exactly once unless the link is destroyed first. `why` is:
  //   OK                   the coordinator ended the stream in order (after a Refused or Dismiss)
  //   kUnavailable         the coordinator was not reached or went away, or its certificate is not
  //                        valid at this time
  //   kDeadlineExceeded    no connection within the timeout
  //   kInvalidArgument     the coordinator sent a malformed message
  //   kPermissionDenied    the coordinator refused this side's certificate, token or role
  //   kFailedPrecondition  this side refused the coordinator's certificate, or only one side uses
  //                        TLS
  //   other                the error with which the coordinator closed the stream
  virtual void OnClosed(Status why) = 0;
};

struct CoordinatorLinkOptions {
  int64_t connect_timeout_ms = 5'000;
  int64_t message_bytes_max = kMessageBytesMax;
  // Limits of the send queue. Above them the link breaks with kResourceExhausted.
  int64_t queue_bytes_max = int64_t{256} << 20;
  int64_t queue_messages_max = 20'000;  // twice the maximum number of history messages sent at once
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
  // Breaks the stream and waits until no more callbacks can occur.
  virtual ~CoordinatorLink() = default;

  // Queues a message without blocking. Safe from any thread. Has no effect after OnClosed.
  virtual void Send(cluster::FromWorker message) = 0;
  // Announces that no more messages will be sent. Queued messages are sent first. The coordinator
  // then ends the stream and OnClosed follows.
  virtual void CloseAfterSending() = 0;
};

}  // namespace espalier::rpc
