"""`espalier sweep`: a grid, random values and folds as ordinary jobs. Completed jobs do not run
again, whatever ended the previous call."""
import json
import os
import re
import shutil
import signal
import unittest

import pytest

from espalier import Cluster, EspalierTest, children_of, command_line_of, json_lines, wait_for

pytestmark = pytest.mark.covers("cli")


def workers_of(pid):
    return [child for child in children_of(pid)
            if command_line_of(child)[:1] and "espalier-worker" in command_line_of(child)[0]]


class SweepTest(EspalierTest):
    def sweep(self, name, job=None, **keys):
        job = job or dict(self.classes_spec(self.classes_csv(name + ".csv", 400)), name=name)
        return self.write(name + ".yaml", json.dumps(
            dict({"job": job, "output": self.path(name + ".out")}, **keys)))

    def bundles(self, name):
        """Returns the weights and the modification time of each bundle, by its place."""
        found = {}
        for folder, _, files in os.walk(self.path(name + ".out")):
            if "model.json" in files:
                path = os.path.join(folder, "model.json")
                with open(path) as f:
                    found[os.path.relpath(folder, self.path(name + ".out"))] = (
                        json.load(f)["weights_sha256"], os.stat(path).st_mtime_ns)
        return found

    def test_a_grid_with_folds_finds_the_best_and_is_not_done_twice(self):
        keys = {"grid": {"train.optimizer.adam.learning_rate": [1e-5, 0.01],
                         "model.hidden": [[4], [16]]}, "folds": 3, "metric": "val_accuracy"}
        path = self.sweep("grid", **keys)
        out, _ = self.espalier("sweep", path, "--workers", 2, "--threads", 1, "--json")
        lines = json_lines(out)
        table, events = lines[-1], lines[:-1]
        self.assertEqual((table["status"], len(table["trials"]), len(events)),
                         ("SUCCEEDED", 4, 12))
        for trial in table["trials"]:
            values = [run["value"] for run in trial["runs"]]
            self.assertEqual(len(values), 3)
            self.assertAlmostEqual(trial["mean"], sum(values) / 3)
            self.assertAlmostEqual(
                trial["deviation"] ** 2, sum((v - trial["mean"]) ** 2 for v in values) / 3)
        best = max(table["trials"], key=lambda t: t["mean"])
        self.assertEqual(table["best"]["trial"], best["trial"])
        self.assertEqual(best["values"]["train.optimizer.adam.learning_rate"], "0.01")
        with open(self.path("grid.out", "sweep.json")) as f:
            self.assertEqual(json.load(f), table)
        made = self.bundles("grid")
        self.assertEqual(len(made), 12)
        # A run is the ordinary job with its values.
        with open(os.path.join(table["best"]["bundles"][0], "model.json")) as f:
            model = json.load(f)
        self.assertEqual(model["spec"]["data"]["validation"]["fold"], 0)
        rows = [m["rows"]["validation"] for m in map(self.model_of, best["runs"])]
        self.assertEqual(sum(rows), 400)
        spec = self.classes_spec(self.path("grid.csv"))
        spec["data"]["validation"] = {"fold": 1, "of": 3}
        spec["model"]["hidden"] = [4]
        spec["train"]["optimizer"] = {"adam": {"learning_rate": 1e-5}}
        alone = self.result("train", self.job("alone", spec), "--workers", 1)
        self.assertEqual(alone["weights_sha256"], made["trial-001/fold-1"][0])
        # A repeated sweep trains nothing. A missing run is made again, with the same bytes.
        again, _ = self.espalier("sweep", path)
        self.assertIn("12 of 12 jobs are done already", again)
        self.assertIn("best: trial %d" % best["trial"], again)
        self.assertEqual(self.bundles("grid"), made)
        shutil.rmtree(self.path("grid.out", "trial-002", "fold-2"))
        shown, _ = self.espalier("sweep", path, "--workers", 1)
        self.assertRegex(shown, r"trial-002/fold-2 \(.*\), val_accuracy \d\.\d{4}\n")
        after = self.bundles("grid")
        self.assertEqual([k for k in made if made[k] != after[k]], ["trial-002/fold-2"])
        self.assertEqual({k: v[0] for k, v in after.items()}, {k: v[0] for k, v in made.items()})
        # Another job in the same place is rejected.
        self.sweep("grid", job=dict(self.classes_spec(self.path("grid.csv"), seed=8)), **keys)
        _, err = self.espalier("sweep", path, code=2)
        self.assertIn("the bundle of another job", err)

    def test_folds_by_class_have_their_share_of_each_on_any_number_of_workers(self):
        path = self.sweep("shares", folds=4, stratify=True)
        made = []
        for workers in (1, 3):
            out, _ = self.espalier("sweep", path, "--workers", workers, "--threads", 1, "--json")
            made.append({place: sha for place, (sha, _) in self.bundles("shares").items()})
            runs = json_lines(out)[-1]["trials"][0]["runs"]
            folds = [[sum(row) for row in self.model_of(run)["metrics"]["validation"][
                "confusion_matrix"]] for run in runs]
            shutil.rmtree(self.path("shares.out"))
        self.assertEqual(made[0], made[1])
        with open(self.path("shares.csv")) as f:
            labels = [line.split(",")[0] for line in f][1:]
        for label, counts in enumerate(zip(*folds)):
            self.assertEqual(sum(counts), labels.count(str(label)))
            self.assertLessEqual(max(counts) - min(counts), 1)

    def parsed(self, cluster, worker):
        """Returns for each of its jobs (job, shards that it parsed, and shards that it took over).
        """
        return [(job, int(own), int(taken)) for job, own, taken in re.findall(
            r"(job-\d+) has parsed (\d+) of its shards itself and taken over (\d+) that",
            cluster.log(worker))]

    def test_the_table_is_parsed_once_a_fold_and_the_models_are_those_of_jobs_alone(self):
        csv = self.classes_csv("once.csv", 2000)
        spec = dict(self.classes_spec(csv), name="once")
        spec["data"] = dict(spec["data"], shard_bytes=4096)
        keys = {"job": spec, "folds": 2, "parallel": 1,
                "grid": {"model.hidden": [[4], [8], [16]], "train.batch": [32]}}
        cluster = Cluster(self, 2)
        table = cluster.result("sweep", self.sweep("once", **keys))
        self.assertEqual(table["status"], "SUCCEEDED")
        taken = 0
        for worker in cluster.workers:
            jobs = self.parsed(cluster, worker)
            self.assertEqual([job for job, _, _ in jobs], ["job-%d" % n for n in range(1, 7)])
            for _, own, _ in jobs[:2]:  # the two folds
                self.assertGreater(own, 0)
            for _, own, _ in jobs[2:]:
                self.assertEqual(own, 0, jobs)
            taken += jobs[-1][2]
        self.assertGreater(taken, 5)
        made = self.bundles("once")
        last = json.loads(json.dumps(spec))
        last["data"]["validation"] = {"fold": 1, "of": 2}
        last["model"]["hidden"] = [16]
        last["train"]["batch"] = 32
        alone = cluster.result("submit", self.job("alone-once", last))
        self.assertEqual(alone["weights_sha256"], made["trial-003/fold-1"][0])
        # That job keeps nothing, and has used the memory, so the next sweep starts from the
        # beginning.
        again = dict(keys, output=self.path("again.out"))
        cluster.result("sweep", self.sweep("again", **again))
        self.assertEqual({k: v[0] for k, v in self.bundles("again").items()},
                         {k: v[0] for k, v in made.items()})
        for worker in cluster.workers:
            self.assertGreater(self.parsed(cluster, worker)[6][1], 0)
        # Nor is a changed table used as the earlier one.
        with open(csv, "r+") as f:
            f.write(f.read().splitlines(True)[-1])
        cluster.result("sweep", self.sweep("changed", **dict(keys, output=self.path("other.out"))))
        for worker in cluster.workers:
            self.assertGreater(self.parsed(cluster, worker)[12][1], 0)

    def test_rows_that_leave_no_room_for_what_is_kept_are_trained_on_all_the_same(self):
        csv = self.classes_csv("tight.csv", 60_000)
        spec = dict(self.classes_spec(csv, epochs=1), name="tight")
        keys = {"job": spec, "folds": 3, "parallel": 1, "grid": {"train.batch": [256, 512]}}
        made = {}
        for name, budget in [("ample", 1 << 30), ("tight", 1 << 20)]:
            cluster = Cluster(self, 1, worker_flags=["--memory-bytes-max", str(budget)])
            table = cluster.result("sweep", self.sweep(name, **keys))
            self.assertEqual(table["status"], "SUCCEEDED", table)
            made[name] = {k: v[0] for k, v in self.bundles(name).items()}
            for _, own, _ in self.parsed(cluster, "node-1")[3:]:
                self.assertEqual(own > 0, name == "tight")
        self.assertEqual(made["ample"], made["tight"])

    def test_refit_trains_the_best_values_on_all_rows_once(self):
        csv = self.classes_csv("refit.csv", 400)
        spec = dict(self.classes_spec(csv), name="refit")
        spec["data"].pop("validation", None)
        keys = {"job": spec, "folds": 2, "refit": True, "metric": "val_accuracy",
                "grid": {"train.optimizer.adam.learning_rate": [1e-5, 0.01]}}
        path = self.sweep("refit", **keys)
        out, _ = self.espalier("sweep", path, "--workers", 2, "--threads", 1, "--json")
        lines = json_lines(out)
        self.assertEqual([line.get("event") for line in lines], ["trial"] * 4 + ["refit", None])
        table = lines[-1]
        self.assertEqual((table["status"], table["best"]["trial"]), ("SUCCEEDED", 2))
        self.assertEqual(table["refit"]["bundle"], self.path("refit.out", "best-002"))
        model = self.model_of(table["refit"])
        self.assertEqual((model["rows"]["train"], model["rows"]["validation"]), (400, 0))
        best = json.loads(json.dumps(spec))
        best["train"]["optimizer"] = {"adam": {"learning_rate": 0.01}}
        alone = self.result("train", self.job("refit-alone", best), "--workers", 1)
        self.assertEqual(alone["weights_sha256"], model["weights_sha256"])
        made = self.bundles("refit")
        again, _ = self.espalier("sweep", path)
        self.assertIn("5 of 5 jobs are done already", again)
        self.assertIn("and on all rows\n  " + self.path("refit.out", "best-002"), again)
        shutil.rmtree(self.path("refit.out", "best-002"))
        out, _ = self.espalier("sweep", path, "--workers", 1)
        self.assertIn("4 of 5 jobs are done already", out)
        self.assertIn("best-002 (train.optimizer.adam.learning_rate: 0.01), trained on all rows",
                      out)
        self.assertEqual({k: v[0] for k, v in self.bundles("refit").items()},
                         {k: v[0] for k, v in made.items()})

    def test_a_refit_lasts_for_the_mean_best_epoch_of_the_folds(self):
        csv = self.classes_csv("early.csv", 600)
        spec = dict(self.classes_spec(csv), name="early")
        spec["data"].pop("validation", None)
        spec["train"] = {"epochs": 30, "seed": 3, "optimizer": {"adam": {"learning_rate": 0.05}},
                         "early_stopping": {"metric": "val_loss", "patience": 2}}
        path = self.sweep("early", job=spec, folds=3, refit=True,
                          grid={"train.batch": [32]})
        out, _ = self.espalier("sweep", path, "--workers", 1, "--json")
        table = json_lines(out)[-1]
        best = [run["best_epoch"] for run in table["trials"][0]["runs"]]
        epochs = table["refit"]["epochs"]
        self.assertEqual(epochs, round(sum(best) / 3))
        self.assertLess(epochs, 30)
        alone = json.loads(json.dumps(spec))
        del alone["train"]["early_stopping"]
        alone["train"].update(epochs=epochs, batch=32)
        model = self.model_of(table["refit"])
        self.assertEqual(model["training"]["epochs"], epochs)
        self.assertEqual(self.result("train", self.job("alone", alone))["weights_sha256"],
                         model["weights_sha256"])
        again, _ = self.espalier("sweep", path)
        self.assertIn("4 of 4 jobs are done already", again)
        self.assertIn("mean best epoch of the folds: %d" % epochs, again)

    def test_a_table_that_has_changed_since_is_refused_until_the_runs_of_before_are_gone(self):
        csv = self.classes_csv("changed.csv", 400)
        spec = dict(self.classes_spec(csv), name="changed")
        keys = {"job": spec, "grid": {"train.batch": [32, 64]}, "folds": 2}
        path = self.sweep("changed", **keys)
        before = self.result("sweep", path, "--workers", 1)
        self.assertEqual([(i["files"], i["bytes"]) for i in before["inputs"]],
                         [(1, os.path.getsize(csv))])
        made = self.bundles("changed")
        with open(csv) as f:
            text = f.read()
        with open(csv, "a") as f:
            f.write(text.splitlines(True)[-1])
        shutil.rmtree(self.path("changed.out", "trial-002", "fold-1"))
        for _ in range(2):  # also when nothing is left to do
            _, err = self.espalier("sweep", path, "--workers", 1, code=2)
            self.assertIn("the table of trial-001/fold-0 has changed", err)
            self.assertIn("or remove the bundles", err)
        self.assertEqual(len(self.bundles("changed")), 3)
        # The same rows under a new time. A user who removes sweep.json confirms this, but the sweep
        # still compares the data that the runs have read.
        with open(csv, "w") as f:
            f.write(text)
        _, err = self.espalier("sweep", path, "--workers", 1, code=2)
        self.assertIn("remove only sweep.json", err)
        os.remove(self.path("changed.out", "sweep.json"))
        after = self.result("sweep", path, "--workers", 1)
        self.assertEqual(after["status"], "SUCCEEDED")
        self.assertEqual({k: v[0] for k, v in self.bundles("changed").items()},
                         {k: v[0] for k, v in made.items()})
        # Other rows, without sweep.json: the repeated run has not read the same data as the others.
        with open(csv, "w") as f:
            f.writelines(text.splitlines(True)[:-1])
        os.remove(self.path("changed.out", "sweep.json"))
        shutil.rmtree(self.path("changed.out", "trial-002", "fold-1"))
        _, err = self.espalier("sweep", path, "--workers", 1, code=2)
        self.assertIn("trial-001/fold-1 and trial-002/fold-1 have read different rows", err)
        _, err = self.espalier("sweep", path, "--workers", 1, code=2)
        self.assertIn("trial-001/fold-1 and trial-002/fold-1 have read different rows", err)
        # Without the earlier runs, it is a sweep like any other.
        shutil.rmtree(self.path("changed.out"))
        self.assertEqual(self.result("sweep", path, "--workers", 1)["status"], "SUCCEEDED")

    def test_a_table_that_changes_under_a_sweep_ends_it(self):
        csv = self.classes_csv("under.csv", 400)
        spec = dict(self.classes_spec(csv), name="under")
        # The second run takes long enough to see the table change, once it has read it.
        path = self.sweep("under", job=spec, grid={"train.epochs": [2, 3000]}, parallel=1)
        cluster = Cluster(self, 1)
        process = cluster.start("sweep", path, "--json")
        self.assertEqual(json.loads(process.stdout.readline())["trial"], 1)
        wait_for("the second run's steps", lambda: [
            job["state"] for job in cluster.result("list")["jobs"]][1:] == ["TRAINING"])
        with open(csv, "a") as f:
            f.write("\n")
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 2, (out, err))
        self.assertIn("the table of trial-002 has changed", err)

    def model_of(self, run):
        with open(os.path.join(run["bundle"], "model.json")) as f:
            return json.load(f)

    def test_random_values_on_a_cluster_run_side_by_side_and_a_failed_trial_is_told(self):
        spec = dict(self.classes_spec(self.classes_csv("r.csv", 400), epochs=400), name="r")
        path = self.sweep("random", job=spec, random={
            "trials": 4, "seed": 2, "keys": {"train.optimizer.sgd.learning_rate": {
                "log_uniform": [1e-3, 1e-1]}, "train.batch": [32, 64]}})
        cluster = Cluster(self, 2)
        table = cluster.result("sweep", path)
        self.assertEqual((table["status"], len(table["trials"])), ("SUCCEEDED", 4))
        jobs = cluster.result("list")["jobs"]
        spans = sorted((j["started_ms"], j["ended_ms"]) for j in jobs)
        self.assertTrue(any(b[0] < a[1] for a, b in zip(spans, spans[1:])), spans)
        # 1e30 is not a usable learning rate, so that trial's loss is not finite.
        path = self.sweep("fails", job=spec, grid={
            "train.optimizer.sgd.learning_rate": [0.01, 1e30]})
        table = cluster.result("sweep", path, code=1)
        self.assertEqual(table["status"], "FAILED")
        self.assertEqual([t["runs"][0]["status"] for t in table["trials"]],
                         ["SUCCEEDED", "FAILED"])
        self.assertEqual(table["best"]["trial"], 1)
        self.assertTrue(table["trials"][1]["runs"][0]["error"]["message"])
        # Nor is that of a trial that is rejected before it begins, because the column does not
        # exist.
        path = self.sweep("refused", job=spec, grid={
            "data.features.columns": [["f0", "f1"], ["none such"]]})
        table = cluster.result("sweep", path, code=1)
        self.assertEqual([t["runs"][0]["status"] for t in table["trials"]],
                         ["SUCCEEDED", "FAILED"])
        self.assertIn("none such", table["trials"][1]["runs"][0]["error"]["message"])

    def test_ctrl_c_ends_cleanly_and_the_same_command_goes_on(self):
        csv = self.classes_csv("c.csv", 400)
        spec = dict(self.classes_spec(csv), name="c")
        # The second trial never ends. After it is stopped, the sweep is called with fewer trials.
        path = self.sweep("cut", job=spec, grid={"train.epochs": [2, 100_000_000]}, parallel=1)
        process = self.start("sweep", path, "--workers", 1, "--json")
        first = json.loads(process.stdout.readline())
        self.assertEqual((first["trial"], first["status"]), (1, "SUCCEEDED"))
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, err)
        self.assertIn("with the remaining runs", err)
        table = json_lines(out)[-1]
        self.assertEqual(table["status"], "CANCELLED")
        self.assertEqual([t["runs"][0]["status"] for t in table["trials"]],
                         ["SUCCEEDED", "WAITING"])
        self.assertEqual(list(self.bundles("cut")), ["trial-001"])
        made = self.bundles("cut")
        self.sweep("cut", job=spec, grid={"train.epochs": [2, 3]}, parallel=1)
        table = self.result("sweep", path, "--workers", 1)
        self.assertEqual(table["status"], "SUCCEEDED", table)
        self.assertTrue(table["trials"][0]["runs"][0]["earlier"])
        self.assertEqual(self.bundles("cut")["trial-001"], made["trial-001"])

    def test_a_job_that_wants_more_workers_than_are_started_runs_on_those(self):
        spec = dict(self.classes_spec(self.classes_csv("m.csv", 400)), workers={"min": 4})
        path = self.sweep("least", job=spec, grid={"train.seed": [1, 2]})
        table = self.result("sweep", path, "--workers", 2)
        self.assertEqual(table["status"], "SUCCEEDED", table)

    def test_workers_that_die_leave_no_trial_waiting_for_ever(self):
        spec = dict(self.classes_spec(self.classes_csv("d.csv", 400), epochs=1_000_000),
                    workers={"min": 2}, name="d")
        spec["train"]["checkpoint"] = {"every_steps": 50}  # which shows that a trial has begun
        path = self.sweep("died", job=spec, grid={"train.seed": [1, 2]}, parallel=2)
        process = self.start("sweep", path, "--workers", 2, "--json")
        wait_for("a worker", lambda: len(workers_of(process.pid)) == 2)
        wait_for("a trial", lambda: os.path.isdir(
            self.path("died.out", "trial-001.checkpoints")))
        os.kill(workers_of(process.pid)[0], signal.SIGKILL)
        _, err = process.communicate(timeout=60)
        self.assertNotEqual(process.returncode, 0)
        self.assertIn("1 of 2 workers live", err)

    def test_a_killed_client_leaves_jobs_that_the_next_call_takes_over(self):
        spec = dict(self.classes_spec(self.classes_csv("k.csv", 400), epochs=3000), name="k")
        path = self.sweep("killed", job=spec, grid={"train.seed": [1, 2]})
        cluster = Cluster(self, 1)
        process = cluster.start("sweep", path, "--json")
        wait_for("a job", lambda: cluster.result("list")["jobs"])
        process.kill()
        process.communicate()
        table = cluster.result("sweep", path)
        self.assertEqual(table["status"], "SUCCEEDED", table)
        self.assertEqual(len(cluster.result("list")["jobs"]), 2)

    def test_what_is_no_sweep_is_one_error_before_anything_begins(self):
        path = self.sweep("bad", grid={"train.btach": [1]})
        _, err = self.espalier("sweep", path, code=2)
        self.assertIn("did you mean 'batch'?", err)
        path = self.sweep("nothing")
        _, err = self.espalier("sweep", path, code=2)
        self.assertIn("nothing to vary", err)
        _, err = self.espalier("sweep", self.path("nowhere.yaml"), code=2)
        self.assertIn("cannot read", err)
        self.assertFalse(os.path.exists(self.path("bad.out")))

    def test_a_full_queue_is_asked_again_until_there_is_room(self):
        config = self.write("coordinator.yaml", "queue_max: 1\n")
        cluster = Cluster(self, workers=1, coordinator_flags=["--config", config])
        long = self.long_spec(self.classes_csv("long.csv", 400))
        running = cluster.submit(self.job("running", long))
        wait_for("a job that runs", lambda: cluster.status(running)["state"] == "TRAINING")
        queued = cluster.submit(self.job("queued", long))
        sweep = self.sweep("patient", grid={"model.hidden": [[4]]}, metric="val_loss")
        process = cluster.start("sweep", sweep, "--json")
        wait_for("a refusal", lambda: "submit again" in cluster.log("coordinator") or
                 "queue_max" in cluster.log("coordinator"))
        self.assertIsNone(process.poll())
        cluster.espalier("cancel", queued)
        cluster.espalier("cancel", running)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, err)
        self.assertEqual(json_lines(out)[-1]["status"], "SUCCEEDED")


if __name__ == "__main__":
    unittest.main()
