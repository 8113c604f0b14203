#include "src/base/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace espalier {

bool OpenMissingStreams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    // open() returns the lowest free number. That is fd, because the descriptors below it are open.
    if (open("/dev/null", O_RDWR) == fd) continue;
    std::fprintf(stderr, "cannot open /dev/null in place of descriptor %d, which is closed: %s\n",
                 fd, std::strerror(errno));
    return false;
  }
  return true;
}

}  // namespace espalier
