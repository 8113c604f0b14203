"""Runs the tests and counts their cases. Called by tools/test.

  tools/test                    runs the usual parts, which CI runs before each merge
  tools/test --all              runs all parts
  tools/test [--all] PART ...   runs these parts
  tools/test //tests/data/...   runs Bazel targets, as shipped; with `asan` or `tsan`, sanitized
  tools/test tests/e2e/train_test.py[::CLASS[::TEST]]   runs Python tests
  tools/test --times            shows where earlier runs spent their time

With --all or without arguments, a part is skipped if its files have not changed since it last
passed on this machine. Thus an interrupted run resumes. Without arguments, if only rooms of src/
have changed, only the Python tests that cover these rooms run. A part in the arguments always runs.
With CI=true in the environment, all usual parts run. --all omits parts whose tests another part
also runs: asan (thorough), shipped (long) and spark-smoke (spark).

The last line is "N passed, N failed, N skipped". A case is a Catch2 TEST_CASE or a Python test. A
program that fails without a failed case counts as one failed case: a crash, a sanitizer's report, a
time limit, or a target that does not build. So do a part without a case, and files and processes
that Python tests leave behind.
"""
import argparse
import contextlib
import fcntl
import os
import signal
import sys
import time
import traceback

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import fuzz_targets
import package_python
import python_client
import test_bazel
import test_changes
import test_parts
import test_process
import test_python
import test_times
from test_tally import Tally

SKIPS_EXPECTED = 0
RUN_LIMIT_S = 80 * 60       # limit of a run without --all; CI ends it after 90 minutes
PART_LIMIT_S = 60 * 60      # limit of one part with --all
AT_ONCE = 3                 # files of Python tests that run at a time
LONG_SCALE = 50             # factor of the number of seeds of property tests in `long`
FUZZ_SCALE = 20             # factor of the number of hostile inputs in `fuzz`
PROGRAM_LIMIT = "--test_timeout=3000"  # seconds for one of their programs; below PART_LIMIT_S
FUZZ_TARGETS = ["//tests/fuzz/...", "//tests/config/...", "//tests/data:parquet_test"]
BUILT = {"e2e", "e2e-long", "python", "spark-smoke", "spark", "spark4", "yarn", "roots", "alone"}
BAZEL = {"shipped", "asan", "thorough", "tsan", "fuzz", "long"}  # parts that take labels
BY_FILE = {"e2e", "python", "spark-smoke"}  # parts that run only the tests that cover a change
CHOSEN = " chosen"  # suffix of the record's key if only some tests of the part may have run
SPARK_SMOKE = "tests/spark/spark_test.py"


def rooms(names):
    return ["//tests/%s/..." % name for name in names]


def all_targets():
    """Returns the targets of each top-level folder. //... would also search the bazel-* links."""
    return ["//%s/..." % top for top in ("config", "deploy", "proto", "src", "tests", "tools")]


