// `espalier version`. The arithmetic is that of the workers. This program does not load a BLAS, so
// it asks the worker program in the same directory.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "src/base/build_info.h"
#include "src/base/version.h"
#include "src/cli/commands.h"
#include "src/cli/exit_code.h"
#include "src/cli/json.h"

extern char** environ;

namespace espalier::cli {
namespace {

constexpr size_t kAnswerBytesMax = 4096;

// Returns the output of `program --version`, or "" if it cannot be run.
std::string AskVersion(const std::string& program) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return "";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  std::string path = program, flag = "--version";
  char* const arguments[] = {path.data(), flag.data(), nullptr};
  pid_t pid = 0;
  const bool runs = posix_spawn(&pid, program.c_str(), &actions, nullptr, arguments, environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string answer;
  char buffer[512];
  while (runs && answer.size() < kAnswerBytesMax) {
    const ssize_t n = read(ends[0], buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    answer.append(buffer, static_cast<size_t>(n));
  }
  close(ends[0]);
  if (runs) waitpid(pid, nullptr, 0);
  return answer;
}

// Returns "" without a worker program. A machine that only submits does not need one.
std::string ArithmeticOfWorkers(const CommandContext& context) {
  constexpr std::string_view kLine = "\narithmetic: ";
  const Result<std::string> directory = ProgramDirectory(context);
  if (!directory.ok()) return "";
  const std::string answer = AskVersion(*directory + "/espalier-worker");
  const size_t at = answer.find(kLine);
  if (at == std::string::npos) return "";
  const size_t begin = at + kLine.size();
  return answer.substr(begin, answer.find('\n', begin) - begin);
}

}  // namespace

int RunVersion(const CommandContext& context) {
  const std::string arithmetic = ArithmeticOfWorkers(context);
  context.console.Out(context.options.json ? JsonLine({{"version", kVersion},
                                                       {"arithmetic_id", arithmetic},
                                                       {"built_by", BuildDescription()}})
                                           : VersionText("espalier", arithmetic));
  return kExitSuccess;
}

}  // namespace espalier::cli
