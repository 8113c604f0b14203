#include "src/worker/job_runner.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "src/base/log.h"
#include "src/base/thread_pool.h"
#include "src/config/job_yaml.h"
#include "src/data/row_store.h"
#include "src/model/arithmetic.h"
#include "src/plan/ownership.h"
#include "src/plan/rows.h"
#include "src/worker/bundle_writer.h"
#include "src/worker/row_source.h"
#include "src/worker/survey_run.h"
#include "src/worker/trainer.h"
#include "src/worker/watched_files.h"

namespace espalier {
namespace {

constexpr int64_t kTrainOrderTimeoutMs = 24 * 3'600'000;  // other members' surveys may be long

int64_t NowUs() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// The network of a surveyed job.
Result<NetworkShape> ShapeOf(const JobSpec& spec, const SurveyResult& survey) {
  const Preprocessing& fitted = survey.preprocessing;
  const bool classes = spec.model.task == Task::kClassification;
  return MakeNetworkShape(
      spec.model, static_cast<int64_t>(fitted.features.size()),
      static_cast<int64_t>(classes ? fitted.classes.size() : fitted.targets.size()));
}

Result<Ownership> OwnershipOf(const StartTraining& order, size_t members, int64_t leaves) {
  Ownership ownership;
  int32_t at = 0;
  for (const LeafInterval& i : order.leaves) {
    if (i.begin != at || i.end <= i.begin) {
      return FailedPrecondition("the coordinator's leaf intervals do not follow each other");
    }
    ownership.intervals.push_back({i.begin, i.end});
    at = i.end;
  }
  if (at != leaves || ownership.intervals.size() != members) {
    return FailedPrecondition("the coordinator's leaf intervals do not cover the job's " +
                              std::to_string(leaves) + " leaves");
  }
  return ownership;
}

// The members this one exchanges messages with.
std::vector<uint32_t> PartnersOf(const std::vector<TreePlace>& places, int32_t self) {
  std::vector<uint32_t> partners;
  const auto add = [&](int32_t a, int32_t b) {
    const int32_t other = a == self ? b : a;
    if ((a == self || b == self) && a != b && a >= 0 && b >= 0) {
      partners.push_back(static_cast<uint32_t>(other));
    }
  };
  for (const TreePlace& p : places) {
    add(p.self, p.leaves_to);
    add(p.self, p.join_to);
    add(p.self, p.down_from);
    if (p.top) add(p.self, p.top->partner);
  }
  std::sort(partners.begin(), partners.end());
  partners.erase(std::unique(partners.begin(), partners.end()), partners.end());
  return partners;
}

LinksRequest LinksOf(const StartTraining& order, const JobMembers& members,
                     const std::vector<TreePlace>& places, int64_t round_bytes) {
  LinksRequest request;
  request.incarnation = order.incarnation;
  request.job = order.job;
  request.generation = order.generation;
  request.self = static_cast<uint32_t>(members.self);
  for (const Member& m : members.members) request.addresses.push_back(m.address);
  request.partners = PartnersOf(places, members.self);
  request.queue_bytes_max = 2 * kVectorsARoundMax * round_bytes;
  return request;
}

RowRanges RangesOf(const SurveyResult& survey, LeafSpan own, int64_t leaves) {
  const auto range = [&](int64_t rows) {
    return Range{LeafRows(rows, leaves, own.begin).begin, LeafRows(rows, leaves, own.end - 1).end};
  };
  return {range(survey.train_rows), range(survey.validation_rows), range(survey.test_rows)};
}

StorageOptions Cancellable(StorageOptions options, const std::atomic<bool>& cancelled) {
  options.webhdfs.http.cancelled = [&cancelled] { return cancelled.load(); };
  return options;
}

}  // namespace

JobRunner::JobRunner(RunnerOptions options, PeerNetwork& peers, StartSurvey order,
                     std::function<void(FromWorker)> report)
    : options_(std::move(options)),
      files_(MakeFileSystem(Cancellable(options_.storage, aborted_))),
      peers_(peers),
      order_(std::move(order)),
      report_(std::move(report)),
      thread_([this] { Run(); }) {}

JobRunner::~JobRunner() {
  Abort(Cancelled("the worker drops the job"));
  thread_.join();
}

void JobRunner::StartTraining(espalier::StartTraining order) {
  {
    std::lock_guard lock(mutex_);
    training_ = std::move(order);
  }
  changed_.notify_all();
}

void JobRunner::Abort(Status why) {
  std::function<void(Status)> abort_trainer;
  {
    std::lock_guard lock(mutex_);
    if (!abort_reason_.ok()) return;
    abort_reason_ = why;
    aborted_ = true;
    if (abort_trainer_) abort_trainer_(why);
  }
  changed_.notify_all();
}

Status JobRunner::AbortReason() const {
  std::lock_guard lock(mutex_);
  return abort_reason_;
}

void JobRunner::Tell(FromWorker message) {
  if (!aborted_) report_(std::move(message));
}

void JobRunner::Run() {
  const Status end = RunJob();
  if (end.ok() || aborted_) return;
  LogWarning(ToString(order_.job) + " fails here: " + end.ToString());
  Tell(JobFailed{order_.job, order_.generation, end, suspect_});
}

Status JobRunner::RunJob() {
  ESPALIER_ASSIGN_OR_RETURN(const JobSpec spec, ParseJob(order_.job_yaml, "job"));
  ESPALIER_RETURN_IF_ERROR(Survey(spec));
  ESPALIER_ASSIGN_OR_RETURN(const auto order, WaitForTraining());
  return spec.model.precision == Precision::kFloat64 ? Train<double>(spec, order)
                                                     : Train<float>(spec, order);
}

Status JobRunner::Survey(const JobSpec& spec) {
  SurveyRunOptions run;
  run.threads = options_.threads;
  run.rows_bytes_max = options_.memory_bytes_max / 2;
  SurveyRunHooks hooks;
  hooks.now_us = NowUs;
  hooks.on_part = [this](ShardSurveys shards) {
    Tell(SurveyPart{order_.job, order_.generation, std::move(shards)});
  };
  hooks.on_bytes_read = [this](int64_t bytes) {
    Tell(SurveyProgress{order_.job, order_.generation, bytes});
  };
  auto surveyed = RunSurvey(*files_, *order_.input, spec, order_.shards, aborted_, run, hooks);
  if (aborted_) return AbortReason();
  ESPALIER_ASSIGN_OR_RETURN(surveyed_, std::move(surveyed));
  return {};
}

Result<StartTraining> JobRunner::WaitForTraining() {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::milliseconds(kTrainOrderTimeoutMs),
                    [this] { return training_.has_value() || !abort_reason_.ok(); });
  if (!abort_reason_.ok()) return abort_reason_;
  if (!training_) return DeadlineExceeded("no order to train came after the survey");
  return std::move(*training_);
}

