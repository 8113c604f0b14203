// The random request id that makes a repeated submission the same job.
#pragma once

#include <string>

namespace espalier::cli {

// Returns 32 hexadecimal digits from the system's random device. Thread rule: any thread.
std::string RandomRequestId();

}  // namespace espalier::cli
