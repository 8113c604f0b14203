"""Runs the tests and counts their cases. Called by tools/test.

Without targets: the house rules, every Bazel test as it is shipped, the end-to-end tests with the
real programs, those of the Python client with its wheel, and the tests of the pure rooms once more
under the address sanitizer (with undefined behaviour) and the thread sanitizer. These are the
phases `tidy`, `plain`, `hdfs`, `e2e`, `python`, `asan` and `tsan`. --all adds `spark` (Spark as a
submitter, by PySpark 3.5 and 4), `yarn` (clusters in YARN's containers that lose nodes, grow and
shrink), `roots` (the packages on other Debian systems, with and without systemd; as root), the
sanitizers on every target, `fuzz` (hostile CSV, LIBSVM, Parquet, XML of Hadoop's, replies of
WebHDFS and YAML at length under the address sanitizer) and `long` (the property tests with many
more seeds).

With targets: the phases whose words are among them. Bazel labels are tested as shipped, with --all
also under the sanitizers, or by those of the words `plain`, `asan`, `tsan` and `long` beside them.

The last line is "N passed, N failed, N skipped". A case is a Catch2 TEST_CASE or a Python test; a
program that fails without a failed case (a crash, a sanitizer's report, a time limit, a target that
does not build) counts as one failed case.
"""
import argparse
import json
import os
import shlex
import subprocess
import sys
import time
import unittest
import urllib.parse
import xml.etree.ElementTree

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BAZEL = shlex.split(os.environ.get("BAZEL", "bazel"))

# Rooms whose tests link no gRPC: only there do sanitizers report nothing but our own faults.
PURE_ROOMS = ["base", "spec", "plan", "security", "storage", "model", "data", "config", "bundle",
              "cluster", "collective", "training", "scoring", "sim", "yarn"]
SANITIZERS = ["asan", "tsan"]
SKIPS_EXPECTED = 0
WHY_LINES = 12  # of what a failed case said that are repeated at the end
PHASE_LIMIT_S = 45 * 60
LONG_PHASE_LIMIT_S = 4 * 60 * 60
PHASES = ["tidy", "plain", "hdfs", "e2e", "python", "spark", "yarn", "roots", *SANITIZERS, "fuzz",
          "long"]  # by the words that ask for them, in their order
USUAL = ["tidy", "plain", "hdfs", "e2e", "python", *SANITIZERS]  # without --all
WITH_PROGRAMS = ["e2e", "python", "spark", "yarn", "roots"]  # they need tools/build
LONG_SCALE = 50  # --all: how many times more seeds the property tests try
# --all: tests that mutate good input; how many times more of it they try under a sanitizer.
FUZZ_TARGETS = ["//tests/fuzz/...", "//tests/config/...", "//tests/data:parquet_test"]
FUZZ_SCALE = 20


class Tally:
    def __init__(self):
        self.passed, self.failed, self.skipped = 0, 0, 0
        self.failures = []  # "phase: target: case"
        self.phases = []    # (name, seconds)
        self.tests = []     # (seconds, "phase: target")

    def fail(self, name, why=""):
        """why: what was printed of it; its last lines come again with the name, at the end."""
        self.failed += 1
        lines = [line for line in why.splitlines() if line.strip()]
        self.failures.append("\n    ".join([name] + lines[-WHY_LINES:]))


def count_xml(path, label, tally):
    """Adds the cases of a test.xml; returns how many of them failed."""
    failed = 0
    for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
        bad = [e for e in case if e.tag in ("failure", "error")]
        if bad:
            failed += 1
            tally.fail("%s: %s" % (label, case.get("name")),
                       "\n".join((e.get("message") or "") + "\n" + (e.text or "") for e in bad))
        elif case.find("skipped") is not None:
            tally.skipped += 1
        else:
            tally.passed += 1
    return failed


def local_path(uri):
    return urllib.parse.unquote(urllib.parse.urlparse(uri).path)


