"""A worker's own memory while it reads files that are far larger than its budget and one shard."""
import gzip
import random
import subprocess
import unittest

import pytest

from accounts import trained_through_a_kill_and_a_join
from espalier import Cluster, EspalierTest

import parquet_file  # in tools/lib, which `espalier` puts on the path

pytestmark = pytest.mark.covers("data", "worker")

MIB = 1 << 20
COLUMNS, BLOCK_ROWS, BLOCKS = 40, 1000, 600
ROWS_BYTES = COLUMNS * BLOCK_ROWS * BLOCKS * 8  # decoded
HANDS = [(1, 2), (2, 1), (3, 2), (5, 1)]  # workers, threads
BUDGET = 16 * MIB
# In addition to the budget: the program, its threads, windows, a batch. Far below the rows.
ALLOWANCE = 112 * MIB


def own_memory(pid):
    """Returns the bytes that no file backs."""
    with open("/proc/%d/status" % pid) as f:
        for line in f:
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) << 10
    return 0


class MemoryTest(EspalierTest):
    def setUp(self):
        super().setUp()
        self.assertGreater(ROWS_BYTES, BUDGET + ALLOWANCE + 32 * MIB)
        chance = random.Random(3)
        self.columns = [[round(chance.uniform(-9, 9), 3) for _ in range(BLOCK_ROWS)]
                        for _ in range(COLUMNS)]
        self.labels = [chance.randint(0, 1) for _ in range(BLOCK_ROWS)]
        self.names = ["x%d" % i for i in range(COLUMNS)]

    def text(self):
        """Returns its first line, and the lines of a block."""
        rows = zip(*self.columns, self.labels)
        return (",".join(self.names + ["y"]) + "\n",
                "".join(",".join(map(str, row)) + "\n" for row in rows))

    def spec(self, path):
        return {"data": {"train": path, "label": "y", "shard_bytes": 1024 * MIB},
                "model": {"task": "classification", "hidden": [4]},
                "train": {"batch": 8192, "leaves": 8, "epochs": 1, "seed": 7}}

    def train_and_watch(self, spec, workers=2):
        """Returns (the result, the maximum of own memory that was observed for each worker)"""
        cluster = Cluster(self, workers, worker_flags=["--memory-bytes-max", str(BUDGET)])
        output = {"path": self.path("watched.bundle"), "overwrite": True}
        job = cluster.submit(self.job("watched", dict(spec, output=output)))
        watch = cluster.start("watch", job)
        seen = {name: 0 for name in cluster.workers}
        while True:
            for name, worker in cluster.workers.items():
                seen[name] = max(seen[name], own_memory(worker.pid))
            try:
                _, err = watch.communicate(timeout=0.01)
                break
            except subprocess.TimeoutExpired:
                continue
        self.assertEqual(watch.returncode, 0, err)
        result = cluster.result("watch", job)
        cluster.stop()
        return result, seen

    def assert_bounded(self, seen):
        for name, most in seen.items():
            self.assertGreater(most, MIB)
            self.assertLess(most, BUDGET + ALLOWANCE, "%s: %d MiB" % (name, most // MIB))

    @pytest.mark.long
    def test_one_compressed_file_and_one_row_group_stay_within_the_budget(self):
        first, block = self.text()
        with open(self.path("rows.csv.gz"), "wb") as f:
            f.write(gzip.compress(first.encode()))
            f.write(gzip.compress(block.encode(), 1) * BLOCKS)
        text, seen = self.train_and_watch(self.spec(self.path("rows.csv.gz")))
        self.assert_bounded(seen)
        columns = list(zip(self.names + ["y"], self.columns + [self.labels]))
        parquet_file.write(self.path("rows.parquet"),
                           [(name, values * BLOCKS) for name, values in columns],
                           BLOCK_ROWS * BLOCKS)
        table, seen = self.train_and_watch(self.spec(self.path("rows.parquet")))
        self.assert_bounded(seen)
        with open(self.path("rows.csv"), "w") as f:
            f.write(first)
            f.write(block * BLOCKS)
        plain = self.result("train", self.job("plain", self.spec(self.path("rows.csv"))),
                            "--workers", 1)
        for result in (text, table):
            self.assertEqual(result["weights_sha256"], plain["weights_sha256"])

    def test_rows_beyond_memory_sorted_by_label_train_in_windows_as_they_do_in_memory(self):
        # One worker has them all: twelve times its budget, and more than it is allowed.
        first, block = self.text()
        rows = sorted(block.splitlines(True), key=lambda line: line.rsplit(",", 1)[1])
        zeros = sum(line.endswith(",0\n") for line in rows)
        # Difference between the classes: the first column is 20 more in the second one.
        rows[zeros:] = ["%.3f,%s" % (float(line.split(",", 1)[0]) + 20, line.split(",", 1)[1])
                        for line in rows[zeros:]]
        with open(self.path("rows.csv"), "w") as f:
            f.write(first)
            for part in ("".join(rows[:zeros]), "".join(rows[zeros:])):
                for _ in range(BLOCKS):
                    f.write(part)
        spec = self.spec(self.path("rows.csv"))
        spec["data"].update(shard_bytes=8 * MIB, shuffle={"window": 20000})
        spec["train"].update(epochs=2, optimizer={"adam": {"learning_rate": 0.02}})
        result, seen = self.train_and_watch(spec, workers=1)
        self.assert_bounded(seen)
        self.assertGreater(result["metrics"]["train"]["accuracy"], 0.95)
        plain = self.result("train", self.job("plain", spec), "--workers", 3)
        self.assertEqual(plain["weights_sha256"], result["weights_sha256"])
        self.assertEqual(plain["metrics"], result["metrics"])

    def test_rows_in_windows_of_mapped_files_give_the_same_bytes_for_all_hands(self):
        spec = self.classes_spec(self.classes_csv("h.csv", 4000), epochs=2)
        spec["data"].update(shard_bytes=16384, shuffle={"window": 700})
        first = self.trained_here("first", spec)
        for workers, threads in HANDS:
            name = "mapped-%dx%d" % (workers, threads)
            cluster = Cluster(self, workers, threads, worker_flags=["--memory-bytes-max", "1"])
            result = cluster.result("submit", self.job(name, spec))
            cluster.stop()
            for key in ("weights_sha256", "metrics"):
                self.assertEqual(result[key], first[key], name)

    def assert_mapped(self, cluster):
        for name, worker in cluster.workers.items():
            with open("/proc/%d/maps" % worker.pid) as f:
                self.assertIn("/spill-%s/" % name, f.read())

    @pytest.mark.long
    def test_rows_in_windows_of_mapped_files_bear_a_kill_and_a_join(self):
        spec = self.classes_spec(self.classes_csv("k.csv", 4000), epochs=90)  # 2,880 steps
        spec["data"].update(shard_bytes=65536, shuffle={"window": 700})
        quiet = self.trained_here("quiet", spec)
        done = trained_through_a_kill_and_a_join(
            self, spec, pause_ms=3, worker_flags=["--memory-bytes-max", "1"],
            look=self.assert_mapped)
        self.assertEqual(done["weights_sha256"], quiet["weights_sha256"])
        self.assertEqual(done["metrics"], quiet["metrics"])


if __name__ == "__main__":
    unittest.main()
