// Identifies the rows of a job and their preprocessing. A job only resumes from checkpoints with
// the same fingerprint. Thread rule: a pure function.
#pragma once

#include <cstdint>
#include <string>

#include "src/spec/input.h"

namespace espalier::data {

// Returns a SHA-256 in hexadecimal. It covers the bounds, checksums and row counts of all shards.
// It also covers features of the job for which earlier versions made other numbers from the same
// bytes. `profile`: complete except for its fingerprint. `robust`: number of features scaled by
// quartiles. `respelt`: whether any category differs from its ClassText.
std::string DataFingerprint(const spec::InputPlan& plan, const spec::TableProfile& profile,
                            int64_t robust, bool respelt);

}  // namespace espalier::data
