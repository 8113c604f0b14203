"""Fuzzes the targets of tests/fuzz_targets with libFuzzer. Called by tools/fuzz.

  tools/fuzz                         fuzzes all targets, each for 60 s
  tools/fuzz NAME --seconds 600      fuzzes one target
  tools/fuzz NAME --replay BASE64    runs one input, for example of a failure
  tools/fuzz NAME --keep BASE64      adds an input to the kept inputs
  tools/fuzz NAME --grow             adds inputs from earlier runs that reach new code

A run starts from the seeds of a target (tests/fuzz_targets/*_target.cc) and from its kept inputs.
These are lines of Base64 in tests/fuzz_targets/corpus/NAME.txt. A run fails on a crash, a report of
a sanitizer, an input that takes longer than INPUT_LIMIT_S, or more memory than MEMORY_MB.
"""
import argparse
import base64
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys

import test_bazel

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CORPUS = os.path.join(ROOT, "tests", "fuzz_targets", "corpus")
WORK = os.path.join(ROOT, "build", "fuzz")
LABEL = "//tests/fuzz_targets:fuzz"

SECONDS = 60          # default run time of each target
AT_ONCE = 2           # targets that run at a time
INPUT_LIMIT_S = 20    # time limit of one input
MEMORY_MB = 2048      # memory limit of the process
INPUT_BYTES = 4096    # maximum size of an input
FILE_BYTES = 16_000   # maximum size of the text with the kept inputs of one target
STOP_S = 60           # time from the end of a run to the end of the process
MERGE_LIMIT_S = 600


def corpus_file(name):
    return os.path.join(CORPUS, name + ".txt")


def kept(name):
    """Returns the kept inputs of a target."""
    with open(corpus_file(name)) as f:
        lines = f.read().splitlines()
    return [base64.b64decode(line, validate=True) for line in lines if not line.startswith("#")]


def keep(name, inputs, replace=False):
    """Adds inputs to the kept inputs of a target, the shortest first, up to FILE_BYTES. With
    `replace`, drops the longest kept inputs to make room. Returns the number of added inputs."""
    old = kept(name)
    lines = [base64.b64encode(data).decode() + "\n" for data in old + sorted(
        set(inputs) - set(old), key=lambda data: (len(data), data))]
    while replace and old and sum(map(len, lines)) > FILE_BYTES:
        longest = max(range(len(old)), key=lambda i: len(old[i]))
        del old[longest], lines[longest]
    while len(lines) > len(old) and sum(map(len, lines)) > FILE_BYTES:
        lines.pop()
    with open(corpus_file(name), "w") as f:
        f.writelines(lines)
    return len(lines) - len(old)


def unpack(name, folder):
    os.makedirs(folder, exist_ok=True)
    for number, data in enumerate(kept(name)):
        with open(os.path.join(folder, "kept-%d" % number), "wb") as f:
            f.write(data)


