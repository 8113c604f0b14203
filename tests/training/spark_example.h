// Spark's example of a perceptron as Spark's trainer ran it (lbfgs_golden.json): 87 of 150 rows,
// the 4-5-4-3 network and its initial weights.
#pragma once

#include <algorithm>
#include <fstream>

#include "src/model/metrics.h"
#include "tests/model/golden.h"

namespace espalier::golden {

inline const Json& LbfgsGolden() {
  static const Json golden = Json::parse(std::ifstream("tests/model/lbfgs_golden.json"));
  return golden;
}

// Sums over the rows of a step.
struct Sums {
  double weight = 0, loss = 0, correct = 0;
  Numbers gradient;
};
// Returns the 4-5-4-3 network of Spark's example.
inline model::NetworkShape SparkShape() {
  spec::ModelSpec model;
  model.hidden = {5, 4};
  model.activation = {spec::Activation::kSigmoid};
  return model::MakeShape(model, 4, 3);
}

inline Numbers FromSpark(const model::NetworkShape& shape, const Numbers& weights) {
  Numbers flat(weights.size());
  int64_t at = 0;
  for (const model::LayerShape& layer : shape.layers) {
    for (int64_t i = 0; i < layer.in; ++i) {
      for (int64_t o = 0; o < layer.out; ++o) {
        flat[at + o * layer.in + i] = weights[at + i * layer.out + o];
      }
    }
    const int64_t bias = at + layer.in * layer.out;
    std::copy_n(weights.begin() + bias, layer.out, flat.begin() + bias);
    at = bias + layer.out;
  }
  return flat;
}

// Computes totals and gradient over some of the example's rows.
inline Sums SparkSums(const model::NetworkShape& shape, const Numbers& at, const Json& which) {
  const Json& rows = LbfgsGolden()["mllib"]["rows"];
  model::LeafPass<double> pass(shape, static_cast<int64_t>(which.size()));
  for (size_t r = 0; r < which.size(); ++r) {
    const Json& row = rows[which[r].get<size_t>()];
    pass.labels()[r] = row[0];
    for (size_t i = 0; i < 4; ++i) pass.inputs()[4 * r + i] = row[1 + i];
    pass.weights()[r] = 1;
  }
  const auto totals = model::TrainingTotals(pass, at, static_cast<int64_t>(which.size()));
  return {totals[model::kTotalWeight], totals[model::kTotalLoss], totals[model::kTotalCorrect],
          model::WholeGradient(pass)};
}

}  // namespace espalier::golden
