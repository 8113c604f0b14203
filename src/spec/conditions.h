// Conditions of a Key on other keys of the job: the keys that decide, and their words.
//
// Thread rule: constants and pure functions.
#pragma once

#include <string>

#include "src/spec/job_spec.h"
#include "src/spec/key.h"

namespace espalier::spec {

template <>
inline constexpr Decider kDecider<Task> = Decider::kTask;
template <>
inline constexpr Decider kDecider<Loss> = Decider::kLoss;
template <>
inline constexpr Decider kDecider<OptimizerKind> = Decider::kOptimizer;
template <>
inline constexpr Decider kDecider<TrainMode> = Decider::kMode;
template <>
inline constexpr Decider kDecider<FeatureType> = Decider::kColumnType;

// The values of the deciding keys of a job.
struct Decided {
  Task task;
  Loss loss;  // the effective one
  OptimizerKind optimizer;
  TrainMode mode;
  FeatureType column_type = FeatureType::kNumeric;  // of the group that contains the key

  explicit Decided(const JobSpec& job)
      : task(job.model.task),
        loss(EffectiveLoss(job.model)),
        optimizer(job.train.optimizer.kind),
        mode(job.train.mode) {}
  // Returns whether the condition permits a value other than the default.
  bool Permit(const Condition& condition) const;
  // Returns "unless model.task is regression" or "with train.optimizer lbfgs", for an error.
  std::string Refusal(const Condition& condition) const;

 private:
  int ValueOf(Decider decider) const;
};

// Returns a sentence for the reference: "Only with model.task regression." or "Only constant with
// train.optimizer lbfgs." `usual` is the word of the default; empty: it has none.
std::string SentenceOf(const Condition& condition, const std::string& usual);

}  // namespace espalier::spec
