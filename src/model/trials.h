// Trials: the loss of rows if outputs were divided by a temperature, and if predictions had a share
// of a constant prediction. One pass covers many temperatures and shares. The pair with the lowest
// loss becomes part of the model (training/step_machine.h).
//
// A temperature is fitted by maximum likelihood (Guo et al., "On Calibration of Modern Neural
// Networks", 2017), with a normal prior on its logarithm. Without the prior, a few rows without a
// mistake would drive it to 0.
//
// Thread rule: values and pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "src/model/loss.h"

namespace espalier::model {

struct Trials {
  std::vector<double> temperatures = {1};
  std::vector<double> shares = {0};  // shares of the constant prediction
  std::vector<double> answer = {};   // a prediction [answers]; empty: shares is {0}
  int64_t size() const { return static_cast<int64_t>(temperatures.size() * shares.size()); }
};

// Makes the candidates. With `temperatures`, they are 2^(k/4) for k from -8 to 8, otherwise 1. With
// an answer, the shares are 0, 0.05, ..., 1, otherwise 0.
Trials MakeTrials(bool temperatures, std::vector<double> answer);
// Returns the maximum size of the result of MakeTrials.
int64_t TrialsMost();

// Adds weight * loss of each row to `sums` [size], by temperature, then share. REQUIRES: one
// temperature unless the shape is of classes or labels.
template <typename T>
void AddTrials(const NetworkShape& shape, const OutputRows<T>& rows, const Trials& trials,
               double* sums);

struct Trial {
  double temperature = 1;
  double share = 0;
};
// Returns the best trial. Ties go to the first share, and to the temperature closest to 1. Without
// a finite sum, returns 1 and 0.
Trial BestTrial(const Trials& trials, const std::vector<double>& sums);

}  // namespace espalier::model
