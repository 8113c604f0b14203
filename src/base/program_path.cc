#include "src/base/program_path.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace espalier {
namespace {

constexpr const char* kSelf = "/proc/self/exe";

std::string FileName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

Result<std::string> ProgramPath(const std::string& argv0) {
  char path[4096];
  const ssize_t length = readlink(kSelf, path, sizeof path);
  if (length <= 0 || length == static_cast<ssize_t>(sizeof path)) {
    return Internal(std::string("cannot read ") + kSelf + ": " + std::strerror(errno) +
                    "; is /proc mounted?");
  }
  const std::string running(path, static_cast<size_t>(length));
  if (!FileName(running).starts_with("ld-linux")) return running;
  if (argv0.starts_with('/')) return argv0;
  return Internal("found the loader " + running + " in " + kSelf + ", and '" + argv0 +
                  "' as the program's name, expected its absolute path; start it by the program "
                  "of this name in bin/");
}

void ShowProgramName(const std::string& argv0) {
  prctl(PR_SET_NAME, FileName(argv0).c_str());  // cut to 15 bytes, as the kernel does at exec
}

}  // namespace espalier
