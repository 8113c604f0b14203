#include "src/cli/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>

namespace espalier::cli {
namespace {

// Runs in the child between fork and exec, with only async-signal-safe calls. Returns if exec
// fails.
void BecomeProgram(const char* program, char* const* arguments, int log_fd, int null_fd,
                   int inherited_fd, const cpu_set_t* cores, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // the parent died before prctl
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  dup2(null_fd, STDIN_FILENO);
  dup2(log_fd, STDOUT_FILENO);
  dup2(log_fd, STDERR_FILENO);
  if (inherited_fd >= 0) fcntl(inherited_fd, F_SETFD, 0);
  if (cores != nullptr) sched_setaffinity(0, sizeof *cores, cores);  // failure only affects speed
  execv(program, arguments);
}

Status SystemError(const std::string& what) {
  return ResourceExhausted(what + ": " + std::strerror(errno));
}

// Reads errno of a failed exec. Returns 0 if exec succeeded (the pipe closes by itself).
int ExecError(int fd) {
  int error = 0;
  ssize_t n;
  do {
    n = read(fd, &error, sizeof error);
  } while (n < 0 && errno == EINTR);
  return n == sizeof error ? error : 0;
}

}  // namespace

Result<std::unique_ptr<ChildProcess>> ChildProcess::Start(Options options) {
  std::vector<char*> arguments = {options.program.data()};
  for (std::string& a : options.arguments) arguments.push_back(a.data());
  arguments.push_back(nullptr);
  const int log_fd =
      open(options.log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (log_fd < 0) return SystemError("cannot write " + options.log_path);
  const int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  cpu_set_t cores;
  CPU_ZERO(&cores);
  for (int core : options.cores) CPU_SET(core, &cores);
  int exec_pipe[2] = {-1, -1};
  const pid_t parent = getpid();
  const pid_t pid = null_fd < 0 || pipe2(exec_pipe, O_CLOEXEC) != 0 ? -1 : fork();
  if (pid == 0) {
    BecomeProgram(options.program.c_str(), arguments.data(), log_fd, null_fd, options.inherited_fd,
                  options.cores.empty() ? nullptr : &cores, parent);
    const int error = errno;
    [[maybe_unused]] const ssize_t n = write(exec_pipe[1], &error, sizeof error);
    _exit(127);
  }
  Status status;
  if (pid < 0) status = SystemError("cannot start " + options.program);
  for (int fd : {log_fd, null_fd, exec_pipe[1]}) {
    if (fd >= 0) close(fd);
  }
  if (pid > 0) {
    errno = ExecError(exec_pipe[0]);
    if (errno != 0) status = SystemError("cannot start " + options.program);
    if (!status.ok()) waitpid(pid, nullptr, 0);
  }
  if (exec_pipe[0] >= 0) close(exec_pipe[0]);
  if (!status.ok()) return status;
  return std::unique_ptr<ChildProcess>(new ChildProcess(std::move(options), pid));
}

ChildProcess::~ChildProcess() {
  if (!Alive()) return;
  Signal(SIGKILL);
  waitpid(pid_, nullptr, 0);
}

bool ChildProcess::Alive() {
  if (wait_status_ >= 0) return false;
  int wait_status = 0;
  if (waitpid(pid_, &wait_status, WNOHANG) != pid_) return true;
  wait_status_ = wait_status;
  return false;
}

bool ChildProcess::Ended() const {
  siginfo_t info{};
  // An error means that the exit status was read already.
  return wait_status_ >= 0 || waitid(P_PID, pid_, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
         info.si_pid == pid_;
}

bool ChildProcess::WaitFor(int64_t ms) {
  for (int64_t waited_ms = 0; Alive(); waited_ms += 5) {
    if (waited_ms >= ms) return false;
    poll(nullptr, 0, 5);
  }
  return true;
}

void ChildProcess::Signal(int signal) const {
  if (wait_status_ < 0) kill(pid_, signal);
}

std::string ChildProcess::Ending() const {
  const int status = wait_status_;
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return "was killed by signal " + std::to_string(signal) + " (" + strsignal(signal) + ")";
  }
  return "ended with exit code " + std::to_string(WEXITSTATUS(status));
}

std::string ChildProcess::LogTail(int lines) const {
  constexpr int64_t kTailBytesMax = 16 << 10;
  std::ifstream file(options_.log_path, std::ios::binary | std::ios::ate);
  if (!file) return "";
  const int64_t size = file.tellg();
  std::string text(static_cast<size_t>(std::min(size, kTailBytesMax)), '\0');
  file.seekg(size - static_cast<int64_t>(text.size()));
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  if (!text.empty() && text.back() != '\n') text += '\n';
  size_t begin = text.size();
  for (int found = 0; begin > 0; --begin) {
    if (text[begin - 1] == '\n' && found++ == lines) break;
  }
  return text.substr(begin);
}

}  // namespace espalier::cli
