#include "src/worker/daemon.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio.hpp>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "src/base/log.h"
#include "src/base/text.h"
#include "src/base/thread_pool.h"
#include "src/base/version.h"
#include "src/cluster/worker_core.h"
#include "src/config/address.h"
#include "src/data/profile/row_store.h"
#include "src/rpc/coordinator_address.h"
#include "src/rpc/coordinator_client.h"
#include "src/rpc/peer.h"
#include "src/worker/clock.h"
#include "src/worker/crash_watch.h"
#include "src/worker/job_runner.h"

namespace espalier::worker {
namespace {

namespace asio = boost::asio;

constexpr auto kTick = std::chrono::milliseconds(50);
constexpr auto kEndLimit = std::chrono::seconds(5);
constexpr int64_t kStatusIntervalMs = 2000;
constexpr int64_t kExpiryIntervalMs = 10'000;
constexpr int64_t kKeptShare = 2;  // kept shards take at most 1 / kKeptShare of the memory

std::string HostName() {
  char name[256] = "localhost";
  gethostname(name, sizeof name - 1);
  return name;
}

// Turns the calls of a link into events of the loop that name the link's attempt.
class AttemptListener : public rpc::CoordinatorLinkListener {
 public:
  AttemptListener(uint64_t attempt, std::function<void(cluster::WorkerEvent)> post)
      : attempt_(attempt), post_(std::move(post)) {}
  void OnConnected() override { post_(cluster::LinkUp{attempt_}); }
  void OnMessage(cluster::ToWorker message) override {
    post_(cluster::CoordinatorMessage{attempt_, std::move(message)});
  }
  void OnClosed(Status why) override { post_(cluster::LinkDown{attempt_, std::move(why)}); }

 private:
  uint64_t attempt_;
  std::function<void(cluster::WorkerEvent)> post_;
};

class Daemon {
 public:
  Daemon(const config::WorkerOptions& options, const WorkerSurroundings& surroundings,
         std::unique_ptr<rpc::PeerNetwork> peers, rpc::ClientSecurity security)
      : options_(options),
        surroundings_(surroundings),
        security_(std::move(security)),
        peers_(std::move(peers)),
        address_files_(storage::MakeFileSystem(rpc::ImpatientStorage(Storage()))),
        core_(CoreOptions(surroundings.arithmetic_id)),
        service_(surroundings.service),
        timer_(loop_),
        signals_(loop_, SIGTERM, SIGINT, SIGHUP),
        crash_(loop_) {}

  WorkerEnd Run() {
    signals_.async_wait([this](const boost::system::error_code& error, int signal) {
      if (!error) OnSignal(signal);
    });
    WatchForCrash();
    service_.Ready();
    Tick();
    loop_.run();
    if (crashed_) crash_watch_.Die();
    service_.Stopping();
    // Ends the process even if a job's thread hangs in a file system.
    std::thread([code = end_.ok() ? 0 : 1] {
      std::this_thread::sleep_for(kEndLimit);
      std::_Exit(code);
    }).detach();
    runner_.reset();
    link_.reset();
    return {end_, not_believed_};
  }

 private:
  cluster::WorkerCoreOptions CoreOptions(const std::string& arithmetic_id) const {
    std::random_device random;
    cluster::WorkerCoreOptions core;
    core.seed = uint64_t{random()} << 32 | random();
    core.coordinator_timeout_ms = options_.coordinator_timeout_ms;
    core.keep_limit_ms = options_.keep_timeout_ms;
    core.leave_limit_ms = options_.leave_timeout_ms;
    core.hello.version = kVersion;
    core.hello.arithmetic_id = arithmetic_id;
    core.hello.session = std::to_string(core.seed) + "-" + std::to_string(getpid());
    core.hello.name = OwnName();
    core.hello.address =
        config::AdvertisedAddress(options_.advertise, peers_->address(), HostName());
    core.hello.threads = options_.threads;
    core.hello.memory_bytes = options_.memory_bytes_max;
    core.hello.out_of_memory = surroundings_.out_of_memory;
    return core;
  }

