"""The Python blocks of docs/python.md and docs/quickstart.md run unchanged, with a cluster on
another port."""
import os
import re
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import espalier
from daemons import ROOT, Cluster, EspalierTest, program

pytestmark = [pytest.mark.covers("coordinator", "worker"), pytest.mark.pages]


def blocks(page, language):
    with open(os.path.join(ROOT, "docs", page), encoding="utf-8") as f:
        return re.findall(r"^```%s\n(.*?)^```$" % language, f.read(), re.M | re.S)


class PagesTest(EspalierTest):
    def setUp(self):
        super().setUp()
        os.environ["ESPALIER_HOME"] = os.path.join(ROOT, "build")
        self.addCleanup(os.environ.pop, "ESPALIER_HOME")
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.directory)
        path = os.path.dirname(program("espalier")) + os.pathsep + os.environ["PATH"]
        subprocess.run(["bash", "-ec", "".join(blocks("quickstart.md", "sh")[:3])], check=True,
                       env=dict(os.environ, PATH=path))
        os.mkdir("new")
        shutil.copy("ring.csv", "new")

    def test_the_blocks_run_as_written(self):
        address = Cluster(self, workers=1).address
        frame = pd.read_csv("ring.csv")
        array = frame[["x", "y"]].to_numpy()
        names = {"frame": frame, "array": array, "matrix": sp.csr_matrix(array),
                 "cluster": espalier.connect(address)}
        for block in blocks("python.md", "python"):
            exec(compile(block.replace("localhost:7700", address), "python.md", "exec"), names)
        self.assertEqual(list(names["model"].predict({"x": [0.5], "y": [0.5]})), ["yes"])
        self.assertEqual(names["result"].stopped_because, "epochs")
        self.assertTrue(os.path.exists("scored/_SUCCESS"))
        np.testing.assert_array_equal(names["model"].predict(frame),
                                      pd.read_csv("scored/part-00000.csv")["prediction"])
        block, = blocks("quickstart.md", "python")
        exec(compile(block, "quickstart.md", "exec"), names)
        self.assertIn("fits.0.layers.0.weight", names["weights"])
