// Whether the weights of an earlier model mean in a job what they meant there. Within this room.
// `model`: what was fitted there; `fitted`: what is here. Errors are kFailedPrecondition, and say
// how to mend it. Thread rule: pure functions.
#pragma once

#include <string>

#include "src/base/status.h"
#include "src/spec/input.h"

namespace espalier::bundle {

// Rows of tables stand for values by their place: those of both models must be the same.
Status CheckCategories(const spec::Preprocessing& model, const spec::Preprocessing& fitted);

// And weights of the first and last layer for inputs and answers by theirs, where they are taken.
// `otherwise`: what else to do where names differ and mean the same.
struct LayersTaken {
  bool first = true, last = true;
};
Status CheckNames(const spec::Preprocessing& model, const spec::Preprocessing& fitted,
                  const LayersTaken& taken, const std::string& otherwise);

// Whether the inputs and answers of both have the same places; then all weights of networks have
// that have the same hidden layers.
Status CheckPlaces(const spec::Preprocessing& model, const spec::Preprocessing& fitted);

}  // namespace espalier::bundle
