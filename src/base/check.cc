#include "src/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace espalier {

void CheckFailed(const char* file, int line, const char* condition, std::string_view detail) {
  std::fprintf(stderr, "espalier: broken invariant at %s:%d: %s: %.*s\n", file, line, condition,
               static_cast<int>(detail.size()), detail.data());
  std::fflush(stderr);
  std::abort();
}

}  // namespace espalier
