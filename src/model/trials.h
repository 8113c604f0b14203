// What the loss of rows would be if outputs were divided by a temperature, and predictions had a
// share of a constant answer: for many temperatures and shares in one pass. The pair with the least
// loss becomes part of the model (training/step_machine.h).
//
// A temperature is fitted by maximum likelihood (Guo et al., "On Calibration of Modern Neural
// Networks", 2017), with a normal prior on its logarithm: few rows without a mistake would drive it
// to 0.
//
// Thread rule: values and pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "src/model/loss.h"

namespace espalier::model {

struct Trials {
  std::vector<double> temperatures = {1};
  std::vector<double> shares = {0};  // of the constant answer
  std::vector<double> answer = {};   // a prediction [answers]; empty: shares is {0}
  int64_t size() const { return static_cast<int64_t>(temperatures.size() * shares.size()); }
};

// The candidates: with `temperatures` 2^(k/4) for k from -8 to 8, else 1; with an answer shares
// of 0, 0.05, ..., 1, else 0.
Trials MakeTrials(bool temperatures, std::vector<double> answer);
// Numbers that MakeTrials has at most.
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
// The best one. Of equal ones the first share, and the temperature closest to 1. Without a finite
// sum: 1 and 0.
Trial BestTrial(const Trials& trials, const std::vector<double>& sums);

}  // namespace espalier::model
