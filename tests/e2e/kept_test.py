"""Files that version 0.1.0 wrote are usable: a checkpoint, a bundle, and a coordinator's journal.

`kept/0.1.0.json` contains the files, compressed and as Base64, and the results of 0.1.0 itself. Its
jobs have paths below /proc/self/cwd, so that they run in any directory. The journal identifies the
table by its modification time.
"""
import base64
import json
import os
import random
import unittest
import zlib

import pytest

from espalier import Cluster, EspalierTest, wait_for

pytestmark = pytest.mark.covers("bundle", "cluster", "coordinator", "training", "worker")

HERE = os.path.dirname(os.path.abspath(__file__))


def table():
    """Returns the table of all kept jobs, as CSV."""
    chance = random.Random(5)
    lines = ["label,f0,f1,f2,f3"]
    for _ in range(300):
        values = [chance.randrange(-1000, 1001) / 250 for _ in range(4)]
        label = "yes" if values[0] + values[1] * values[2] > 0 else "no"
        lines.append(",".join([label] + ["%g" % v for v in values]))
    return "\n".join(lines) + "\n"


class KeptTest(EspalierTest):
    def setUp(self):
        super().setUp()
        with open(os.path.join(HERE, "kept", "0.1.0.json")) as f:
            self.kept = json.load(f)
        for name, lines in self.kept["files"].items():
            os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
            with open(self.path(name), "wb") as f:
                f.write(zlib.decompress(base64.b64decode("".join(lines))))
        csv = self.write("t.csv", table())
        os.utime(csv, ns=(self.kept["modified_ns"], self.kept["modified_ns"]))

    def spec(self, **train):
        spec = json.loads(json.dumps(self.kept["job"]))
        spec["train"].update(train)
        return spec

    def test_a_run_goes_on_from_a_checkpoint_to_the_same_bits(self):
        job = self.job("m", self.spec())
        result = self.result("train", job, "--resume", self.path("m"), "--workers", 3)
        self.assertEqual(result["weights_sha256"], self.kept["undisturbed"])

    def test_a_job_with_the_default_preset_is_another_job(self):
        job = self.job("m", dict(self.spec(), preset="good"))
        _, err = self.espalier("train", job, "--resume", self.path("m"), code=2)
        self.assertRegex(err, "data.features.scale.*preset: none")

    def test_a_model_scores_alike_and_a_job_begins_with_its_weights(self):
        found = self.result("evaluate", self.path("quiet"), self.path("t.csv"))
        for name, value in self.kept["evaluate"]["metrics"].items():
            self.assertEqual(found["metrics"][name], value, name)
        spec = self.spec(initial=self.path("quiet"), epochs=3)
        spec["output"] = self.path("warm")
        result = self.result("train", self.job("warm", spec), "--workers", 2)
        self.assertEqual(result["weights_sha256"], self.kept["warm"])

    def test_a_coordinator_continues_the_jobs_of_a_journal(self):
        cluster = Cluster(self, 1, state=self.path("state"))
        states = {}

        def have_ended():
            jobs = self.result("list", "--coordinator", cluster.address)["jobs"]
            states.update({job["name"]: job["state"] for job in jobs})
            return states["goes-on"] == "SUCCEEDED"
        wait_for("the job of the journal", have_ended, 60)
        self.assertEqual(states, {"done": "SUCCEEDED", "goes-on": "SUCCEEDED", "waits": "QUEUED"})
        for job, expected in (("job-1", "done"), ("job-2", "undisturbed")):
            status = self.result("status", job, "--coordinator", cluster.address)
            self.assertEqual(status["outcome"]["weights_sha256"], self.kept[expected])


if __name__ == "__main__":
    unittest.main()
