"""tools/walk takes the path of a first-time user."""
import os
import re
import subprocess
import unittest

import pytest

from espalier import ROOT, EspalierTest

pytestmark = pytest.mark.covers("cli")


class WalkTest(EspalierTest):
    def test_each_step_succeeds_and_is_timed(self):
        places = self.path("temporary")
        os.mkdir(places)
        done = subprocess.run([os.path.join(ROOT, "tools", "walk"), "--rows", "200"],
                              env=dict(self.environment, TMPDIR=places,
                                       ESPALIER_COORDINATOR="127.0.0.1:9"),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        times = re.findall(r"^(?:espalier )?(\w+).* (\d+\.\d\d) s$", done.stdout, re.M)
        self.assertEqual([name for name, _ in times],
                         ["init", "check", "train", "evaluate", "predict", "total"])
        seconds = [float(took) for _, took in times]
        self.assertAlmostEqual(sum(seconds[:-1]), seconds[-1], delta=0.05)
        self.assertEqual(os.listdir(places), [], "the temporary directory is removed")


if __name__ == "__main__":
    unittest.main()
