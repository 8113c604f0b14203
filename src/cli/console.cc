#include "src/cli/console.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string>

#include "src/base/text.h"
#include "src/cli/format.h"
#include "src/cli/learning_curve.h"
#include "src/cli/result_view.h"

namespace espalier::cli {
namespace {

constexpr int kLookEveryMs = 100, kUnreadLooks = 10;

// Waits for `wait_ms` at most. Returns whether write(2) takes text, or reports an error.
bool TakesText(int fd, int wait_ms) {
  pollfd at = {fd, POLLOUT, 0};
  return poll(&at, 1, wait_ms) > 0;
}

}  // namespace

Console::Console(const Environment& env)
    : columns_(env.columns),
      out_{.fd = STDOUT_FILENO, .wraps = isatty(STDOUT_FILENO) != 0},
      err_{.fd = STDERR_FILENO, .wraps = isatty(STDERR_FILENO) != 0} {
  const bool draws = !env.terminal.empty() && env.terminal != "dumb";
  live_ = draws && out_.wraps;
  out_color_ = live_ && !env.no_color;
  out_unicode_ = live_ && NamesUtf8(env.locale);
  err_color_ = draws && !env.no_color && err_.wraps;
}

void Console::Out(std::string_view text) {
  const bool lost_before = out_lost();
  Write(out_, text);
  if (!out_lost() || lost_before) return;
  const std::string why = std::strerror(out_.error);
  Err(ErrorText(ResourceExhausted("cannot write to standard output: " + why), err_color_));
}

void Console::LastOut(std::string_view text) {
  out_.unread = false;
  Out(text);
}

bool Console::out_lost() const { return out_.error != 0 && out_.error != EPIPE; }

void Console::LeaveLine() {
  left_ = true;
  // A terminal that is full of progress needs a moment. A reader that does not read must not delay
  // the end for long.
  if (!live_ || !out_.wraps || !TakesText(out_.fd, kLookEveryMs)) return;
  MutexLock lock(writing_);
  [[maybe_unused]] const ssize_t n = write(out_.fd, "\n", 1);
}

// A failure of standard error cannot be reported.
void Console::Err(std::string_view text) { Write(err_, text); }

void Console::Write(Stream& stream, std::string_view text) {
  // A line that begins with '\r' is redrawn, and its view knows the width.
  if (!stream.wraps || text.find('\r') != text.npos) return WriteWhole(stream, text);
  WriteWhole(stream, WrapLines(text, static_cast<size_t>(WidthOf(stream.fd))));
}

void Console::WriteWhole(Stream& stream, std::string_view text) {
  if (stream.error != 0 || (stream.unread && interrupted_() && !TakesText(stream.fd, 0))) return;
  const std::string after_cut = stream.cut ? "\n" + std::string(text) : "";
  if (stream.cut) text = after_cut;
  const size_t whole = text.size();
  while (!text.empty() && stream.error == 0) {
    stream.unread = !AwaitReader(stream.fd);
    if (stream.unread) {
      stream.cut = stream.cut || text.size() < whole;
      return;
    }
    stream.cut = false;
    // If poll(2) reports a pipe as writable, it takes this many bytes without blocking. A terminal
    // may still block until its reader reads.
    MutexLock lock(writing_);
    if (left_) return;
    const ssize_t n = write(stream.fd, text.data(), std::min<size_t>(text.size(), PIPE_BUF));
    if (n < 0 && errno != EINTR && errno != EAGAIN) stream.error = errno;
    text.remove_prefix(static_cast<size_t>(std::max<ssize_t>(n, 0)));
  }
}

bool Console::AwaitReader(int fd) const {
  for (int unread = 0; unread < kUnreadLooks; unread += interrupted_()) {
    if (TakesText(fd, kLookEveryMs)) return true;
  }
  return false;
}

int Console::WidthOf(int fd) const {
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return columns_ > 0 ? columns_ : kPlainColumns;
}

}  // namespace espalier::cli