class Run:
    """One call of tools/test. `labels` lists Bazel targets that replace those of a part."""

    def __init__(self, tally, everything, labels=()):
        self.tally, self.everything, self.labels = tally, everything, list(labels)
        self.end = time.monotonic() + RUN_LIMIT_S
        self.programs = None  # whether tools/build succeeded; None if it did not run
        self.changed = None   # changed places that the Python tests must cover; None runs all tests

    def limit_s(self):
        """Returns the time limit of a part that begins now."""
        return PART_LIMIT_S if self.everything else max(1, self.end - time.monotonic())

    def part(self, name):
        """Builds what a part needs and runs it. Returns whether it ran and passed."""
        if name in BUILT and self.programs is None:
            self.part("build")
        tally, failed = self.tally, self.tally.failed
        tally.begin(name)
        tally.part.whole = not self.labels and self.changed is None
        try:
            if name in BUILT and not self.programs:
                tally.fail(name + ": not started: the programs do not build")
                tally.part.whole = False
            elif not self.everything and time.monotonic() > self.end:
                tally.fail("%s: not started: the run reached its limit of %d min. The table shows "
                           "the parts that exceeded their budgets" %
                           (name, RUN_LIMIT_S // 60))
                tally.part.whole = False
            else:
                self.perform(name)
        except Exception as error:  # does not stop the other parts
            traceback.print_exc()
            tally.fail("%s: %s: %s" % (name, type(error).__name__, error))
        finally:
            tally.end()
        if name != "build" and not tally.part.cases and self.changed is None:
            tally.fail(name + ": no case ran")
        if tally.part.skipped != SKIPS_EXPECTED:
            tally.fail("%s: %d cases were skipped, %d expected" %
                       (name, tally.part.skipped, SKIPS_EXPECTED))
        return tally.failed == failed

    def perform(self, name):
        if name == "tidy":
            self.tidy()
        elif name == "build":
            self.build()
        elif name == "shipped":
            self.bazel(name, rooms(test_parts.SHIPPED))
        elif name == "asan":
            self.bazel(name, rooms(test_parts.PURE), ["--config=asan"])
        elif name == "thorough":
            self.bazel(name, ["//tests/..."], ["--config=thorough"])
        elif name == "tsan":
            self.bazel(name, rooms(test_parts.THREADED), ["--config=tsan"])
        elif name == "fuzz":
            self.bazel(name, FUZZ_TARGETS, ["--config=thorough", PROGRAM_LIMIT,
                                            "--test_env=ESPALIER_FUZZ_SCALE=%d" % FUZZ_SCALE])
            if not self.labels:
                self.command("fuzz: clang", ["tools/setup", "--fuzz"])
                fuzz_targets.run(self.tally)
        elif name == "long":
            self.bazel(name, all_targets(), [PROGRAM_LIMIT, "--test_env="
                                             "ESPALIER_TEST_SCALE=%d" % LONG_SCALE])
        elif name == "alone":
            self.command(name, ["python3", "tools/lib/compile_alone.py"])
            self.command(name + ": clang", ["tools/setup", "--fuzz"])
            self.command(name, ["python3", "tools/lib/thread_safety.py"])
        elif name == "hdfs":
            self.hdfs()
        elif name == "e2e-asan":
            self.sanitized_e2e(name)
        else:
            self.python(name)

    def bazel(self, name, targets, flags=()):
        test_bazel.run(name, "test", self.labels or targets, self.tally, self.limit_s(), flags)

    def command(self, name, words):
        """Runs a command that counts as one case."""
        limit_s = self.limit_s()
        code = test_process.run(words, limit_s, ROOT)
        if code == 0:
            self.tally.passed += 1
        else:
            self.tally.fail("%s: %s %s" % (name, " ".join(words),
                                           test_bazel.how_it_ended(code, limit_s)))

    def tidy(self):
        self.python_tests("tidy", test_python.ensure, "tests/tidy")

    def build(self):
        before = self.tally.failed
        test_bazel.build(self.tally, self.limit_s())
        self.programs = self.tally.failed == before

    def sanitized_e2e(self, name):
        """Runs the attacks on programs with the address sanitizer."""
        self.command(name, ["tools/build", "--asan"])
        self.python_tests(name, test_python.ensure, "tests/e2e", 2,
                          "attack and not as_shipped", [("ESPALIER_TEST_ASAN", "1")])

    def hdfs(self):
        import hdfs_tests
        with contextlib.closing(hdfs_tests.runs()) as runs:
            for label, flags, target in runs:
                test_bazel.run(label, "test", [target], self.tally, self.limit_s(), flags)

    def python(self, name):
        if name in ("e2e", "e2e-long", "yarn", "roots"):
            if name in ("e2e-long", "yarn"):  # tests that also run the Python client
                python_client.ensure()
            self.python_tests(name, test_python.ensure, "tests/" + name.replace("-long", ""),
                              AT_ONCE if name.startswith("e2e") else 2,
                              "long" if name == "e2e-long" else "not long")
        elif name == "spark-smoke":
            self.python_tests(name, lambda: python_client.ensure("spark"), SPARK_SMOKE, 1, "smoke")
        else:
            where, at_once = ("tests/python", 2) if name == "python" else ("tests/spark", AT_ONCE)
            self.python_tests(name, lambda: python_client.ensure(name), where, at_once, "not long")

    def python_tests(self, name, ensure, where, at_once=1, marks="not long", variables=()):
        try:
            python = ensure()
        except (RuntimeError, package_python.WheelError) as error:
            self.tally.fail("%s: cannot make the Python environment: %s" % (name, error))
            return
        test_python.run(name, python, where, self.tally, self.limit_s(), at_once, marks,
                        self.changed, variables)


def named_files(paths, run):
    """Runs Python tests by file. Each folder has a separate environment."""
    for path in paths:
        folder = path.split("/")[1]
        ensure = {"python": lambda: python_client.ensure("python"),
                  "spark": lambda: python_client.ensure("spark")}.get(folder, test_python.ensure)
        if folder != "tidy" and run.programs is None:
            run.part("build")
        if folder != "tidy" and not run.programs:
            return
        run.tally.begin(path)
        run.python_tests(folder, ensure, path, 1, "long or not long")
        run.tally.end()


def chosen_parts(words, labels, files, everything):
    known = [part.name for part in test_parts.PARTS]
    if words:
        return [name for name in known if name in words]
    if labels:
        return ["shipped"]
    if files:
        return []
    if not everything:
        return [part.name for part in test_parts.PARTS if part.usual]
    covered = {name for part in test_parts.PARTS for name in part.covers}
    return [name for name in known if name not in covered]


def run_parts(names, run, resume):
    """Runs parts in order. With `resume` it skips those that are unchanged since they passed.
    Returns the skipped ones. Records a part that passed, unless its files changed meanwhile."""
    skipped, passed = [], test_changes.passed()
    at_start = test_changes.snapshot()
    for name in names:
        inputs, covers = test_parts.named(name).inputs, test_parts.named(name).covers
        now = test_changes.places(at_start, inputs)
        before = passed.get(name if run.everything else name + CHOSEN) if resume else None
        changed = None if None in (before, now) else test_changes.changed(before, now)
        if changed == set():
            skipped.append(name)
            print("\n== %s: skipped, unchanged since it passed on this machine" % name, flush=True)
            continue
        choose = not run.everything and changed and all(map(test_changes.can_be_chosen, changed))
        run.changed = changed if choose and name in BY_FILE else None
        keys = [name + CHOSEN] if run.changed else [
            key for each in (name,) + covers for key in (each, each + CHOSEN)]
        good = run.part(name)
        run.changed = None
        after = test_changes.places(test_changes.snapshot(), inputs)
        if good and not run.labels and now is not None and now == after:
            test_changes.note_passed(keys, now)
    return skipped


def report(tally, skipped, everything):
    test_times.record(tally.parts)
    print("\n" + test_times.summary(tally.parts))
    if everything:
        extra = [part.name for part in tally.parts if not test_parts.named(part.name).usual]
        print("In addition to the usual parts: %s" % (", ".join(extra) or "none"))
        print("Skipped, unchanged since they passed on this machine: %s" %
              (", ".join(skipped) or "none"))
    if tally.passed + tally.failed == 0 and not skipped:
        tally.fail("no test ran")
    for failure in tally.failures:
        print("FAILED " + failure)
    print("%d passed, %d failed, %d skipped" % (tally.passed, tally.failed, tally.skipped))
    return 1 if tally.failed else 0


def parts_text():
    width = max(len(part.name) for part in test_parts.PARTS)
    lines = ["parts (usual ones are marked with *):"]
    for part in test_parts.PARTS:
        lines.append("%s %-*s  %s" % ("*" if part.usual else " ", width, part.name, part.what))
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(prog="tools/test", description=__doc__, epilog=parts_text(),
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="run all parts; skip unchanged ones")
    parser.add_argument("--times", action="store_true",
                        help="show where earlier runs spent their time, and run nothing")
    parser.add_argument("targets", nargs="*", metavar="PART|LABEL|FILE",
                        help="part, Bazel target or Python test to run")
    args = parser.parse_args()
    os.chdir(ROOT)
    if args.times:
        print(test_times.table())
        return 0
    known = {part.name for part in test_parts.PARTS}
    words = [t for t in args.targets if t in known]
    labels = [t for t in args.targets if t.startswith(("//", "-//"))]
    files = [t for t in args.targets if os.path.exists(os.path.join(ROOT, t.split("::")[0])) and
             t.startswith("tests/")]
    unknown = set(args.targets) - set(words) - set(labels) - set(files)
    if unknown:
        parser.error("%s is not a part, a label or a file of tests\n%s" %
                     (", ".join(sorted(unknown)), parts_text()))
    if labels and not (set(words) or {"shipped"}) <= BAZEL:
        parser.error("labels can be combined with %s, not with %s" %
                     (", ".join(sorted(BAZEL)), ", ".join(sorted(set(words) - BAZEL))))
    tally = Tally()
    run = Run(tally, args.all, labels)
    resume = not labels and (args.all or not args.targets) and not os.environ.get("CI")
    skipped = []
    with alone_in_this_checkout(parser):
        try:
            skipped = run_parts(chosen_parts(words, labels, files, args.all), run, resume)
            named_files(files, run)
        except KeyboardInterrupt:
            tally.fail("interrupted")
        return report(tally, skipped, args.all)


@contextlib.contextmanager
def alone_in_this_checkout(parser):
    """Holds a lock, because two runs in one checkout would remove each other's files. Makes SIGTERM
    and SIGHUP end the run like Ctrl-C."""
    def interrupt(*_):
        raise KeyboardInterrupt
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)
    path = os.path.join(test_bazel.RECORDS, "lock")
    os.makedirs(test_bazel.RECORDS, exist_ok=True)
    with open(path, "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            parser.error("another tools/test runs in this checkout. Wait until it ends.")
        yield


if __name__ == "__main__":
    sys.exit(main())
