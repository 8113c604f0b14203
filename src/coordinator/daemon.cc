#include "src/coordinator/daemon.h"

#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <csignal>
#include <utility>

#include "src/base/log.h"
#include "src/base/text.h"
#include "src/config/address.h"
#include "src/coordinator/preparation.h"
#include "src/coordinator/token_keeper.h"

namespace espalier::coordinator {
namespace {

constexpr int64_t kShutdownLimitMs = 2000;  // limit for open calls to end
constexpr int64_t kTicksAnInterval = 4;
constexpr int64_t kStatusIntervalMs = 5000;
constexpr int kTokenThreads = 4, kFenceThreads = 4;
constexpr int64_t kWorkersACertificate = 8;  // minimum that may attach

int64_t SystemUs() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

int64_t SteadyUs() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

cluster::CoordinatorCoreOptions CoreOptions(const config::CoordinatorOptions& options,
                                            Incarnation incarnation) {
  cluster::CoordinatorCoreOptions core;
  static_cast<spec::CoordinatorLimits&>(core) = options;
  core.incarnation = incarnation;
  core.arithmetic_id = options.arithmetic;
  if (options.tls.any()) {
    core.workers_a_name_max = std::max<int64_t>(kWorkersACertificate, options.workers_max / 2);
  }
  return core;
}

rpc::CoordinatorServerLimits ServerLimits(const config::CoordinatorOptions& options) {
  rpc::CoordinatorServerLimits limits;
  limits.calls_a_caller_max = options.calls_a_caller_max;
  limits.memory_bytes_max = options.receive_bytes_max;
  limits.unread_bytes_max = options.receive_bytes_max / 8;
  limits.session_queue_bytes_max = options.worker_queue_bytes_max;
  return limits;
}

Result<rpc::ServerSecurity> SecurityOf(const config::CoordinatorOptions& options) {
  rpc::ServerSecurity security;
  if (!options.tls.any()) return security;
  ESPALIER_ASSIGN_OR_RETURN(security.keychain, security::Keychain::Open(options.tls));
  if (!options.tokens.empty()) {
    ESPALIER_ASSIGN_OR_RETURN(security.tokens, security::TokenFile::Open(options.tokens));
  }
  security.roles = options.roles;
  return security;
}

void Write(const cluster::LogLine& line) {
  switch (line.level) {
    case LogLevel::kDebug:
      LogDebug(line.text);
      break;
    case LogLevel::kInfo:
      LogInfo(line.text);
      break;
    case LogLevel::kWarning:
      LogWarning(line.text);
      break;
    default:
      LogError(line.text);
      break;
  }
}

}  // namespace

storage::StorageOptions StorageOf(const config::CoordinatorOptions& options) {
  return {.hadoop_conf_dir = options.hadoop_conf_dir,
          .token_file = options.hadoop_token_file,
          .webhdfs = {.user = options.hadoop_user, .http = {.ca_file = options.hadoop_ca}}};
}

namespace {

// Returns the storage options for paths in jobs. A job must not name the coordinator's own files:
// its key, people's tokens, the journal.
storage::StorageOptions StorageOfJobs(const config::CoordinatorOptions& options) {
  storage::StorageOptions storage = StorageOf(options);
  storage.secrets = options.secrets;
  for (const std::string& path : {options.tls.key, options.tokens, options.state_directory}) {
    if (!path.empty()) storage.secrets.push_back(path);
  }
  return storage;
}

}  // namespace

Status CoordinatorDaemon::Check(const config::CoordinatorOptions& options) {
  ESPALIER_RETURN_IF_ERROR(SecurityOf(options).status());
  return rpc::CoordinatorServer::CheckCanListen(options.listen);
}

Result<std::unique_ptr<CoordinatorDaemon>> CoordinatorDaemon::Make(
    const config::CoordinatorOptions& options, OpenedJournal journal) {
  const std::string incarnation = std::to_string(journal.incarnation.value);
  std::unique_ptr<CoordinatorDaemon> daemon(new CoordinatorDaemon(options, std::move(journal)));
  ESPALIER_ASSIGN_OR_RETURN(const rpc::ServerSecurity security, SecurityOf(options));
  ESPALIER_ASSIGN_OR_RETURN(
      daemon->server_,
      rpc::CoordinatorServer::Make(options.listen, daemon.get(), ServerLimits(options), security));
  LogInfo("listening on " + daemon->address() + ", incarnation " + incarnation);
  return daemon;
}

CoordinatorDaemon::CoordinatorDaemon(const config::CoordinatorOptions& options,
                                     OpenedJournal journal)
    : options_(options),
      storage_(StorageOfJobs(options)),
      started_(std::chrono::steady_clock::now()),
      started_ms_(SystemUs() / 1000),
      core_(CoreOptions(options, journal.incarnation), journal.past, journal.replaying),
      outbox_(std::move(journal.journal), Hooks()),
      intake_(std::make_unique<Intake>(
          PatienceOfIntake(storage_), IntakeLimits{},
          [this](std::function<void()> call) { boost::asio::post(loop_, std::move(call)); },
          [this](cluster::Submission submission, std::vector<rpc::Done<JobId>> callers) {
            EndSubmission(std::move(submission), std::move(callers));
          })),
      pool_(std::make_unique<JobPool>(1)),
      merging_(std::make_unique<JobPool>(1)),
      keeping_tokens_(std::make_unique<FairPool>(kTokenThreads)),
      fencing_(std::make_unique<FairPool>(kFenceThreads)) {
  if (journal.replayed) journal.replayed();
  signals_.add(SIGTERM);
  signals_.add(SIGINT);
  signals_.add(SIGHUP);
}

OutboxHooks CoordinatorDaemon::Hooks() {
  OutboxHooks hooks;
  hooks.perform = [this](cluster::CoordinatorActions actions) { Act(std::move(actions)); };
  hooks.refuse = [this](JobId job, const Status& why) { Feed(cluster::JobRefused{job, why}); };
  hooks.fail = [this](Status why) {
    failure_ = std::move(why);
    LogError(failure_.ToString());
    boost::asio::post(loop_, [this] { Stop("the journal failed"); });
  };
  hooks.post = [this](std::function<void()> call) { boost::asio::post(loop_, std::move(call)); };
  return hooks;
}

CoordinatorDaemon::~CoordinatorDaemon() {
  if (server_) server_->Shutdown(0);
}

std::string CoordinatorDaemon::address() const {
  char name[256] = {};
  const bool named = gethostname(name, sizeof name - 1) == 0;
  return config::AdvertisedAddress(options_.advertise, server_->address(), named ? name : "");
}

Status CoordinatorDaemon::Run(const ServiceEnvironment& service, Reread reread) {
  service_ = std::make_unique<ServiceManager>(service);
  reread_ = std::move(reread);
  WaitForSignal();
  service_->Ready();
  Feed(cluster::Tick{});  // before any request: restored jobs then know the time
  TickLater();
  loop_.run();
  AwaitWork(kShutdownLimitMs);
  return failure_;
}

// Returns milliseconds since 1970, from a clock that never goes back.
int64_t CoordinatorDaemon::NowMs() const {
  return started_ms_ + std::chrono::duration_cast<std::chrono::milliseconds>(
                           std::chrono::steady_clock::now() - started_)
                           .count();
}

void CoordinatorDaemon::WaitForSignal() {
  signals_.async_wait([this](const boost::system::error_code& error, int signal) {
    if (error) return;
    if (signal != SIGHUP) return Stop(signal == SIGINT ? "SIGINT" : "SIGTERM");
    if (reread_) Reload();
    WaitForSignal();
  });
}

void CoordinatorDaemon::Reload() {
  service_->Reloading(SteadyUs());
  OnPool(*pool_,
         [this] { boost::asio::post(loop_, [this, read = reread_()] { EndReload(read); }); });
}

void CoordinatorDaemon::EndReload(const Result<config::CoordinatorOptions>& read) {
  if (!read.ok()) {
    LogError("SIGHUP: the options stay as they are: " + read.status().ToString());
  } else {
    config::CoordinatorOptions others = *read;
    others.log_level = options_.log_level;
    SetLogLevel(read->log_level);
    LogInfo(std::string("SIGHUP: the log level is as configured now; ") +
            (others == options_ ? "no other option has changed since the start"
                                : "other changed options take effect at the next start"));
  }
  service_->Ready();
}

void CoordinatorDaemon::TellStatus() {
  if (!service_->listens() || NowMs() < next_status_ms_) return;
  next_status_ms_ = NowMs() + kStatusIntervalMs;
  int64_t waiting = 0, running = 0;
  for (const spec::JobSnapshot& job : core_.Jobs()) {
    waiting += job.state == spec::JobState::kQueued;
    running += job.state != spec::JobState::kQueued && !spec::IsFinal(job.state);
  }
  service_->Status("workers: " + std::to_string(core_.Workers().size()) +
                   ", jobs running: " + std::to_string(running) +
                   ", waiting: " + std::to_string(waiting) + "; listening on " + address());
}

// A submission in progress is not a job yet, but its client repeats it after this coordinator has
// ended.
bool CoordinatorDaemon::IdleTooLong() {
  if (options_.idle_limit_ms == 0) return false;
  bool idle = !intake_->busy() && !clearing_.open();
  for (const spec::JobSnapshot& job : core_.Jobs()) idle = idle && spec::IsFinal(job.state);
  if (!idle) {
    idle_since_ms_ = 0;
  } else if (idle_since_ms_ == 0) {
    idle_since_ms_ = NowMs();
  }
  return idle && NowMs() - idle_since_ms_ >= options_.idle_limit_ms;
}

void CoordinatorDaemon::TickLater() {
  const int64_t wait = std::clamp<int64_t>(options_.heartbeat_interval_ms / kTicksAnInterval, 1,
                                           kProgressIntervalMs);
  timer_.expires_after(std::chrono::milliseconds(wait));
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (error || stopping_) return;
    Feed(cluster::Tick{});
    intake_->DropAbandoned();
    clearing_.Continue();
    watchers_.FlushProgress();
    service_->Beat(NowMs());
    TellStatus();
    if (IdleTooLong()) Stop("no job to run for " + HumanDuration(options_.idle_limit_ms));
    if (!stopping_) TickLater();
  });
}

