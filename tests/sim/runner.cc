#include "tests/sim/runner.h"

#include <string>
#include <utility>

#include "tests/sim/worker.h"
#include "tests/sim/world.h"

namespace espalier::sim {

SimRunner::SimRunner(World& world, SimWorker& worker, StartSurvey order)
    : world_(world),
      worker_(worker),
      job_(order.job),
      output_(order.job_yaml),
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
  if (member_) member_->Interrupt();
  WakeLater();
}

void SimRunner::WakeLater() {
  After(10 + world_.dice.Below(300), [this] { Wake(); });
}

void SimRunner::Proceed(const espalier::Proceed& order) {
  proceed_ = order;
  if (member_) member_->Proceed(order);
}

void SimRunner::Abort() {
  aborted_ = interrupted_ = true;
  if (member_) member_->Interrupt();
  if (world_.bugs(Bug::kAbortedRootWrites) && member_ && step_ > 0) {
    world_.outputs.Put(world_, toy_, output_, WeightsHash(member_->machine().state().parameters));
  }
  // Its threads end soon, but not at once.
  After(100 + world_.dice.Below(50'000), [this] { Destroy(); });
}

void SimRunner::Destroy() {
  if (std::exchange(destroyed_, true)) return;
  if (member_) member_->Stop();
}

void SimRunner::Tell(FromWorker message) {
  if (aborted_) return;
  worker_.After(0, [this, message = std::move(message)] { worker_.Handle(Report{message}); });
}

void SimRunner::Wake() {
  if (busy_ || aborted_ || !next_) return;
  present_ = std::exchange(next_, std::nullopt);
  interrupted_ = false;
  busy_ = true;
  if (member_) member_->Rearm();
  if (std::holds_alternative<StartSurvey>(*present_)) {
    SurveyShard(0);
  } else {
    RunTraining();
  }
}

void SimRunner::Idle() {
  busy_ = false;
  if (next_) WakeLater();
}

void SimRunner::SurveyShard(size_t index) {
  const StartSurvey& order = std::get<StartSurvey>(*present_);
  if (interrupted_ || index >= order.shards.size()) return Idle();
  After(500 + world_.dice.Below(100'000), [this, index] {
    const StartSurvey& now = std::get<StartSurvey>(*present_);
    if (interrupted_) return Idle();
    SurveyPart part{job_, now.generation, {}};
    part.shards.push_back(toy_.Survey(now.shards[index]));
    Tell(std::move(part));
    SurveyShard(index + 1);
  });
}

void SimRunner::RunTraining() {
  if (!member_) {
    SimMember::Hooks hooks;
    hooks.tell = [this](FromWorker message) { Tell(std::move(message)); };
    hooks.on_step = [this](int64_t step) { step_ = step; };
    hooks.on_end = [this](Status status, bool broken, bool root) {
      After(0, [this, status, broken, root] { OnEnd(status, broken, root); });
    };
    member_ = std::make_unique<SimMember>(world_, worker_, toy_, std::move(hooks));
    if (proceed_) member_->Proceed(*proceed_);
  }
  over_ = false;
  const Training& training = std::get<Training>(*present_);
  member_->Run(training.order, training.self);
}

void SimRunner::OnEnd(Status status, bool broken, bool root) {
  if (interrupted_ || broken) return Idle();
  if (!status.ok()) {
    const Generation generation = std::get<Training>(*present_).order.generation;
    world_.checks.MemberFails(worker_, status);
    Tell(JobFailed{job_, generation, status});
    return Idle();
  }
  if (root) return WriteTemporary();
  over_ = true;
  Idle();
}

// Under a name of its own, then in place.
void SimRunner::WriteTemporary() {
  After(500 + world_.dice.Below(30'000), [this] {
    if (worker_.Boundary()) return;
    if (interrupted_) return Idle();
    After(200 + world_.dice.Below(10'000), [this] { PutInPlace(); });
  });
}

void SimRunner::PutInPlace() {
  const Training& training = std::get<Training>(*present_);
  const std::string hash = WeightsHash(member_->machine().state().parameters);
  // A rename that is underway is not taken back by an interruption.
  world_.outputs.Put(world_, toy_, output_, hash);
  if (worker_.Boundary()) return;
  if (interrupted_) return Idle();
  JobDone done{job_, training.order.generation, {}};
  done.result.steps = member_->finish().steps;
  done.result.epochs = member_->finish().epochs;
  done.result.rows_per_epoch = toy_.plan().train_rows;
  done.result.weights_sha256 = hash;
  Tell(std::move(done));
  over_ = true;
  Idle();
}

}  // namespace espalier::sim
