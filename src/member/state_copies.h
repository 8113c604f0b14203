// The copies of a member's job state that the member core names: the present one, which is that of
// the step machine, the compared one, and the agreed one (member/member_core.h).
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "src/base/status.h"
#include "src/member/member_core.h"
#include "src/training/state_codec.h"
#include "src/training/step_machine.h"

namespace espalier::member {

template <typename T>
class StateCopies {
 public:
  using State = training::TrainingState<T>;

  // The present state is that of a new model.
  explicit StateCopies(training::TrainingPlan plan) : machine_(std::move(plan)) {
    machine_.Begin();
  }

  training::StepMachine<T>& machine() { return machine_; }
  const training::StepMachine<T>& machine() const { return machine_; }
  const State& present() const { return machine_.state(); }
  // Returns the newest state that all members had, or a checkpoint. None: there was none yet.
  const std::optional<State>& agreed() const { return agreed_; }

  // Makes a new model the present state.
  void BeginWith(training::TrainingPlan plan) {
    machine_ = training::StepMachine<T>(std::move(plan));
    machine_.Begin();
  }
  // Makes a state the present one. `agreed`: all members agree on it, because a checkpoint has it.
  void GoOnFrom(State state, bool agreed) {
    if (agreed) agreed_ = state;
    machine_ = training::StepMachine<T>(machine_.plan(), std::move(state));
  }
  // Makes the state that another member offers the present one, unless it is of another round.
  // `bytes`: result of the transfer. Returns the event for the core.
  StateFetched Take(const Result<std::string>& bytes, std::optional<uint64_t> round) {
    if (!bytes.ok()) return {bytes.status()};
    auto state = training::DecodeState<T>(*bytes, machine_.plan());
    if (!state.ok()) return {{}, state.status()};
    const uint64_t found = state->round;
    if (!round || found == *round) GoOnFrom(*std::move(state), false);
    return {{}, {}, found};
  }
  // Forgets the compared state: its step did not end.
  void DropCompared() { compared_.reset(); }

  // Each function performs the action. A member that never had an agreed state begins again, and is
  // then behind.
  void Perform(const Revert&) {
    if (agreed_) {
      GoOnFrom(*agreed_, false);
    } else {
      BeginWith(machine_.plan());
    }
  }
  void Perform(const AgreeOnPresent&) { agreed_ = machine_.state(); }
  void Perform(const HoldCompared&) { compared_ = machine_.state(); }
  void Perform(const AgreeOnCompared&) { agreed_ = std::exchange(compared_, std::nullopt); }

 private:
  training::StepMachine<T> machine_;
  std::optional<State> compared_;  // state that the step in flight compares
  std::optional<State> agreed_;
};

}  // namespace espalier::member
