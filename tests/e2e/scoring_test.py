"""`espalier predict` and `espalier evaluate`: a trained bundle over tables."""
import csv
import glob
import os
import random
import signal
import subprocess
import unittest

import pytest

from espalier import EspalierTest, wait_for
from scoring_jobs import files_of

import parquet_file  # in tools/lib, which `espalier` puts on the path

pytestmark = pytest.mark.covers("cli", "scoring")

METRICS_LIMIT = 1e-6  # the job adds losses by leaf, evaluate by shard


def peak_kb(pid):
    """Returns the peak memory of a process, or 0 if it has ended."""
    try:
        with open("/proc/%d/status" % pid) as f:
            return next((int(line.split()[1]) for line in f if line.startswith("VmHWM")), 0)
    except OSError:
        return 0


def read_csv(path):
    with open(path, newline="") as f:
        return list(csv.reader(f))


def rows_of(output):
    rows = []
    for path in sorted(glob.glob(os.path.join(output, "part-*.csv"))):
        part = read_csv(path)
        rows += part if not rows else part[1:]
    return rows


class ScoringTest(EspalierTest):
    def animals_csv(self, name, rows, seed=1, label=True):
        """Writes text classes, an identifier and a column that no model needs."""
        chance = random.Random(seed)
        lines = ["id,weight,legs,kind,note"] if label else ["note,legs,weight,id"]
        for i in range(rows):
            weight, legs = chance.uniform(0.1, 100), chance.choice([0, 2, 4])
            kind = "fish" if legs == 0 else "sea gull" if weight < 20 or legs == 2 else "wolf"
            fields = ["n%d" % i, "%.4f" % weight, str(legs), kind, "see, \"%d\"" % i]
            quoted = ['"%s"' % f.replace('"', '""') if "," in f else f for f in fields]
            order = range(5) if label else (4, 2, 1, 0)
            lines.append(",".join(quoted[k] for k in order))
        return self.write(name, "\n".join(lines) + "\n")

    def animals(self):
        """Returns a trained bundle and its result."""
        spec = {"data": {"train": self.animals_csv("train.csv", 600),
                         "test": self.animals_csv("test.csv", 301, seed=2),
                         "label": "kind", "features": {"columns": ["weight", "legs"]}},
                "model": {"task": "classification", "hidden": [16]},
                "train": {"batch": 50, "leaves": 4, "epochs": 6, "seed": 3}}
        result = self.result("train", self.job("animals", spec), "--workers", 1)
        return self.path("animals.bundle"), result

    def houses(self):
        spec = {"data": {"train": self.houses_csv("houses.csv", 800),
                         "test": self.houses_csv("houses-test.csv", 250, seed=9),
                         "label": "price", "features": {"nulls": "mean"}},
                "model": {"task": "regression", "hidden": [16]},
                "train": {"batch": 50, "leaves": 4, "epochs": 6, "seed": 3}}
        result = self.result("train", self.job("houses", spec), "--workers", 1)
        return self.path("houses.bundle"), result

    def assert_same_metrics(self, found, job):
        self.assertEqual(set(found), set(job))
        for key, value in job.items():
            if isinstance(value, float):
                self.assertAlmostEqual(found[key], value, delta=METRICS_LIMIT * max(1, abs(value)),
                                       msg=key)
            else:
                self.assertEqual(found[key], value, key)

    def test_evaluating_the_jobs_test_file_gives_the_jobs_metrics(self):
        for bundle, result, data in (self.animals() + ("test.csv",),
                                     self.houses() + ("houses-test.csv",)):
            found = self.result("evaluate", bundle, data)
            self.assert_same_metrics(found["metrics"], result["metrics"]["test"])
            self.assertEqual(found["rejected"], 0)
            for threads in (1, 2):
                again = self.result("evaluate", bundle, data, "--threads", threads)
                self.assertEqual(again["metrics"], found["metrics"])

    def test_predictions_agree_with_the_evaluation_and_keep_columns(self):
        bundle, _ = self.animals()
        found = self.result("predict", bundle, "test.csv", "--output", "out",
                            "--keep", "id,kind,note")
        self.assertEqual((found["rows"], found["rejected"], found["parts"]), (301, 0, 1))
        rows, given = rows_of(self.path("out")), read_csv(self.path("test.csv"))
        self.assertEqual(rows[0], ["id", "kind", "note", "prediction", "probability_fish",
                                   "probability_sea gull", "probability_wolf", "error"])
        self.assertEqual([r[:3] for r in rows[1:]], [[g[0], g[3], g[4]] for g in given[1:]])
        right = sum(r[1] == r[3] for r in rows[1:])
        metrics = self.result("evaluate", bundle, "test.csv")["metrics"]
        self.assertEqual(right / 301, metrics["accuracy"])
        self.assertGreater(metrics["accuracy"], 0.6)
        for row in rows[1:]:
            shares = [float(v) for v in row[4:-1]]
            self.assertAlmostEqual(sum(shares), 1, delta=1e-5)
            names = [name[len("probability_"):] for name in rows[0][4:-1]]
            self.assertEqual(names[shares.index(max(shares))], row[3])
        self.assertIn("_SUCCESS", os.listdir(self.path("out")))

    def test_a_label_that_is_absent_does_not_matter_to_predict_but_to_evaluate(self):
        bundle, _ = self.animals()
        self.animals_csv("bare.csv", 301, seed=2, label=False)
        self.result("predict", bundle, "test.csv", "--output", "with")
        self.result("predict", bundle, "bare.csv", "--output", "without")
        self.assertEqual(files_of(self.path("with")), files_of(self.path("without")))
        failed = self.result("evaluate", bundle, "bare.csv", code=2)
        self.assertIn("label", failed["error"]["message"])
        self.assertIn("'kind'", failed["error"]["message"])

    def test_only_the_columns_that_are_asked_for(self):
        bundle, _ = self.animals()
        self.result("predict", bundle, "test.csv", "--output", "p", "--columns", "prediction")
        self.assertEqual(rows_of(self.path("p"))[0], ["prediction", "error"])
        self.result("predict", bundle, "test.csv", "--output", "q", "--columns", "probabilities")
        self.assertEqual(len(rows_of(self.path("q"))[0]), 4)
        _, err = self.espalier("predict", bundle, "test.csv", "--output", "r",
                               "--columns", "scores", code=2)
        self.assertIn("scores", err)
        _, err = self.espalier("predict", bundle, "test.csv", "--output", "r", "--keep", "ids",
                               code=2)
        self.assertIn("did you mean 'id'", err)

    def test_regression_answers_in_dollars(self):
        bundle, result = self.houses()
        self.result("predict", bundle, "houses-test.csv", "--output", "out", "--keep", "price")
        rows = rows_of(self.path("out"))
        self.assertEqual(rows[0], ["price", "prediction_price", "error"])
        squares = [(float(a) - float(b)) ** 2 for a, b, _ in rows[1:]]
        rmse = (sum(squares) / len(squares)) ** 0.5
        self.assertAlmostEqual(rmse / result["metrics"]["test"]["rmse"], 1, delta=1e-4)

    def test_metrics_are_those_of_limited_predictions(self):
        def line(name, most):
            self.write(name, "x,y\n" + "".join("%g,%g\n" % (most * i / 300, 3 * most * i / 300)
                                               for i in range(300)))
        line("low.csv", 10)
        line("high.csv", 20)
        spec = {"data": {"train": "low.csv", "test": "high.csv", "label": "y"},
                "model": {"task": "regression", "clip_predictions": True},
                "train": {"batch": 50, "epochs": 60,
                          "optimizer": {"adam": {"learning_rate": 0.05}}}}
        result = self.result("train", self.job("line", spec), "--workers", 1)
        self.result("predict", self.path("line.bundle"), "high.csv", "--output", "out", "--keep",
                    "y")
        rows = [(float(y), float(p)) for y, p, _ in rows_of(self.path("out"))[1:]]
        self.assertEqual(max(p for _, p in rows), max(3 * 10 * i / 300 for i in range(300)))
        rmse = (sum((y - p) ** 2 for y, p in rows) / len(rows)) ** 0.5
        self.assertAlmostEqual(result["metrics"]["test"]["rmse"], rmse, delta=1e-4 * rmse)

    def test_parquet_in_and_out(self):
        bundle, _ = self.animals()
        chance = random.Random(4)
        weights = [chance.uniform(0.1, 100) for _ in range(500)]
        legs = [chance.choice([0, 2, 4]) for _ in range(500)]
        table = [("legs", legs), ("id", list(range(500))), ("weight", weights)]
        parquet_file.write(self.path("t.parquet"), table, 200)
        lines = ["weight,legs"] + ["%r,%d" % pair for pair in zip(weights, legs)]
        self.write("t.csv", "\n".join(lines) + "\n")
        self.result("predict", bundle, "t.parquet", "--output", "from-parquet")
        self.result("predict", bundle, "t.csv", "--output", "from-csv")
        self.assertEqual(rows_of(self.path("from-parquet")), rows_of(self.path("from-csv")))
        found = self.result("predict", bundle, "t.parquet", "--output", "out.parquet",
                            "--keep", "id")
        self.assertEqual(found["format"], "parquet")
        part = files_of(self.path("out.parquet"))["part-00000.parquet"]
        self.assertTrue(part.startswith(b"PAR1") and part.endswith(b"PAR1"))
        # The output is a table again: the same model reads the columns of its answers.
        spec = {"data": {"train": self.path("out.parquet"), "label": "prediction"},
                "model": {"task": "classification", "hidden": [4]},
                "train": {"batch": 50, "epochs": 1}}
        again = self.result("train", self.job("again", spec), "--workers", 1)
        self.assertEqual(again["rows_per_epoch"], 500)

    def test_each_row_has_a_line_without_a_prediction_where_there_is_none(self):
        bundle, _ = self.animals()
        data = self.write("odd.csv",
                          'id,weight,legs\na,1,2\nb,heavy,2\nc,1\n"d,2,4\ne,,2\nf,2,4\n')
        out, _ = self.espalier("predict", bundle, data, "--output", "out", "--keep", "id")
        self.assertIn("4 rows have no prediction", out)
        self.assertIn("row 3", out)
        rows = rows_of(self.path("out"))[1:]
        self.assertEqual([r[0] for r in rows], ["a", "b", "c", "", "e", "f"])
        for i, row in enumerate(rows):
            self.assertEqual(set(row[1:5]) == {""}, 1 <= i <= 4, row)
            self.assertEqual(row[5] != "", 1 <= i <= 4, row)
        self.assertRegex(rows[1][5], "weight: .*not a number")
        self.assertIn("the row has 2 fields, expected 3", rows[2][5])
        self.assertIn("weight: the value is missing", rows[4][5])
        self.assertNotIn("data.", out + "".join(r[5] for r in rows))
        self.assertNotIn("_rejects", os.listdir(self.path("out")))

    def test_the_first_bad_row_may_end_a_prediction(self):
        bundle, _ = self.animals()
        data = self.write("odd.csv", "id,weight,legs\na,1,2\nb,heavy,2\nc,1\n")
        failed = self.result("predict", bundle, data, "--output", "out", "--on-bad-row", "fail",
                             code=1)["error"]
        self.assertEqual((failed["file"], failed["row"], failed["column"]), (data, 3, "weight"))
        self.assertFalse(os.path.exists(self.path("out")))
        _, err = self.espalier("predict", bundle, data, "--output", "out", "--on-bad-row", "skip",
                               code=2)
        self.assertIn("expected empty, reject or fail", err)

    def test_rows_that_cannot_be_scored_are_told_with_their_reason(self):
        bundle, _ = self.animals()
        data = self.write("odd.csv", "id,weight,legs\na,1,2\nb,heavy,2\nc,1\nd,2,4\n")
        out, _ = self.espalier("predict", bundle, data, "--output", "out", "--keep", "id",
                               "--on-bad-row", "reject")
        self.assertIn("2 rows have no prediction", out)
        self.assertEqual([r[0] for r in rows_of(self.path("out"))], ["id", "a", "d"])
        rejects = read_csv(self.path("out", "_rejects", "part-00000.csv"))
        self.assertEqual(rejects[0], ["file", "row", "offset", "column", "text", "reason"])
        self.assertEqual(rejects[1][:5], [data, "3", "23", "weight", "heavy"])
        self.assertEqual(rejects[2][:2], [data, "4"])
        failed = self.result("predict", bundle, data, "--output", "few", "--rejects-limit", 1,
                             code=1)
        self.assertIn("--rejects-limit", failed["error"]["message"])
        self.assertFalse(os.path.exists(self.path("few")))
        self.write("all.csv", "weight,legs\nx,1\n")
        failed = self.result("predict", bundle, "all.csv", "--output", "none", code=1)
        self.assertEqual((failed["error"]["row"], failed["error"]["column"]), (2, "weight"))
        self.assertFalse(os.path.exists(self.path("none")))

    def test_a_label_of_a_new_class_is_a_mistake(self):
        bundle, _ = self.animals()
        good = self.result("evaluate", bundle, "test.csv")
        rows = read_csv(self.path("test.csv"))
        kind = rows[0].index("kind")
        for row in rows[1::2]:
            row[kind] = "unicorn"
        with open(self.path("new.csv"), "w", newline="") as f:
            csv.writer(f).writerows(rows)
        found = self.result("evaluate", bundle, "new.csv", "--report", self.path("r.html"))
        self.assertEqual((found["rows"], found["rejected"], found["unknown_labels"]), (301, 0, 151))
        self.assertEqual(found["metrics"]["rows"], 301)
        self.assertLess(found["metrics"]["accuracy"], 0.5)
        self.assertGreater(found["metrics"]["loss"], 0)
        self.assertEqual(good["unknown_labels"], 0)
        self.assertNotIn("warnings", good["metrics"])
        out, _ = self.espalier("evaluate", bundle, "new.csv")
        with open(self.path("r.html"), encoding="utf-8") as f:
            for text in (out, f.read()):
                self.assertIn("151 rows have a label", text)

    def test_unseen_values_are_counted_by_column(self):
        lines = ["city,job,size,y"]
        for i in range(400):
            lines.append("%s,%s,%d,%s" % (["Oslo", "Rome"][i % 2], "abc"[i % 3], i % 7,
                                          "no" if i % 4 < 2 else "yes"))
        train = self.write("cities.csv", "\n".join(lines) + "\n")
        groups = [{"columns": ["city", "job"], "type": "categorical"}]
        spec = {"data": {"train": train, "label": "y", "features": {"groups": groups}},
                "model": {"task": "classification", "hidden": [4]}, "train": {"epochs": 1}}
        self.result("train", self.job("cities", spec), "--workers", 1)
        table = self.write("t.csv", "job,city,size,y\na,Oslo,1,no\na,Bern,1,yes\nd,Kiel,1,no\n"
                                    "e,,1,no\nb,oslo,1,yes\n")
        model = self.path("cities.bundle")
        for command in (["evaluate", model, table],
                        ["predict", model, table, "--output", self.path("cities-out")]):
            found = self.result(*command)
            self.assertEqual(found["unseen_values"], {"city": 3, "job": 2})
        out, _ = self.espalier("evaluate", model, table)
        self.assertIn("unseen or rare values: city 3 rows, job 2 rows", out)
        self.assertEqual(self.result("evaluate", model, train)["unseen_values"], {})

    def test_metrics_without_a_value_are_null_and_have_a_warning(self):
        bundle, _ = self.houses()
        rows = read_csv(self.path("houses-test.csv"))
        price = rows[0].index("price")
        for row in rows[1:]:
            row[price] = "250"
        for count, r2, words in ((20, 0, "by convention"), (1, None, "r2 has no value")):
            with open(self.path("few.csv"), "w", newline="") as f:
                csv.writer(f).writerows(rows[:1 + count])
            found = self.result("evaluate", bundle, "few.csv")["metrics"]
            self.assertEqual(found["r2"], r2)
            self.assertIn(words, found["warnings"][0])
            out, _ = self.espalier("evaluate", bundle, "few.csv")
            self.assertIn("note: data: " + found["warnings"][0], out)

    def test_what_is_wrong_is_said_before_anything_is_written(self):
        bundle, _ = self.animals()
        self.write("empty.csv", "")
        bad = [("nowhere", "test.csv", "does not exist; expected the directory of a model"),
               ("test.csv", bundle, "test.csv' is a file; expected the directory"),
               (self.directory, "test.csv", "not a bundle"),
               (bundle, "nothing.csv", "nothing.csv"),
               (bundle, "none-*.csv", "no file matches"),
               (bundle, "empty.csv", "no record"),
               (bundle, "houses.csv", "does not exist")]
        self.houses_csv("houses.csv", 5)
        for model, data, says in bad:
            for command in (["predict", model, data, "--output", "out"], ["evaluate", model, data]):
                failed = self.result(*command, code=2)
                self.assertIn(says, failed["error"]["message"])
        self.assertFalse(os.path.exists(self.path("out")))
        with open(os.path.join(bundle, "weights.safetensors"), "r+b") as f:
            f.seek(-1, os.SEEK_END)
            last = f.read(1)
            f.seek(-1, os.SEEK_END)
            f.write(bytes([last[0] ^ 1]))
        failed = self.result("predict", bundle, "test.csv", "--output", "out", code=2)
        self.assertIn("SHA-256", failed["error"]["message"])

    def test_output_that_exists_is_refused_unless_it_may_be_replaced(self):
        bundle, _ = self.animals()
        self.espalier("predict", bundle, "test.csv", "--output", "out")
        before = files_of(self.path("out"))
        failed = self.result("predict", bundle, "train.csv", "--output", "out", code=2)
        self.assertIn("--overwrite", failed["error"]["message"])
        self.assertEqual(files_of(self.path("out")), before)
        self.espalier("predict", bundle, "train.csv", "--output", "out", "--overwrite")
        self.assertEqual(len(rows_of(self.path("out"))), 601)
        self.write("out/mine.txt", "mine")
        failed = self.result("predict", bundle, "test.csv", "--output", "out", "--overwrite",
                             code=2)
        self.assertIn("mine.txt", failed["error"]["message"])
        self.assertTrue(os.path.exists(self.path("out", "mine.txt")))

    def test_the_output_does_not_depend_on_the_threads(self):
        bundle, _ = self.animals()
        os.mkdir(self.path("many"))
        for i in range(7):
            self.animals_csv("many/t%d.csv" % i, 400 + i, seed=i)
        self.write("many/t3.csv", "id,weight,legs,kind,note\nx,1,2,wolf,\ny,?,2,wolf,\n")
        for form in ("csv", "parquet"):
            made = []
            for threads in (1, 2):
                output = "%s-%d" % (form, threads)
                found = self.result("predict", bundle, "many", "--output", output, "--keep", "id",
                                    "--format", form, "--threads", threads)
                self.assertEqual((found["parts"], found["rejected"]), (7, 1))
                made.append(files_of(self.path(output)))
            self.assertEqual(made[0], made[1])

    def large(self, name="large"):
        """Makes a directory of several MB in many files."""
        os.mkdir(self.path(name))
        first = self.animals_csv(name + "/t00.csv", 60000)
        for i in range(1, 40):
            os.link(first, self.path(name, "t%02d.csv" % i))
        return name

    def start_large(self):
        bundle, _ = self.animals()
        data = self.large()
        process = self.start("predict", bundle, data, "--output", "out", "--keep", "id",
                             "--threads", 1)
        wait_for("two parts", lambda: len(glob.glob(self.path("out", "part-*"))) >= 2)
        return bundle, data, process

    def test_killed_in_the_middle_it_leaves_whole_parts_and_no_success(self):
        bundle, data, process = self.start_large()
        process.kill()
        process.communicate()
        left = files_of(self.path("out"))
        self.assertNotIn("_SUCCESS", left)
        failed = self.result("predict", bundle, data, "--output", "out", "--keep", "id", code=2)
        self.assertIn("did not finish", failed["error"]["message"])
        self.espalier("predict", bundle, data, "--output", "out", "--keep", "id", "--overwrite")
        whole = files_of(self.path("out"))
        self.assertEqual(len(whole), 41)
        parts = [name for name in left if name.startswith("part-")]
        self.assertGreaterEqual(len(parts), 2)
        for name in parts:
            self.assertEqual(left[name], whole[name])

    def test_control_c_removes_what_is_unfinished(self):
        _, _, process = self.start_large()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
        self.assertEqual(process.returncode, 130)
        self.assertFalse(os.path.exists(self.path("out")))

    def test_memory_does_not_grow_with_the_table(self):
        bundle, _ = self.animals()
        peaks = []
        for name, copies in (("small", 2), ("large", 16)):
            os.mkdir(self.path(name))
            first = self.animals_csv(name + "/t00.csv", 150000)
            for i in range(1, copies):
                os.link(first, self.path(name, "t%02d.csv" % i))
            process = self.start("predict", bundle, name, "--output", name + "-out", "--threads", 1)
            peak = 0
            while True:
                try:
                    process.communicate(timeout=0.02)
                    break
                except subprocess.TimeoutExpired:
                    peak = max(peak, peak_kb(process.pid))
            self.assertEqual(process.returncode, 0)
            peaks.append(peak)
        self.assertLess(peaks[1], peaks[0] + 30_000, "kB: %s" % peaks)

    def test_the_report_is_one_page(self):
        bundle, result = self.animals()
        found = self.result("evaluate", bundle, "test.csv", "--report", "report.html")
        self.assertEqual(found["report"], "report.html")
        with open(self.path("report.html")) as f:
            page = f.read()
        for words in ("Confusion matrix", "sea gull", "loss over epochs", result["weights_sha256"]):
            self.assertIn(words, page)
        self.assertNotIn("http", page)
        with open(self.path("test.csv")) as f:
            table = f.read()
        _, err = self.espalier("evaluate", bundle, "test.csv", "--report", "test.csv", code=2)
        self.assertIn("seems to be read, too", err)
        with open(self.path("test.csv")) as f:
            self.assertEqual(f.read(), table)
        bundle, _ = self.houses()
        self.espalier("evaluate", bundle, "houses-test.csv", "--report", "houses.html")
        with open(self.path("houses.html")) as f:
            self.assertIn("Residuals of price", f.read())

    def test_evaluate_prints_for_people_and_counts_what_it_left_out(self):
        bundle, _ = self.animals()
        self.write("odd.csv", "weight,legs,kind\n1,2,wolf\n1,2,dragon\nx,2,wolf\n")
        out, _ = self.espalier("evaluate", bundle, "odd.csv")
        for words in ("evaluated 2 rows", "1 row could not be evaluated", "1 row has a label that",
                      "accuracy", "confusion"):
            self.assertIn(words, out)


if __name__ == "__main__":
    unittest.main()
