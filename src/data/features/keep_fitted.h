// The preprocessing of a job that begins with the weights of an earlier model: its scales, bins,
// values of nulls, encodings, vocabularies and classes stay, so that a weight means what it meant.
// Values and classes that only one of the two has are in both. Those of the earlier model keep
// their weights, and new ones get fresh weights.
//
// Thread rule: pure functions and values.
#pragma once

#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"

namespace espalier::data {

// Returns the earlier feature that has the name of `fitted`, with the values of both. Returns
// `fitted` unchanged if there is none, or if one of them is a number and the other a category, or
// if one is hashed. Two parts come from `fitted`: the value of nulls, if the earlier job had none
// or this job has a constant, and the scale of a number that was constant before. `options`: of the
// feature in this job. kInvalidArgument: log1p differs.
Result<spec::FittedFeature> Kept(const spec::EarlierFit& earlier, spec::FittedFeature fitted,
                                 const spec::FeatureOptions& options);

// Returns `fitted` with the scale of the earlier target of the same name, or of the only target if
// both have one (`only`). The range of predictions is that of both.
spec::FittedTarget Kept(const spec::Preprocessing& earlier, spec::FittedTarget fitted, bool only);

}  // namespace espalier::data
