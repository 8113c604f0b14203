// What a job with the weights of an earlier model keeps of its preprocessing: scales, bins, values
// of nulls, encodings, vocabularies and classes. A weight then means what it meant in that model.
// Values and classes that only one of both has are in both: those of the earlier model keep their
// weights, new ones get fresh ones.
//
// Thread rule: pure functions and values.
#pragma once

#include <string>
#include <vector>

#include "src/spec/input.h"
#include "src/spec/job_spec.h"

namespace espalier::data {

// `fitted` by this job's rows, with all that `earlier` has for its column. Absent as a whole, it
// stays: if no feature has the name, or if one of them is a number and the other a category, or
// hashed. `zero_rare`: of the job's category options.
spec::FittedFeature Kept(const spec::Preprocessing& earlier, spec::FittedFeature fitted,
                         bool zero_rare);

// `fitted` by this job's rows, with the scale of the target of `earlier` that has its name, or that
// is the only one like it. Its range takes in that of both.
spec::FittedTarget Kept(const spec::Preprocessing& earlier, spec::FittedTarget fitted, bool only);

}  // namespace espalier::data
