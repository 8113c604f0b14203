// The effect of an UpdateAction on the job state: it accumulates gradients over steps, applies
// them, and averages the weights.
//
// `total` is a chunk's gradient sum of the step, `chunk.size` elements. Thread rule: pure functions
// of the state. No two threads may have the same chunk.
#pragma once

#include <functional>
#include <span>

#include "src/model/lbfgs.h"
#include "src/plan/chunks.h"
#include "src/training/step_machine.h"
#include "src/training/training_state.h"

namespace espalier::training {

// Performs the whole update, which is the commit. `total_of` returns a chunk's total by the chunk's
// index. `each` distributes chunks to threads. Returns false if the total contains a non-finite
// value. Then nothing has changed.
template <typename T>
bool PerformUpdate(const TrainingPlan& plan, const UpdateAction& update,
                   std::span<const plan::Chunk> chunks,
                   const std::function<const T*(int64_t chunk)>& total_of,
                   const model::ForEach& each, TrainingState<T>& state);

// The parts of the update, in order.

// Returns whether the step's total is part of the update. It is not if a left-out step only ends a
// group of steps.
template <typename T>
bool UsesTotal(const UpdateAction& update, const TrainingState<T>& state);

// Adds the total to the accumulated gradient, if the job has one. REQUIRES: UsesTotal; the whole
// total is finite.
template <typename T>
void AccumulateChunk(const UpdateAction& update, const plan::Chunk& chunk, const T* total,
                     TrainingState<T>& state);

// Returns the gradient sum of the update: the accumulated one, or the total.
template <typename T>
const T* UpdateGradient(const plan::Chunk& chunk, const T* total, const TrainingState<T>& state);

// Changes the parameters and slots, averages, and clears the accumulated gradient. REQUIRES:
// update.apply.
template <typename T>
void ApplyChunk(const TrainingPlan& plan, const UpdateAction& update, const plan::Chunk& chunk,
                const T* total, double clip_scale, TrainingState<T>& state);

// Replaces ApplyChunk with lbfgs. Passes the loss and the gradient of the complete pass to lbfgs,
// moves the parameters to its next point, and clears the accumulated gradient. `chunks`: all
// chunks. `each`: distributes them to threads. REQUIRES: update.apply.
template <typename T>
void Advance(const TrainingPlan& plan, const UpdateAction& update,
             std::span<const plan::Chunk> chunks, const model::ForEach& each,
             TrainingState<T>& state);

}  // namespace espalier::training