def count_result(event, label, tally):
    """One attempt of one test program."""
    result = event["testResult"]
    name = "%s: %s" % (label, event["id"]["testResult"]["label"])
    seconds = float(result.get("testAttemptDurationMillis", 0)) / 1000
    if not result.get("cachedLocally"):
        tally.tests.append((seconds, name))
    xml_path = next((local_path(o["uri"]) for o in result.get("testActionOutput", [])
                     if o["name"] == "test.xml" and "uri" in o), None)
    failed = 0
    if xml_path and os.path.exists(xml_path):
        try:
            failed = count_xml(xml_path, name, tally)
        except xml.etree.ElementTree.ParseError:
            tally.fail(name + ": wrote an unreadable test.xml")
            failed = 1
    elif result["status"] == "PASSED":
        tally.fail(name + ": passed but left no test.xml to count")
    if result["status"] != "PASSED" and not failed:
        tally.fail("%s: the program ended with %s" % (name, result["status"]))


def count_events(path, label, tally):
    """Reads Bazel's build events. Returns the number of test programs and of broken targets."""
    programs, broken = 0, set()
    if not os.path.exists(path):
        return 0, broken
    with open(path) as f:
        for line in f:
            event = json.loads(line)
            kind = event.get("id", {})
            if "testResult" in event:
                programs += 1
                count_result(event, label, tally)
            elif "targetCompleted" in kind and "aborted" not in event:
                if not event.get("completed", {}).get("success"):
                    broken.add(kind["targetCompleted"]["label"])
            elif "aborted" in event and event["aborted"].get("reason") not in ("SKIPPED", None):
                where = (kind.get("targetCompleted") or kind.get("configuredLabel") or
                         kind.get("unconfiguredLabel") or {})
                names = [where["label"]] if "label" in where else []
                broken.update(names + kind.get("pattern", {}).get("pattern", []))
    for target in sorted(broken):
        tally.fail("%s: %s: does not build" % (label, target))
    return programs, broken


