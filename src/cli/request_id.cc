#include "src/cli/request_id.h"

#include <cstdio>
#include <random>

namespace espalier::cli {

std::string RandomRequestId() {
  std::random_device device;
  std::string id;
  for (int i = 0; i < 4; ++i) {
    char word[9];
    std::snprintf(word, sizeof word, "%08x", device());
    id += word;
  }
  return id;
}

}  // namespace espalier::cli
