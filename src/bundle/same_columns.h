// Whether the weights of an earlier model mean in a job what they meant there. Within this room.
// `model`: what was fitted there; `fitted`: what is here. Errors are kFailedPrecondition, and say
// how to mend it. Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/spec/input.h"

namespace espalier::bundle {

// Rows of tables stand for values: `fitted` must have all of those of the earlier model.
Status CheckCategories(const spec::Preprocessing& model, const spec::Preprocessing& fitted);

// Weights of the first and last layer stand for inputs by their place and for answers, where they
// are taken: the inputs must be the same, and `fitted` must have all classes of the earlier model.
// `otherwise`: what else to do where names differ and mean the same.
struct LayersTaken {
  bool first = true, last = true;
};
Status CheckNames(const spec::Preprocessing& model, const spec::Preprocessing& fitted,
                  const LayersTaken& taken, const std::string& otherwise);

// Whether the inputs and answers of both have the same places; then all weights of networks have
// that have the same hidden layers.
Status CheckPlaces(const spec::Preprocessing& model, const spec::Preprocessing& fitted);

// Destinations of the elements of a tensor of the earlier model: row r moves to rows[r], column c
// to columns[c]. -1: the element is dropped. Empty: rows or columns keep their place.
struct Placement {
  std::vector<int64_t> rows, columns;
};

// The placement of each tensor of a network, derived from categories, classes and inputs. Elements
// of categories and classes that `fitted` does not have are dropped. REQUIRES: both preprocessings
// pass the checks of DecodePreprocessing.
class Placements {
 public:
  // `layers`: the number of layers of the network.
  Placements(const spec::Preprocessing& model, const spec::Preprocessing& fitted, int64_t layers);
  Placement Of(const std::string& tensor) const;

 private:
  std::vector<int64_t> scale_;                // of "layers.0.scale"; empty as in Placement
  std::vector<std::vector<int64_t>> tables_;  // by table
  std::vector<int64_t> classes_;
  int64_t last_ = 0;  // layer
};

}  // namespace espalier::bundle
