// ESPALIER_CHECK: our own broken invariant ends the process with its numbers. Never for input,
// network, disk or peers: those return a Status. Stays on in every configuration.
#pragma once

#include <string>
#include <string_view>

namespace espalier {

[[noreturn]] void CheckFailed(const char* file, int line, const char* condition,
                              std::string_view detail);

}  // namespace espalier

// `detail` is evaluated only on failure.
#define ESPALIER_CHECK(condition, detail)                                \
  do {                                                                   \
    if (!(condition)) [[unlikely]]                                       \
      ::espalier::CheckFailed(__FILE__, __LINE__, #condition, (detail)); \
  } while (false)