Result<std::unique_ptr<RowStore>> JobRunner::LoadOwnRows(const JobSpec& spec,
                                                         const SurveyResult& survey,
                                                         const RowRanges& ranges) {
  const WatchedFiles files(
      *files_, [this] { return aborted_ ? AbortReason() : Status::Ok(); }, [](int64_t) {});
  const RowStoreOptions store{options_.memory_bytes_max, options_.spool_directory,
                              options_.spool_bytes_max};
  ESPALIER_ASSIGN_OR_RETURN(const auto loader,
                            RowLoader::Make(files, *order_.input, spec, survey, ranges, store));
  std::map<int32_t, SurveyedShard*> surveyed;
  for (SurveyedShard& s : surveyed_) surveyed[s.survey.shard] = &s;
  std::vector<Status> results(loader->shards().size());
  ComputePool pool(options_.threads);
  pool.ParallelFor(static_cast<int64_t>(results.size()), [&](int64_t i) {
    if (aborted_) return;
    const auto kept = surveyed.find(loader->shards()[i]);
    const bool has_rows = kept != surveyed.end() && kept->second->has_rows;
    results[i] = loader->Load(loader->shards()[i], has_rows ? &kept->second->rows : nullptr);
    if (has_rows) kept->second->rows = {};
  });
  surveyed_.clear();
  if (aborted_) return AbortReason();
  for (Status& s : results) ESPALIER_RETURN_IF_ERROR(std::move(s));
  return loader->Finish();
}

void JobRunner::WaitForRelease() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !abort_reason_.ok(); });
}

