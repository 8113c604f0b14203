"""Tests what tools/test counts, what it finds left behind, and how it ends a hanging test."""
import os
import re
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools", "lib"))

import run_tests
import test_changes
import test_leftovers
import test_parts
import test_times
from test_tally import Tally

# The sleep simulates a hanging test. The limit of 1 s ends it.
TESTS = '''
import time, unittest, pytest

class ATest(unittest.TestCase):
    def test_passes(self):
        pass

    @pytest.mark.timeout(1)
    def test_hangs(self):
        time.sleep(600)

    def test_passes_after_it(self):
        pass
'''


def running(name="part"):
    tally = Tally()
    tally.begin(name)
    return tally


class RunnerTest(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = holder.name

    def test_a_hanging_test_fails_with_its_stack_and_the_rest_goes_on(self):
        with open(os.path.join(self.folder, "a_test.py"), "w") as f:
            f.write(TESTS)
        report = os.path.join(self.folder, "report.xml")
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-c", os.path.join(ROOT, "tests", "pytest.ini"),
             "--confcutdir", ROOT, "-p", "no:cacheprovider", "--junitxml", report, self.folder],
            capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("time.sleep(600)", done.stdout)
        tally = running()
        self.assertEqual(tally.count_xml(report, "part"), 1)
        self.assertEqual((tally.passed, tally.failed), (2, 1))

    def test_files_and_processes_left_behind_fail_the_part_and_are_removed(self):
        tally = running()
        with test_leftovers.watched(self.folder, "part", tally) as environment:
            with open(os.path.join(environment["TMPDIR"], "left"), "w"):
                pass
            left = subprocess.Popen(["sleep", "600"], env=environment)
        self.addCleanup(left.wait)
        self.assertEqual(tally.failed, 2)
        self.assertIn("sleep 600", tally.failures[0])
        self.assertIn("left", tally.failures[1])
        self.assertFalse(os.path.exists(environment["TMPDIR"]))
        self.assertEqual(left.wait(timeout=10), -9)

    def test_a_part_over_its_budget_is_warned_of_by_name(self):
        tally = running("tidy")
        tally.end()
        self.assertNotIn("WARNING", test_times.summary(tally.parts))
        tally.part.wall_s = test_parts.named("tidy").budget_s + 1
        self.assertIn("WARNING: tidy took", test_times.summary(tally.parts))

    def test_a_change_is_found_by_its_place_if_the_part_depends_on_it(self):
        files = test_changes.snapshot()
        one, other = (test_changes.places(files, test_parts.named(name).inputs)
                      for name in ("tsan", "spark"))
        self.assertIn("src/data", one)
        self.assertNotIn("README.md", one)
        self.assertIn("README.md", other)
        # A Python test changes no C++ part. Tests share only the other files of tests/e2e.
        self.assertNotIn("tests/e2e/train_test.py", set(one) | set(other))
        self.assertIn("tests/e2e/train_test.py", test_changes.places(
            files, test_parts.named("e2e-long").inputs))
        after = dict(one, **{"src/data": "of other files", "src/new": "of new files"})
        self.assertEqual(test_changes.changed(one, after), {"src/data", "src/new"})

    def test_tests_that_cover_no_changed_room_are_left_out(self):
        for name, mark in (("a", 'covers("data")'), ("b", 'covers("rpc")'), ("c", "smoke")):
            with open(os.path.join(self.folder, name + "_test.py"), "w") as f:
                f.write("import pytest\npytestmark = pytest.mark.%s\ndef test_%s(): pass\n" %
                        (mark, name))
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-v", "-c", os.path.join(ROOT, "tests", "pytest.ini"),
             "-p", "conftest", "-p", "no:cacheprovider", self.folder], text=True,
            capture_output=True, timeout=60, env=dict(
                os.environ, PYTHONPATH=os.path.join(ROOT, "tests"),
                **{test_changes.CHANGED: "src/data"}))
        self.assertIn("2 passed, 1 deselected", done.stdout)
        self.assertNotIn("b_test.py", done.stdout)

    def test_each_room_has_tests_that_cover_it(self):
        covered = set()
        for folder in ("e2e", "python", "spark"):
            where = os.path.join(ROOT, "tests", folder)
            for name in os.listdir(where):
                if name.endswith("_test.py"):
                    with open(os.path.join(where, name)) as f:
                        for marks in re.findall(r"mark\.covers\((.*?)\)", f.read()):
                            covered.update("src/" + room for room in re.findall(r'"(.*?)"', marks))
        rooms = {place for place in test_changes.places(
            test_changes.snapshot(), ("src/",)) if place.startswith("src/")}
        self.assertEqual(covered, rooms - test_changes.FOUNDATION)

    def test_each_word_that_is_no_part_is_refused(self):
        done = subprocess.run([sys.executable, os.path.join(ROOT, "tools/lib/run_tests.py"),
                               "e2ee"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("e2ee is not a part", done.stderr)


class PerformedRun(run_tests.Run):
    """A run whose parts call a function of `outcomes` instead of running tests."""

    def __init__(self, outcomes, everything=False):
        super().__init__(Tally(), everything)
        self.outcomes, self.done = outcomes, []

    def perform(self, name):
        self.done.append((name, self.changed))
        self.outcomes.get(name, passes)(self.tally)
        if name == "build":
            self.programs = not self.tally.failed


def passes(tally):
    tally.passed += 1


def fails(tally):
    tally.fail("a case")


def skips(tally):
    tally.passed, tally.skipped = tally.passed + 1, tally.skipped + 1


def raises(_tally):
    raise FileNotFoundError("bazel")


class RecordTest(unittest.TestCase):
    """Tests which parts run and which are recorded as passed."""

    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.places = {"src/data": "1", "src/rpc": "1"}
        for name, value in (("PASSED", os.path.join(holder.name, "passed.json")),
                            ("places", lambda _files, _inputs: dict(self.places))):
            replaced = unittest.mock.patch.object(test_changes, name, value)
            replaced.start()
            self.addCleanup(replaced.stop)

    def run_parts(self, names, outcomes=None, everything=False):
        run = PerformedRun(outcomes or {}, everything)
        run_tests.run_parts(names, run, True)
        return run

    def test_what_passed_is_skipped_until_it_changes(self):
        self.assertEqual(len(self.run_parts(["asan", "tidy"]).done), 2)
        self.assertEqual(self.run_parts(["asan", "tidy"]).done, [])
        self.places["src/data"] = "2"
        self.assertEqual(len(self.run_parts(["asan", "tidy"]).done), 2)

    def test_what_did_not_pass_runs_again(self):
        for outcome in (fails, skips, raises, lambda tally: None):
            run = self.run_parts(["asan", "tidy"], {"asan": outcome})
            self.assertIn("asan", [name for name, _ in run.done])
            self.assertEqual(run.tally.failed, 1)
        self.assertEqual([name for name, _ in self.run_parts(["asan", "tidy"]).done], ["asan"])

    def test_parts_without_programs_fail_and_run_again(self):
        run = self.run_parts(["build", "e2e"], {"build": fails})
        self.assertEqual([name for name, _ in run.done], ["build"])
        self.assertEqual(run.tally.failed, 2)
        self.assertIn("e2e", [name for name, _ in self.run_parts(["build", "e2e"]).done])

    def test_files_that_change_during_a_part_are_not_recorded_as_tested(self):
        def edits(tally):
            passes(tally)
            self.places["src/data"] = "2"
        self.run_parts(["asan"], {"asan": edits})
        self.assertEqual(len(self.run_parts(["asan"]).done), 1)

    def test_a_choice_of_tests_does_not_count_as_all_of_them(self):
        self.run_parts(["e2e"])
        self.places["src/data"] = "2"
        self.assertIn(("e2e", {"src/data"}), self.run_parts(["e2e"]).done)
        self.assertNotIn("e2e", [name for name, _ in self.run_parts(["e2e"]).done])
        self.assertIn(("e2e", None), self.run_parts(["e2e"], everything=True).done)

    def test_all_leaves_out_what_another_part_covers_and_records_it(self):
        everything = run_tests.chosen_parts([], [], [], True)
        self.assertEqual({"asan", "shipped", "spark-smoke"},
                         {part.name for part in test_parts.PARTS} - set(everything))
        self.run_parts(["thorough"], everything=True)
        self.assertEqual(self.run_parts(["asan"]).done, [])
        self.assertEqual(len(self.run_parts(["shipped"]).done), 1)


if __name__ == "__main__":
    unittest.main()
