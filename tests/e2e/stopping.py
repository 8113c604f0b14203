"""A library that stops a process at a system call, as a paused virtual machine would."""
import os
import subprocess

from espalier import wait_for

SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* STOP_CALL: name of the call. STOP_TEXT: part of its path or data. STOP_AT: which of these calls,
   from 1. STOP_MARK: file to create before the stop. */
static void at(const char *call, const char *text, size_t length) {
  static atomic_int seen;
  const char *wanted = getenv("STOP_CALL"), *part = getenv("STOP_TEXT");
  const char *mark = getenv("STOP_MARK"), *number = getenv("STOP_AT");
  if (!wanted || !part || !mark || !number || strcmp(call, wanted)) return;
  if (!memmem(text, length, part, strlen(part))) return;
  if (atomic_fetch_add(&seen, 1) + 1 != atoi(number)) return;
  int fd = open(mark, O_CREAT | O_EXCL | O_WRONLY, 0600);
  if (fd < 0) return;
  close(fd);
  raise(SIGSTOP);
}

/* As at(), for a path that starts at an open directory. */
static void at_path(const char *call, int directory, const char *path) {
  char link[64], whole[8192];
  ssize_t length = 0;
  if (path[0] != '/' && directory != AT_FDCWD) {
    snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
    length = readlink(link, whole, sizeof whole / 2);
    if (length < 0) length = 0;
  }
  snprintf(whole + length, sizeof whole - length, "/%s", path);
  at(call, whole, strlen(whole));
}

int mkdir(const char *path, mode_t mode) {
  int (*next)(const char *, mode_t) = (int (*)(const char *, mode_t))dlsym(RTLD_NEXT, "mkdir");
  at("mkdir", path, strlen(path));
  return next(path, mode);
}

int unlinkat(int directory, const char *path, int flags) {
  int (*next)(int, const char *, int) =
      (int (*)(int, const char *, int))dlsym(RTLD_NEXT, "unlinkat");
  if (flags & AT_REMOVEDIR) at_path("rmdir", directory, path);
  return next(directory, path, flags);
}

int renameat2(int da, const char *a, int db, const char *b, unsigned flags) {
  int (*next)(int, const char *, int, const char *, unsigned) =
      (int (*)(int, const char *, int, const char *, unsigned))dlsym(RTLD_NEXT, "renameat2");
  at_path("renameat2", da, a);
  return next(da, a, db, b, flags);
}

ssize_t send(int fd, const void *data, size_t size, int flags) {
  ssize_t (*next)(int, const void *, size_t, int) =
      (ssize_t (*)(int, const void *, size_t, int))dlsym(RTLD_NEXT, "send");
  at("send", data, size);
  return next(fd, data, size, flags);
}
"""


def build(directory):
    """Compiles the library. Returns its path."""
    source, library = (os.path.join(directory, "stop" + e) for e in (".c", ".so"))
    with open(source, "w") as f:
        f.write(SOURCE)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return library


class Stop:
    """Stops the process that runs with `environment` before its `number`-th `call` with `text`."""

    def __init__(self, directory, library, call, text, number=1):
        self.mark = os.path.join(directory, "stopped-%s-%d" % (call, number))
        self.environment = {"LD_PRELOAD": library, "STOP_CALL": call, "STOP_TEXT": text,
                            "STOP_AT": str(number), "STOP_MARK": self.mark}

    def happened(self):
        return os.path.exists(self.mark)

    def wait(self, limit_s=60):
        wait_for("the stop", self.happened, limit_s)
