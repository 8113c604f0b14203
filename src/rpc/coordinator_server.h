// The coordinator's side of gRPC: the public service `Espalier` for clients and the service
// `Coordinator` for workers, with health and reflection. It turns calls into plain structs and
// hands them to a CoordinatorHandler; answers come back by callbacks, from any thread, at any time.
//
// Version skew: a client names its version in metadata ("espalier-version"); a call from another
// version is refused with kFailedPrecondition, both named. A call without one (grpcurl, say) may
// read; Submit must name it. A worker's version is in its Hello, which is the handler's to judge.
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
#include "src/rpc/security.h"

namespace espalier::rpc {

// Answers a call; safe from any thread; only the first call counts. One that is dropped without
// being called answers kUnavailable ("the coordinator is shutting down").
template <typename T>
using Done = std::function<void(Result<T>)>;

// Whether the caller of an unanswered call has gone away: it hung up, or its deadline passed. Safe
// from any thread, at any time.
using CallerGone = std::function<bool()>;

// Held while a message is not handled; see OnWorkerMessage.
using MessageHold = std::shared_ptr<void>;

// The stream of updates to one watcher. Thread rule: safe from any thread; may outlive the server,
// and then does nothing.
class WatchSink {
 public:
  virtual ~WatchSink() = default;
  // Queues an update; never blocks. While the watcher is slower than the updates they are merged:
  // the newest snapshot, all history rows; one for whom too many rows wait is closed with
  // kResourceExhausted.
  virtual void Send(spec::JobUpdate update) = 0;
  // Ends the stream after what is queued; OK: the job is over and all is told. Later calls of Send
  // and Close do nothing. Dropping the last reference to an open sink closes it with kUnavailable.
  virtual void Close(Status status) = 0;
  // The watcher has gone away; the sink may be dropped.
  virtual bool cancelled() const = 0;
};

// What the coordinator daemon implements. Called from gRPC's threads, concurrently: implementations
// only enqueue and must not block. Calls about one session come one at a time, in order.
class CoordinatorHandler {
 public:
  virtual ~CoordinatorHandler() = default;

  // A worker opened a stream. A SessionId is never used twice in a server's life; a worker that
  // comes back has a new one. `peer` is the address it came from, for messages.
  virtual void OnWorkerOpened(cluster::SessionId session, std::string peer) = 0;
  // Every message has passed its range checks; what it may say when is the handler's to judge. The
  // handler keeps `hold` until it has dealt with the message: while too much is not dealt with,
  // nothing more is read from that worker.
  virtual void OnWorkerMessage(cluster::SessionId session, cluster::FromWorker message,
                               MessageHold hold) = 0;
  // The stream is gone, for whatever reason; last word about that session. OK: it ended in order;
  // kInvalidArgument: the worker sent something malformed; kResourceExhausted: it was too slow.
  virtual void OnWorkerClosed(cluster::SessionId session, Status why) = 0;

