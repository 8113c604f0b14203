#include "src/worker/job_runner.h"

#include <algorithm>
#include <atomic>
#include <set>
#include <utility>

#include "src/base/log.h"
#include "src/base/text.h"
#include "src/base/thread_pool.h"
#include "src/bundle/initial_weights.h"
#include "src/config/job_yaml.h"
#include "src/config/scoring_yaml.h"
#include "src/data/row_store.h"
#include "src/model/arithmetic.h"
#include "src/worker/bundle_writer.h"
#include "src/worker/clock.h"
#include "src/worker/resume.h"
#include "src/worker/watched_files.h"

namespace espalier {
namespace {

constexpr int64_t kLoadingTellUs = 1'000'000;  // how often it is told that rows are being read

// Its waits end when `cancelled`, and it tells what they are for.
std::unique_ptr<FileSystem> MakeFiles(StorageOptions options, const std::atomic<bool>& cancelled,
                                      std::shared_ptr<const TokenStore> tokens,
                                      std::function<void(const std::string&)> on_trouble) {
  options.webhdfs.http.cancelled = [&cancelled] { return cancelled.load(); };
  options.webhdfs.tokens = std::move(tokens);
  options.webhdfs.on_trouble = std::move(on_trouble);
  return MakeFileSystem(std::move(options));
}

}  // namespace

JobRunner::JobRunner(RunnerOptions options, PeerNetwork& peers, StartSurvey order,
                     std::function<void(FromWorker)> report)
    : options_(std::move(options)),
      job_(order.job),
      job_yaml_(order.job_yaml),
      input_(order.input),
      report_(std::move(report)),
      tokens_(std::make_shared<TokenStore>([this](const std::string& file_system) {
        Tell(TokenRefused{job_, file_system});
      })),
      files_(MakeFiles(options_.storage, interrupted_, tokens_,
                       [this](const std::string& why) {
                         std::lock_guard lock(waiting_mutex_);
                         waiting_because_ = why;
                       })),
      peers_(peers),
      survey_room_(options_.memory_bytes_max, options_.spool_directory, options_.spool_bytes_max),
      next_(std::move(order)) {
  TakeTokens(std::get<StartSurvey>(*next_).tokens);
  thread_ = std::thread([this] { Run(); });
}

JobRunner::~JobRunner() {
  Abort(Cancelled("the worker drops the job"));
  thread_.join();
}

std::string JobRunner::waiting_because() const {
  std::lock_guard lock(waiting_mutex_);
  return waiting_because_;
}

void JobRunner::Survey(StartSurvey order) {
  TakeTokens(order.tokens);
  GiveOrder(std::move(order));
}

void JobRunner::TakeTokens(const StorageTokens& tokens) {
  for (const StorageToken& token : tokens) tokens_->Put(token.file_system, token.text);
}

void JobRunner::Train(TrainingOrder order) { GiveOrder(std::move(order)); }

void JobRunner::Keep(KeepOrder order) { GiveOrder(order); }

void JobRunner::GiveOrder(Order order) {
  {
    std::lock_guard lock(mutex_);
    next_ = std::move(order);
    interrupted_ = true;
    if (member_) member_->Interrupt();
  }
  changed_.notify_all();
}

void JobRunner::Proceed(const espalier::Proceed& order) {
  std::lock_guard lock(mutex_);
  proceed_ = order;
  if (member_) member_->Proceed(order);
}

void JobRunner::Prepare(TrainingOrder order) {
  {
    std::lock_guard lock(mutex_);
    if (member_ && !next_) return member_->Prepare(order);
  }
  GiveOrder(std::move(order));
}

void JobRunner::SwitchTo(Generation next) {
  std::lock_guard lock(mutex_);
  if (member_) member_->SwitchTo(next);
}

void JobRunner::Abort(Status why) {
  {
    std::lock_guard lock(mutex_);
    if (aborted_.exchange(true)) return;
    interrupted_ = true;
    if (member_) member_->Interrupt();
  }
  changed_.notify_all();
  LogDebug(ToString(job_) + " ends here: " + why.ToString());
}

void JobRunner::Tell(FromWorker message) {
  if (!aborted_) report_(std::move(message));
}

std::optional<JobRunner::Order> JobRunner::WaitForOrder() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return aborted_ || next_.has_value(); });
  if (aborted_) return std::nullopt;
  interrupted_ = false;
  if (member_) member_->Rearm();
  return std::exchange(next_, std::nullopt);
}

