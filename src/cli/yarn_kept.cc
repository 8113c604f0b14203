#include "src/cli/yarn_kept.h"

namespace espalier::cli {

yarn::YarnKept KeptOfYarn(const Environment& env, const std::string& service) {
  return {(env.home.empty() ? "." : env.home) + "/" + kYarnKeptDirectory + "/" + service};
}

}  // namespace espalier::cli