  // Returns the worker's name. With a certificate, this is its name, because others reject any
  // other.
  std::string OwnName() const {
    if (!options_.name.empty()) return options_.name;
    std::string name = HostName();
    if (security_.keychain != nullptr) {
      const security::CertificateNames& names = security_.keychain->Current()->names;
      const Result<security::Identity> identity = security::IdentityOf(names, {});
      name = identity.ok() && identity->Has(security::Role::kWorker)
                 ? identity->names.at(security::Role::kWorker)
                 : names.common_name;
    }
    return name + ":" + std::to_string(getpid());
  }

  // Returns the storage options for jobs.
  storage::StorageOptions Storage() const {
    storage::StorageOptions storage{
        .hadoop_conf_dir = options_.hadoop_conf_dir,
        .token_file = options_.hadoop_token_file,
        .webhdfs = {.user = options_.hadoop_user, .http = {.ca_file = options_.hadoop_ca}},
        .secrets = options_.secrets};
    if (!options_.tls.key.empty()) storage.secrets.push_back(options_.tls.key);
    return storage;
  }

  void Post(cluster::WorkerEvent event) {
    asio::post(loop_, [this, event = std::move(event)]() { Handle(event); });
  }

  void Tick() {
    Handle(runner_
               ? cluster::WorkerTick{runner_->step(), runner_->over(), runner_->waiting_because()}
               : cluster::WorkerTick{});
    if (ended_) return;
    service_.Beat(NowMs());
    if (stopping_) service_.StillStopping(NowMs());
    TellStatus();
    Expire();
    JudgeAgain();
    timer_.expires_after(kTick);
    timer_.async_wait([this](const boost::system::error_code& error) {
      if (!error) Tick();
    });
  }

  void Expire() {
    if (NowMs() < next_expiry_ms_) return;
    next_expiry_ms_ = NowMs() + kExpiryIntervalMs;
    if (security_.keychain != nullptr) security_.keychain->TellExpiry(std::time(nullptr));
    pool_.Submit([cache = cache_, shards = shards_] {
      cache->Expire();
      shards->Expire();
    });
  }

  // Attaches again after the certificates were replaced. The present link was verified with the old
  // files, and an authority may have revoked the coordinator's certificate since.
  void JudgeAgain() {
    if (security_.keychain == nullptr) return;
    const auto now = security_.keychain->Current();  // which the listener presents, too
    if (!link_ || now == linked_by_) return;
    LogInfo("the certificates were replaced: attaching again");
    DropLink();
    Handle(cluster::LinkDown{newest_attempt_, Unavailable("the certificates were replaced"), true});
  }

  void TellStatus() {
    if (!service_.listens() || NowMs() < next_status_ms_) return;
    next_status_ms_ = NowMs() + kStatusIntervalMs;
    const JobId job = core_.job().job;
    const std::string work =
        runner_ ? "in " + ToString(job) + ", step " + std::to_string(runner_->step()) : "free";
    service_.Status(work + (core_.attached() ? "; attached to " : "; looks for ") +
                    options_.coordinator);
  }

  void OnSignal(int signal) {
    if (signal == SIGHUP) {
      Reload();
    } else {
      service_.Stopping();
      stopping_ = true;
      Handle(cluster::Terminate{signal == SIGTERM ? "SIGTERM" : "SIGINT"});
    }
    signals_.async_wait([this](const boost::system::error_code& error, int again) {
      if (!error) OnSignal(again);
    });
  }

  void WatchForCrash() {
    if (crash_watch_.fd() < 0) return;
    const int fd = fcntl(crash_watch_.fd(), F_DUPFD_CLOEXEC, 0);
    if (fd < 0) return;
    crash_.assign(fd);
    crash_.async_wait(asio::posix::stream_descriptor::wait_read,
                      [this](const boost::system::error_code& error) {
                        if (error) return;
                        crashed_ = true;
                        if (runner_) runner_->Freeze();
                        Handle(cluster::Crash{crash_watch_.Signal()});
                      });
  }

  void Reload() {
    service_.Reloading(NowUs());
    pool_.Submit(
        [this] { asio::post(loop_, [this, read = surroundings_.reread()] { EndReload(read); }); });
  }