Status JobRunner::ReadJob() {
  ESPALIER_ASSIGN_OR_RETURN(const JobKind kind, JobKindOf(job_yaml_, "job"));
  if (kind == JobKind::kTrain) {
    ESPALIER_ASSIGN_OR_RETURN(spec_, ParseJob(job_yaml_, "job"));
    ESPALIER_RETURN_IF_ERROR(CheckRules(spec_.data.features, input_->schema));
    if (spec_.workers.cache_input && options_.cache) {
      cached_files_ = std::make_unique<CachedFiles>(*files_, *options_.cache);
    }
  } else {
    ESPALIER_ASSIGN_OR_RETURN(scoring_spec_, ParseScoring(job_yaml_, "job"));
  }
  return Status::Ok();
}

void JobRunner::Run() {
  const Status read = ReadJob();
  while (const std::optional<Order> order = WaitForOrder()) {
    Status end = read;
    if (read.ok()) end = std::visit([this](const auto& o) { return Perform(o); }, *order);
    if (end.ok() || interrupted_) continue;
    LogWarning(ToString(job_) + " fails here: " + end.ToString());
    Tell(JobFailed{job_, generation_, end});
  }
}

Result<SurveyOne> JobRunner::WorkOf(const StartSurvey& order) {
  if (!scoring_spec_) {
    return SurveyOne([this, input = order.input](const FileSystem& files, int32_t shard) {
      return SurveyShard(files, *input, spec_, shard, &survey_room_);
    });
  }
  if (!scoring_) {
    ESPALIER_ASSIGN_OR_RETURN(scoring_, ScoringWork::Make(*files_, *scoring_spec_, *order.input,
                                                          order.request_id, order.model_sha256));
  }
  if (interrupted_) return OrderCame();  // what the job leaves may be removed already
  ESPALIER_RETURN_IF_ERROR(scoring_->Begin(*files_, order.generation));
  return SurveyOne([this](const FileSystem& files, int32_t shard) {
    auto scored =
        scoring_->Score(files, shard, &survey_room_, [this] { return interrupted_.load(); });
    if (options_.probe != nullptr) options_.probe->OnShardScored(shard);
    return scored;
  });
}

Status JobRunner::Perform(const StartSurvey& order) {
  generation_ = order.generation;
  if (order.shards.empty()) return Status::Ok();
  ESPALIER_ASSIGN_OR_RETURN(const SurveyOne survey_one, WorkOf(order));
  SurveyRunOptions run;
  run.threads = options_.threads;
  run.rows_bytes_max = options_.memory_bytes_max / 2;
  for (const SurveyedShard& kept : surveyed_) {
    if (kept.has_rows) run.rows_bytes_max -= kept.rows.MemoryBytes();
  }
  SurveyRunHooks hooks;
  hooks.now_us = NowUs;
  hooks.on_part = [&](ShardSurveys shards) {
    Tell(SurveyPart{job_, order.generation, std::move(shards)});
  };
  hooks.on_bytes_read = [&](int64_t bytes) { Tell(SurveyProgress{job_, order.generation, bytes}); };
  ESPALIER_ASSIGN_OR_RETURN(auto surveyed, RunSurvey(input_files(), *order.input, order.shards,
                                                     survey_one, interrupted_, run, hooks));
  for (SurveyedShard& s : surveyed) surveyed_.push_back(std::move(s));
  return Status::Ok();
}

std::pair<std::vector<int32_t>, std::vector<SurveyedShard*>> JobRunner::KeptFirst(
    const RowLoader& loader) {
  const std::vector<int32_t>& wanted = loader.shards();  // ascending
  std::vector<int32_t> shards;
  std::vector<SurveyedShard*> kept;
  std::set<int32_t> taken;
  for (SurveyedShard& s : surveyed_) {
    const int32_t shard = s.survey.shard;
    if (!s.has_rows) continue;
    if (std::binary_search(wanted.begin(), wanted.end(), shard) && taken.insert(shard).second) {
      shards.push_back(shard);
      kept.push_back(&s);
    } else {
      s.rows = {};
      s.has_rows = false;
    }
  }
  for (const int32_t shard : wanted) {
    if (!taken.contains(shard)) shards.push_back(shard);
  }
  kept.resize(shards.size());
  return {std::move(shards), std::move(kept)};
}

