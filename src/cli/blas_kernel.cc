#include "src/cli/blas_kernel.h"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "src/base/program_path.h"
#include "src/model/arithmetic.h"

namespace espalier::cli {

Status EnsureBlasKernel(const char* core_type, const char* threads, char** argv) {
  const auto is = [](const char* present, std::string_view value) {
    return present != nullptr && value == present;
  };
  if (!is(core_type, model::kDefaultKernel) || !is(threads, "1")) {
    setenv("OPENBLAS_CORETYPE", model::kDefaultKernel, 1);
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    ESPALIER_ASSIGN_OR_RETURN(const std::string path, ProgramPath(argv[0]));
    execv(path.c_str(), argv);
    return Internal(std::string("cannot start again with OPENBLAS_CORETYPE=") +
                    model::kDefaultKernel + " in the environment");
  }
  model::InitArithmetic();
  return model::VerifyKernel();
}

}  // namespace espalier::cli