template <typename T>
Status JobRunner::Train(const JobSpec& spec, const espalier::StartTraining& order) {
  const SurveyResult& survey = *order.survey;
  const int64_t leaves = LeafCount(spec.train);
  const int32_t self = order_.members.self;
  ESPALIER_ASSIGN_OR_RETURN(const NetworkShape shape, ShapeOf(spec, survey));
  ESPALIER_ASSIGN_OR_RETURN(const Ownership ownership,
                            OwnershipOf(order, order_.members.members.size(), leaves));
  const std::vector<TreePlace> places = PlanTree(ownership, static_cast<int32_t>(leaves));

  // The links open before the rows are loaded, which takes some members longer than others:
  // whoever is ready first is heard and waits for the first total.
  const int64_t round_bytes = RoundBytesMax(shape, sizeof(T));
  std::vector<std::string> names;
  for (const Member& m : order_.members.members) names.push_back(m.name + " (" + m.address + ")");
  Reducer reducer({order.incarnation, order_.job, order_.generation}, places[self], names,
                  round_bytes);
  if (places.size() > 1) {
    reducer.Start(peers_.Open(LinksOf(order, order_.members, places, round_bytes), &reducer));
  }
  ESPALIER_ASSIGN_OR_RETURN(
      const std::unique_ptr<RowStore> store,
      LoadOwnRows(spec, survey, RangesOf(survey, ownership.intervals[self], leaves)));
  const StoredRows<T> rows(*store);
  Tell(MemberReady{order_.job, order_.generation});

  ComputePool pool(options_.threads, PrepareComputeThread);
  TrainingPlan plan{spec.train,
                    shape,
                    survey.preprocessing.targets,
                    survey.train_rows,
                    survey.validation_rows,
                    survey.test_rows};
  TrainerOptions trainer_options;
  trainer_options.shuffle = spec.data.shuffle;
  trainer_options.leaves = static_cast<int32_t>(leaves);
  trainer_options.own = ownership.intervals[self];
  trainer_options.max_time_ms = spec.train.max_time_ms.value_or(0);
  const bool root = places[self].is_root();
  Trainer<T> trainer(std::move(plan), trainer_options, rows, pool, reducer, root,
                     Hooks(spec, root));
  {
    std::lock_guard lock(mutex_);
    if (!abort_reason_.ok()) return abort_reason_;
    abort_trainer_ = [&trainer](Status why) { trainer.Abort(std::move(why)); };
  }
  auto trained = trainer.Run();
  {
    std::lock_guard lock(mutex_);
    abort_trainer_ = nullptr;
  }
  if (!trained.ok()) {
    const int32_t broken = reducer.broken_member();
    if (broken >= 0) suspect_ = order_.members.members[broken].worker;
    return trained.status();
  }
  const StepParts& parts = trained->parts;
  LogInfo(ToString(order_.job) + ": a step's mean parts in ms: leaves " +
          std::to_string(parts.leaves_ms) + ", gradients " + std::to_string(parts.gradients_ms) +
          ", waiting for sums " + std::to_string(parts.wait_ms) + ", update " +
          std::to_string(parts.update_ms));
  if (root) ESPALIER_RETURN_IF_ERROR(Finish(spec, survey, shape, *trained));
  // The links stay up until the coordinator releases the job: dropping them would take away what
  // slower members have not read yet.
  over_ = true;
  WaitForRelease();
  return {};
}

TrainerHooks JobRunner::Hooks(const JobSpec& spec, bool root) {
  TrainerHooks hooks;
  hooks.now_us = NowUs;
  const double epochs_total = EpochLimit(spec.train).value_or(0);
  hooks.on_report = [this, root, epochs_total](const StepReport& r) {
    step_ = r.step;
    if (!root) return;
    Progress p;
    p.job = order_.job;
    p.generation = order_.generation;
    p.step = r.step;
    p.steps_total = r.steps_total;
    p.epoch = r.epoch;
    p.epochs_total = epochs_total;
    p.loss = r.running.loss;
    p.accuracy = r.running.accuracy;
    p.learning_rate = r.learning_rate;
    p.rows_per_second = r.rows_per_second;
    p.phase = r.evaluating ? "evaluating" : "training";
    p.phase_share = r.evaluated_share;
    Tell(std::move(p));
  };
  hooks.on_history = [this, root](const HistoryRow& row) {
    if (!root) return;
    history_.push_back(row);
    Tell(HistoryEntry{order_.job, order_.generation, row});
  };
  return hooks;
}

template <typename T>
Status JobRunner::Finish(const JobSpec& spec, const SurveyResult& survey, const NetworkShape& shape,
                         const TrainerResult<T>& trained) {
  const FinishAction& f = trained.finish;
  JobDone done{order_.job, order_.generation, {}};
  JobResult& r = done.result;
  r.steps = f.steps;
  r.epochs = f.epochs;
  r.rows_per_epoch = survey.train_rows;
  r.train = f.train;
  r.validation = f.validation;
  r.test = f.test;
  r.classes = survey.preprocessing.classes;
  r.stopped_because = f.stopped_because;
  r.step_ms_p50 = trained.step_ms_p50;
  r.step_ms_p99 = trained.step_ms_p99;
  r.skipped_rows = survey.skipped_rows;
  ModelDocument document;
  document.job = spec;
  document.schema = order_.input->schema;
  document.preprocessing = survey.preprocessing;
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
  ESPALIER_ASSIGN_OR_RETURN(document.arithmetic_id, ArithmeticId());
  const std::string writer = "g" + std::to_string(order_.generation.value) + "-m" +
                             std::to_string(order_.members.self) + "-" + ToString(order_.job);
  ESPALIER_ASSIGN_OR_RETURN(r.weights_sha256, WriteBundle<T>(*files_, std::move(document), shape,
                                                             trained.parameters, history_, writer));
  r.bundle = spec.output.path;
  Tell(std::move(done));
  return {};
}

}  // namespace espalier
