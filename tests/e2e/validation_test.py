"""Validation rows by group and by time: the same from any format and number of workers."""
import json
import random
import unittest

import pytest

from espalier import EspalierTest, json_lines
import parquet_file  # in tools/lib, which `espalier` puts on the path

pytestmark = pytest.mark.covers("data")

ROWS = 600


def table():
    """Writes customers with 1 to 40 rows each, and two rows a day in no order."""
    chance = random.Random(5)
    customers, x, y = [], [], []
    while len(customers) < ROWS:
        customers += ["c%d" % len(customers)] * chance.randrange(1, 40)
    customers = customers[:ROWS]
    chance.shuffle(customers)
    for _ in range(ROWS):
        x.append(round(chance.uniform(-1, 1), 3))
        y.append("yes" if x[-1] + chance.gauss(0, 0.3) > 0 else "no")
    days = [i // 2 for i in range(ROWS)]
    chance.shuffle(days)
    return customers, ["2023-%02d-%02d" % (1 + d // 28, 1 + d % 28) for d in days], x, y


class ValidationTest(EspalierTest):
    def setUp(self):
        super().setUp()
        self.customers, self.days, self.x, self.y = table()
        rows = zip(self.customers, self.days, self.x, self.y)
        self.csv = self.write("t.csv", "customer,day,x,y\n" +
                              "".join("%s,%s,%s,%s\n" % row for row in rows))
        self.parquet = self.path("t.parquet")
        parquet_file.write(self.parquet, [("customer", self.customers), ("day", self.days),
                                          ("x", self.x), ("y", self.y)], 100)

    def spec(self, data, validation):
        return {"data": {"train": data, "label": "y", "validation": validation,
                         "shard_bytes": "2KiB"}, "preset": "fast"}

    def trained(self, name, data, validation, workers=1):
        job = self.job(name, self.spec(data, validation))
        return self.result("train", job, "--workers", workers, "--threads", 1)

    def rows(self, result):
        return result["metrics"]["train"]["rows"], result["metrics"]["validation"]["rows"]

    def test_the_latest_rows_are_held_out(self):
        latest = sorted(self.days)[-120]
        held = sum(day >= latest for day in self.days)
        one = self.trained("one", self.csv, {"time": "day", "fraction": 0.2})
        self.assertEqual(self.rows(one), (ROWS - held, held))
        for name, data, workers in (("three", self.csv, 3), ("columns", self.parquet, 2)):
            more = self.trained(name, data, {"time": "day", "fraction": 0.2}, workers)
            self.assertEqual(self.rows(more), self.rows(one))
            if data == self.csv:
                self.assertEqual(more["weights_sha256"], one["weights_sha256"])
        marked = self.write("marked.csv", "x,v,y\n" + "".join(
            "%s,%d,%s\n" % (x, day >= latest, y)
            for x, day, y in zip(self.x, self.days, self.y)))
        self.assertEqual(self.rows(self.trained("marked", marked, {"column": "v"})),
                         self.rows(one))
        out, _ = self.espalier("check", self.job("shown", self.spec(
            self.csv, {"time": "day", "fraction": 0.2})))
        self.assertIn("validation has the rows from %s on" % latest, out)

    def test_a_group_is_in_one_fold(self):
        held, of_group = 0, {}
        for fold in range(3):
            validation = {"group": "customer", "fold": fold, "of": 3}
            out = self.path("fold-%d" % fold)
            found = self.trained("fold-%d" % fold, self.csv, validation, 1 + fold)
            train, rows = self.rows(found)
            self.assertEqual(train + rows, ROWS)
            self.assertTrue(100 < rows < 300, rows)
            held += rows
        self.assertEqual(held, ROWS)
        columns = self.trained("columns", self.parquet, {"group": "customer", "fold": 0, "of": 3})
        first = self.trained("again", self.csv, {"group": "customer", "fold": 0, "of": 3})
        self.assertEqual(self.rows(columns), self.rows(first))

    def test_a_class_of_one_row_ends_no_fold(self):
        rare = self.write("rare.csv", "x,y\n" + "".join(
            "%s,%s\n" % (x, "rare" if i == 150 else y)
            for i, (x, y) in enumerate(zip(self.x[:300], self.y))))
        noted = 0
        for fold in range(3):
            found = self.trained("rare-%d" % fold, rare, {"fold": fold, "of": 3})
            held = {c["class"]: c["weight"]
                    for c in found["metrics"]["validation"]["per_class"]}["rare"]
            with open(self.path("rare-%d.bundle" % fold, "model.json")) as f:
                notes = json.load(f).get("notes", [])
            said = any(note.startswith("1 class has no training row ('rare')") for note in notes)
            self.assertEqual(said, held == 1)
            noted += said
        self.assertEqual(noted, 1)
        sweep = self.write("sweep.yaml", json.dumps({
            "job": {"data": {"train": rare, "label": "y"}, "preset": "fast"},
            "output": self.path("swept"), "grid": {"train.seed": [1]}, "folds": 3}))
        self.espalier("sweep", sweep)

    def test_a_share_is_filled_in_and_what_is_wrong_is_said(self):
        found = self.trained("short", self.csv, {"group": "customer"})
        self.assertTrue(60 < self.rows(found)[1] < 180)
        for validation, said in (
                ({"time": "x", "group": "customer", "fraction": 0.1}, "group and time"),
                ({"time": "day", "fraction": 0.1, "exact": True}, "data.validation.exact"),
                ({"time": "day", "from": 5, "to": 4}, "a larger number than `from`"),
                ({"from": 5}, "`group` or `time` with it"),
                ({"time": "dya", "fraction": 0.1}, "did you mean")):
            job = self.job("wrong", self.spec(self.csv, validation))
            _, err = self.espalier("check", job, code=2)
            self.assertIn(said, err)
        job = self.job("wrong", self.spec(self.csv, {"time": "customer", "fraction": 0.1}))
        _, err = self.espalier("train", job, code=1)
        self.assertIn("data.validation.time", err)
        same = self.write("same.csv", "g,x,y\n" + "a,1,p\na,2,q\n" * 40)
        job = self.job("same", self.spec(same, {"group": "g", "fold": 0, "of": 2}))
        _, err = self.espalier("train", job, code=1)
        self.assertIn("found 1 group ", err)
        self.assertIn("expected at least 2", err)

    def test_a_run_is_resumed_with_the_same_rows_held_out(self):
        for key in ("time", "group"):
            column = {"time": "day", "group": "customer"}[key]
            spec = self.spec(self.csv, {key: column, "fraction": 0.2})
            spec["train"] = {"epochs": 6, "batch": 32, "checkpoint": {"every_steps": 16}}
            whole = self.result("train", self.job(key, spec), "--workers", 1)
            again = self.result("train", self.job(key, spec), "--workers", 2, "--resume",
                                self.path(key + ".bundle"), "--output", self.path(key + "-again"))
            self.assertEqual(again["weights_sha256"], whole["weights_sha256"])
            self.assertEqual(self.rows(again), self.rows(whole))

    def test_a_counter_is_held_out_by_its_order(self):
        """Numbers like 202401 look like months, and are in the middle of these."""
        rows = ["%d,%s,%s" % (201000 + 10 * i, x, y)
                for i, (x, y) in enumerate(zip(self.x, self.y))]
        csv = self.write("counter.csv", "n,x,y\n" + "\n".join(rows) + "\n")
        found = self.trained("counter", csv, {"time": "n", "fraction": 0.1})
        self.assertEqual(self.rows(found), (ROWS - 60, 60))
        with open(self.path("counter.bundle", "model.json")) as f:
            bounds = json.load(f)["spec"]["data"]["validation"]
        self.assertEqual(bounds["from"], 201000 + 10 * (ROWS - 60))

    def test_folds_of_a_sweep_keep_groups_whole(self):
        spec = self.spec(self.csv, {"group": "customer"})
        path = self.write("sweep.json", json.dumps(
            {"job": dict(spec, output="unused"), "folds": 2, "refit": True,
             "output": self.path("sweep")}))
        out, _ = self.espalier("sweep", path, "--workers", 1, "--json")
        table = json_lines(out)[-1]
        self.assertEqual(table["status"], "SUCCEEDED")
        rows = []
        for run in table["trials"][0]["runs"] + [table["refit"]]:
            with open(run["bundle"] + "/model.json") as f:
                rows.append(json.load(f)["rows"])
        self.assertEqual(rows[0]["validation"] + rows[1]["validation"], ROWS)
        self.assertEqual((rows[2]["train"], rows[2]["validation"]), (ROWS, 0))


if __name__ == "__main__":
    unittest.main()