void CoordinatorDaemon::Stop(const std::string& why) {
  if (std::exchange(stopping_, true)) return;
  LogInfo("stopping: " + why);
  if (service_) service_->Stopping();
  Perform(core_.Step(cluster::Shutdown{why, outbox_.durable()}, NowMs()));
  outbox_.Close(kShutdownLimitMs);
  watchers_.CloseAll(Unavailable("the coordinator was stopped"));
  replies_.clear();
  drains_.clear();
  intake_->Close();
  server_->Shutdown(kShutdownLimitMs);
  loop_.stop();
}

// ---- events ----------------------------------------------------------------------------------

void CoordinatorDaemon::Feed(const cluster::CoordinatorEvent& event) {
  if (!stopping_) Perform(core_.Step(event, NowMs()));
}

// Log lines report events, not completed actions, so they leave at once.
void CoordinatorDaemon::Perform(cluster::CoordinatorActions actions) {
  for (const cluster::LogLine& line : actions.log) Write(line);
  actions.log.clear();
  outbox_.Push(std::move(actions));
  if (outbox_.wants_rewrite()) outbox_.Rewrite(core_.Remember());
}

// Performs the actions in the order that CoordinatorActions states, after the journal has their
// entries.
void CoordinatorDaemon::Act(cluster::CoordinatorActions actions) {
  for (const cluster::ClearWork& work :
       actions.clear) {  // before any client learns that the job is over
    if (const auto it = wanted_.find(work.job); it != wanted_.end()) *it->second = false;
  }
  for (cluster::SendToWorker& send : actions.send)
    server_->Send(send.session, std::move(send.message));
  for (cluster::CloseSession& close : actions.close)
    server_->Close(close.session, std::move(close.why));
  for (const cluster::Reply& reply : actions.reply) {
    const auto it = replies_.find(reply.request);
    if (it == replies_.end()) continue;
    for (const rpc::Done<JobId>& done : it->second) done(reply.result);
    replies_.erase(it);
  }
  for (const cluster::DrainReply& reply : actions.drained) {
    const auto it = drains_.find(reply.request);
    if (it == drains_.end()) continue;
    it->second(reply.result);
    drains_.erase(it);
  }
  watchers_.Notify(actions.notify);
  for (cluster::MergeWork& work : actions.work) StartMerge(std::move(work));
  for (cluster::FenceWork& work : actions.fence) StartFence(std::move(work));
  for (cluster::CheckWork& work : actions.check) StartCheck(std::move(work));
  for (cluster::ClearWork& work : actions.clear) clearing_.Add(std::move(work));
  for (cluster::TokenWork& work : actions.tokens) StartTokenWork(std::move(work));
}

