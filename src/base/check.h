// ESPALIER_CHECK ends the process, with its numbers, if an invariant of our own code is broken. It
// is never used for input, network, disk or peers, which return a Status. It stays on in every
// configuration.
//
// Thread rule: safe from any thread.
#pragma once

#include <string>
#include <string_view>

namespace espalier {

[[noreturn]] void CheckFailed(const char* file, int line, const char* condition,
                              std::string_view detail);

}  // namespace espalier

// Evaluates `detail` only on failure.
#define ESPALIER_CHECK(condition, detail)                                \
  do {                                                                   \
    if (!(condition)) [[unlikely]]                                       \
      ::espalier::CheckFailed(__FILE__, __LINE__, #condition, (detail)); \
  } while (false)