Result<std::unique_ptr<RowStore>> JobRunner::LoadRows(const SurveyResult& survey,
                                                      const RowRanges& ranges, int64_t memory_bytes,
                                                      int64_t spool_bytes,
                                                      const std::function<bool()>& cancelled) {
  // What a generation waits for shows that it moves; what is loaded beside one is waited for by
  // nobody.
  const bool awaited = std::this_thread::get_id() == thread_.get_id();
  const Generation generation = awaited ? generation_ : Generation{};
  std::atomic<int64_t> bytes_read{0}, told_us{NowUs()};
  const auto after_read = [&](int64_t bytes) {
    bytes_read += bytes;
    int64_t last = told_us;
    if (!awaited || NowUs() - last < kLoadingTellUs) return;
    if (!told_us.compare_exchange_strong(last, NowUs())) return;
    Tell(SurveyProgress{job_, generation, bytes_read});
  };
  const WatchedFiles files(
      input_files(), [&] { return interrupted_ || cancelled() ? OrderCame() : Status::Ok(); },
      after_read);
  const RowStoreOptions store{std::max<int64_t>(0, options_.memory_bytes_max - memory_bytes),
                              options_.spool_directory,
                              std::max<int64_t>(0, options_.spool_bytes_max - spool_bytes)};
  ESPALIER_ASSIGN_OR_RETURN(const auto loader,
                            RowLoader::Make(files, *input_, spec_, survey, ranges, store));
  const auto [shards, kept] = KeptFirst(*loader);
  std::vector<Status> results(shards.size());
  ComputePool pool(options_.threads);
  pool.ParallelFor(static_cast<int64_t>(results.size()), [&](int64_t i) {
    if (interrupted_ || cancelled()) return;
    results[i] = loader->Load(shards[i], kept[i] ? &kept[i]->rows : nullptr);
    if (kept[i]) kept[i]->rows = {};
  });
  surveyed_.clear();
  if (interrupted_ || cancelled()) return OrderCame();
  for (Status& s : results) ESPALIER_RETURN_IF_ERROR(std::move(s));
  if (cached_files_) {
    LogInfo(ToString(job_) + " has read " + HumanBytes(cached_files_->bytes_fetched()) +
            " of its input from where it lies and " + HumanBytes(cached_files_->bytes_cached()) +
            " from the cache");
  }
  return loader->Finish();
}

Status JobRunner::Perform(const TrainingOrder& order) {
  generation_ = order.order.generation;
  if (scoring_spec_) return Internal("there is nothing to train in a job that scores");
  return spec_.model.precision == Precision::kFloat64 ? Train<double>(order) : Train<float>(order);
}

template <typename T>
Status JobRunner::Train(const TrainingOrder& order) {
  if (!member_) {
    MemberHooks hooks;
    hooks.tell = [this](FromWorker message) { Tell(std::move(message)); };
    hooks.on_step = [this](int64_t step) { step_ = step; };
    hooks.find_state = [this](const StartTraining& start) { return FindState<T>(start); };
    hooks.checkpoint_due = [this](const RootState& state) { return checkpoints_->Due(state); };
    hooks.on_agreed = [this](const RootState& state) { checkpoints_->WriteIfDue(state); };
    hooks.probe = options_.probe;
    hooks.sum_timeout_ms = options_.sum_timeout_ms;
    hooks.load = [this](const SurveyResult& survey, const RowRanges& ranges, int64_t memory,
                        int64_t spool, const std::function<bool()>& cancelled) {
      return LoadRows(survey, ranges, memory, spool, cancelled);
    };
    ESPALIER_ASSIGN_OR_RETURN(
        auto made, TypedJobMember<T>::Make(spec_, order.order.survey, options_.threads, peers_,
                                           std::move(hooks)));
    ESPALIER_ASSIGN_OR_RETURN(arithmetic_id_, ArithmeticId());
    checkpoints_ = std::make_unique<JobCheckpoints>(*files_, spec_, arithmetic_id_);
    std::lock_guard lock(mutex_);
    member_ = std::move(made);
    if (proceed_) member_->Proceed(*proceed_);
    if (interrupted_) member_->Interrupt();
  }
  if (order.order.planned) begun_ = true;  // it fetches the state of those who train
  if (order.order.reverts && order.self == 0) checkpoints_->DropUncompared();
  over_ = false;
  newest_ = order;
  auto& member = static_cast<TypedJobMember<T>&>(*member_);
  JobMember::End end = member.Run(order);
  if (end.order.order.generation > generation_) {  // changes by plan have led into a later one
    newest_ = end.order;
    generation_ = newest_.order.generation;
  }
  // The links stay up until the next order or the release: dropping them would take away what
  // slower members have not read yet, and look like another death.
  if (interrupted_ || end.broken || end.left) return Status::Ok();
  ESPALIER_RETURN_IF_ERROR(std::move(end.status));
  if (end.root) {
    ESPALIER_RETURN_IF_ERROR(Finish(end.order.order, end.order.self, member, *end.trained));
  }
  over_ = true;
  return Status::Ok();
}

template <typename T>
Result<std::optional<TrainingState<T>>> JobRunner::LoadNewest(const TypedJobMember<T>& member,
                                                              const StartTraining& order) {
  ResumeOptions options;
  options.data_fingerprint = order.survey->data_fingerprint;
  options.arithmetic_id = arithmetic_id_;
  options.trained_before = order.generation.value > 1;
  options.reverts = order.reverts;
  return LoadCheckpoint<T>(*files_, spec_, member.plan(), options);
}