class Program:
    """The program with all targets."""

    def __init__(self, path):
        self.path = path

    def call(self, name, words, limit_s):
        """Returns the exit code, or None if the program did not end in time, and the output."""
        environment = dict(os.environ, OPENBLAS_CORETYPE="Haswell", OPENBLAS_NUM_THREADS="1",
                           ASAN_OPTIONS="allow_addr2line=1",
                           UBSAN_OPTIONS="print_stacktrace=1:allow_addr2line=1",
                           LSAN_OPTIONS="suppressions=" + os.path.join(ROOT, "tools/lsan.supp"))
        command = [self.path, "--target=" + name] + words
        try:
            done = subprocess.run(command, cwd=ROOT, env=environment, timeout=limit_s,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        except subprocess.TimeoutExpired as late:
            return None, (late.stdout or b"").decode(errors="replace")
        return done.returncode, done.stdout.decode(errors="replace")

    def targets(self):
        done = subprocess.run([self.path, "--targets"], capture_output=True, text=True, check=True)
        return done.stdout.split()

    def fuzz(self, name, seconds):
        """Fuzzes one target. Returns a line about the run, and the failure, or an empty text."""
        folder = os.path.join(WORK, name)
        found, start, failed = (os.path.join(folder, d) for d in ("found", "start", "failed"))
        for used in (start, failed):
            shutil.rmtree(used, ignore_errors=True)
        for used in (found, start, failed):
            os.makedirs(used, exist_ok=True)
        self.call(name, ["--seeds=" + start], STOP_S)
        unpack(name, start)
        code, output = self.call(
            name, ["-max_total_time=%d" % seconds, "-timeout=%d" % INPUT_LIMIT_S,
                   "-rss_limit_mb=%d" % MEMORY_MB, "-max_len=%d" % INPUT_BYTES,
                   "-print_final_stats=1", "-artifact_prefix=" + failed + os.sep, found, start],
            seconds + STOP_S)
        return summary(name, seconds, output), failure(name, code, output, failed)

    def grow(self, name):
        """Keeps inputs of earlier runs that reach new code. Returns the output if that fails."""
        merged, found = (os.path.join(WORK, name, d) for d in ("merged", "found"))
        shutil.rmtree(merged, ignore_errors=True)
        unpack(name, merged)
        os.makedirs(found, exist_ok=True)
        code, output = self.call(name, ["-merge=1", merged, found], MERGE_LIMIT_S)
        if code != 0:
            return output
        inputs = []
        for entry in os.scandir(merged):
            with open(entry.path, "rb") as f:
                inputs.append(f.read())
        print("%s: added %d inputs" % (name, keep(name, inputs)))
        return ""


def summary(name, seconds, output):
    """Returns a line with executions, coverage and new inputs of a run."""
    def last(pattern):
        numbers = re.findall(pattern, output)
        return numbers[-1] if numbers else "?"
    return "%-12s %d s: %s executions, %s edges covered, %s new inputs" % (
        name, seconds, last(r"stat::number_of_executed_units:\s*(\d+)"), last(r"cov: (\d+)"),
        last(r"stat::new_units_added:\s*(\d+)"))


def failure(name, code, output, folder):
    """Returns why a run failed, with the command that repeats it, or an empty text if it passed."""
    if code == 0:
        return ""
    text = output[-4000:] + "\nthe program %s" % (
        "ended with %d" % code if code is not None else "did not end in time")
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        with open(entry.path, "rb") as f:
            text += "\nto repeat it: tools/fuzz %s --replay %s" % (
                name, base64.b64encode(f.read()).decode())
    return text


def build():
    """Builds the program. Raises RuntimeError."""
    flags = ["--noshow_progress", "--color=no"] if not sys.stdout.isatty() else []
    words = ["-c", "opt", "--config=fuzz"]
    done = subprocess.run(test_bazel.BAZEL + ["build"] + flags + words + [LABEL], cwd=ROOT)
    if done.returncode != 0:
        raise RuntimeError("%s does not build. Run tools/setup --fuzz." % LABEL)
    info = subprocess.run(test_bazel.BAZEL + ["info"] + words + ["bazel-bin"], cwd=ROOT, check=True,
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    os.makedirs(WORK, exist_ok=True)
    return Program(os.path.join(info.stdout.strip(), "tests", "fuzz_targets", "fuzz"))


def fuzz_all(program, names, seconds, report):
    """Fuzzes targets, AT_ONCE at a time. Calls report(name, line, failure) after each."""
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        running = {pool.submit(program.fuzz, name, seconds): name for name in names}
        for done in concurrent.futures.as_completed(running):
            line, why = done.result()
            report(running[done], line, why)


def run(tally, seconds=SECONDS):
    """Runs the coverage half of the part `fuzz` of tools/test. Each target is a case."""
    def report(name, line, why):
        print("fuzz: " + line, flush=True)
        if why:
            print(why, flush=True)
            tally.fail("fuzz: target " + name, why)
        else:
            tally.passed += 1
    try:
        program = build()
    except RuntimeError as error:
        tally.fail("fuzz: %s" % error)
        return
    fuzz_all(program, program.targets(), seconds, report)


def main():
    parser = argparse.ArgumentParser(prog="tools/fuzz", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="NAME", help="default: all")
    parser.add_argument("--seconds", type=int, default=SECONDS,
                        help="run time of each target (default: %(default)s)")
    parser.add_argument("--replay", metavar="BASE64", help="run one input")
    parser.add_argument("--keep", metavar="BASE64", help="add an input to the kept inputs")
    parser.add_argument("--grow", action="store_true", help="keep inputs of earlier runs")
    args = parser.parse_args()
    one = args.replay is not None or args.keep is not None
    if one and len(args.targets) != 1:
        parser.error("--replay and --keep require one target")
    if args.keep is not None:
        name = args.targets[0]
        data = base64.b64decode(args.keep, validate=True)
        keep(name, [data], replace=True)
        if data in kept(name):
            return 0
        print("not kept: %s can hold %d bytes of text" % (corpus_file(name), FILE_BYTES))
        return 1
    program = build()
    names = args.targets or program.targets()
    unknown = set(names) - set(program.targets())
    if unknown:
        parser.error("unknown targets: %s. Known: %s" % (", ".join(sorted(unknown)),
                                                         ", ".join(program.targets())))
    if args.replay is not None:
        path = os.path.join(WORK, "replayed")
        with open(path, "wb") as f:
            f.write(base64.b64decode(args.replay, validate=True))
        code, output = program.call(names[0], [path], INPUT_LIMIT_S + STOP_S)
        print(output)
        return code if code is not None else 1
    failures = []

    def report(_name, line, why):
        print(line, flush=True)
        if why:
            print(why, flush=True)
            failures.append(why)
    if args.grow:
        for name in names:
            why = program.grow(name)
            report(name, name, why)
    else:
        fuzz_all(program, names, args.seconds, report)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
