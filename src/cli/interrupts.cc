#include "src/cli/interrupts.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <vector>

#include "src/cli/exit_code.h"

namespace espalier::cli {
namespace {

constexpr int kParentEveryMs = 200;

// Descriptor to which Taken reports a signal. Set once.
int taken_fd = -1;

// Handles signals on threads that do not block them. This program's threads block signals and read
// them from a descriptor. Threads of a library that started earlier (OpenBLAS starts them at load)
// do not block signals, and the default action would end the process.
extern "C" void Taken(int) {
  const int saved = errno;
  eventfd_write(taken_fd, 1);
  errno = saved;
}

}  // namespace

Result<std::unique_ptr<Interrupts>> Interrupts::Make(bool with_parent) {
  std::vector<int> signals = {SIGINT, SIGTERM};
  struct sigaction before = {};
  sigaction(SIGHUP, nullptr, &before);
  if (before.sa_handler != SIG_IGN) signals.push_back(SIGHUP);  // otherwise nohup(1) is in use
  sigset_t set;
  sigemptyset(&set);
  for (int signal : signals) sigaddset(&set, signal);
  const int stop_fd = eventfd(0, EFD_CLOEXEC);
  taken_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
  const int signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signal_fd < 0 || stop_fd < 0 || taken_fd < 0) {
    return Internal(std::string("cannot watch for signals: ") + std::strerror(errno));
  }
  // Install the handlers before this thread blocks the signals. After that the kernel delivers them
  // to other threads, where the default action would end the process.
  struct sigaction action = {};
  action.sa_handler = Taken;
  action.sa_flags = SA_RESTART;
  for (int signal : signals) sigaction(signal, &action, nullptr);
  if (pthread_sigmask(SIG_BLOCK, &set, nullptr) != 0) return Internal("cannot block signals");
  // A write detects that a reader has ended (`espalier watch | head`), not a signal.
  std::signal(SIGPIPE, SIG_IGN);
  return std::unique_ptr<Interrupts>(
      new Interrupts(signal_fd, stop_fd, with_parent ? getppid() : 0));
}

Interrupts::Interrupts(int signal_fd, int stop_fd, pid_t parent)
    : signal_fd_(signal_fd), stop_fd_(stop_fd), parent_(parent), thread_([this] { Run(); }) {}

Interrupts::~Interrupts() {
  eventfd_write(stop_fd_, 1);
  thread_.join();
  close(signal_fd_);
  close(stop_fd_);
}

void Interrupts::SetEmergency(std::function<void()> action) {
  MutexLock lock(mutex_);
  emergency_ = std::move(action);
}

void Interrupts::SetLast(std::function<void()> action) {
  MutexLock lock(mutex_);
  last_ = std::move(action);
}

void Interrupts::Run() {
  pollfd fds[3] = {{signal_fd_, POLLIN, 0}, {stop_fd_, POLLIN, 0}, {taken_fd, POLLIN, 0}};
  while (true) {
    const int ready = poll(fds, 3, parent_ != 0 ? kParentEveryMs : -1);
    if (ready > 0 && fds[1].revents) return;
    if (parent_ != 0 && getppid() != parent_) {
      parent_ = 0;
      orphaned_ = true;
      if (++count_ >= 2) DieAtOnce();
    }
    if (ready <= 0) continue;  // EINTR, or nothing yet
    // Neither read blocks: after poll(2), a thread that does not block the signal may have taken
    // it.
    signalfd_siginfo info;
    eventfd_t one = 0;
    const bool read_here = read(signal_fd_, &info, sizeof info) == ssize_t{sizeof info};
    const bool taken = eventfd_read(taken_fd, &one) == 0;
    count_ += read_here + taken;
    if ((read_here || taken) && count_ >= 2) DieAtOnce();
  }
}

void Interrupts::DieAtOnce() {
  MutexLock lock(mutex_);
  if (emergency_) emergency_();
  if (last_) last_();
  _exit(kExitInterrupted);
}

}  // namespace espalier::cli
