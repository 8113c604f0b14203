"""Checkpoints: a run whose processes were all killed continues to the same bits, from local disks
and from HDFS. Damaged checkpoints, or those of another job, are rejected by name."""
import json
import os
import signal
import unittest

import pytest

from espalier import Cluster, EspalierTest, children_of, wait_for

from hadoop import Hdfs  # in tools/lib, which `espalier` puts on the path

pytestmark = pytest.mark.covers("bundle", "member", "worker")

KEEP = 3


class CheckpointTest(EspalierTest):
    def setUp(self):
        super().setUp()
        self.csv = self.classes_csv("t.csv", 3000)

    def spec(self, output="m", epochs=120, **changes):
        train = {"batch": 50, "leaves": 16, "epochs": epochs, "seed": 7,
                 "optimizer": {"adam": {"learning_rate": 0.002}},
                 "schedule": {"cosine": {"warmup": "1 epoch"}},
                 "early_stopping": {"patience": 1000},
                 "checkpoint": {"every_steps": 50, "keep": KEEP}}
        return dict({"data": {"train": self.csv, "label": "label", "validation": {"fraction": 0.2}},
                     "model": {"task": "classification", "hidden": [64, 48], "dropout": 0.3},
                     "train": train, "output": self.path(output)}, **changes)

    def checkpoints(self, output="m"):
        directory = self.path(output + ".checkpoints")
        names = sorted(os.listdir(directory)) if os.path.isdir(directory) else []
        return [os.path.join(directory, n) for n in names if n.endswith(".ckpt")]

    def undisturbed(self):
        """Returns the result of the same job in one run, with other numbers of everything."""
        return self.result("train", self.job("quiet", self.spec("quiet")), "--workers", 2)

    def kill_in_the_middle(self, *arguments, more_than=None):
        """Trains until there are checkpoints, newer than `more_than`, then kills all processes."""
        run = self.start("train", *arguments)
        before = more_than or []
        wait_for("checkpoints", lambda: run.poll() is not None or
                 len(self.checkpoints()) >= 2 and self.checkpoints()[0] not in before, 60)
        self.assertIsNone(run.poll(), "the run ended before it could be killed")
        for pid in children_of(run.pid):
            os.kill(pid, signal.SIGKILL)
        run.kill()
        run.wait()
        self.assertFalse(os.path.exists(self.path("m")))
        return self.checkpoints()

    def read(self, *names):
        with open(self.path(*names), "rb") as f:
            return f.read()

    def assert_same_run(self, result, expected):
        self.assertEqual(result["status"], "SUCCEEDED")
        self.assertEqual(result["weights_sha256"], expected["weights_sha256"])
        self.assertEqual(result["metrics"], expected["metrics"])
        self.assertEqual(self.read("m", "history.csv"), self.read("quiet", "history.csv"))
        model, quiet = (json.loads(self.read(n, "model.json")) for n in ("m", "quiet"))
        for one in (model, quiet):
            one["spec"].pop("name")
        self.assertEqual(model, quiet)
        self.assertEqual(model["accepted"], [])


