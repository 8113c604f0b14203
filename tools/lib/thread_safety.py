"""Checks the annotations of mutexes (src/base/mutex.h) with clang's -Wthread-safety. Guarded
members are private, so it compiles the files of src/ that include mutex.h, directly or by way of
one header. Before that, it checks that clang finds a planted breach. Prints each breach once.
Called by tools/test."""
import concurrent.futures
import os
import re
import subprocess
import sys

import compile_commands

CLANG = "clang-19"
CHECK = ["-Wno-everything", "-Wthread-safety", "-Werror=thread-safety", "-fsyntax-only"]
MUTEX = "src/base/mutex.h"
INCLUDE = re.compile(r'^#include "(src/[^"]+)"', re.M)
LINES = 40  # maximum number of clang's lines printed for a file
# Words of GCC's command line that clang also needs. The second ones are followed by their value.
KEPT, KEPT_PAIRS = ("-D", "-U", "-I", "-std=", "-march="), ("-iquote", "-isystem")
BREACH = """#include "%s"
struct Counter {
  int Get() { return count; }
  espalier::Mutex mutex;
  int count GUARDED_BY(mutex) = 0;
};
""" % MUTEX


def flags(arguments):
    """Returns clang's arguments for a command line of GCC: those that the preprocessor needs."""
    found = []
    for i, word in enumerate(arguments):
        if word in KEPT_PAIRS:
            found += arguments[i:i + 2]
        elif word.startswith(KEPT) and not word.startswith("-D__"):
            found.append(word)
    return found


def users(texts):
    """Returns the .cc files among {path: text} that include mutex.h or a header that does."""
    includes = {path: set(INCLUDE.findall(text)) for path, text in texts.items()}
    direct = {path for path, others in includes.items() if MUTEX in others}
    return sorted(path for path, others in includes.items()
                  if path.endswith(".cc") and (path in direct or others & direct))


def breaches(words, text=None):
    """Returns clang's messages."""
    done = subprocess.run([CLANG] + words + CHECK, cwd=compile_commands.ROOT, input=text, text=True,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    return done.stderr if done.returncode else ""


def texts_of_source():
    paths = subprocess.run(["git", "ls-files", "src/*.h", "src/*.cc"], cwd=compile_commands.ROOT,
                           text=True, capture_output=True, check=True).stdout.split()
    texts = {}
    for path in paths:
        with open(os.path.join(compile_commands.ROOT, path), encoding="utf-8") as f:
            texts[path] = f.read()
    return texts


def main():
    try:
        planted = breaches(["-std=c++20", "-iquote", ".", "-x", "c++", "-"], BREACH)
    except FileNotFoundError:
        sys.exit("thread-safety: %s is missing. Run tools/setup --fuzz." % CLANG)
    if "requires holding mutex" not in planted:
        sys.exit("thread-safety: %s does not find a planted breach. It printed:\n%s" %
                 (CLANG, planted))
    try:
        database = {os.path.relpath(e["file"], compile_commands.ROOT): flags(e["arguments"])
                    for e in compile_commands.entries()}
    except RuntimeError as error:
        sys.exit("thread-safety: %s" % error)
    chosen = users(texts_of_source())
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        said = list(pool.map(lambda path: breaches(database[path] + [path]), chosen))
    bad = [(path, text) for path, text in zip(chosen, said) if text]
    printed = set()  # messages about a header, which several files include
    for path, text in bad:
        lines = [line for line in text.splitlines()[:LINES] if line not in printed]
        printed.update(line for line in lines if " error: " in line)
        print("%s:\n%s" % (path, "\n".join(lines)))
    print("thread-safety: %d of %d files that use a mutex are clean" % (len(chosen) - len(bad),
                                                                        len(chosen)))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
