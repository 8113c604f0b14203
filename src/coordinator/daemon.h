// The coordinator daemon: one control loop (Asio) that owns a CoordinatorCore. The loop turns gRPC
// calls, timers and the results of the I/O pools into the core's events, and performs its actions.
//
// Threads:
// - The control loop never reads a file and never computes for long.
// - The threads of gRPC only post to the loop.
// - The threads of the intake read the files that a submission needs.
// - One thread merges results and clears away leftovers. This may be long and must not delay
//   submissions.
// - A few threads renew delegation tokens, which waits for KDCs. One owner, or one file system,
//   takes at most half of them.
// - A few threads fence and check the outputs of training jobs, which waits for storage, with the
//   same limit.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "src/base/service_manager.h"
#include "src/base/thread_pool.h"
#include "src/cluster/coordinator_core.h"
#include "src/config/daemon_options.h"
#include "src/coordinator/clearing.h"
#include "src/coordinator/fair_pool.h"
#include "src/coordinator/intake.h"
#include "src/coordinator/journal.h"
#include "src/coordinator/outbox.h"
#include "src/coordinator/watchers.h"
#include "src/rpc/coordinator_server.h"
#include "src/storage/file_systems.h"

namespace espalier::coordinator {

// Returns how the coordinator accesses files.
storage::StorageOptions StorageOf(const config::CoordinatorOptions& options);

class CoordinatorDaemon : private rpc::CoordinatorHandler {
 public:
  using Reread = std::function<Result<config::CoordinatorOptions>()>;

  // Returns the errors that Make would return, except those of the journal. Call it before opening
  // the journal, because opening takes the journal over from a coordinator that may be running.
  static Status Check(const config::CoordinatorOptions& options);
  // Listens, and continues where the journal's past ends. REQUIRES: the options are valid; this
  // object owns the signals SIGTERM, SIGINT and SIGHUP from now on.
  static Result<std::unique_ptr<CoordinatorDaemon>> Make(const config::CoordinatorOptions& options,
                                                         OpenedJournal journal);
  ~CoordinatorDaemon() override;

  // Returns the "host:port" that workers and clients on other machines can use.
  std::string address() const;
  // Serves until SIGTERM or SIGINT, or until no job was active for idle_limit_ms, then ends within
  // seconds. At the end it closes the workers' streams, so that the workers look for the next
  // coordinator, and notifies the watchers. Without a durable journal, it cancels the jobs. With
  // one, the jobs continue and the next coordinator takes them over. Returns an error if a newer
  // coordinator has taken over, or if the journal failed for too long (outbox.h). On SIGHUP, it
  // reads the options again, with `reread` on a pool. The log level changes at once, all other
  // options at the next start.
  Status Run(const ServiceEnvironment& service = {}, Reread reread = {});
  // Returns whether work of the intake, the pools or the journal has not ended, for example because
  // a file system hangs. The destructor waits for this work.
  bool busy() const { return busy_ > 0 || intake_->busy() || outbox_.busy(); }

 private:
  CoordinatorDaemon(const config::CoordinatorOptions& options, OpenedJournal journal);
  OutboxHooks Hooks();

  void OnWorkerOpened(cluster::SessionId session, std::string peer) override;
  void OnWorkerMessage(cluster::SessionId session, cluster::FromWorker message,
                       rpc::MessageHold hold) override;
  void OnWorkerClosed(cluster::SessionId session, Status why) override;
  void OnSubmit(cluster::Requester by, spec::SubmitRequest request, rpc::CallerGone gone,
                rpc::Done<JobId> done) override;
  void OnRenewer(rpc::Done<std::string> done) override;
  void OnWithdraw(cluster::Requester by, std::string client_request_id,
                  rpc::Done<JobId> done) override;
  void OnCancel(cluster::Requester by, JobId job, bool keep, rpc::Done<JobId> done) override;
  void OnDrain(WorkerId worker, rpc::Done<WorkerId> done) override;
  void OnList(rpc::CallerGone gone, rpc::Done<std::vector<spec::JobSnapshot>> done) override;
  void OnGet(JobId job, rpc::CallerGone gone, rpc::Done<spec::JobUpdate> done) override;
  void OnWorkers(rpc::CallerGone gone, rpc::Done<std::vector<spec::WorkerSnapshot>> done) override;
  void OnWatch(JobId job, std::shared_ptr<rpc::WatchSink> sink) override;

  // The functions below run on the control loop.
  int64_t NowMs() const;
  void Feed(const cluster::CoordinatorEvent& event);
  void Perform(cluster::CoordinatorActions actions);
  void Act(cluster::CoordinatorActions actions);
  void StartSubmission(const cluster::Requester& by, spec::SubmitRequest request,
                       rpc::CallerGone gone, rpc::Done<JobId> done);
  void EndSubmission(cluster::Submission submission, std::vector<rpc::Done<JobId>> callers);
  void StartMerge(cluster::MergeWork work);
  void StartFence(cluster::FenceWork work);
  void StartCheck(cluster::CheckWork work);
  Clearing::Hooks ClearingHooks();
  // Waits until no work is left, or for `limit_ms`. Waits somewhat longer for the removal of
  // leftovers of jobs.
  void AwaitWork(int64_t limit_ms);
  void StartTokenWork(cluster::TokenWork work);
  // Safe from any thread: gives an answer that may be long, in a separate turn of the loop, unless
  // the caller has gone.
  void Tell(rpc::CallerGone gone, std::function<void()> answer);
  void TellNext();
  Status CheckTokens(const spec::SubmitRequest& request) const;
  void OnPool(JobPool& pool, std::function<void()> work);
  void OnPool(FairPool& pool, std::set<std::string> groups, std::function<void()> work);
  void TickLater();
  void TellStatus();
  bool IdleTooLong();
  void WaitForSignal();
  void Reload();
  void EndReload(const Result<config::CoordinatorOptions>& read);
  void Stop(const std::string& why);

  const config::CoordinatorOptions options_;
  const storage::StorageOptions storage_;
  const std::chrono::steady_clock::time_point started_;
  const int64_t started_ms_;  // milliseconds since 1970
  boost::asio::io_context loop_;
  boost::asio::steady_timer timer_{loop_};
  boost::asio::signal_set signals_{loop_};
  cluster::CoordinatorCore core_;
  Watchers watchers_{&core_, options_.watchers_max};
  std::map<cluster::RequestId, std::vector<rpc::Done<JobId>>> replies_;
  std::map<cluster::RequestId, rpc::Done<WorkerId>> drains_;
  struct Answer {
    rpc::CallerGone gone;
    std::function<void()> tell;
  };
  std::deque<Answer> answers_;  // answers to give; the first one is posted
  // For each running merge of a scoring job: whether the job still wants the result.
  std::map<JobId, std::shared_ptr<std::atomic<bool>>> wanted_;
  uint64_t next_request_ = 1;
  bool stopping_ = false;
  std::unique_ptr<ServiceManager> service_;  // set from Run on
  int64_t next_status_ms_ = 0;
  int64_t idle_since_ms_ = 0;  // 0: a job is active
  Reread reread_;
  Status failure_;
  std::atomic<int> busy_{0};
  std::unique_ptr<rpc::CoordinatorServer> server_;
  Outbox outbox_;
  Clearing clearing_{ClearingHooks()};
  // Destroyed first, because their work posts to the members above.
  std::unique_ptr<Intake> intake_;
  std::unique_ptr<JobPool> pool_;
  std::unique_ptr<JobPool> merging_;
  std::unique_ptr<FairPool> keeping_tokens_;
  std::unique_ptr<FairPool> fencing_;
};

}  // namespace espalier::coordinator
