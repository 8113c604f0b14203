"""Formats of tables: decided by keys of the job, which the model keeps, or rejected with those
keys."""
import json
import os
import random
import signal
import unittest

import pytest

from espalier import TESTING, Cluster, EspalierTest, json_lines

import parquet_file  # in tools/lib, which `espalier` puts on the path

pytestmark = pytest.mark.covers("data")


def rows_of(count):
    chance = random.Random(count)
    for i in range(count):
        a, d = chance.uniform(-2000, 2000), (chance.randrange(1, 29), chance.randrange(1, 13))
        yield i, a, None if i % 9 == 4 else chance.uniform(0, 1), d, a > 0


def german(number):
    whole, _, rest = ("%.3f" % abs(number)).partition(".")
    groups = [whole[max(0, i - 3):i] for i in range(len(whole), 0, -3)][::-1]
    return ("-" if number < 0 else "") + ".".join(groups) + "," + rest


class JudgementTest(EspalierTest):
    def tables(self):
        """Writes the same rows as a program and as a person writes them."""
        plain, written = ["a,b,d,y"], [";a;b;d;y"]
        for i, a, b, (day, month), good in rows_of(400):
            plain.append("%.3f,%s,2024-%02d-%02d,%s" % (a, "" if b is None else "%.3f" % b, month,
                                                        day, "yes" if good else "no"))
            written.append("%d;%s;%s;%02d/%02d/2024;%s" % (
                i, german(a), "unknown" if b is None else german(b), day, month,
                "Yes" if good and i % 2 else "yes" if good else "no"))
        return (self.write("plain.csv", "\n".join(plain) + "\n"),
                self.write("written.csv", "\n".join(written) + "\n"))

    def spec(self, data, **keys):
        return {"data": dict({"train": data, "label": "y", "features": {"nulls": "mean"}}, **keys),
                "model": {"hidden": [4]}, "train": {"epochs": 2, "seed": 7}}

    def test_a_table_as_people_write_it_gives_the_weights_of_the_plain_one(self):
        plain, written = self.tables()
        want = self.trained_here("plain", self.spec(plain))
        spec = self.spec(written, csv={"delimiter": ";", "decimal": ",", "thousands": "."},
                         null_values=["unknown"],
                         features={"nulls": "mean", "date_format": "%d/%m/%Y"})
        for workers in (1, 3):
            found = self.trained_here("written-%d" % workers, spec, workers)
            self.assertEqual(found["weights_sha256"], want["weights_sha256"])
        bundle = self.path("written-1.bundle")
        metrics = self.result("evaluate", bundle, written)["metrics"]
        self.assertEqual(metrics, self.result("evaluate", self.path("plain.bundle"),
                                              plain)["metrics"])
        with open(self.path("written-1.bundle", "model.json")) as f:
            schema = json.load(f)["schema"]
        self.assertEqual(schema["left_out"], [{"column": 0, "reason": "row_number"}])
        out, _ = self.espalier("check", self.job("shown", spec))
        self.assertIn("left out: the unnamed column (numbers the rows)", out)

    def test_without_the_keys_it_is_refused_with_each_of_them(self):
        _, written = self.tables()
        keys = {"csv": {"delimiter": ";"}}
        for key in ("data.csv.decimal: ','", "data.features.date_format"):
            job = self.job("refused", self.spec(written, **keys))
            _, err = self.espalier("check", job, code=2)
            self.assertIn(key, err)
            keys["csv"].update(decimal=",", thousands=".")
            keys["null_values"] = ["unknown"]

    def test_excluded_columns_are_not_needed_again(self):
        plain, written = self.tables()
        spec = self.spec(written, csv={"delimiter": ";", "decimal": ",", "thousands": "."},
                         null_values=["unknown"], features={"nulls": "mean", "exclude": ["d*"]})
        self.trained_here("short", spec)
        table = self.write("short.csv", "b;a;y\nunknown;1.000,5;yes\n0,5;-1;no\n")
        told = self.result("evaluate", self.path("short.bundle"), table)
        self.assertEqual(told["rows"], 2)

    def mixed(self):
        """Returns a job over a table with text and fractions only between the blocks of rows that
        are sampled."""
        rows, lines = 140000, ["a,b,y         "]
        for i in range(rows):
            shown = i % (rows // 15) < 128 or i > rows - 128
            a = str(i % 977) if shown or i % 3 == 0 else "t%d" % (i % 11)
            y = str(i % 3) if shown else "%.2f" % ((i * 7919 % 1000) / 400)
            lines.append(("%s,%d" % (a, i * 31 % 97)).ljust(15 - len(y) - 1) + "," + y)
        csv = self.write("mixed.csv", "\n".join(lines) + "\n")
        return {"preset": "fast", "train": {"epochs": 1},
                "data": {"train": csv, "label": "y         ", "shard_bytes": "256KiB"}}

    @pytest.mark.long
    def test_a_judgement_outlives_the_coordinator(self):
        """The coordinator dies around the moment when it saves the plan by all rows."""
        spec = self.mixed()
        want = self.trained_here("quiet", spec)["weights_sha256"]
        for when in ("before JobReplanned", "after JobReplanned"):
            with self.subTest(when):
                name = when.replace(" ", "-")
                self.environment["ESPALIER_MORTAL"] = when
                cluster = Cluster(self, workers=2, state=self.path("state-" + name))
                cluster.kill_coordinator()
                cluster.start_coordinator(cluster.address,
                                          os.path.join(TESTING, "mortal-coordinator"))
                cluster.wait_for_workers(2)
                submitter = cluster.start("submit", self.job(name, spec), "--json")
                self.assertEqual(cluster.coordinator.wait(timeout=60), -signal.SIGKILL)
                cluster.restart_coordinator()
                out, err = submitter.communicate(timeout=100)
                self.assertEqual(submitter.returncode, 0, err)
                self.assertEqual(json_lines(out)[-1]["weights_sha256"], want)
                cluster.stop()

    def test_texts_of_parquet_are_judged_by_all_row_groups(self):
        """The sampled row groups have numbers where the others have text."""
        rows, group = 60000, 2000
        number = [str(i % 977) for i in range(rows)]
        mixed = [n if i < group or i >= rows - group else "t%d" % (i % 11)
                 for i, n in enumerate(number)]
        b = [i * 31 % 97 / 10 for i in range(rows)]
        y = ["no" if v < 5 else "yes" for v in b]
        path = self.path("mixed.parquet")
        parquet_file.write(path, [("a", mixed), ("n", number), ("b", b), ("y", y)], group)
        spec = {"preset": "fast", "train": {"epochs": 1},
                "data": {"train": path, "label": "y", "shard_bytes": "64KiB"}}
        weights = set()
        for workers in (1, 3):
            job = self.job("judged%d" % workers, spec)
            self.espalier("train", job, "--workers", workers, "--threads", 1)
            with open(self.path("judged%d.bundle" % workers, "model.json")) as f:
                model = json.load(f)
            features = {f["name"]: f for f in model["preprocessing"]["features"]}
            self.assertIn("t7", features["a"]["vocabulary"])
            self.assertFalse(features["n"].get("vocabulary"))
            weights.add(model["weights_sha256"])
        self.assertEqual(len(weights), 1)

    def test_all_rows_judge_what_the_sampled_rows_did_not_show(self):
        spec, weights = self.mixed(), set()
        for workers in (1, 3):
            job = self.job("judged%d" % workers, spec)
            out, _ = self.espalier("train", job, "--workers", workers, "--threads", 1)
            self.assertIn("note: column 'a' is categorical by all training rows", out)
            self.assertIn("the task is regression: the label has numbers", out)
            with open(self.path("judged%d.bundle" % workers, "model.json")) as f:
                model = json.load(f)
            self.assertEqual(model["spec"]["model"]["task"], "regression")
            self.assertIn("column 'a' is categorical", model["notes"][0])
            self.assertIn("the task is regression", model["notes"][1])
            weights.add(model["weights_sha256"])
        self.assertEqual(len(weights), 1)
        checked, _ = self.espalier("check", self.job("checked", spec))
        self.assertIn("notes\n  column 'a' is categorical", checked)
        self.assertRegex(checked, "task +regression")


if __name__ == "__main__":
    unittest.main()
