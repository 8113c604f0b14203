// Runs one member through one generation without a coordinator: the shipped core and trainer, with
// an order that the test makes. All members begin with their own states.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "src/member/member_core.h"
#include "src/plan/ownership.h"
#include "src/worker/trainer.h"

namespace espalier::worker {

// Returns the order of a generation whose members own these leaves.
inline member::TrainingOrder LoneOrder(const plan::Ownership& ownership, int32_t self) {
  member::TrainingOrder order;
  order.self = self;
  order.order.incarnation = {1};
  order.order.job = {1};
  order.order.generation = {1};
  for (const plan::LeafSpan& own : ownership.intervals) {
    order.order.leaves.push_back({own.begin, own.end});
    order.order.members.push_back({.worker = {order.order.members.size() + 1}, .name = "a member"});
  }
  return order;
}

struct LoneHooks {
  std::function<void()> on_agreed = {};  // the state before the step became the agreed one
  std::function<void(const cluster::FromWorker&)> on_report = {};
};

// Returns the end of the run. `core` must be new.
template <typename T>
member::EndRun RunLone(member::MemberCore& core, const member::TrainingOrder& order,
                       const training::StepMachine<T>& machine, Trainer<T>& trainer,
                       const LoneHooks& hooks = {}) {
  std::deque<member::MemberAction> todo;
  int64_t now_us = 0;
  const auto post = [&](member::MemberEvent event) {
    for (auto& action : core.Step(std::move(event), ++now_us)) todo.push_back(std::move(action));
  };
  post(member::TakePart{order});
  for (;; todo.pop_front()) {
    const member::MemberAction& action = todo.front();
    if (const auto* end = std::get_if<member::EndRun>(&action)) return *end;
    if (std::holds_alternative<member::FindState>(action)) post(member::StateFound{});
    if (std::holds_alternative<member::CoverRows>(action)) {
      post(member::RowsCovered{{}, machine.state().round});
    }
    if (const auto* report = std::get_if<member::Report>(&action)) {
      if (hooks.on_report) hooks.on_report(report->message);
      if (std::holds_alternative<cluster::MemberReady>(report->message)) {
        cluster::Proceed proceed{.generation = order.order.generation};
        proceed.round = machine.state().round;
        proceed.holder = order.self;
        post(member::ProceedCame{proceed});
      }
    }
    if (std::holds_alternative<member::AgreeOnPresent>(action) ||
        std::holds_alternative<member::AgreeOnCompared>(action)) {
      if (hooks.on_agreed) hooks.on_agreed();
    }
    if (std::holds_alternative<member::NextRound>(action)) post(trainer.NextRound());
    if (const auto* run = std::get_if<member::RunRound>(&action)) post(trainer.RunRound(*run));
    if (const auto* sums = std::get_if<member::SendSums>(&action)) post(trainer.SendSums(*sums));
    if (std::holds_alternative<member::Commit>(action)) post(trainer.Commit());
  }
}

}  // namespace espalier::worker
