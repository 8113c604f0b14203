"""Tests the kept inputs and the reports of tools/fuzz. Runs no fuzz target."""
import base64
import os
import sys
import tempfile
import unittest
import unittest.mock

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools", "lib"))

import fuzz_targets
from test_tally import Tally

OUTPUT = """#2 INITED cov: 10 ft: 11 corp: 1/1b
#9 NEW    cov: 25 ft: 40 corp: 2/9b
stat::number_of_executed_units: 900
stat::new_units_added:          7
"""


class FuzzTargetsTest(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = holder.name

    def test_each_file_of_kept_inputs_has_some_and_is_short(self):
        for file in os.listdir(fuzz_targets.CORPUS):
            name = file.removesuffix(".txt")
            self.assertTrue(fuzz_targets.kept(name), name)
            size = os.path.getsize(fuzz_targets.corpus_file(name))
            self.assertLessEqual(size, fuzz_targets.FILE_BYTES, name)

    def test_kept_inputs_stay_and_the_shortest_new_ones_are_added(self):
        with unittest.mock.patch.object(fuzz_targets, "CORPUS", self.folder):
            with open(fuzz_targets.corpus_file("t"), "w") as f:
                f.write("/wA=\n")
            inputs = [b"x" * fuzz_targets.FILE_BYTES, b"", b"a", b"\xff\0"]
            self.assertEqual(fuzz_targets.keep("t", inputs), 2)
            self.assertEqual(fuzz_targets.kept("t"), [b"\xff\0", b"", b"a"])

    def test_a_run_is_reported_with_executions_coverage_and_new_inputs(self):
        line = fuzz_targets.summary("merge", 60, OUTPUT)
        self.assertIn("900 executions, 25 edges covered, 7 new inputs", line)

    def test_a_failure_is_reported_with_the_command_that_repeats_it(self):
        self.assertEqual(fuzz_targets.failure("merge", 0, OUTPUT, self.folder), "")
        with open(os.path.join(self.folder, "crash-1"), "wb") as f:
            f.write(b"\xff\0")
        why = fuzz_targets.failure("merge", 77, OUTPUT, self.folder)
        self.assertIn("ended with 77", why)
        self.assertIn("tools/fuzz merge --replay " + base64.b64encode(b"\xff\0").decode(), why)
        self.assertIn("in time", fuzz_targets.failure("merge", None, OUTPUT, self.folder))

    def test_each_target_is_a_case_of_the_part(self):
        program = unittest.mock.Mock()
        program.targets.return_value = ["a", "b"]
        program.fuzz.side_effect = lambda name, _: (name, "a crash" if name == "b" else "")
        tally = Tally()
        tally.begin("fuzz")
        with unittest.mock.patch.object(fuzz_targets, "build", lambda: program):
            fuzz_targets.run(tally)
        self.assertEqual((tally.passed, tally.failed), (1, 1))
        self.assertIn("target b", tally.failures[0])


if __name__ == "__main__":
    unittest.main()
