"""tools/test itself: what it counts, what it finds left behind, what a hanging test does."""
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools", "lib"))

import test_leftovers
import test_parts
import test_times
from test_tally import Tally

# The sleep stands for a test that hangs; its limit of 1 s ends it.
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

    def test_the_digest_of_a_part_is_of_its_own_files(self):
        one, other = test_parts.named("tsan"), test_parts.named("spark")
        self.assertEqual(test_parts.digest(one), test_parts.digest(one))
        self.assertNotEqual(test_parts.digest(one), test_parts.digest(other))

    def test_each_word_that_is_no_part_is_refused(self):
        done = subprocess.run([sys.executable, os.path.join(ROOT, "tools/lib/run_tests.py"),
                               "e2ee"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("e2ee is not a part", done.stderr)


if __name__ == "__main__":
    unittest.main()
