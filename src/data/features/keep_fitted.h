// The preprocessing of a job that begins with the weights of an earlier model. Its scales, bins,
// replacements for nulls, encodings, vocabularies and classes stay, so that a weight keeps its
// meaning. Values and classes that only one of the two has are in the result. Those of the earlier
// model keep their weights, and new ones get fresh weights.
//
// Thread rule: pure functions and values.
#pragma once

#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"

namespace espalier::data {

// Returns whether the earlier job had a number of this name and a value for its nulls. A column
// without a value then has that value in all rows.
bool FillsNulls(const spec::EarlierFit& earlier, const std::string& name);

// Returns the earlier feature with the name of `fitted`, and with the values of both. Returns
// `fitted` unchanged if no earlier feature has that name, or if one of the two is hashed. Does the
// same if one is a number and the other a category. Two parts come from `fitted`: the replacement
// for nulls, if the earlier job had none or this job has a constant, and the scale of a number that
// was constant before. `options`: options of the feature in this job. kInvalidArgument: log1p
// differs.
Result<spec::FittedFeature> Kept(const spec::EarlierFit& earlier, spec::FittedFeature fitted,
                                 const spec::FeatureOptions& options);

// Returns `fitted` with the scale of the earlier target of the same name. If both have only one
// target (`only`), the names may differ. The range of predictions covers both ranges.
spec::FittedTarget Kept(const spec::Preprocessing& earlier, spec::FittedTarget fitted, bool only);

}  // namespace espalier::data