template <typename T>
Status JobRunner::FindState(const StartTraining& order) {
  auto& member = static_cast<TypedJobMember<T>&>(*member_);
  if (begun_ || member.step() > 0) {
    return spec_.train.mode == TrainMode::kAsync ? BeginAgain(member, order) : Status::Ok();
  }
  Status begun = Begin(order, member);
  begun_ = begun.ok();
  if (begun_ || interrupted_ || order.generation.value == 1) return begun;
  member.CouldNotRead(std::move(begun));  // it may be that others have
  return Status::Ok();
}

template <typename T>
Status JobRunner::Begin(const StartTraining& order, TypedJobMember<T>& member) {
  ESPALIER_ASSIGN_OR_RETURN(auto state, LoadNewest<T>(member, order));
  if (!state) {
    if (!spec_.train.initial) return Status::Ok();
    ESPALIER_ASSIGN_OR_RETURN(auto weights, ReadInitialWeights(*files_, *spec_.train.initial,
                                                               Tensors(member.plan().shape),
                                                               order.survey->preprocessing));
    member.BeginWith(std::move(weights));
    return Status::Ok();
  }
  step_ = state->step;
  member.GoOnFrom(*std::move(state));
  return Status::Ok();
}

// Of asynchronous training only one member has the newest state. When it is the one who is lost,
// what was kept is further than what this one began with. When it is not, the others take it from
// there.
template <typename T>
Status JobRunner::BeginAgain(TypedJobMember<T>& member, const StartTraining& order) {
  const auto holds = [&](const Member& m) { return m.worker == member.holder(); };
  if (std::any_of(order.members.begin(), order.members.end(), holds)) return Status::Ok();
  ESPALIER_ASSIGN_OR_RETURN(auto state, LoadNewest<T>(member, order));
  if (!state || state->step <= member.step()) return Status::Ok();
  step_ = state->step;
  member.GoOnFrom(*std::move(state));
  return Status::Ok();
}

Status JobRunner::Perform(const KeepOrder& order) {
  StateKept told{order.at.job, order.at.generation, 0, {}, {}};
  HeldState held;
  const bool agreed = order.reverts || (member_ && member_->differs());
  if (member_) held = agreed ? member_->Agreed() : member_->Held();
  if (held.step > 0) {
    auto path = checkpoints_->Keep(newest_, held, agreed);
    if (path.ok()) {
      told.step = held.step;
      told.path = *std::move(path);
    } else {
      told.why = path.status();
    }
  }
  Tell(std::move(told));
  return Status::Ok();
}

template <typename T>
Status JobRunner::Finish(const StartTraining& order, int32_t self, const TypedJobMember<T>& member,
                         const Trained& trained) {
  const FinishAction& f = trained.finish;
  const SurveyResult& survey = *order.survey;
  JobDone done{order.job, order.generation, {}};
  JobResult& r = done.result;
  r.steps = f.steps;
  r.epochs = f.epochs;
  r.rows_per_epoch = survey.train_rows;
  r.train = f.train;
  r.validation = f.validation;
  r.test = f.test;
  r.classes = ClassNames(spec_.model.task, survey.preprocessing);
  r.stopped_because = f.stopped_because;
  r.step_ms_p50 = trained.step_ms_p50;
  r.step_ms_p99 = trained.step_ms_p99;
  if (spec_.train.mode == TrainMode::kAsync) r.async = trained.async;
  r.skipped_rows = survey.skipped_rows;
  ModelDocument document;
  document.job = spec_;
  document.schema = input_->schema;
  document.preprocessing = survey.preprocessing;
  document.storage = survey.storage;
  document.sparse = member.shape().sparse;
  document.train_rows = survey.train_rows;
  document.validation_rows = survey.validation_rows;
  document.test_rows = survey.test_rows;
  document.skipped_rows = survey.skipped_rows;
  document.steps = f.steps;
  document.epochs = f.epochs;
  document.stopped_because = f.stopped_because;
  document.train = f.train;
  document.validation = f.validation;
  document.test = f.test;
  document.data_fingerprint = survey.data_fingerprint;
  document.arithmetic_id = arithmetic_id_;
  document.accepted = member.accepted();
  document.async = r.async;
  const WriterName writer{order.job, order.generation, self};
  ESPALIER_ASSIGN_OR_RETURN(r.weights_sha256,
                            WriteBundle<T>(*files_, std::move(document), member.shape(),
                                           member.parameters(), trained.history, writer));
  r.bundle = spec_.output.path;
  checkpoints_->End(writer);
  Tell(std::move(done));
  return Status::Ok();
}

}  // namespace espalier
