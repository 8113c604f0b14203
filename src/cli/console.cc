#include "src/cli/console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

namespace espalier {

Console::Console(const Environment& env) {
  const bool draws = !env.terminal.empty() && env.terminal != "dumb";
  live_ = draws && isatty(STDOUT_FILENO) != 0;
  out_color_ = live_ && !env.no_color;
  err_color_ = draws && !env.no_color && isatty(STDERR_FILENO) != 0;
}

void Console::Out(std::string_view text) {
  if (out_closed_) return;
  const size_t written = std::fwrite(text.data(), 1, text.size(), stdout);
  out_closed_ = written != text.size() || std::fflush(stdout) != 0;
}

void Console::Err(std::string_view text) {
  // There is nobody left to tell when standard error fails.
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

int Console::Width() const {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

}  // namespace espalier