  void EndReload(const Result<config::WorkerOptions>& read) {
    if (!read.ok()) {
      LogError("SIGHUP: the options stay as they are: " + read.status().ToString());
    } else {
      config::WorkerOptions others = *read;
      others.log_level = options_.log_level;
      SetLogLevel(read->log_level);
      LogInfo(std::string("SIGHUP: the log level is as configured now; ") +
              (others == options_ ? "no other option has changed since the start"
                                  : "other changed options take effect at the next start"));
    }
    service_.Ready();
  }

  void Handle(const cluster::WorkerEvent& event) {
    if (ended_) return;
    for (cluster::WorkerAction& action : core_.Step(event, NowMs())) {
      std::visit([this](auto& a) { Perform(a); }, action);
    }
  }

  void Perform(cluster::Connect& connect) {
    const uint64_t attempt = newest_attempt_ = connect.attempt;
    pool_.Submit([this, attempt] {
      Result<std::string> address = rpc::FindCoordinator(options_.coordinator, *address_files_);
      asio::post(loop_, [this, attempt, address = std::move(address)] {
        if (attempt != newest_attempt_) return;
        // A local failure to read the address is not a refusal by the coordinator.
        if (!address.ok()) {
          return Handle(cluster::LinkDown{attempt, Unavailable(address.status().ToString())});
        }
        DropLink();
        listener_ = std::make_unique<AttemptListener>(
            attempt, [this](cluster::WorkerEvent event) { Post(std::move(event)); });
        if (security_.keychain != nullptr) linked_by_ = security_.keychain->Current();
        link_ = rpc::CoordinatorLink::Open(*address, listener_.get(), LinkOptions());
      });
    });
  }
  void Perform(cluster::Disconnect&) {
    newest_attempt_ = 0;  // an address lookup in progress is then too late
    DropLink();
  }
  void Perform(cluster::SendToCoordinator& send) {
    if (link_) link_->Send(std::move(send.message));
  }
  void Perform(struct cluster::RunProfiling& run) {  // `struct`, because a function has this name
    if (runner_) return runner_->Profile(std::move(run.order));
    runner_ = std::make_unique<JobRunner>(
        RunnerOptions{options_.threads, options_.memory_bytes_max, options_.spill_directory,
                      options_.spill_bytes_max, options_.sum_timeout_ms, Storage(), cache_, shards_,
                      surroundings_.probe},
        *peers_, std::move(run.order),
        [this](cluster::FromWorker message) { Post(cluster::Report{std::move(message)}); });
  }
  void Perform(cluster::RunTraining& run) {
    if (runner_) runner_->Train({std::move(run.order), run.self});
  }
  void Perform(cluster::RunPreparation& run) {
    if (runner_) runner_->Prepare({std::move(run.order), run.self});
  }
  void Perform(cluster::RunSwitch& run) {
    if (runner_) runner_->SwitchTo(run.next);
  }
  void Perform(cluster::RunEarlyEnd& run) {
    if (runner_) runner_->EndEarly(run.generation);
  }
  void Perform(cluster::RunKeep& run) {
    if (runner_) runner_->Keep({run.at, run.reverts});
  }
  void Perform(cluster::RunTokens& run) {
    if (runner_) runner_->TakeTokens(run.tokens);
  }
  void Perform(cluster::RunProceed& run) {
    if (runner_) runner_->Proceed(run.order);
  }
  void Perform(cluster::AbortJob& abort) {
    if (!runner_) return;
    runner_->Abort(Cancelled(abort.reason));
    // The job's threads end soon, but not at once. The loop must not wait for them.
    std::shared_ptr<JobRunner> last(std::move(runner_));
    teardown_.Submit([last]() mutable { last.reset(); });
  }
  void Perform(cluster::Exit& exit) {
    end_ = exit.why;
    not_believed_ = exit.not_believed;
    ended_ = true;
    loop_.stop();
  }
  void Perform(cluster::WorkerLog& log) {
    switch (log.level) {
      case LogLevel::kDebug:
        return LogDebug(log.text);
      case LogLevel::kInfo:
        return LogInfo(log.text);
      case LogLevel::kWarning:
        return LogWarning(log.text);
      case LogLevel::kError:
        return LogError(log.text);
      case LogLevel::kOff:
        return;
    }
  }

