// The interface between a CoordinatorServer and the coordinator behind it, and the server's limits.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/base/ids.h"
#include "src/base/status.h"
#include "src/cluster/coordinator_actions.h"
#include "src/cluster/messages.h"
#include "src/rpc/message_size.h"
#include "src/spec/snapshots.h"

namespace espalier::rpc {

// Answers a call. Safe from any thread. Only the first call has an effect. If a Done is dropped
// without a call, the answer is kUnavailable ("the coordinator is shutting down").
template <typename T>
using Done = std::function<void(Result<T>)>;

// Returns whether the caller of an unanswered call has gone: it hung up, or its deadline passed.
// Safe from any thread, at any time.
using CallerGone = std::function<bool()>;

// Keeps a message counted as unhandled; see OnWorkerMessage.
using MessageHold = std::shared_ptr<void>;

// The stream of updates to one watcher. Thread rule: safe from any thread. May outlive the server,
// and then has no effect.
class WatchSink {
 public:
  virtual ~WatchSink() = default;
  // Queues an update without blocking. If the watcher is slower than the updates, they are merged
  // into the newest snapshot and all history rows. If too many rows wait, the stream closes with
  // kResourceExhausted.
  virtual void Send(spec::JobUpdate update) = 0;
  // Ends the stream after the queued updates. OK: the job is over and all updates are queued. Later
  // calls of Send and Close have no effect. Dropping the last reference to an open sink closes it
  // with kUnavailable.
  virtual void Close(Status status) = 0;
  // Returns true if the watcher has gone away. The sink may then be dropped.
  virtual bool cancelled() const = 0;
};

// Interface that the coordinator daemon implements. gRPC's threads make the calls concurrently, so
// implementations may only enqueue and must not block. Calls about one session arrive one at a
// time, in order.
class CoordinatorHandler {
 public:
  virtual ~CoordinatorHandler() = default;

  // A worker opened a stream. A server never reuses a SessionId, and a worker that reconnects gets
  // a new one. `peer` is the worker's address, for messages.
  virtual void OnWorkerOpened(cluster::SessionId session, std::string peer) = 0;
  // Passes a message whose ranges have been checked. The handler decides whether the message is
  // allowed at this time. The handler keeps `hold` until it has processed the message. While too
  // many messages are unprocessed, the server reads nothing more from that worker.
  virtual void OnWorkerMessage(cluster::SessionId session, cluster::FromWorker message,
                               MessageHold hold) = 0;
  // The stream has ended, for any reason. This is the last call about the session. OK: it ended in
  // order. kInvalidArgument: the worker sent a malformed message. kResourceExhausted: the worker
  // was too slow.
  virtual void OnWorkerClosed(cluster::SessionId session, Status why) = 0;

  // Submits a job. The server has already compared the request's version with its own. The caller
  // of a command has the role for it. The handler decides what the caller may do with a job.
  virtual void OnSubmit(cluster::Requester by, spec::SubmitRequest request, CallerGone gone,
                        Done<JobId> done) = 0;
  // Answers with the Kerberos principal that renews delegation tokens. kFailedPrecondition: none.
  virtual void OnRenewer(Done<std::string> done) = 0;
  // Answers with the job that was created from the submission and is being ended. Answers with job
  // 0 if no job was created and none will be.
  virtual void OnWithdraw(cluster::Requester by, std::string client_request_id,
                          Done<JobId> done) = 0;
  // Answers with the job's id.
  virtual void OnCancel(cluster::Requester by, JobId job, bool keep, Done<JobId> done) = 0;
  // Answers with the worker's id when the worker leaves.
  virtual void OnDrain(WorkerId worker, Done<WorkerId> done) = 0;
  // Answers with all jobs, newest last, with progress but without history. A caller that has `gone`
  // needs no answer.
  virtual void OnList(CallerGone gone, Done<std::vector<spec::JobSnapshot>> done) = 0;
  // Answers with one job and its complete history.
  virtual void OnGet(JobId job, CallerGone gone, Done<spec::JobUpdate> done) = 0;
  virtual void OnWorkers(CallerGone gone, Done<std::vector<spec::WorkerSnapshot>> done) = 0;
  // Sends the current state with the complete history at once, then each update, then closes with
  // OK when the job is final. An unknown job closes with kNotFound.
  virtual void OnWatch(JobId job, std::shared_ptr<WatchSink> sink) = 0;
};

struct CoordinatorServerLimits {
  // Largest message in either direction on Attach. A larger message breaks the stream with
  // kResourceExhausted.
  int64_t message_bytes_max = kMessageBytesMax;
  // Limits of the messages that wait to be sent to one worker. The stream of a slower worker is
  // closed.
  int64_t session_queue_bytes_max = int64_t{256} << 20;
  int64_t session_queue_messages_max = 1024;
  // Limits of unhandled messages. Above them nothing is read from a worker until the handler has
  // processed a message.
  int64_t session_unhandled_bytes_max = int64_t{1} << 20;
  int64_t session_unhandled_messages_max = 256;
  // History rows that may wait for one watcher. The stream of a slower watcher is closed.
  int64_t watch_rows_max = 20'000;
  // Open calls of one caller (an identity, or an address without TLS) at a time. This includes
  // watches, health watches and reflection streams.
  int64_t calls_a_caller_max = 1000;
  // Bytes of answers that callers have not read; one caller may have a quarter of it. Above the
  // limit, calls are refused and watchers with new updates are closed with kResourceExhausted.
  int64_t unread_bytes_max = int64_t{256} << 20;
  // Time for a caller to read an answer before the call is dropped. A watcher may take longer.
  int64_t read_timeout_ms = 60'000;
  // Memory for the data that all connections read.
  int64_t memory_bytes_max = int64_t{2} << 30;
  // Interval of the checks for replaced certificate, revocation and token files. After a
  // replacement, the streams of callers that are no longer authorized end.
  int64_t recheck_interval_ms = 1'000;
  // Interval of pings on idle connections. A connection breaks if no answer arrives within the
  // timeout.
  int64_t keepalive_interval_ms = 10'000;
  int64_t keepalive_timeout_ms = 5'000;
  // Time after which a connection without calls is closed.
  int64_t idle_timeout_ms = 60'000;
};

}  // namespace espalier::rpc
