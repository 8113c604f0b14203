"""L-BFGS and the keys of other programs, through real daemons: the same bits for any number of
workers, with a worker killed and one joining within a line search, and Spark's own example."""
import csv
import json
import os
import signal
import unittest

import pytest

from espalier import Cluster, EspalierTest, children_of

pytestmark = pytest.mark.covers("model", "training")

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "model",
                      "lbfgs_golden.json")


class LbfgsTest(EspalierTest):
    def history(self, result):
        with open(os.path.join(result["bundle"], "history.csv")) as f:
            return list(csv.DictReader(f))

    def end(self, result):
        with open(os.path.join(result["bundle"], "model.json")) as f:
            return json.load(f)["training"]["stopped_because"]

    def lbfgs_spec(self, table, **lbfgs):
        spec = self.classes_spec(table, optimizer={"lbfgs": lbfgs}, batch=100, leaves=8)
        del spec["train"]["epochs"]
        spec["model"]["dropout"] = 0
        return spec

    def long_lbfgs_spec(self, rows=3000):
        """Returns a job of some seconds. Its tolerance is never met, and its float64 leaves room to
        descend."""
        if not os.path.exists(self.path("long.csv")):
            self.classes_csv("long.csv", rows)
        spec = self.lbfgs_spec(self.path("long.csv"), tolerance=0, max_iterations=150)
        spec["model"]["precision"] = "float64"
        spec["train"]["weight_decay"] = 1e-4
        return spec

    def test_the_same_bits_whoever_computes(self):
        table = self.classes_csv("a.csv", 777)
        spec = self.lbfgs_spec(table, max_iterations=12, history=4)
        first = self.same_bits(spec, ((1, 2), (2, 1), (3, 2), (5, 1)))
        self.assertEqual(self.end(first), "iterations")
        rows = self.history(first)
        self.assertEqual(len(rows), 13)  # the start, and each iteration
        losses = [float(row["loss"]) for row in rows]
        self.assertEqual(losses, sorted(losses, reverse=True))

    def test_a_kill_and_a_join_within_a_search_change_nothing(self):
        quiet = self.trained_here("quiet", self.long_lbfgs_spec())
        cluster = Cluster(self, workers=2)
        job = cluster.submit(self.job("disturbed", self.long_lbfgs_spec()))
        cluster.wait_for_training(job)
        cluster.workers["node-1"].kill()
        cluster.start_worker("node-3")
        cluster.start_worker("node-4")
        done = cluster.result("watch", job)
        self.assertEqual(done["status"], "SUCCEEDED", done)
        self.assertEqual(done["weights_sha256"], quiet["weights_sha256"])
        self.assertEqual(done["metrics"], quiet["metrics"])
        self.assertIn("generation 2", cluster.log("coordinator"))

    def test_a_job_whose_workers_are_all_lost_goes_on_from_its_checkpoint(self):
        spec = self.long_lbfgs_spec()
        spec["train"]["checkpoint"] = {"every_steps": 7}  # in the middle of passes and searches
        quiet = self.trained_here("quiet", spec)
        process = self.start("train", self.job("lost", spec), "--workers", 2, "--json")
        for line in process.stdout:
            event = json.loads(line)
            if event.get("event") == "progress" and event["step"] > 100:
                break
        for pid in children_of(process.pid) + [process.pid]:
            os.kill(pid, signal.SIGKILL)
        process.communicate()
        again = dict(spec, resume=self.path("lost.bundle"))
        result = self.trained_here("again", again)
        self.assertEqual(result["weights_sha256"], quiet["weights_sha256"])

    def test_spark_mlp_goes_the_way_of_sparks(self):
        with open(GOLDEN) as f:
            golden = json.load(f)["mllib"]
        tables = {}
        for part in ("train", "test"):
            lines = []
            for at in golden[part + "_rows"]:
                label, *x = golden["rows"][at]
                lines.append(" ".join(["%d" % label] + ["%d:%r" % (i + 1, v)
                                                        for i, v in enumerate(x) if v != 0]))
            tables[part] = self.write(part + ".txt", "\n".join(lines) + "\n")
        weights = self.write("start.txt", json.dumps(golden["initial_weights"]))
        for solver, run in (("l-bfgs", "lbfgs"), ("gd", "gd")):
            for start in (weights, golden["initial_weights"]):
                spec = {"data": {"train": tables["train"], "test": tables["test"],
                                 "format": "libsvm"},
                        "compat": {"spark-mlp": {"layers": [4, 5, 4, 3], "solver": solver,
                                                 "maxIter": 100, "stepSize": 0.5,
                                                 "initialWeights": start}}}
                result = self.trained_here("%s-%d" % (run, start is weights), spec, 2)
                losses = [float(row["loss"]) for row in self.history(result)]
                expected = golden["runs"][run]["objective"]
                self.assertLess(abs(losses[0] / expected[0] - 1), 1e-12)
                for at in range(1, 21):
                    self.assertLess(abs(losses[at] / expected[at] - 1), 1e-5, (solver, at))
                test = result["metrics"]["test"]
                self.assertAlmostEqual(test["accuracy"], golden["runs"][run]["test_accuracy"])
            self.assertEqual(self.end(result), "convergence" if run == "lbfgs" else "epochs")

        # As in Spark 3.5: it ends with its fourth update, and has reported the losses before each.
        spec["compat"]["spark-mlp"].update(solver="gd", tol=0.01)
        early = self.trained_here("early", spec, 2)
        self.assertEqual((self.end(early), early["epochs"]), ("convergence", 4))
        self.assertEqual([row["loss"] for row in self.history(early)],
                         [row["loss"] for row in self.history(result)[:4]])

    def test_spark_mlp_refuses_data_that_does_not_fit_its_layers(self):
        table = self.write("t.csv", "y,a,b\n" + "0,1,2\n1,2,1\n" * 20)
        spec = {"data": {"train": table, "label": "y"},
                "compat": {"spark-mlp": {"layers": [3, 4, 2]}}}
        _, err = self.espalier("train", self.job("inputs", spec), code=1)
        self.assertRegex(err, r"model\.inputs: found 3, .*data\.features .*2")
        spec["compat"]["spark-mlp"]["layers"] = [2, 4, 3]
        _, err = self.espalier("train", self.job("classes", spec), code=1)
        self.assertRegex(err, r"model\.outputs: found 3, .*data\.label .*2")

    def test_sparktorch_trains_so_many_iterations(self):
        table = self.classes_csv("s.csv", 600)
        spec = {"data": {"train": table, "label": "label"}, "model": {"hidden": [16]},
                "compat": {"sparktorch": {"iters": 120, "miniBatch": 32, "partitions": 2,
                                          "validationPct": 0.2, "verbose": 1}}}
        result = self.trained_here("mini", spec, 2)
        self.assertEqual(result["steps"], 120)
        spec["compat"]["sparktorch"] = {"iters": 30}
        result = self.trained_here("full", spec)
        self.assertEqual(result["epochs"], 30)
        spec["compat"]["sparktorch"] = {"mode": "hogwild", "iters": 60, "miniBatch": 32,
                                        "partitions": 2}
        result = self.trained_here("hogwild", spec, 2)
        self.assertEqual(result["steps"], 120)
        self.assertIn("async", result)
        spec["compat"]["sparktorch"] = {"mode": "hogwild"}
        _, err = self.espalier("train", self.job("rowless", spec), code=2)
        self.assertIn("hogwild without miniBatch", err)


if __name__ == "__main__":
    unittest.main()
