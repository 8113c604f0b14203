// What an UpdateAction does to the job state: gradients of several steps are added up, applied, and
// the weights averaged.
//
// `total` is a chunk's gradient sum of the step, `chunk.size` elements. Thread rule: pure functions
// over the state; no two threads have the same chunk.
#pragma once

#include <functional>
#include <span>

#include "src/model/lbfgs.h"
#include "src/plan/chunks.h"
#include "src/training/step_machine.h"
#include "src/training/training_state.h"

namespace espalier::training {

// All of it: the commit. `total_of` gives each chunk's total by the chunk's index; `each` shares
// chunks out to threads. False: the total holds a value that is no finite number, and nothing was
// changed.
template <typename T>
bool PerformUpdate(const TrainingPlan& plan, const UpdateAction& update,
                   std::span<const plan::Chunk> chunks,
                   const std::function<const T*(int64_t chunk)>& total_of,
                   const model::ForEach& each, TrainingState<T>& state);

// Its parts, in their order.

// Whether the step's total is part of the update at all: it is not where a left out step only ends
// a group of steps.
template <typename T>
bool UsesTotal(const UpdateAction& update, const TrainingState<T>& state);

// Adds the total to the accumulated gradient, if the job has one. REQUIRES: UsesTotal; the whole
// total is finite.
template <typename T>
void AccumulateChunk(const UpdateAction& update, const plan::Chunk& chunk, const T* total,
                     TrainingState<T>& state);

// The gradient sum that the update is made of: the accumulated one, or the total.
template <typename T>
const T* UpdateGradient(const plan::Chunk& chunk, const T* total, const TrainingState<T>& state);

// Changes the parameters and slots, averages, and empties the accumulated gradient. REQUIRES:
// update.apply.
template <typename T>
void ApplyChunk(const TrainingPlan& plan, const UpdateAction& update, const plan::Chunk& chunk,
                const T* total, double clip_scale, TrainingState<T>& state);

// With lbfgs, in place of ApplyChunk: hands it the loss and the gradient of the pass that is
// complete, moves the parameters to where it asks next, and empties the accumulated gradient.
// `chunks` are all of them; `each` shares them out to threads. REQUIRES: update.apply.
template <typename T>
void Advance(const TrainingPlan& plan, const UpdateAction& update,
             std::span<const plan::Chunk> chunks, const model::ForEach& each,
             TrainingState<T>& state);

}  // namespace espalier::training
