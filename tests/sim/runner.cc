#include "tests/sim/runner.h"

#include <algorithm>
#include <string>
#include <utility>

#include "src/training/state_codec.h"
#include "tests/sim/worker.h"
#include "tests/sim/world.h"

namespace espalier::sim {
namespace {

constexpr int64_t kCheckpointSteps = 6;
// The actions of bundle/checkpoint_store.h that write a checkpoint.
constexpr const char* kWriteActions[] = {"checkpoint-write", "checkpoint-rename",
                                         "checkpoint-prune"};

std::string NameOf(bundle::OutputOp op) {
  std::string name = bundle::OutputOpName(op);
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

}  // namespace

const std::vector<std::string>& PausableActions() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all(std::begin(kWriteActions), std::end(kWriteActions));
    for (auto op = bundle::OutputOp::kList; op <= bundle::OutputOp::kRemoveSlot;) {
      all.push_back(NameOf(op));
      op = static_cast<bundle::OutputOp>(static_cast<uint8_t>(op) + 1);
    }
    return all;
  }();
  return names;
}

SimRunner::SimRunner(World& world, SimWorker& worker, cluster::StartProfiling order)
    : world_(world),
      worker_(worker),
      job_(order.job),
      job_text_(order.job_yaml),
      output_(World::OutputOf(order.job_yaml)),
      toy_(World::ToyOf(order.job_yaml)) {
  GiveOrder(std::move(order));
}

void SimRunner::After(int64_t us, std::function<void()> f) {
  worker_.After(us, [this, f = std::move(f)] {
    if (!destroyed_) f();
  });
}

void SimRunner::GiveOrder(Order order) {
  next_ = std::move(order);
  interrupted_ = true;
  if (member_) member_->Post(member::Interrupt{});
  WakeLater();
}

void SimRunner::WakeLater() {
  After(10 + world_.dice.Below(300), [this] { Wake(); });
}

void SimRunner::Proceed(const espalier::cluster::Proceed& order) {
  proceed_ = order;
  if (member_) member_->Post(member::ProceedCame{order});
}

void SimRunner::Prepare(member::TrainingOrder order) {
  if (member_ && !next_) return member_->Post(member::Prepare{std::move(order)});
  GiveOrder(std::move(order));
}

void SimRunner::SwitchTo(Generation next) {
  if (member_) member_->Post(member::SwitchTo{next});
}

