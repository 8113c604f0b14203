// The coordinator daemon: one control loop (Asio) that owns a CoordinatorCore, turns gRPC's calls,
// timers and the I/O pool's results into its events, and performs its actions.
//
// Threads: the control loop, which never reads a file and never computes for long; gRPC's own,
// which only post to the loop; the intake's for what a submission needs; a thread for merges (and
// for what they leave behind), which may be long and must not delay submissions; a few for
// delegation tokens, which wait for KDCs; a few for the outputs of jobs that train, which wait for
// storage.
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
#include <string>
#include <vector>

#include "src/base/service_manager.h"
#include "src/base/thread_pool.h"
#include "src/cluster/coordinator_core.h"
#include "src/config/daemon_options.h"
#include "src/coordinator/clearing.h"
#include "src/coordinator/intake.h"
#include "src/coordinator/journal.h"
#include "src/coordinator/outbox.h"
#include "src/coordinator/watchers.h"
#include "src/rpc/coordinator_server.h"
#include "src/storage/file_systems.h"

namespace espalier::coordinator {

// How the coordinator reaches files.
storage::StorageOptions StorageOf(const config::CoordinatorOptions& options);

class CoordinatorDaemon : private rpc::CoordinatorHandler {
 public:
  using Reread = std::function<Result<config::CoordinatorOptions>()>;

  // What Make would fail at but for the journal. Before that is opened: opening takes it over from
  // a coordinator that may be running.
  static Status Check(const config::CoordinatorOptions& options);
  // Listens, and goes on from where the journal's past ends. REQUIRES: options are valid; signals
  // SIGTERM, SIGINT and SIGHUP are this object's from now on.
  static Result<std::unique_ptr<CoordinatorDaemon>> Make(const config::CoordinatorOptions& options,
                                                         OpenedJournal journal);
  ~CoordinatorDaemon() override;

  // "host:port" as workers and clients on other machines can use it.
  std::string address() const;
  // Serves until SIGTERM, SIGINT, or until there was no job to run for idle_limit_ms, then ends
  // within seconds: streams of workers are closed (they look for the next coordinator), watchers
  // told; without a durable journal jobs are cancelled, with one they go on and the next
  // coordinator takes them over. An error: a newer coordinator has taken over, or the journal
  // failed for too long (outbox.h). SIGHUP reads the options again, by `reread` on a pool: the log
  // level changes at once, all else at the next start.
  Status Run(const ServiceEnvironment& service = {}, Reread reread = {});
  // Work of the intake, of the pool or of the journal that has not ended (a file system that hangs,
  // say): destroying this object would wait for it.
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

  // All below: on the control loop.
  int64_t NowMs() const;
  void Feed(const cluster::CoordinatorEvent& event);
  void Perform(cluster::CoordinatorActions actions);
  void Act(cluster::CoordinatorActions actions);
  void StartSubmission(const std::string& owner, spec::SubmitRequest request, rpc::CallerGone gone,
                       rpc::Done<JobId> done);
  void EndSubmission(cluster::Submission submission, std::vector<rpc::Done<JobId>> callers);
  void StartMerge(cluster::MergeWork work);
  void StartFence(cluster::FenceWork work);
  void StartCheck(cluster::CheckWork work);
  Clearing::Hooks ClearingHooks();
  // Until no work is left, or for so long; somewhat longer for what jobs have left.
  void AwaitWork(int64_t limit_ms);
  void StartTokenWork(cluster::TokenWork work);
  // From any thread: gives an answer that may be long, each in a turn of the loop of its own, to
  // who has not gone away.
  void Tell(rpc::CallerGone gone, std::function<void()> answer);
  void TellNext();
  Status CheckTokens(const spec::SubmitRequest& request) const;
  void OnPool(JobPool& pool, std::function<void()> work);
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
  const int64_t started_ms_;  // since 1970
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
  std::deque<Answer> answers_;  // to give; the first one is posted
  // Of merges of jobs that score, underway: whether the job still wants it.
  std::map<JobId, std::shared_ptr<std::atomic<bool>>> wanted_;
  uint64_t next_request_ = 1;
  bool stopping_ = false;
  std::unique_ptr<ServiceManager> service_;  // from Run on
  int64_t next_status_ms_ = 0;
  int64_t idle_since_ms_ = 0;  // 0: there is a job to run
  Reread reread_;
  Status failure_;
  std::atomic<int> busy_{0};
  std::unique_ptr<rpc::CoordinatorServer> server_;
  Outbox outbox_;
  Clearing clearing_{ClearingHooks()};
  // Destroyed first: their work posts to all above.
  std::unique_ptr<Intake> intake_;
  std::unique_ptr<JobPool> pool_;
  std::unique_ptr<JobPool> merging_;
  std::unique_ptr<JobPool> keeping_tokens_;
  std::unique_ptr<JobPool> fencing_;
};

}  // namespace espalier::coordinator
