#include "src/worker/job_runner.h"

#include <algorithm>
#include <atomic>
#include <set>
#include <utility>

#include "src/base/log.h"
#include "src/base/memory.h"
#include "src/base/text.h"
#include "src/base/thread_pool.h"
#include "src/config/job_yaml.h"
#include "src/config/scoring_yaml.h"
#include "src/data/profile/row_store.h"
#include "src/worker/clock.h"
#include "src/worker/watched_files.h"

namespace espalier::worker {
namespace {

constexpr int64_t kLoadingReportUs = 1'000'000;  // interval of reports while rows are read
constexpr int64_t kCleaningMs = 3'000;  // limit for one call that cleans up after an interruption

// Returns the file system of the job. Its waits end when `cancelled` becomes true. It passes the
// reason for a wait to `on_trouble`.
std::unique_ptr<storage::FileSystem> MakeFiles(storage::StorageOptions options,
                                               const std::atomic<bool>& cancelled,
                                               std::shared_ptr<const storage::TokenStore> tokens,
                                               std::function<void(const std::string&)> on_trouble) {
  options.webhdfs.http.cancelled = [&cancelled] { return cancelled.load(); };
  options.webhdfs.tokens = std::move(tokens);
  options.webhdfs.on_trouble = std::move(on_trouble);
  return storage::MakeFileSystem(std::move(options));
}

// Returns a file system with short timeouts that also works while the job is interrupted.
std::unique_ptr<storage::FileSystem> MakeCleaningFiles(
    storage::StorageOptions options, std::shared_ptr<const storage::TokenStore> tokens) {
  options.webhdfs.tokens = std::move(tokens);
  options.webhdfs.http.connect_ms = options.webhdfs.http.reply_ms = kCleaningMs;
  options.webhdfs.retry.give_up_ms = options.webhdfs.retry.first_contact_ms = kCleaningMs;
  return storage::MakeFileSystem(std::move(options));
}

}  // namespace

JobRunner::JobRunner(RunnerOptions options, rpc::PeerNetwork& peers, cluster::StartProfiling order,
                     std::function<void(cluster::FromWorker)> report)
    : options_(std::move(options)),
      job_(order.job),
      job_yaml_(order.job_yaml),
      request_id_(order.request_id),
      input_(order.input),
      report_(std::move(report)),
      tokens_(std::make_shared<storage::TokenStore>([this](const std::string& file_system) {
        Report(cluster::TokenRefused{job_, file_system});
      })),
      files_(MakeFiles(options_.storage, interrupted_, tokens_,
                       [this](const std::string& why) {
                         MutexLock lock(waiting_mutex_);
                         waiting_because_ = why;
                       })),
      cleaning_(MakeCleaningFiles(options_.storage, tokens_)),
      peers_(peers),
      next_(std::move(order)) {
  TakeTokens(std::get<cluster::StartProfiling>(*next_).tokens);
  thread_ = std::thread([this] { Run(); });
}

JobRunner::~JobRunner() {
  Abort(Cancelled("the worker drops the job"));
  thread_.join();
}

std::string JobRunner::waiting_because() const {
  MutexLock lock(waiting_mutex_);
  return waiting_because_;
}

void JobRunner::Profile(cluster::StartProfiling order) {
  TakeTokens(order.tokens);
  GiveOrder(std::move(order));
}

void JobRunner::TakeTokens(const spec::StorageTokens& tokens) {
  for (const spec::StorageToken& token : tokens) tokens_->Put(token.file_system, token.text);
}

void JobRunner::Train(member::TrainingOrder order) { GiveOrder(std::move(order)); }

void JobRunner::Keep(KeepOrder order) { GiveOrder(order); }

void JobRunner::GiveOrder(Order order) {
  {
    MutexLock lock(mutex_);
    next_ = std::move(order);
    interrupted_ = true;
    PostToMember(member::Interrupt{});
  }
  changed_.NotifyAll();
}

void JobRunner::Proceed(const espalier::cluster::Proceed& order) {
  MutexLock lock(mutex_);
  proceed_ = order;
  PostToMember(member::ProceedCame{order});
}

void JobRunner::Prepare(member::TrainingOrder order) {
  {
    MutexLock lock(mutex_);
    if (has_member() && !next_) return PostToMember(member::Prepare{order});
  }
  GiveOrder(std::move(order));
}

void JobRunner::SwitchTo(Generation next) {
  MutexLock lock(mutex_);
  PostToMember(member::SwitchTo{next});
}

void JobRunner::EndEarly(Generation generation) {
  MutexLock lock(mutex_);
  PostToMember(member::EndEarly{generation});
}

void JobRunner::Abort(Status why) {
  {
    MutexLock lock(mutex_);
    if (aborted_.exchange(true)) return;
    interrupted_ = true;
    PostToMember(member::Interrupt{});
  }
  changed_.NotifyAll();
  LogDebug(ToString(job_) + " ends here: " + why.ToString());
}

void JobRunner::PostToMember(const member::MemberEvent& event) {
  std::visit(
      [&](auto& member) {
        if constexpr (requires { member->Post(event); }) member->Post(event);
      },
      member_);
}

void JobRunner::Report(cluster::FromWorker message) {
  if (!aborted_) report_(std::move(message));
}

std::optional<JobRunner::Order> JobRunner::WaitForOrder() {
  MutexLock lock(mutex_);
  while (!aborted_ && !next_.has_value()) changed_.Wait(mutex_);
  if (aborted_) return std::nullopt;
  interrupted_ = false;
  PostToMember(member::Rearm{});
  return std::exchange(next_, std::nullopt);
}

Status JobRunner::ReadJob() {
  ESPALIER_ASSIGN_OR_RETURN(const spec::JobKind kind, config::JobKindOf(job_yaml_, "job"));
  if (kind == spec::JobKind::kTrain) {
    ESPALIER_ASSIGN_OR_RETURN(spec_, config::ParseJob(job_yaml_, "job"));
    ESPALIER_RETURN_IF_ERROR(spec::CheckRules(spec_.data.features, input_->schema));
    if (spec_.workers.cache_input && options_.cache) {
      cached_files_ = std::make_unique<CachedFiles>(*files_, *options_.cache);
    }
  } else {
    ESPALIER_ASSIGN_OR_RETURN(scoring_spec_, config::ParseScoring(job_yaml_, "job"));
  }
  const bool keeps = spec_.workers.cache_input && options_.shards;
  if (options_.shards && !keeps) options_.shards->Clear();  // this job gets the memory
  // Runs first, because it drops the kept shards of other files.
  auto table = keeps ? options_.shards->Use(spec_, input_) : nullptr;
  profile_room_ = std::make_shared<data::MemoryBudget>(
      options_.memory_bytes_max - (keeps ? options_.shards->bytes() : 0), options_.spill_directory,
      options_.spill_bytes_max);
  if (!scoring_spec_) {
    shards_ = std::make_unique<JobShards>(keeps ? options_.shards.get() : nullptr, std::move(table),
                                          spec_, input_, profile_room_);
  }
  return Status::Ok();
}

void JobRunner::Run() {
  const Status read = CatchOutOfMemory([this] { return ReadJob(); });
  while (const std::optional<Order> order = WaitForOrder()) {
    Status end = read;
    if (read.ok()) {
      end = CatchOutOfMemory(
          [&] { return std::visit([this](const auto& o) { return Perform(o); }, *order); });
    }
    if (end.ok() || interrupted_) continue;
    LogWarning(ToString(job_) + " fails here: " + end.ToString());
    Report(cluster::JobFailed{job_, generation_, end});
  }
  ReleaseReserved();
}

Result<ProfileOne> JobRunner::WorkOf(const cluster::StartProfiling& order) {
  if (!scoring_spec_) {
    return ProfileOne([this](const storage::FileSystem& files,
                             int32_t shard) -> Result<ShardOutcome> {
      ESPALIER_ASSIGN_OR_RETURN(auto profiled, shards_->Profile(files, shard));
      return ShardOutcome{std::move(profiled.profile), std::move(profiled.rows), profiled.has_rows};
    });
  }
  if (!scoring_) {
    ESPALIER_ASSIGN_OR_RETURN(scoring_, ScoringWork::Make(*files_, *scoring_spec_, *order.input,
                                                          order.request_id, order.model_sha256));
  }
  if (interrupted_)
    return member::OrderCame();  // the job's leftovers may have been removed already
  ESPALIER_RETURN_IF_ERROR(scoring_->Begin(*files_, order.generation));
  return ProfileOne([this](const storage::FileSystem& files,
                           int32_t shard) -> Result<ShardOutcome> {
    auto score =
        scoring_->Score(files, shard, profile_room_.get(), [this] { return interrupted_.load(); });
    if (options_.probe != nullptr) options_.probe->OnShardScored(shard);
    if (!score.ok()) return score.status();
    return ShardOutcome{*std::move(score)};
  });
}

Status JobRunner::Perform(const cluster::StartProfiling& order) {
  generation_ = order.generation;
  if (order.shards.empty()) return Status::Ok();
  ESPALIER_ASSIGN_OR_RETURN(const ProfileOne profile_one, WorkOf(order));
  ProfilingRunOptions run;
  run.threads = options_.threads;
  // Half of the memory that no other job may take. The other half is for shards that are being
  // read.
  const int64_t others_bytes_max = shards_ ? shards_->kept_bytes_max() : 0;
  run.rows_bytes_max = (options_.memory_bytes_max - others_bytes_max) / 2;
  for (const data::ProfiledShard& kept : profiled_) {
    if (kept.has_rows) run.rows_bytes_max -= kept.rows.MemoryBytes();
  }
  ProfilingRunHooks hooks;
  hooks.now_us = NowUs;
  hooks.on_part = [&](cluster::ShardResults shards) {
    Report(cluster::ProfilePart{job_, order.generation, std::move(shards)});
  };
  hooks.on_bytes_read = [&](int64_t bytes) {
    Report(cluster::ProfilingProgress{job_, order.generation, bytes});
  };
  ESPALIER_ASSIGN_OR_RETURN(auto profiled, RunProfiling(input_files(), *order.input, order.shards,
                                                        profile_one, interrupted_, run, hooks));
  for (data::ProfiledShard& s : profiled) profiled_.push_back(std::move(s));
  return Status::Ok();
}

std::vector<JobRunner::Source> JobRunner::KeptFirst(const data::RowLoader& loader) {
  const std::vector<int32_t>& wanted = loader.shards();  // ascending
  std::vector<Source> sources;
  std::set<int32_t> taken;
  for (data::ProfiledShard& s : profiled_) {
    const int32_t shard = s.profile.shard;
    if (!s.has_rows) continue;
    if (std::binary_search(wanted.begin(), wanted.end(), shard) && taken.insert(shard).second) {
      sources.push_back({.shard = shard, .profiled = &s});
    } else {
      s.rows = {};
      s.has_rows = false;
    }
  }
  for (const int32_t shard : wanted) {
    if (taken.contains(shard)) continue;
    sources.push_back({.shard = shard, .kept = shards_->Kept(shard)});
  }
  return sources;
}

Status JobRunner::Load(data::RowLoader& loader, const storage::FileSystem& files, Source& source) {
  if (source.profiled != nullptr) {
    const Status loaded = loader.Load(source.shard, &source.profiled->rows);
    source.profiled->rows = {};
    return loaded;
  }
  if (source.kept) {
    ESPALIER_RETURN_IF_ERROR(shards_->TakeOver(files, source.shard));
  } else {
    ESPALIER_ASSIGN_OR_RETURN(source.kept, shards_->Take(files, source.shard));
  }
  const auto kept = std::exchange(source.kept, nullptr);
  return loader.Load(source.shard, kept ? &kept->rows : nullptr);
}

Result<std::unique_ptr<data::RowStore>> JobRunner::LoadRows(const spec::TableProfile& profile,
                                                            const OwnRows::Request& rows) {
  std::atomic<int64_t> bytes_read{0}, reported_us{NowUs()};
  const auto after_read = [&](int64_t bytes) {
    bytes_read += bytes;
    int64_t last = reported_us;
    if (NowUs() - last < kLoadingReportUs) return;
    if (!reported_us.compare_exchange_strong(last, NowUs())) return;
    Report(cluster::ProfilingProgress{job_, rows.generation, bytes_read});
  };
  const WatchedFiles files(
      input_files(),
      [&] { return interrupted_ || rows.cancelled() ? member::OrderCame() : Status::Ok(); },
      after_read);
  const int64_t memory_bytes = std::max<int64_t>(0, options_.memory_bytes_max - rows.memory_bytes);
  const bool beside = shards_->FitsBeside(profile, rows.ranges, memory_bytes);
  const data::RowStoreOptions store{
      beside ? memory_bytes - shards_->kept_bytes() : memory_bytes, options_.spill_directory,
      std::max<int64_t>(0, options_.spill_bytes_max - rows.spill_bytes)};
  ESPALIER_ASSIGN_OR_RETURN(const auto loader, data::RowLoader::Make({files, *input_, spec_},
                                                                     profile, rows.ranges, store));
  std::vector<Source> sources = KeptFirst(*loader);
  if (!beside) shards_->GiveUp();
  std::vector<Status> results(sources.size());
  ComputePool pool(options_.threads);
  pool.ParallelFor(static_cast<int64_t>(results.size()), [&](int64_t i) {
    if (interrupted_ || rows.cancelled()) return;
    results[i] = Load(*loader, files, sources[i]);
  });
  profiled_.clear();
  if (interrupted_ || rows.cancelled()) return member::OrderCame();
  for (Status& s : results) ESPALIER_RETURN_IF_ERROR(std::move(s));
  if (cached_files_) {
    LogInfo(ToString(job_) + " has read " + HumanBytes(cached_files_->bytes_fetched()) +
            " of its input from where it lies and " + HumanBytes(cached_files_->bytes_cached()) +
            " from the cache");
  }
  if (shards_->keeps()) {
    LogInfo(ToString(job_) + " has parsed " + HumanCount(shards_->parsed()) +
            " of its shards itself and taken over " + HumanCount(shards_->taken()) +
            " that a job before had parsed");
  }
  return loader->Finish();
}

}  // namespace espalier::worker
