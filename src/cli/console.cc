#include "src/cli/console.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace espalier {
namespace {

constexpr int kLookEveryMs = 100, kUnreadLooks = 10;

}  // namespace

Console::Console(const Environment& env) {
  const bool draws = !env.terminal.empty() && env.terminal != "dumb";
  live_ = draws && isatty(STDOUT_FILENO) != 0;
  out_color_ = live_ && !env.no_color;
  err_color_ = draws && !env.no_color && isatty(STDERR_FILENO) != 0;
}

void Console::Out(std::string_view text) {
  if (!out_closed_) out_closed_ = !Write(STDOUT_FILENO, text);
}

void Console::Err(std::string_view text) {
  // There is nobody left to tell when standard error fails.
  if (!err_closed_) err_closed_ = !Write(STDERR_FILENO, text);
}

bool Console::Write(int fd, std::string_view text) const {
  while (!text.empty()) {
    if (!AwaitReader(fd)) return false;
    // A pipe that poll(2) calls writable takes as much without waiting.
    const ssize_t n = write(fd, text.data(), std::min<size_t>(text.size(), PIPE_BUF));
    if (n < 0 && errno != EINTR && errno != EAGAIN) return false;
    text.remove_prefix(static_cast<size_t>(std::max<ssize_t>(n, 0)));
  }
  return true;
}

bool Console::AwaitReader(int fd) const {
  for (int unread = 0; unread < kUnreadLooks; unread += interrupted_()) {
    pollfd at = {fd, POLLOUT, 0};
    if (poll(&at, 1, kLookEveryMs) > 0) return true;  // an error is told by the write
  }
  return false;
}

int Console::Width() const {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

}  // namespace espalier
