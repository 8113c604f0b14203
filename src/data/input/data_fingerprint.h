// What names the rows of a job, and what is made of them: a job only goes on from checkpoints that
// have the same. Thread rule: a pure function.
#pragma once

#include <cstdint>
#include <string>

#include "src/spec/input.h"

namespace espalier::data {

// SHA-256, in hexadecimal, over the bounds, checksums and row counts of all shards, and over what
// earlier versions made otherwise of the same bytes, where the job has any of that. `profile`: all
// but its fingerprint; `robust`: how many features are scaled by quartiles; `respelt`: whether any
// category is not as its ClassText.
std::string DataFingerprint(const spec::InputPlan& plan, const spec::TableProfile& profile,
                            int64_t robust, bool respelt);

}  // namespace espalier::data