void SimRunner::Abort() {
  aborted_ = interrupted_ = true;
  if (member_) member_->Post(member::Interrupt{});
  if (world_.bugs(Bug::kAbortedRootWrites) && member_ && step_ > 0) {
    world_.outputs.Overwrite(output_,
                             {WeightsHash(member_->state().parameters), job_, Generation{1}});
  }
  // The threads of a real job end soon, but not at once.
  After(100 + world_.dice.Below(50'000), [this] { Destroy(); });
}

void SimRunner::Destroy() {
  if (std::exchange(destroyed_, true)) return;
  if (member_) member_->Stop();
}

void SimRunner::Report(cluster::FromWorker message) {
  if (aborted_) return;
  worker_.After(0,
                [this, message = std::move(message)] { worker_.Handle(cluster::Report{message}); });
}

void SimRunner::Wake() {
  if (busy_ || aborted_ || !next_) return;
  present_ = std::exchange(next_, std::nullopt);
  interrupted_ = false;
  busy_ = true;
  if (member_) member_->Post(member::Rearm{});
  if (std::holds_alternative<cluster::StartProfiling>(*present_)) {
    ProfileShard(0);
  } else {
    RunTraining();
  }
}

void SimRunner::Idle() {
  busy_ = false;
  if (next_) WakeLater();
}

void SimRunner::ProfileShard(size_t index) {
  const cluster::StartProfiling& order = std::get<cluster::StartProfiling>(*present_);
  if (interrupted_ || index >= order.shards.size()) return Idle();
  After((500 + world_.dice.Below(100'000)) * worker_.disk().slow, [this, index] {
    const cluster::StartProfiling& now = std::get<cluster::StartProfiling>(*present_);
    if (interrupted_) return Idle();
    cluster::ProfilePart part{job_, now.generation, {}};
    part.shards.push_back(
        std::make_shared<const spec::ShardResult>(toy_.Profile(now.shards[index])));
    Report(std::move(part));
    ProfileShard(index + 1);
  });
}

void SimRunner::ReportHistory(const member::ReportHistory& action) {
  const std::vector<spec::HistoryRow>& rows = member_->state().history;
  for (size_t i = action.first; i < rows.size(); ++i) {
    Report(cluster::HistoryEntry{job_, action.place->at().generation, rows[i],
                                 static_cast<int64_t>(i)});
  }
}

training::Action SimRunner::Stepped(training::Action next) {
  step_ = member_->state().step;
  if (!member_->place()->root() || !world_.dice.Once(8)) return next;
  cluster::Progress p;
  p.job = job_;
  p.generation = member_->place()->at().generation;
  p.progress.step = step_;
  p.progress.phase = "training";
  Report(p);
  return next;
}

Status SimRunner::Reserve(Status loaded, const member::Place& place) {
  if (loaded.ok() && place.root() && !world_.bugs(Bug::kReserveLate)) {
    world_.outputs.Reserve(output_, WriterOf(place.order));
  }
  return loaded;
}

void SimRunner::Ended(const member::EndRun& end) {
  After(0, [this, end] { OnEnd(end); });
}

void SimRunner::RunTraining() {
  const member::TrainingOrder& training = std::get<member::TrainingOrder>(*present_);
  if (!member_) {
    member_ = std::make_unique<SimMember>(world_, worker_, *this, toy_);
    if (proceed_) member_->Post(member::ProceedCame{*proceed_});
  }
  if (training.order.reverts && training.self == 0) world_.outputs.DropUncompared(job_text_);
  over_ = false;
  member_->Post(member::TakePart{training});
}

// Loads the newest complete checkpoint for a new member, as worker/resume.cc does. After a
// divergence, it must be a compared one. Damaged checkpoints are skipped.
void SimRunner::FindState(const cluster::StartTraining& order) {
  if (std::exchange(found_, true) || order.generation.value == 1) return;
  if (member_->state().step > 0) return;  // it has joined by plan before
  const auto& kept = world_.outputs.Checkpoints(job_text_);
  for (auto c = kept.rbegin(); c != kept.rend(); ++c) {
    if (order.reverts && !c->compared) continue;
    auto state = training::DecodeState<Real>(c->bytes, toy_.plan());
    if (!state.ok()) {
      world_.fired(Fault::kCheckpointRefused);
      continue;
    }
    world_.fired(Fault::kCheckpointUsed);
    step_ = state->step;
    return member_->states().GoOnFrom(*std::move(state), true);
  }
}

bool SimRunner::CheckpointDue(int64_t step) {
  if (!world_.keeps_checkpoints()) return false;
  if (std::exchange(checkpoints_of_, member_->point().generation) != checkpoints_of_) {
    checkpoint_step_ = step;
  }
  return !writing_ && step / kCheckpointSteps != checkpoint_step_ / kCheckpointSteps;
}

// Performs an action of a checkpoint soon. The worker may pause before it.
void SimRunner::BeforeWrite(size_t action, std::function<void()> f) {
  After((200 + world_.dice.Below(7'000)) * worker_.disk().slow, [this, action, f = std::move(f)] {
    if (world_.PausesBefore(kWriteActions[action], Fault::kPausedWrite)) world_.PauseLong(worker_);
    After(1, f);
  });
}

// Writes a checkpoint of a state that all members agree on, if one is due. Like WriteCheckpoint of
// bundle/checkpoint_store.cc, it writes a hidden file, renames it, and removes older checkpoints.
// On a full disk the write fails, and the training continues.
void SimRunner::Agreed(const training::TrainingState<Real>& state) {
  const int64_t step = member_->state().step;
  if (!CheckpointDue(step)) return;
  std::string bytes = training::EncodeState(state);
  checkpoint_step_ = step;
  writing_ = true;
  const bool half = world_.Strikes(Fault::kCheckpointHalfWritten);
  if (half) bytes.resize(bytes.size() / 2);
  BeforeWrite(0, [this, step, bytes, half] {
    if (!worker_.Room().ok()) return void(writing_ = false);
    BeforeWrite(1, [this, step, bytes, half] {
      world_.outputs.Keep(job_text_, {step, bytes});
      if (half) return worker_.Crash(true);
      BeforeWrite(2, [this, step] {
        world_.outputs.Prune(job_text_, step);
        writing_ = false;
      });
    });
  });
}

// Interrupts the run between two rounds, then writes its state.
void SimRunner::Keep(cluster::JobPoint at, bool reverts) {
  interrupted_ = true;
  if (member_) member_->Post(member::Interrupt{});
  cluster::StateKept kept{at.job, at.generation, 0, {}, {}};
  std::string bytes;
  if (member_ && member_->core().differs()) reverts = true;
  if (member_ && !reverts) bytes = training::EncodeState(member_->state());
  if (member_ && reverts && member_->states().agreed()) {
    bytes = training::EncodeState(*member_->states().agreed());
  }
  if (!bytes.empty()) kept.step = training::DecodeState<Real>(bytes, toy_.plan())->step;
  if (kept.step > 0) kept.path = output_;
  const int64_t us = 500 + world_.dice.Below(20'000);
  After(us * worker_.disk().slow, [this, kept, bytes, reverts]() mutable {
    if (reverts) world_.outputs.DropUncompared(job_text_);
    if (kept.step > 0) kept.why = worker_.Room();
    if (!kept.why.ok()) {
      kept.step = 0;
      kept.path.clear();
    }
    if (kept.step > 0) {
      world_.outputs.Keep(job_text_, {kept.step, bytes, reverts});
      world_.outputs.Prune(job_text_, kept.step);
      world_.fired(Fault::kStateKept);
    }
    Report(kept);
  });
}

void SimRunner::OnEnd(const member::EndRun& end) {
  end_ = end;
  if (interrupted_ || end.broken || end.left) return Idle();
  if (!end.status.ok()) {
    world_.checks.MemberFails(worker_, end);
    Report(cluster::JobFailed{job_, member_->point().generation, end.status});
    return Idle();
  }
  if (end.place->root()) return Commit();
  over_ = true;
  Idle();
}

bundle::WriterName SimRunner::WriterOf(const member::TrainingOrder& order) const {
  return {job_, order.order.generation, order.self, order.order.submitted_ms};
}

void SimRunner::Commit() {
  if (world_.Strikes(Fault::kPausedCommit)) world_.PauseLong(worker_);
  After(1, [this] { BeginCommit(); });
}

void SimRunner::BeginCommit() {
  const bundle::WriterName writer = WriterOf(end_.place->order);
  if (world_.bugs(Bug::kReserveLate)) world_.outputs.Reserve(output_, writer);
  bundle_ = {WeightsHash(member_->state().parameters), job_, writer.generation};
  commit_.emplace(writer);
  committed_ = {};
  CommitStep();
}

// Performs the commit like PutBundle of bundle/output.cc, one action per event.
void SimRunner::CommitStep() {
  const auto action = commit_->Next(committed_);
  if (!action) return Committed();
  After(100 + world_.dice.Below(10'000), [this, action = *action] {
    if (worker_.Boundary()) return;
    if (world_.PausesBefore(NameOf(action.op), Fault::kPausedCommit)) world_.PauseLong(worker_);
    After(1, [this, action] {
      const bool stopped = interrupted_ && !bundle::IsCleaning(action.op);
      committed_ = stopped ? bundle::OutputResult{Cancelled("it was interrupted"), {}, {}}
                           : world_.outputs.Perform(output_, action, bundle_);
      CommitStep();
    });
  });
}

void SimRunner::Committed() {
  if (worker_.Boundary()) return;
  if (interrupted_) return Idle();
  if (!commit_->status().ok()) {
    if (commit_->status().code() == StatusCode::kAborted) world_.fired(Fault::kFencedCommit);
    Report(cluster::JobFailed{job_, end_.place->at().generation, commit_->status()});
    return Idle();
  }
  cluster::JobDone done{job_, end_.place->at().generation, {}};
  const auto& finish = std::get<training::FinishAction>(member_->action());
  done.result.steps = finish.steps;
  done.result.epochs = finish.epochs;
  done.result.rows_per_epoch = toy_.plan().train_rows;
  done.result.weights_sha256 = bundle_.hash;
  Report(std::move(done));
  over_ = true;
  Idle();
}

}  // namespace espalier::sim
