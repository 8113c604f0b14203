// JobRunner: training orders. It handles the first state of a member, its generations, and the
// output that its root writes at the end.
#include <algorithm>
#include <utility>

#include "src/base/log.h"
#include "src/base/memory.h"
#include "src/bundle/initial_weights.h"
#include "src/bundle/output.h"
#include "src/model/arithmetic.h"
#include "src/worker/bundle_writer.h"
#include "src/worker/job_runner.h"
#include "src/worker/resume.h"
#include "src/worker/training_order.h"

namespace espalier::worker {

Status JobRunner::Perform(const member::TrainingOrder& order) {
  generation_ = order.order.generation;
  if (scoring_spec_) return Internal("there is nothing to train in a job that scores");
  return spec_.model.precision == spec::Precision::kFloat64 ? Train<double>(order)
                                                            : Train<float>(order);
}

template <typename T>
Status JobRunner::Train(const member::TrainingOrder& order) {
  if (!has_member()) ESPALIER_RETURN_IF_ERROR(MakeMember<T>(order));
  if (order.order.reverts && order.self == 0) checkpoints_->DropUncompared();
  over_ = false;
  newest_ = order;
  JobMember<T>& member = this->member<T>();
  member::EndRun end = member.Run(order);
  if (end.place && end.place->at().generation > generation_) {  // after planned changes
    newest_ = end.place->order;
    generation_ = newest_.order.generation;
  }
  // The links stay up until the next order or the release. Dropping them would discard data that
  // slower members have not read yet, and would look like another lost member.
  const bool goes_on = interrupted_ || end.broken || end.left;
  if (goes_on || !end.status.ok() || !end.place->root()) ReleaseReserved();
  if (goes_on) return Status::Ok();
  ESPALIER_RETURN_IF_ERROR(std::move(end.status));
  if (end.place->root()) {
    ESPALIER_RETURN_IF_ERROR(
        Finish(end.place->start(), end.place->self(), member, member.trained()));
  }
  over_ = true;
  return Status::Ok();
}

template <typename T>
Status JobRunner::MakeMember(const member::TrainingOrder& order) {
  spec_ = spec::Sized(std::move(spec_), order.order.profile->train_rows);
  MemberHooks hooks;
  hooks.report = [this](cluster::FromWorker message) { Report(std::move(message)); };
  hooks.on_step = [this](int64_t step) { step_ = step; };
  hooks.find_state = [this](const cluster::StartTraining& start) { return FindState<T>(start); };
  hooks.reserve_output = [this](const cluster::StartTraining& start, int32_t self) {
    return Reserve(WriterOf(start, self));
  };
  hooks.checkpoint_due = [this](const RootState& state) { return checkpoints_->Due(state); };
  hooks.on_agreed = [this](const RootState& state) { checkpoints_->WriteIfDue(state); };
  hooks.probe = options_.probe;
  hooks.sum_timeout_ms = options_.sum_timeout_ms;
  hooks.memory_bytes_max = std::min(options_.memory_bytes_max, PhysicalMemoryBytes());
  hooks.load = [this](const spec::TableProfile& profile, const OwnRows::Request& rows) {
    return LoadRows(profile, rows);
  };
  ESPALIER_ASSIGN_OR_RETURN(
      auto made,
      JobMember<T>::Make(spec_, order.order.profile, options_.threads, peers_, std::move(hooks)));
  ESPALIER_ASSIGN_OR_RETURN(arithmetic_id_, model::ArithmeticId());
  checkpoints_ = std::make_unique<JobCheckpoints>(*files_, spec_, arithmetic_id_);
  MutexLock lock(mutex_);
  member_ = std::move(made);
  if (proceed_) PostToMember(member::ProceedCame{*proceed_});
  if (interrupted_) PostToMember(member::Interrupt{});
  return Status::Ok();
}

Status JobRunner::Reserve(const bundle::WriterName& writer) {
  {
    MutexLock lock(mutex_);
    reserved_.insert(writer);
  }
  const Status made = bundle::ReserveOutput(*files_, spec_.output.path, writer);
  if (aborted_) ReleaseReserved();  // the job's thread may have ended already
  return made;
}

// Releases the output. Either another member writes it, or this one in a later generation, or the
// job is over.
void JobRunner::ReleaseReserved() {
  std::set<bundle::WriterName> reserved;
  {
    MutexLock lock(mutex_);
    reserved.swap(reserved_);
  }
  if (reserved.empty()) return;
  const storage::FileSystem& files = interrupted_ ? *cleaning_ : *files_;
  const Status released = bundle::FenceOutput(
      files, spec_.output.path,
      [&](const bundle::WriterName& writer) { return reserved.contains(writer); });
  if (!released.ok()) LogDebug(released.ToString());  // the coordinator clears at the job's end
}

template <typename T>
Result<std::optional<training::TrainingState<T>>> JobRunner::LoadNewest(
    const JobMember<T>& member, const cluster::StartTraining& order) {
  ResumeOptions options;
  options.data_fingerprint = order.profile->data_fingerprint;
  options.arithmetic_id = arithmetic_id_;
  options.preprocessing = &order.profile->preprocessing;
  options.trained_before = order.generation.value > 1;
  options.reverts = order.reverts;
  return LoadCheckpoint<T>(*files_, spec_, member.plan(), options);
}

template <typename T>
Status JobRunner::FindState(const cluster::StartTraining& order) {
  JobMember<T>& member = this->member<T>();
  Status found;
  if (!begun_ && member.step() == 0) {
    found = Begin(order, member);
    begun_ = found.ok();
  } else if (spec_.train.mode == spec::TrainMode::kAsync) {
    found = BeginAgain(member, order);
  }
  if (found.ok() || interrupted_ || order.generation.value == 1) return found;
  member.CouldNotRead(std::move(found));  // other members may have read it
  return Status::Ok();
}

template <typename T>
Status JobRunner::Begin(const cluster::StartTraining& order, JobMember<T>& member) {
  ESPALIER_ASSIGN_OR_RETURN(auto state, LoadNewest<T>(member, order));
  if (!state) {
    if (!spec_.train.initial) return Status::Ok();
    ESPALIER_ASSIGN_OR_RETURN(auto weights,
                              bundle::ReadInitialWeights(*files_, *spec_.train.initial,
                                                         model::Tensors(member.plan().shape),
                                                         order.profile->preprocessing));
    member.BeginWith(std::move(weights));
    return Status::Ok();
  }
  step_ = state->step;
  member.GoOnFrom(*std::move(state));
  return Status::Ok();
}

// Handles the loss of the holder in asynchronous training, where only one member has the newest
// state. If the holder is lost, the checkpoint is further than the state from which this member
// began. If it is not lost, the other members take the state from it.
template <typename T>
Status JobRunner::BeginAgain(JobMember<T>& member, const cluster::StartTraining& order) {
  const auto holds = [&](const cluster::Member& m) { return m.worker == member.holder(); };
  if (std::any_of(order.members.begin(), order.members.end(), holds)) return Status::Ok();
  ESPALIER_ASSIGN_OR_RETURN(auto state, LoadNewest<T>(member, order));
  if (!state || state->step <= member.step()) return Status::Ok();
  step_ = state->step;
  member.GoOnFrom(*std::move(state));
  return Status::Ok();
}

Status JobRunner::Perform(const KeepOrder& order) {
  cluster::StateKept kept{order.at.job, order.at.generation, 0, {}, {}};
  HeldState held;
  bool agreed = order.reverts;
  if (checkpoints_) checkpoints_->FinishWriting();
  std::visit(
      [&](const auto& member) {
        if constexpr (requires { member->Held(); }) {
          agreed = agreed || member->differs();
          held = agreed ? member->Agreed() : member->Held();
        }
      },
      member_);
  if (held.step > 0) {
    auto path = checkpoints_->Keep(newest_, held, agreed);
    if (path.ok()) {
      kept.step = held.step;
      kept.path = *std::move(path);
    } else {
      kept.why = path.status();
    }
  }
  Report(std::move(kept));
  return Status::Ok();
}

template <typename T>
Status JobRunner::Finish(const cluster::StartTraining& order, int32_t self,
                         const JobMember<T>& member, const Trained& trained) {
  const training::FinishAction& f = trained.finish;
  const spec::TableProfile& profile = *order.profile;
  cluster::JobDone done{order.job, order.generation, {}};
  spec::TrainingResult& r = done.result;
  r.steps = f.steps;
  r.epochs = f.epochs;
  r.rows_per_epoch = spec::FitRows(spec_.train, profile.train_rows);
  r.train = f.train;
  r.validation = f.validation;
  r.test = f.test;
  r.classes = spec::ClassNames(spec_.model.task, profile.preprocessing);
  r.stopped_because = f.stopped_because;
  r.best_epochs = f.best_epochs;
  r.skipped_steps = f.skipped_steps;
  r.step_ms_p50 = trained.step_ms_p50;
  r.step_ms_p99 = trained.step_ms_p99;
  if (spec_.train.mode == spec::TrainMode::kAsync) r.async = trained.async;
  r.skipped_rows = profile.skipped_rows;
  bundle::ModelDocument document;
  document.job = spec_;
  document.schema = input_->schema;
  document.preprocessing = profile.preprocessing;
  document.storage = profile.storage;
  document.sparse = member.shape().sparse;
  document.train_rows = profile.train_rows;
  document.validation_rows = profile.validation_rows;
  document.test_rows = profile.test_rows;
  document.skipped_rows = profile.skipped_rows;
  document.notes = input_->notes;
  document.notes.insert(document.notes.end(), profile.warnings.begin(), profile.warnings.end());
  document.steps = f.steps;
  document.epochs = f.epochs;
  document.stopped_because = f.stopped_because;
  document.best_epochs = f.best_epochs;
  const model::NetworkShape shape = member.model_shape();
  document.fits = shape.fits;
  document.constant = shape.constant;
  document.temperature = member.temperature();
  r.threshold = f.threshold;
  if (r.threshold) r.positive = r.classes[static_cast<size_t>(shape.positive)];
  r.intervals = f.intervals;
  r.accepted = member.accepted();
  r.accepted.resize(std::min(r.accepted.size(), spec::kAcceptedMax));
  document.thresholds = r.threshold ? shape.thresholds : std::vector<double>();
  document.threshold = r.threshold;
  document.costs = shape.costs;
  if (r.intervals && !r.intervals->half_widths.empty()) document.intervals = r.intervals;
  r.fits = shape.fits;
  document.skipped_steps = f.skipped_steps;
  document.train = f.train;
  document.validation = f.validation;
  document.test = f.test;
  document.data_fingerprint = profile.data_fingerprint;
  document.arithmetic_id = arithmetic_id_;
  document.accepted = member.accepted();
  document.async = r.async;
  const bundle::OutputWriter writer{WriterOf(order, self), order.incarnation, request_id_};
  checkpoints_->FinishWriting();  // frees the memory that the bundle needs
  ESPALIER_ASSIGN_OR_RETURN(
      r.weights_sha256,
      WriteBundle<T>(*files_, std::move(document), shape, member.parameters(), trained.history,
                     writer, {[this] { return interrupted_.load(); }, cleaning_.get()}));
  r.bundle = spec_.output.path;
  checkpoints_->End(writer.name);
  Report(std::move(done));
  return Status::Ok();
}

}  // namespace espalier::worker
