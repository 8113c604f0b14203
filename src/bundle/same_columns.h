// Checks that the weights of an earlier model have the same meaning in a new job. `model` is the
// preprocessing of the earlier model, `fitted` that of the job. Errors are kFailedPrecondition and
// state the fix. Private to this room.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/spec/input.h"

namespace espalier::bundle {

// Checks categorical columns. Rows of tables represent values, so `fitted` must contain all values
// of the earlier model.
Status CheckCategories(const spec::Preprocessing& model, const spec::Preprocessing& fitted);

// CheckNames checks the first and last layer, if the job takes their weights. These weights belong
// to inputs and classes by position. The inputs must be the same, and `fitted` must contain all
// classes of the earlier model. `otherwise` is further advice for names that differ but mean the
// same.
struct LayersTaken {
  bool first = true, last = true;
};
Status CheckNames(const spec::Preprocessing& model, const spec::Preprocessing& fitted,
                  const LayersTaken& taken, const std::string& otherwise);

// Checks that the inputs and answers of both have the same positions. All weights of networks with
// the same hidden layers then have the same positions, too.
Status CheckPlaces(const spec::Preprocessing& model, const spec::Preprocessing& fitted);

// Destinations of the elements of a tensor of the earlier model: row r moves to rows[r], column c
// to columns[c]. -1: the element is dropped. Empty: rows or columns keep their position.
struct Placement {
  std::vector<int64_t> rows, columns;
};

// The placement of each tensor of a network, derived from categories, classes and inputs. Elements
// of categories and classes that `fitted` does not have are dropped. REQUIRES: both preprocessings
// pass the checks of DecodePreprocessing.
class Placements {
 public:
  // `layers` is the number of layers of the network.
  Placements(const spec::Preprocessing& model, const spec::Preprocessing& fitted, int64_t layers);
  Placement Of(const std::string& tensor) const;

 private:
  std::vector<int64_t> scale_;                // for "layers.0.scale"; empty as in Placement
  std::vector<std::vector<int64_t>> tables_;  // by table
  std::vector<int64_t> classes_;
  int64_t last_ = 0;  // index of the last layer
};

}  // namespace espalier::bundle