  // The request's version has been compared with ours. The caller of an order has the role for it;
  // what it may do with a job is the handler's to decide.
  virtual void OnSubmit(cluster::Requester by, spec::SubmitRequest request, CallerGone gone,
                        Done<JobId> done) = 0;
  // Answers with the Kerberos principal that renews delegation tokens; kFailedPrecondition: none.
  virtual void OnRenewer(Done<std::string> done) = 0;
  // Answers with the job that was made of the submission and is being ended, or with job 0: none
  // was, and none will be.
  virtual void OnWithdraw(cluster::Requester by, std::string client_request_id,
                          Done<JobId> done) = 0;
  // Answers with the job's id.
  virtual void OnCancel(cluster::Requester by, JobId job, bool keep, Done<JobId> done) = 0;
  // Answers with the worker's id when it goes.
  virtual void OnDrain(WorkerId worker, Done<WorkerId> done) = 0;
  // All jobs, newest last, with progress but without history. Who has `gone` needs no answer.
  virtual void OnList(CallerGone gone, Done<std::vector<spec::JobSnapshot>> done) = 0;
  // One job with all its history.
  virtual void OnGet(JobId job, CallerGone gone, Done<spec::JobUpdate> done) = 0;
  virtual void OnWorkers(CallerGone gone, Done<std::vector<spec::WorkerSnapshot>> done) = 0;
  // Sends the present state with all history at once, then what is new, then closes with OK when
  // the job is final; an unknown job closes with kNotFound.
  virtual void OnWatch(JobId job, std::shared_ptr<WatchSink> sink) = 0;
};

struct CoordinatorServerLimits {
  // Largest message either way on Attach; a larger one breaks the stream with kResourceExhausted.
  int64_t message_bytes_max = kMessageBytesMax;
  // Most that may wait to be sent to one worker; one that is slower is closed.
  int64_t session_queue_bytes_max = int64_t{256} << 20;
  int64_t session_queue_messages_max = 1024;
  // Beyond these nothing is read from a worker before the handler has dealt with something.
  int64_t session_unhandled_bytes_max = int64_t{1} << 20;
  int64_t session_unhandled_messages_max = 256;
  // History rows that may wait for one watcher; one that is slower is closed.
  int64_t watch_rows_max = 20'000;
  // Calls of one caller (an identity, or without TLS an address) open at a time: watching, also of
  // the health, and streams of reflection included.
  int64_t calls_a_caller_max = 1000;
  // Of answers that callers have not read; a quarter of it for one caller. Beyond it calls, and
  // watchers that are told something, are refused with kResourceExhausted.
  int64_t unread_bytes_max = int64_t{256} << 20;
  // How long an answer may take to be read; then the call is dropped. (A watcher may take longer.)
  int64_t read_timeout_ms = 60'000;
  // For what all connections read.
  int64_t memory_bytes_max = int64_t{2} << 30;
  // Interval at which replaced files of certificates, revocations and tokens are noticed. Then the
  // streams of callers that are no longer authorized end.
  int64_t recheck_interval_ms = 1'000;
  // Idle connections are pinged this often; no answer for the timeout breaks them.
  int64_t keepalive_interval_ms = 10'000;
  int64_t keepalive_timeout_ms = 5'000;
  // A connection without calls is closed after this.
  int64_t idle_timeout_ms = 60'000;
};

// Thread rule: all methods are safe from any thread, but not from within the handler's destructor.
class CoordinatorServer {
 public:
  // Whether Make could listen there, by doing so for a moment.
  static Status CheckCanListen(const std::string& listen);
  // Listens on "host:port"; port 0 lets the system pick. A port that is taken is kAlreadyExists and
  // is named. `handler` must outlive the server.
  static Result<std::unique_ptr<CoordinatorServer>> Make(const std::string& listen,
                                                         CoordinatorHandler* handler,
                                                         const CoordinatorServerLimits& limits = {},
                                                         const ServerSecurity& security = {});
  // Shutdown with a deadline of 0.
  virtual ~CoordinatorServer() = default;

  virtual int port() const = 0;
  // "host:port" as given, with the port in use.
  virtual std::string address() const = 0;

  // Queues a message for a worker; never blocks, and encodes it on a thread of its own: what many
  // workers get (StartProfiling::input, StartTraining::profile) once for all of them. A session
  // that is gone: nothing happens (OnWorkerClosed was or will be called). A queue that overflows
  // closes the session.
  virtual void Send(cluster::SessionId session, cluster::ToWorker message) = 0;
  // Ends the stream after what is queued has been sent (a Refused or a Dismiss, say); the worker
  // sees `why`. OnWorkerClosed follows.
  virtual void Close(cluster::SessionId session, Status why) = 0;

  // Takes no more calls, lets open ones end until the deadline, breaks the others and returns when
  // no handler call can come any more. Repeating it does nothing.
  virtual void Shutdown(int64_t deadline_ms) = 0;
};

}  // namespace espalier::rpc
