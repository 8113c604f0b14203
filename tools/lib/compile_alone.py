"""Checks that each C++ file compiles alone. In a chunk (tools/chunks.bzl), a file may use an
include of a file before it, so those files are compiled here. The build compiles the first file of
a chunk, and each file outside chunks, with nothing before it. Prints files that do not compile.
Called by tools/test."""
import concurrent.futures
import os
import subprocess
import sys

import compile_commands

LINES = 8  # maximum number of compiler output lines printed for a file


def check(entry):
    """Returns (file, compiler output). The output is empty if the file compiles."""
    words, arguments = [], iter(entry["arguments"])
    for word in arguments:
        if word in ("-o", "-MF"):
            next(arguments)
        elif word not in ("-c", "-MD"):
            words.append(word)
    done = subprocess.run(words + ["-fsyntax-only"], cwd=entry["directory"], text=True,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    return entry["file"], done.stderr if done.returncode else ""


def main():
    try:
        database = compile_commands.entries()
    except RuntimeError as error:
        sys.exit("alone: %s" % error)
    tracked = subprocess.run(["git", "ls-files", "*.cc"], cwd=compile_commands.ROOT, text=True,
                             capture_output=True, check=True).stdout.split()
    missing = set(tracked) - {os.path.relpath(e["file"], compile_commands.ROOT) for e in database}
    if missing:
        sys.exit("alone: no target compiles %s" % ", ".join(sorted(missing)))
    later = {path for paths in compile_commands.chunks().values() for path in paths[1:]}
    chosen = [e for e in database if os.path.relpath(e["file"], compile_commands.ROOT) in later]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        bad = [(path, said) for path, said in pool.map(check, chosen) if said]
    for path, said in bad:
        print("%s does not compile by itself:\n%s" % (
            os.path.relpath(path, compile_commands.ROOT), "\n".join(said.splitlines()[:LINES])))
    print("alone: %d of %d files compile by themselves; the build compiles the other %d so" % (
        len(chosen) - len(bad), len(chosen), len(database) - len(chosen)))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