def bazel_test(label, targets, tally, flags=(), limit_s=PHASE_LIMIT_S):
    """bazel test of `targets`; their cases go into the tally."""
    started = time.monotonic()
    events = os.path.join(ROOT, "build", "test", label.replace(" ", "-") + ".json")
    os.makedirs(os.path.dirname(events), exist_ok=True)
    if os.path.exists(events):
        os.remove(events)
    print("\n== %s: bazel test %s" % (label, " ".join(targets)), flush=True)
    command = BAZEL + ["test", "--keep_going", "--build_event_json_file=" + events,
                       "--test_summary=terse"] + list(flags) + ["--"] + list(targets)
    if not sys.stdout.isatty():
        command[len(BAZEL) + 1:len(BAZEL) + 1] = ["--noshow_progress", "--color=no"]
    try:
        code = subprocess.run(command, cwd=ROOT, timeout=limit_s).returncode
    except subprocess.TimeoutExpired:
        code = "no end within %d minutes" % (limit_s // 60)
    before = tally.failed
    programs, _ = count_events(events, label, tally)
    # 4 is "no tests were found", which a target without tests may say.
    if code not in (0, 4) and tally.failed == before:
        tally.fail("%s: bazel test ended with %s" % (label, code))
    tally.phases.append((label, time.monotonic() - started))
    print("== %s: %d test programs, %.0f s" % (label, programs, time.monotonic() - started),
          flush=True)


class CountingResult(unittest.TextTestResult):
    tally, label = None, ""

    def stopTest(self, test):
        super().stopTest(test)
        now = time.monotonic()
        self.tally.tests.append((now - self.started, "%s: %s" % (self.label, test.id())))

    def startTest(self, test):
        self.started = time.monotonic()
        super().startTest(test)


def python_tests(label, folder, tally):
    """The unittest files of a folder, in this process."""
    started = time.monotonic()
    print("\n== %s: the Python tests of %s" % (label, folder), flush=True)
    path = os.path.join(ROOT, folder)
    loader = unittest.TestLoader()
    suite = loader.discover(path, pattern="*_test.py", top_level_dir=path)
    kind = type("Result", (CountingResult,), {"tally": tally, "label": label})
    result = unittest.TextTestRunner(sys.stdout, verbosity=2, resultclass=kind).run(suite)
    bad = result.failures + result.errors + [(t, "") for t in result.unexpectedSuccesses]
    why = {test.id(): trace for test, trace in bad}
    for name in sorted(why):
        tally.fail("%s: %s" % (label, name), why[name])
    tally.skipped += len(result.skipped)
    tally.passed += max(0, result.testsRun - len(why) - len(result.skipped))
    tally.phases.append((label, time.monotonic() - started))


def spark_tests(tally):
    """With each Spark that is supported."""
    import python_client
    for label in python_client.SPARKS:
        client_tests(label, tally, "spark")


def client_tests(label, tally, folder="python"):
    """The tests of the Python client, or of Spark, in a Python of their own that has its wheel."""
    import package_python
    import python_client
    started = time.monotonic()
    print("\n== %s: the Python tests of tests/%s" % (label, folder), flush=True)
    path = os.path.join(ROOT, "build", "test", label + ".xml")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.exists(path):
        os.remove(path)
    try:
        python = python_client.ensure(label)
        code = subprocess.run([python, "-B", "tools/lib/unittest_xml.py",
                               os.path.join(ROOT, "tests", folder), path], cwd=ROOT,
                              timeout=PHASE_LIMIT_S).returncode
    except (RuntimeError, package_python.WheelError) as error:
        print(error)
        code = "no environment to run in"
    except subprocess.TimeoutExpired:
        code = "no end within %d minutes" % (PHASE_LIMIT_S // 60)
    failed = 0
    if os.path.exists(path):
        failed = count_xml(path, label, tally)
        for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
            tally.tests.append((float(case.get("time")), "%s: %s" % (label, case.get("name"))))
    if code and not failed:
        tally.fail("%s: ended with %s" % (label, code))
    tally.phases.append((label, time.monotonic() - started))


def hdfs_tests(tally):
    """The C++ tests that need an HDFS: a plain one, one with two NameNodes, a secured one."""
    from hadoop import Hdfs
    for label, ha in (("hdfs", False), ("hdfs ha", True)):
        with Hdfs.start(ha=ha, block_size=1 << 20) as hdfs:
            bazel_test(label, ["//tests/storage:hdfs_test"], tally,
                       ["--test_env=ESPALIER_TEST_HDFS=%s/tmp" % hdfs.uri,
                        "--test_env=ESPALIER_TEST_HADOOP_CONF=" + hdfs.conf_dir])
    with Hdfs.start(kerberos=True, block_size=1 << 20) as hdfs:
        bazel_test("hdfs kerberos", ["//tests/storage:secured_test"], tally,
                   ["--test_env=%s=%s" % pair for pair in secured_environment(hdfs).items()])


def secured_environment(hdfs):
    """What //tests/storage:secured_test is told; it is alice there, by her keytab."""
    import hadoop_kdc
    token, cache = (os.path.join(hdfs.dir, "kdc", "alice." + kind) for kind in ("token", "cache"))
    hadoop_kdc.kinit(hdfs.state, "alice", "FILE:" + cache)
    hdfs.run("fetchdt", "--renewer", "espalier", token, env={"KRB5CCNAME": "FILE:" + cache})
    return dict(hdfs.env("alice"), ESPALIER_TEST_HDFS=hdfs.uri + "/tmp",
                ESPALIER_TEST_HADOOP_CONF=hdfs.conf_dir,
                ESPALIER_TEST_SWEBHDFS="swebhdfs://%s/tmp" % hdfs.daemon("nn1")["https"],
                ESPALIER_TEST_CA=hadoop_kdc.ca_file(hdfs.state), ESPALIER_TEST_TOKEN_FILE=token)


def build_programs(tally):
    started = time.monotonic()
    code = subprocess.run(["tools/build", "--testing"], cwd=ROOT).returncode
    if code:
        tally.fail("build: tools/build ended with %d" % code)
    tally.phases.append(("build", time.monotonic() - started))
    return code == 0


def all_targets():
    """Not //...: that would follow the bazel-* links of another Bazel's output into its sources."""
    return ["//%s/..." % top for top in ("config", "deploy", "proto", "src", "tests", "tools")
            if os.path.isdir(os.path.join(ROOT, top))]


def pure_targets():
    return ["//tests/%s/..." % room for room in PURE_ROOMS
            if os.path.exists(os.path.join(ROOT, "tests", room, "BUILD"))]


def run_phase(name, labels, everything, tally):
    """`labels`: the Bazel targets that were asked for; none: those that the phase has by itself."""
    if name == "plain":
        bazel_test(name, labels or all_targets(), tally)
    elif name == "hdfs":
        hdfs_tests(tally)
    elif name in SANITIZERS:
        targets = labels or (["//tests/..."] if everything else pure_targets())
        bazel_test(name, targets, tally, ["--config=" + name])
    elif name == "fuzz":
        bazel_test(name, FUZZ_TARGETS, tally,
                   ["--config=asan", "--test_env=ESPALIER_TEST_SCALE=%d" % FUZZ_SCALE,
                    "--test_timeout=3600"])
    elif name == "long":
        bazel_test(name, labels or ["//tests/..."], tally,
                   ["--test_env=ESPALIER_TEST_SCALE=%d" % LONG_SCALE, "--test_timeout=3600"],
                   LONG_PHASE_LIMIT_S)
    elif name == "python":
        client_tests(name, tally)
    elif name == "spark":
        spark_tests(tally)
    else:
        python_tests(name, "tests/" + name, tally)


def chosen_phases(words, labels, everything):
    if not words and not labels:
        return PHASES if everything else USUAL
    if labels and not set(words) & {"plain", "long", *SANITIZERS}:
        return words + ["plain"] + (SANITIZERS if everything else [])
    return words


def run(targets, everything, tally):
    labels = [t for t in targets if t not in PHASES]
    chosen = chosen_phases([t for t in targets if t in PHASES], labels, everything)
    built = None
    for name in PHASES:
        if name not in chosen:
            continue
        if name in WITH_PROGRAMS and built is None:
            built = build_programs(tally)
        if name not in WITH_PROGRAMS or built:
            run_phase(name, labels, everything, tally)


def report(tally):
    total = sum(seconds for _, seconds in tally.phases)
    print("\nWhere the time went: " + ", ".join("%s %.0f s" % p for p in tally.phases) +
          "; in all %.1f min" % (total / 60))
    for seconds, name in sorted(tally.tests, reverse=True)[:5]:
        print("  %6.1f s  %s" % (seconds, name))
    if tally.skipped != SKIPS_EXPECTED:
        tally.fail("%d cases were skipped, %d expected" % (tally.skipped, SKIPS_EXPECTED))
    if tally.passed + tally.failed == 0:
        tally.fail("no test ran")
    for failure in tally.failures:
        print("FAILED " + failure)
    print("%d passed, %d failed, %d skipped" % (tally.passed, tally.failed, tally.skipped))
    return 1 if tally.failed else 0


def main():
    parser = argparse.ArgumentParser(prog="tools/test", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true",
                        help="all phases, and the sanitizers on all targets")
    parser.add_argument("targets", nargs="*",
                        help="Bazel labels and words (%s); none: what is told above" %
                        ", ".join(PHASES))
    args = parser.parse_args()
    os.chdir(ROOT)
    tally = Tally()
    run(args.targets, args.all, tally)
    return report(tally)


if __name__ == "__main__":
    sys.exit(main())