// A delegation token gives all rights of its owner, so it travels unencrypted only on loopback.
Status CoordinatorDaemon::CheckTokens(const spec::SubmitRequest& request) const {
  const Result<config::Address> listen = config::ParseAddress(options_.listen);
  if (request.tokens.empty() || options_.tls.any() ||
      (listen.ok() && config::IsLoopback(*listen))) {
    return {};
  }
  return FailedPrecondition(
      "delegation tokens came over a connection that is not encrypted, and are not taken; give "
      "this coordinator and its workers certificates (tls), or let the daemons have a keytab of "
      "their own and submit without a Kerberos ticket");
}

void CoordinatorDaemon::StartSubmission(const cluster::Requester& by, spec::SubmitRequest request,
                                        rpc::CallerGone gone, rpc::Done<JobId> done) {
  const std::string key = cluster::RequestKey(by.name, request.client_request_id);
  if (const auto known = core_.FindSubmission(key)) {
    const cluster::RequestId again{next_request_++};
    replies_[again] = {std::move(done)};
    cluster::CoordinatorActions answer;  // in its turn: the job may not be in the journal yet
    answer.reply.push_back({again, *known});
    outbox_.Push(std::move(answer));
    return;
  }
  if (Status s = CheckTokens(request); !s.ok()) return done(s);
  if (!outbox_.room().ok()) {
    done(outbox_.room());
    return;
  }
  intake_->Add(by, std::move(request), std::move(gone), std::move(done));
}

void CoordinatorDaemon::EndSubmission(cluster::Submission submission,
                                      std::vector<rpc::Done<JobId>> callers) {
  const cluster::RequestId request{next_request_++};
  replies_[request] = std::move(callers);
  Feed(cluster::Submit{request, std::move(submission)});
}

}  // namespace espalier::coordinator