  rpc::CoordinatorLinkOptions LinkOptions() const {
    rpc::CoordinatorLinkOptions link;
    link.security = security_;
    return link;
  }

  // The link's destructor waits for gRPC, so it runs on the pool, with the listener.
  void DropLink() {
    if (!link_) return;
    std::shared_ptr<rpc::CoordinatorLink> link(std::move(link_));
    std::shared_ptr<AttemptListener> listener(std::move(listener_));
    pool_.Submit([link, listener]() mutable {
      link.reset();
      listener.reset();
    });
  }

  const config::WorkerOptions& options_;
  const WorkerSurroundings& surroundings_;
  const rpc::ClientSecurity security_;
  std::unique_ptr<rpc::PeerNetwork> peers_;
  const std::unique_ptr<storage::FileSystem> address_files_;
  const std::shared_ptr<ReadCache> cache_ = std::make_shared<ReadCache>(
      ReadCacheOptions{options_.spill_directory, options_.cache_bytes_max}, NowUs);
  const std::shared_ptr<ShardCache> shards_ = std::make_shared<ShardCache>(
      ShardCacheOptions{std::min(options_.memory_bytes_max / kKeptShare, options_.cache_bytes_max)},
      NowUs);
  asio::io_context loop_{1};
  cluster::WorkerCore core_;
  ServiceManager service_;
  int64_t next_status_ms_ = 0;
  int64_t next_expiry_ms_ = 0;
  bool stopping_ = false;  // a signal arrived; WorkerCore ends the process
  asio::steady_timer timer_;
  asio::signal_set signals_;
  CrashWatch crash_watch_;
  asio::posix::stream_descriptor crash_;
  bool crashed_ = false;
  std::unique_ptr<AttemptListener> listener_;
  std::unique_ptr<rpc::CoordinatorLink> link_;
  std::shared_ptr<const security::TlsMaterial> linked_by_;
  std::unique_ptr<JobRunner> runner_;
  bool ended_ = false;
  Status end_;
  bool not_believed_ = false;
  uint64_t newest_attempt_ = 0;
  JobPool teardown_{1};  // ends jobs, which may hang in a file system
  JobPool pool_{2};      // last: its jobs refer to the members above
};

// Checks and opens the files and ports that the worker needs on this machine.
Result<std::unique_ptr<rpc::PeerNetwork>> Start(const config::WorkerOptions& options,
                                                rpc::PeerOptions* peers) {
  ESPALIER_RETURN_IF_ERROR(
      config::CheckListen(options.listen, options.tls.any(), options.insecure));
  ESPALIER_ASSIGN_OR_RETURN(const int spill,
                            data::OpenSpillFile(options.spill_directory));  // tests the directory
  close(spill);
  peers->keepalive_timeout_ms = options.peer_timeout_ms;
  if (options.tls.any()) {
    ESPALIER_ASSIGN_OR_RETURN(peers->security.keychain, security::Keychain::Open(options.tls));
    peers->security.workers_without_role = true;
    peers->dialling.keychain = peers->security.keychain;
  }
  return rpc::PeerNetwork::Make(options.listen, *peers);
}

}  // namespace

WorkerEnd RunWorkerDaemon(const config::WorkerOptions& options,
                          const WorkerSurroundings& surroundings) {
  rpc::PeerOptions peer_options;
  auto started = Start(options, &peer_options);
  if (!started.ok()) return {started.status()};
  std::unique_ptr<rpc::PeerNetwork> peers = *std::move(started);
  LogInfo("worker listens on " + peers->address() + ", coordinator " + options.coordinator + ", " +
          Counted(options.threads, "compute thread") +
          ", arithmetic: " + surroundings.arithmetic_id);
  WorkerEnd end = Daemon(options, surroundings, std::move(peers), peer_options.dialling).Run();
  LogInfo("worker ends: " + (end.why.ok() ? std::string("as asked") : end.why.ToString()));
  return end;
}

}  // namespace espalier::worker
