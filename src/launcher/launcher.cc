// What lies in bin/ of the relocatable tarball under the name of each program: runs
// libexec/NAME with the loader, the C library and all other libraries of lib/ beside it, so that
// nothing of the machine's own is needed or mixed in. Linked statically, without anything of ours:
// it must start where there is no library at all, and on any x86-64.
//
// The tree may lie anywhere and be reached by links: the launcher's own path, which the kernel
// knows, counts. It goes to the program as argv[0] (base/program_path.h).
#include <limits.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr const char* kLoader = "/lib/ld-linux-x86-64.so.2";
constexpr int kCannotExecute = 126;
// What they name was made for the machine's own C library.
constexpr const char* kNotForUs[] = {"LD_PRELOAD", "LD_AUDIT", "LD_LIBRARY_PATH"};

// The launcher's path without links. Without /proc: what the kernel was asked to execute.
std::string OwnPath() {
  char path[PATH_MAX] = {};
  if (readlink("/proc/self/exe", path, sizeof path - 1) > 0) return path;
  const char* asked = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  return asked != nullptr && realpath(asked, path) != nullptr ? path : "";
}

int Fail(const std::string& what) {
  std::fprintf(stderr, "espalier: %s: %s\n", what.c_str(), std::strerror(errno));
  return kCannotExecute;
}

}  // namespace

int main(int, char** argv) {
  const std::string self = OwnPath();
  const size_t name = self.rfind('/');
  const size_t folder = name == 0 || name == std::string::npos ? name : self.rfind('/', name - 1);
  if (folder == std::string::npos) return Fail("cannot find out where this program lies");
  const std::string top = self.substr(0, folder);
  const std::string loader = top + kLoader, libraries = top + "/lib";
  const std::string program = top + "/libexec" + self.substr(name);
  if (access(program.c_str(), X_OK) != 0) {
    return Fail(program + ", which belongs to " + self + ", cannot be run");
  }
  for (const char* variable : kNotForUs) unsetenv(variable);
  std::vector<const char*> arguments = {self.c_str(),      "--inhibit-cache", "--library-path",
                                        libraries.c_str(), "--argv0",         self.c_str(),
                                        program.c_str()};
  for (char** argument = argv[0] == nullptr ? argv : argv + 1; *argument != nullptr; ++argument) {
    arguments.push_back(*argument);
  }
  arguments.push_back(nullptr);
  execv(loader.c_str(), const_cast<char* const*>(arguments.data()));
  return Fail("cannot run " + loader);
}