class ResumeTest(CheckpointTest):
    @pytest.mark.long
    def test_a_run_killed_whole_twice_ends_with_the_bits_of_the_undisturbed_one(self):
        more = {"epochs": 600}  # time for several checkpoints, even on a slow disk
        expected = self.result("train", self.job("quiet", self.spec("quiet", **more)),
                               "--workers", 2)
        job = self.job("cut", self.spec(**more))
        first = self.kill_in_the_middle(job, "--workers", 3)
        _, err = self.espalier("train", job, code=2)
        self.assertIn("--resume " + self.path("m"), err)
        resume = [job, "--resume", self.path("m"), "--workers"]
        second = self.kill_in_the_middle(*resume, 1, more_than=first)
        self.assertGreater(second[-1], first[-1])
        self.assert_same_run(self.result("train", *resume, 4), expected)
        self.assertEqual(len(self.checkpoints()), KEEP)
        self.assertEqual([n for n in os.listdir(self.directory)
                          if "writing" in n or "replaced" in n], [])

    def test_a_damaged_checkpoint_is_named_and_the_one_before_is_used(self):
        expected = self.undisturbed()
        job = self.job("cut", self.spec())
        cut, flipped = self.kill_in_the_middle(job, "--workers", 2)[-2:]
        with open(flipped, "r+b") as f:
            f.seek(os.path.getsize(flipped) // 2)
            byte = f.read(1)
            f.seek(-1, os.SEEK_CUR)
            f.write(bytes([byte[0] ^ 1]))
        cluster = Cluster(self, workers=2)
        result = cluster.result("submit", job, "--resume", self.path("m"))
        self.assert_same_run(result, expected)
        logs = "".join(cluster.log(name) for name in cluster.workers)
        self.assertIn(flipped + " is not used: its SHA-256 differs", logs)
        self.assertIn("continues from " + cut, logs)

    def test_another_job_begins_with_the_weights_of_a_checkpoint(self):
        newest = self.kill_in_the_middle(self.job("cut", self.spec()), "--workers", 2)[-1]
        data = {"train": self.csv, "label": "label"}
        spec = self.spec(data=data, train={"batch": 100, "epochs": 1, "frozen": [0, 1]})
        found = []
        for i, place in enumerate((newest, self.path("m.checkpoints"))):
            spec["train"]["initial"], spec["output"] = place, self.path("warm-%d" % i)
            result = self.result("train", self.job("warm-%d" % i, spec), "--workers", i + 1)
            self.assertEqual(result["status"], "SUCCEEDED", result)
            found.append(self.read("warm-%d" % i, "weights.safetensors"))
        self.assertEqual(*found)
        size = int.from_bytes(found[0][:8], "little")
        header = json.loads(found[0][8:8 + size])
        with open(newest, "rb") as f:
            state = f.read()
        for name, tensor in header.items():
            begin, end = (8 + size + at for at in tensor["data_offsets"])
            # The frozen first layers have the values from when the checkpoint was written.
            self.assertEqual(found[0][begin:end] in state, not name.startswith("layers.2."), name)
        spec["output"] = self.path("other")
        data["features"] = {"columns": ["f%d" % i for i in reversed(range(12))]}
        _, err = self.espalier("check", self.job("turned", spec), code=2)
        self.assertIn("in another order: 'f0' where this job has 'f11'", err)
        del data["features"]
        spec["model"]["hidden"] = [64, 47]
        _, err = self.espalier("check", self.job("other", spec), code=2)
        self.assertIn("hidden layers of [64, 48]; the network has", err)

    def test_with_all_checkpoints_damaged_nothing_starts(self):
        job = self.job("cut", self.spec())
        for path in self.kill_in_the_middle(job, "--workers", 1):
            os.truncate(path, os.path.getsize(path) - 1)
        _, err = self.espalier("train", job, "--resume", self.path("m"), code=2)
        self.assertIn("it was cut off", err)

    def test_other_data_is_refused_with_both_fingerprints_and_accepted_by_flag(self):
        job = self.job("cut", self.spec())
        self.kill_in_the_middle(job, "--workers", 2)
        with open(self.csv) as f:
            lines = f.read().splitlines()
        self.write("t.csv", "\n".join(lines + lines[1:200]) + "\n")
        resume = [job, "--resume", self.path("m"), "--workers", 2]
        _, err = self.espalier("train", *resume, code=1)
        self.assertRegex(err, r"its data differs \(fingerprint \w+, now \w+\)")
        self.assertFalse(os.path.exists(self.path("m")))
        result = self.result("train", *resume, "--accept-other-data")
        self.assertEqual(result["status"], "SUCCEEDED")
        accepted = json.loads(self.read("m", "model.json"))["accepted"]
        self.assertEqual(len(accepted), 1)
        self.assertRegex(accepted[0], r"^data_fingerprint \w+ until step \d+$")

    def test_a_finished_run_goes_on_for_more_epochs(self):
        def run(name, epochs, output, *options):
            spec = dict(self.spec(epochs=epochs), output={"path": self.path(output),
                                                          "overwrite": True})
            spec["train"].update(checkpoint={"every_steps": 1, "keep": 2}, schedule="constant")
            return self.result("train", self.job(name, spec), "--workers", *options)
        whole = run("whole", 8, "w", 1)
        run("short", 4, "m", 1)
        longer = run("longer", 8, "m", 2, "--resume", self.path("m"))
        self.assertEqual(longer["weights_sha256"], whole["weights_sha256"])
        accepted = json.loads(self.read("m", "model.json"))["accepted"]
        self.assertEqual(len(accepted), 1)
        self.assertRegex(accepted[0], r"^end of training: train\.epochs: 4 in the checkpoint, 8 ")

    def test_what_cannot_be_resumed_is_told_before_anything_starts(self):
        job = self.job("cut", self.spec())
        _, err = self.espalier("train", job, "--resume", self.path("none"), code=2)
        self.assertIn("no checkpoint found in " + self.path("none.checkpoints"), err)
        self.kill_in_the_middle(job, "--workers", 1)
        changed = self.spec()
        changed["train"]["batch"] = 16
        other = self.job("other", changed)
        _, err = self.espalier("train", other, "--resume", self.path("m"), code=2)
        self.assertRegex(err, r"train\.batch: \d+ in the checkpoint, 16 in this job")
        _, err = self.espalier("train", job, "--accept-other-arithmetic", code=2)
        self.assertIn("Add --resume RUN", err)

    def test_the_newest_are_kept_and_overwrite_begins_anew(self):
        spec = dict(self.spec(), output={"path": self.path("m"), "overwrite": True})
        for epochs in (20, 5):
            spec["train"] = dict(spec["train"], epochs=epochs)
            result = self.result("train", self.job("one", spec), "--workers", 2)
            names = [os.path.basename(p) for p in self.checkpoints()]
            self.assertEqual(len(names), KEEP)
            # A run on a busy disk may write fewer checkpoints than it keeps. Then those of the run
            # before stay.
            own = [name for name in names if name <= "step-%09d.ckpt" % result["steps"]]
            self.assertTrue(own, names)


class EveryMemberLostTest(CheckpointTest):
    def test_new_workers_go_on_from_the_newest_checkpoint(self):
        expected = self.undisturbed()
        cluster = Cluster(self, workers=2)
        job = cluster.submit(self.job("lost", self.spec(workers={"min": 2, "max": 2})))
        wait_for("checkpoints", lambda: len(self.checkpoints()) >= 2, 60)
        for process in cluster.workers.values():
            process.kill()
        cluster.start_worker("late-1")
        cluster.start_worker("late-2")
        self.assert_same_run(cluster.result("watch", job), expected)
        logs = cluster.log("late-1") + cluster.log("late-2")
        self.assertIn("continues from " + self.path("m.checkpoints/step-"), logs)


class HdfsTest(CheckpointTest):
    @pytest.mark.long
    def test_a_run_on_hdfs_killed_whole_goes_on_to_the_same_bits(self):
        hdfs = Hdfs.start(block_size=1 << 20, settings={
            "dfs.client.block.write.locateFollowingBlock.initial.delay.ms": 5})
        self.addCleanup(hdfs.stop)
        self.environment.update(hdfs.env())
        self.hdfs = hdfs
        expected = self.undisturbed()
        hdfs.files.mkdirs("/runs")
        job = self.job("cut", self.spec(output="hdfs:///runs/m"))
        self.kill_in_the_middle(job, "--workers", 2)
        newest = self.checkpoints()[-1]
        whole = hdfs.get(newest)
        hdfs.put(newest, whole[:len(whole) // 2], overwrite="true")
        result = self.result("train", job, "--resume", "hdfs:///runs/m", "--workers", 3)
        self.assertEqual(result["weights_sha256"], expected["weights_sha256"])
        self.assertEqual(hdfs.files.names("/runs"), ["m", "m.checkpoints"])
        self.assertEqual(len(hdfs.files.names("/runs/m.checkpoints")), KEEP)

    def spec(self, output="m", **changes):
        spec = super().spec(epochs=600, **changes)  # time enough to be killed
        return dict(spec, output=output if output.startswith("hdfs:") else self.path(output))

    def checkpoints(self, output="m"):
        there = "m.checkpoints" in self.hdfs.files.names("/runs")
        names = self.hdfs.files.names("/runs/m.checkpoints") if there else []
        return ["/runs/m.checkpoints/" + n for n in sorted(names) if n.endswith(".ckpt")]


if __name__ == "__main__":
    unittest.main()
