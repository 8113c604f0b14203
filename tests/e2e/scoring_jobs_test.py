"""`espalier predict` and `espalier evaluate` as jobs of a cluster: the bytes of a local run,
whichever process dies meanwhile. A job that did not succeed leaves no output."""
import json
import os
import random
import shutil
import signal
import time
import unittest

import pytest

from accounts import slow_cluster
from espalier import Cluster, EspalierTest, json_lines, wait_for
from scoring_jobs import files_of, outcome, slow_scoring_cluster, wait_for_scoring

pytestmark = pytest.mark.covers("scoring")

ROWS_LONG = 60_000  # some 100 shards
SHARD_BYTES = 16 << 10


class ScoringJobsTest(EspalierTest):
    def houses(self, hidden=(16,)):
        """Returns the bundle of a regression with a model that requires small shards."""
        spec = {"data": {"train": self.houses_csv("houses.csv", 800), "label": "price",
                         "features": {"nulls": "mean"}, "shard_bytes": SHARD_BYTES},
                "model": {"task": "regression", "hidden": list(hidden)},
                "train": {"batch": 50, "leaves": 4, "epochs": 3, "seed": 3}}
        self.result("train", self.job("houses", spec), "--workers", 1)
        return self.path("houses.bundle")

    def classes(self):
        spec = {"data": {"train": self.classes_csv("rows.csv", 900), "label": "label",
                         "shard_bytes": SHARD_BYTES},
                "model": {"task": "classification", "hidden": [16]},
                "train": {"batch": 50, "leaves": 4, "epochs": 3, "seed": 3}}
        self.result("train", self.job("classes", spec), "--workers", 1)
        return self.path("classes.bundle")

    def new_houses(self, rows, bad=3):
        """Returns a table to score, with some rows that are not numbers."""
        path = self.houses_csv("new.csv", rows, seed=11)
        with open(path) as f:
            lines = f.read().splitlines()
        for row in random.Random(5).sample(range(1, len(lines)), bad):
            lines[row] = "3,old,1.5,2.25,100"
        return self.write("new.csv", "\n".join(lines) + "\n")

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as f:
            return f.read()

    def assert_output(self, output, local):
        self.assertEqual(files_of(output), files_of(local))
        self.assert_nothing_beside(output)

    def assert_nothing_beside(self, output):
        folder, name = os.path.split(output)

        def left():
            return [n for n in os.listdir(folder) if n.startswith("." + name)]
        try:
            wait_for("nothing is left beside the output", lambda: not left())
        except AssertionError:
            self.fail({n: sorted(files_of(os.path.join(folder, n))) for n in left()})

    def many_shards(self):
        """Returns a model, a table of some 100 shards and its local prediction."""
        model, data, local = self.houses(), self.new_houses(ROWS_LONG), self.path("local")
        self.result("predict", model, data, "--output", local, "--keep", "age")
        return model, data, local

    # ---- same result as a local run ----

    def test_any_number_of_workers_writes_the_bytes_of_a_local_prediction(self):
        model, data = self.houses(), self.new_houses(4000)
        keep = ["--keep", "age", "--keep", "rooms"]
        arguments = {"csv": keep, "parquet": [*keep, "--on-bad-row", "reject"]}
        here = {}
        for kind in ("csv", "parquet"):
            here[kind] = self.result("predict", model, data, "--output", self.path("local-" + kind),
                                     "--format", kind, *arguments[kind])
        self.assertGreater(here["csv"]["parts"], 2)
        self.assertEqual(here["csv"]["rejected"], 3)
        for workers in (1, 2, 3):
            cluster = Cluster(self, workers=workers)
            for kind in ("csv", "parquet"):
                output = self.path("there-%s-%d" % (kind, workers))
                result = cluster.result("predict", model, data, "--output", output,
                                        "--format", kind, *arguments[kind])
                for key in ("status", "rows", "rejected", "parts", "format", "rejects"):
                    self.assertEqual(result[key], here[kind][key], key)
                self.assertEqual(result["output"], output)
                self.assert_output(output, self.path("local-" + kind))
            cluster.stop()

    def test_an_evaluation_has_the_metrics_of_a_local_one(self):
        for model, data in ((self.houses(), self.new_houses(3000)),
                            (self.classes(), self.classes_csv("more.csv", 3000, seed=8))):
            here = self.result("evaluate", model, data)
            cluster = Cluster(self, workers=2)
            there = cluster.result("evaluate", model, data)
            for key in ("status", "rows", "rejected", "rejects", "metrics", "report"):
                self.assertEqual(there[key], here[key], key)
            self.assertEqual(here["notes"], [])
            with open(os.path.join(model, "model.json")) as f:
                train = json.load(f)["spec"]["data"]["train"][0]
            here = self.result("evaluate", model, train)["notes"]
            self.assertRegex(here[0], "^the model was trained on rows of '%s'" % train)
            self.assertEqual(cluster.result("evaluate", model, train)["notes"], here)
            out, _ = cluster.espalier("evaluate", model, train)
            self.assertIn("note: " + here[0], out)
            self.assertIn("evaluated", out)
            self.assertIn("data", out)
            out, _ = cluster.espalier("list")
            self.assertIn("evaluate", out)
            cluster.stop()

    def test_the_report_is_the_page_of_a_local_evaluation(self):
        for model, data, words in ((self.houses(), self.new_houses(3000), "Residuals of price"),
                                   (self.classes(), self.classes_csv("more.csv", 3000, seed=8),
                                    "Confusion matrix")):
            self.result("evaluate", model, data, "--report", self.path("local.html"))
            local = self.read("local.html")
            self.assertIn(words, local)
            for workers in (1, 2, 3, 5):
                cluster = Cluster(self, workers=workers)
                report = self.write("there.html", "what was there before")
                found = cluster.result("evaluate", model, data, "--report", report)
                self.assertEqual(found["report"], report)
                self.assertEqual(self.read("there.html"), local)
                self.assert_nothing_beside(report)
                os.remove(report)
                spec = {"evaluate": {"model": model, "data": data}, "output": "there.html"}
                found = cluster.result("submit", self.write("job.yaml", json.dumps(spec)))
                self.assertEqual(found["report"], report)
                self.assertEqual(self.read("there.html"), local)
                self.assert_nothing_beside(report)  # it is killed next
                cluster.stop()

    def test_a_job_file_asks_for_the_same(self):
        model, data = self.houses(), self.new_houses(1000)
        self.result("predict", model, data, "--output", self.path("local"), "--keep", "age")
        cluster = Cluster(self, workers=1)
        text = {"name": "scores", "predict": {"model": "houses.bundle", "data": "new.csv",
                                              "keep": "age"},
                "workers": {"min": 1}, "output": "scored"}
        job = self.write("scores.yaml", json.dumps(text, indent=1) + "\n")
        result = cluster.result("submit", job)
        self.assertEqual(result["output"], self.path("scored"))
        self.assert_output(self.path("scored"), self.path("local"))
        status = cluster.status("job-1")
        self.assertEqual((status["kind"], status["name"], status["state"]),
                         ("predict", "scores", "SUCCEEDED"))
        out, _ = cluster.espalier("status", "job-1")
        self.assertIn("scored 99", out.replace(",", ""))
        _, err = self.espalier("train", job, code=2)
        self.assertIn("espalier submit", err)
        text["predict"]["modle"] = "x"
        _, err = cluster.espalier("submit", self.write("bad.yaml", json.dumps(text, indent=1)),
                                  code=2)
        self.assertIn("did you mean 'model'?", err)

    def test_no_cell_is_a_formula_when_it_is_asked_for(self):
        model, data = self.houses(), self.new_houses(300, bad=1)
        with open(data) as f:
            head, *rows = f.read().splitlines()
        data = self.write("new.csv", "\n".join([head + ",=note"] + [
            row + (",=1+1" if i % 2 else ",-1") for i, row in enumerate(rows)]) + "\n")
        self.result("predict", model, data, "--output", self.path("local"), "--keep", "=note",
                    "--spreadsheet-safe")
        cells = {line.split(",")[0] for name, content in files_of(self.path("local")).items()
                 if name.startswith("part-") for line in content.decode().splitlines()}
        self.assertEqual(cells, {"'=note", "'=1+1", "-1"})
        text = {"predict": {"model": model, "data": data, "keep": "=note",
                            "spreadsheet_safe": True}, "output": self.path("scored")}
        cluster = Cluster(self, workers=1)
        cluster.result("submit", self.write("scores.yaml", json.dumps(text)))
        self.assert_output(self.path("scored"), self.path("local"))
        cluster.result("predict", model, data, "--output", self.path("there"), "--keep", "=note",
                       "--spreadsheet-safe")
        self.assert_output(self.path("there"), self.path("local"))

    # ---- deaths ----

    def test_a_killed_workers_shards_are_redone_and_none_is_there_twice(self):
        model, data, local = self.many_shards()
        cluster = slow_scoring_cluster(self, workers=3)
        output = self.path("scored")
        out, _ = cluster.espalier("predict", model, data, "--output", output, "--keep", "age",
                                  "--detach")
        job = out.split()[0]

        def done():
            return cluster.status(job)["progress"]["profiling_bytes_done"]
        wait_for_scoring(cluster, job)
        self.assertFalse(os.path.exists(output))
        wait_for("20 shards", lambda: done() > 20 * SHARD_BYTES)
        time.sleep(1.1)  # the scored shards are reported each second
        cluster.workers["node-2"].kill()
        wait_for("another generation", lambda: cluster.status(job)["generation"] > 1)
        self.assertGreater(done(), 10 * SHARD_BYTES, "what was told is not done again")
        result = outcome(cluster, job)
        self.assertEqual(result["status"], "SUCCEEDED", result)
        self.assertGreater(cluster.status(job)["generation"], 1)
        self.assert_output(output, local)

    @pytest.mark.long
    def test_residuals_are_counted_once_whoever_dies(self):
        model, data, _ = self.many_shards()
        self.result("evaluate", model, data, "--report", self.path("local.html"))
        cluster = slow_scoring_cluster(self, workers=3, state=self.path("state"))
        report = self.path("report.html")
        watcher = cluster.start("evaluate", model, data, "--report", report, "--json")
        wait_for_scoring(cluster, "job-1")
        self.assertFalse(os.path.exists(report))
        cluster.kill_coordinator()
        cluster.restart_coordinator()
        wait_for_scoring(cluster, "job-1")
        generation = cluster.status("job-1")["generation"]
        cluster.workers["node-2"].kill()
        out, err = watcher.communicate(timeout=100)
        self.assertEqual(watcher.returncode, 0, err)
        self.assertEqual(json_lines(out)[-1]["report"], report)
        self.assertGreater(cluster.status("job-1")["generation"], generation)
        self.assertEqual(self.read("report.html"), self.read("local.html"))
        self.assert_nothing_beside(report)

    def test_of_a_cancelled_evaluation_there_is_no_report(self):
        model, data, _ = self.many_shards()
        cluster = slow_scoring_cluster(self, workers=2)
        report = self.path("report.html")
        process = cluster.start("evaluate", model, data, "--report", report)
        wait_for_scoring(cluster, "job-1")
        self.assertTrue([n for n in os.listdir(self.directory) if n.startswith(".report.html.")])
        cluster.espalier("cancel", "job-1")
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1)
        self.assert_nothing_beside(report)
        self.assertFalse(os.path.exists(report))

    def test_a_coordinator_that_dies_and_comes_back_ends_it(self):
        model, data, local = self.many_shards()
        cluster = slow_scoring_cluster(self, workers=2, state=self.path("state"))
        output = self.path("scored")
        watcher = cluster.start("predict", model, data, "--output", output, "--keep", "age",
                                "--json")
        wait_for_scoring(cluster, "job-1")
        cluster.kill_coordinator()
        cluster.restart_coordinator()
        out, err = watcher.communicate(timeout=100)
        self.assertEqual(watcher.returncode, 0, err)
        self.assertEqual(json_lines(out)[-1]["status"], "SUCCEEDED")
        self.assert_output(output, local)

    def test_of_a_cancelled_job_nothing_is_to_be_seen(self):
        model, data, local = self.many_shards()
        cluster = slow_scoring_cluster(self, workers=2)
        output = self.path("scored")
        os.mkdir(output)
        with open(os.path.join(output, "part-00000.csv"), "w") as f:
            f.write("what stood there before\n")
        before = files_of(output)
        process = cluster.start("predict", model, data, "--output", output, "--keep", "age",
                                "--overwrite")
        wait_for_scoring(cluster, "job-1")
        cluster.espalier("cancel", "job-1")
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1)
        self.assertEqual(files_of(output), before)
        self.assert_nothing_beside(output)
        cluster.espalier("predict", model, data, "--output", output, "--keep", "age", "--overwrite")
        self.assert_output(output, local)

    def test_interrupted_the_command_detaches_and_the_job_goes_on(self):
        model, data, local = self.many_shards()
        cluster = slow_scoring_cluster(self, workers=1)
        output = self.path("scored")
        process = cluster.start("predict", model, data, "--output", output, "--keep", "age")
        wait_for_scoring(cluster, "job-1")
        out, _ = cluster.espalier("list")
        self.assertIn("SCORING", out)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 0, err)
        self.assertIn("espalier watch job-1", err)
        self.assertEqual(outcome(cluster, "job-1")["status"], "SUCCEEDED")
        self.assert_output(output, local)

    def test_a_model_that_was_replaced_meanwhile_is_not_taken_for_the_planned_one(self):
        model, data = self.houses(), self.new_houses(500)
        other = self.path("other.bundle")
        shutil.copytree(model, other)
        shutil.rmtree(model)
        again = self.houses(hidden=(8,))
        cluster = Cluster(self, workers=0)
        for command in ("predict", "evaluate"):
            flags = ["--output", self.path("scored")] if command == "predict" else []
            cluster.espalier(command, other, data, *flags, "--detach")
        shutil.rmtree(other)
        shutil.copytree(again, other)
        cluster.start_worker("node-1")
        for job in ("job-1", "job-2"):
            wait_for(job + " ending", lambda job=job: cluster.status(job)["state"] == "FAILED", 60)
            out, err = cluster.espalier("watch", job, code=1)
            self.assertIn("the model has changed since", out + err)
        self.assertFalse(os.path.exists(self.path("scored")))

    def test_a_directory_that_is_there_already_stays(self):
        model, data = self.houses(), self.new_houses(2000)
        self.result("predict", model, data, "--output", self.path("local"))
        cluster = Cluster(self, workers=2)
        os.mkdir(self.path("elsewhere"))
        output = self.path("scored")
        os.symlink(self.path("elsewhere"), output)
        cluster.result("predict", model, data, "--output", output)
        self.assertTrue(os.path.islink(output))
        self.assert_output(output, self.path("local"))
        cluster.result("predict", model, data, "--output", output, "--overwrite")
        self.assertTrue(os.path.islink(output))
        self.assert_output(output, self.path("local"))

    @pytest.mark.long
    def test_what_a_cancelled_job_left_is_removed_by_the_next_coordinator(self):
        model, data, _ = self.many_shards()
        # A second for each shard, because writing the files below takes a while, too.
        cluster = slow_cluster(self, 2, 1000, state=self.path("state"))
        output = self.path("scored")
        cluster.espalier("predict", model, data, "--output", output, "--keep", "age", "--detach")
        wait_for_scoring(cluster, "job-1")
        staging = [n for n in os.listdir(os.path.dirname(output)) if n.startswith(".scored")]
        self.assertEqual(len(staging), 1)
        for number in range(30_000):  # removing these takes a while
            self.write("%s/g1-part-%d" % (staging[0], number), "left")
        cluster.espalier("cancel", "job-1")
        cluster.kill_coordinator()
        self.assertTrue(os.path.exists(self.path(staging[0])))
        cluster.restart_coordinator()
        self.assert_nothing_beside(output)

    # ---- invalid requests ----

    def test_what_is_wrong_is_said_before_anything_is_read(self):
        model, data = self.houses(), self.new_houses(100)
        cluster = Cluster(self, workers=1)
        os.mkdir(self.path("there"))
        self.write("there/thesis.txt", "years of work")
        narrow = self.write("narrow.csv", "rooms,age\n3,20\n")
        unlabelled = self.write("unlabelled.csv", "rooms,age,income,distance\n3,20,1.5,2\n")
        for arguments, words in (
                ((self.path("nothing"), data, "--output", self.path("o")), "does not exist"),
                ((model, narrow, "--output", self.path("o")), "income"),
                ((model, self.path("no.csv"), "--output", self.path("o")), "no.csv"),
                ((model, data, "--output", self.path("there")), "already exists"),
                ((model, data, "--output", self.path("there"), "--overwrite"), "thesis.txt"),
                ((model, data, "--output", self.path("o"), "--keep", "colour"), "colour"),
                ((model, data, "--output", self.path("o"), "--threads", "1"), "--threads")):
            _, err = cluster.espalier("predict", *arguments, code=2)
            self.assertIn(words, err)
        _, err = cluster.espalier("evaluate", model, data, "--report", self.path("there"), code=2)
        self.assertIn("is a directory; expected a file", err)
        _, err = cluster.espalier("evaluate", model, unlabelled, code=2)
        self.assertIn("price", err)
        self.assertFalse(os.path.exists(self.path("o")))
        self.assertEqual(os.listdir(self.path("there")), ["thesis.txt"])

    def test_the_first_bad_row_may_fail_it_as_here(self):
        model, data = self.houses(), self.new_houses(1000, bad=1)
        cluster = Cluster(self, workers=1)
        output = self.path("scored")
        arguments = ["predict", model, data, "--output", output, "--on-bad-row", "fail"]
        here = self.result(*arguments, code=1)["error"]
        there = cluster.result(*arguments, code=1)["error"]
        for key in ("file", "row", "column"):
            self.assertEqual(there[key], here[key], key)
        self.assertIn("on_bad_row is fail", json.dumps(there))
        self.assertFalse(os.path.exists(output))
        self.assert_nothing_beside(output)

    def test_too_many_rejects_fail_it_as_here_and_leave_nothing(self):
        model, data = self.houses(), self.new_houses(1000)
        cluster = Cluster(self, workers=2)
        output = self.path("scored")
        _, here = self.espalier("predict", model, data, "--output", output, "--rejects-limit", "1",
                                code=1)
        _, there = cluster.espalier("predict", model, data, "--output", output, "--rejects-limit",
                                    "1", code=1)
        self.assertIn("more than 1 row cannot be scored", here)
        self.assertTrue(there.endswith(here), there + here)
        self.assertFalse(os.path.exists(output))
        self.assert_nothing_beside(output)


if __name__ == "__main__":
    unittest.main()
