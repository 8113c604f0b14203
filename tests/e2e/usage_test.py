"""Output of the command line and its exit codes, which are a contract."""
import json
import os
import signal
import subprocess
import unittest

import pytest

from espalier import ROOT, Cluster, EspalierTest, json_lines, program, wait_for

pytestmark = pytest.mark.covers("cli", "config")


def catches(pid, number):
    """Returns whether the process has a handler for that signal."""
    with open("/proc/%d/status" % pid) as f:
        caught = next(line for line in f if line.startswith("SigCgt:"))
    return int(caught.split()[1], 16) >> (number - 1) & 1


class UsageTest(EspalierTest):
    def spec(self, **changes):
        spec = self.classes_spec(self.classes_csv("ok.csv", 60), epochs=1)
        spec.update(changes)
        return spec

    def failure(self, spec, code, *flags):
        """Returns the last JSON object and the text on standard error of a job that does not
        succeed."""
        out, err = self.espalier("train", self.job("bad", spec), "--json", "--workers", 1, *flags,
                                 code=code)
        lines = json_lines(out)
        self.assertNotEqual(err.strip(), "", "errors go to standard error as text, too")
        return (lines[-1] if lines else None), err

    def test_a_configuration_may_be_named_in_either_form(self):
        for program_name in ("espalier-coordinator", "espalier-worker"):
            for form in (["--config", "/no/such.yaml"], ["--config=/no/such.yaml"]):
                done = subprocess.run([program(program_name)] + form, capture_output=True,
                                      text=True, timeout=60)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn("/no/such.yaml", done.stderr)

    def test_version_and_help_succeed(self):
        out, _ = self.espalier("--version")
        self.assertRegex(out, r"^espalier \d+\.\d+\.\d+")
        self.assertEqual(self.espalier("version")[0].strip(), out.strip())
        out, _ = self.espalier("--help")
        self.assertEqual(self.espalier("help")[0], out)
        for command in ("train", "sweep", "submit", "watch", "list", "status", "cancel", "workers",
                        "check"):
            self.assertIn(command, out)
            self.assertIn("--json", self.espalier(command, "--help")[0])

    def test_reference_prints_a_key_a_section_or_all(self):
        out, _ = self.espalier("reference", "train.seed")
        self.assertRegex(out, r"^train\.seed: a whole number, default 1\n  [A-Z]")
        out, _ = self.espalier("reference", "data.csv")
        self.assertIn("\ndata.csv.delimiter: one character, default \",\"\n", out)
        with open(os.path.join(ROOT, "config", "reference.yaml")) as f:
            self.assertEqual(self.espalier("reference")[0], f.read())
        key, = json_lines(self.espalier("reference", "model.task", "--json")[0])
        self.assertEqual((key["key"], key["default"]), ("model.task", "classification"))
        self.assertIn("regression", key["words"])
        self.assertIs(key["by_preset"], True)
        self.assertIn("sweep.folds: ", self.espalier("reference", "sweep")[0])
        self.assertIn("\npredict.keep: such as [customer, day]\n",
                      self.espalier("reference", "predict")[0])

    def test_reference_names_the_nearest_key(self):
        out, err = self.espalier("reference", "train.epoch", "--json", code=2)
        self.assertIn("did you mean train.epochs?", err)
        self.assertEqual(json_lines(out)[-1]["error"]["code"], "INVALID_ARGUMENT")

    def test_programs_do_without_standard_streams(self):
        bundle = self.path("streams.bundle")
        job = self.job("streams", self.spec(output={"path": bundle, "overwrite": True}))
        commands = [[name, "--version"] for name in
                    ("espalier", "espalier-coordinator", "espalier-worker")]
        commands += [["espalier", "check", job], ["espalier", "train", job, "--workers", "1"],
                     ["espalier", "evaluate", bundle, self.path("ok.csv")]]
        for name, *arguments in commands:
            for closed in (">&-", "<&- >&- 2>&-"):
                done = subprocess.run(
                    ["sh", "-c", 'exec "$@" ' + closed, "sh", program(name)] + arguments,
                    stderr=subprocess.PIPE, text=True, timeout=60, env=self.environment)
                self.assertEqual((done.returncode, done.stderr), (0, ""), [name] + arguments)

    def test_output_that_cannot_be_written_is_an_error(self):
        """Each command once, with a closed output: its output is lost, but it was not interrupted.
        """
        bundle = self.path("full.bundle")
        job = self.job("full", self.spec(output={"path": bundle, "overwrite": True}))
        self.espalier("train", job, "--workers", 1)
        table, scored = self.path("ok.csv"), self.path("scored")
        cluster = Cluster(self, 0)
        commands = [["--version"], ["--help"], ["check", job], ["evaluate", bundle, table],
                    ["predict", bundle, table, "--output", scored, "--overwrite"],
                    ["train", job, "--workers", "1"],
                    ["list", "--coordinator", cluster.address]]
        for command in commands + [c + ["--json"] for c in commands[2:]]:
            with open("/dev/full", "w") as full:
                done = subprocess.run([program("espalier")] + command, stdout=full,
                                      stderr=subprocess.PIPE, text=True, timeout=60,
                                      env=self.environment)
            lines = done.stderr.splitlines()
            self.assertEqual(lines[:1], ["error: cannot write to standard output: "
                                         "No space left on device"], command)
            self.assertIn(lines[1:], ([], ["stopping the job"]), command)
            self.assertEqual(done.returncode, 1, command)

    def test_wrong_usage_ends_with_2_and_names_the_nearest_word(self):
        _, err = self.espalier("trian", "job.yaml", code=2)
        self.assertIn("train", err)
        self.espalier("train", code=2)
        self.espalier("train", self.job("j", self.spec()), "--workers", "0", code=2)
        _, err = self.espalier("train", self.job("j", self.spec()), "--wrokers", "2", code=2)
        self.assertIn("--wrokers: unknown option (did you mean --workers?)", err)
        for daemon in ("espalier-coordinator", "espalier-worker"):
            done = subprocess.run([program(daemon), "--log-leve", "info"], capture_output=True,
                                  text=True, timeout=60)
            self.assertEqual(done.returncode, 2)
            self.assertIn("--log-leve: unknown option (did you mean --log-level?)", done.stderr)
        self.espalier("watch", "seventeen", code=2)

    def test_a_wrong_key_names_line_column_and_the_nearest_key(self):
        text = ("data:\n  train: %s\n  label: label\nmodel:\n  task: classification\n"
                "  activaton: relu\noutput: %s\n" % (self.classes_csv("a.csv", 20),
                                                     self.path("out")))
        _, err = self.espalier("train", self.write("typo.yaml", text), code=2)
        self.assertIn("typo.yaml", err)
        self.assertRegex(err, r"\b6:3\b|line 6,? column 3")
        self.assertIn("activation", err)
        wrong_value = text.replace("activaton: relu", "activation: rleu")
        _, err = self.espalier("check", self.write("value.yaml", wrong_value), code=2)
        self.assertRegex(err, r"\b6:15\b|line 6,? column 15")
        self.assertIn("relu", err)

    def test_an_output_that_exists_ends_with_2_unless_it_may_be_overwritten(self):
        os.mkdir(self.path("bad.bundle"))
        self.write("bad.bundle/precious", "do not lose\n")
        _, err = self.failure(self.spec(), 2)
        self.assertIn("bad.bundle", err)
        self.assertTrue(os.path.exists(self.path("bad.bundle", "precious")))
        spec = self.spec(output={"path": self.path("again"), "overwrite": True})
        first = self.result("train", self.job("o", spec), "--workers", 1)
        second = self.result("train", self.job("o", spec), "--workers", 1)
        self.assertEqual(first["weights_sha256"], second["weights_sha256"])

    def test_overwrite_replaces_only_an_old_bundle(self):
        os.mkdir(self.path("mine"))
        self.write("mine/precious", "do not lose\n")
        spec = self.spec(output={"path": self.path("mine"), "overwrite": True})
        _, err = self.failure(spec, 2)
        self.assertIn("precious", err)
        self.assertTrue(os.path.exists(self.path("mine", "precious")))

    def test_a_missing_file_and_a_column_that_is_not_there_end_with_2(self):
        spec = self.spec()
        spec["data"]["train"] = self.path("nowhere.csv")
        _, err = self.failure(spec, 2)
        self.assertIn("nowhere.csv", err)
        spec = self.spec()
        spec["data"]["label"] = "lable"
        _, err = self.failure(spec, 2)
        self.assertIn("lable", err)
        self.espalier("train", self.path("no-such-job.yaml"), code=2)

    def test_a_bad_row_ends_with_1_and_is_named_by_file_row_column_and_offset(self):
        path = self.classes_csv("rows.csv", 300)
        with open(path) as f:
            lines = f.readlines()
        # Line 201 of the file: header, 199 good records, the bad one. An empty line counts.
        lines.insert(100, "\n")
        fields = lines[200].split(",")
        fields[4] = "1.2x"
        lines[200] = ",".join(fields)
        record = sum(len(line) for line in lines[:200])
        field = record + len(",".join(fields[:4])) + 1
        self.write("rows.csv", "".join(lines))
        spec = self.classes_spec(path)
        spec["data"]["shard_bytes"] = 4096
        failed, err = self.failure(spec, 1)
        self.assertEqual(failed["status"], "FAILED")
        error = failed["error"]
        self.assertEqual(os.path.basename(error["file"]), "rows.csv")
        self.assertEqual(error["row"], 201)
        self.assertEqual(error["column"], "f3")
        self.assertIn(error["offset"], (record, field))
        self.assertIn("1.2x", err)
        self.assertIn("rows.csv", err)
        self.assertIn("201", err)
        self.assertFalse(os.path.exists(self.path("bad.bundle")))

    def test_bad_rows_may_be_skipped_up_to_a_limit(self):
        path = self.classes_csv("rows.csv", 100)
        with open(path, "a") as f:
            f.write("1,oops\n1,oops\n")
        spec = self.classes_spec(path)
        spec["data"]["bad_rows"] = {"policy": "skip", "limit": 2}
        done = self.result("train", self.job("skip", spec), "--workers", 2)
        self.assertEqual((done["status"], done["skipped_rows"]), ("SUCCEEDED", 2))
        spec["data"]["bad_rows"]["limit"] = 1
        failed, _ = self.failure(spec, 1)
        self.assertEqual(failed["status"], "FAILED")

    def test_files_without_rows_are_one_clear_error(self):
        for name, text in (("empty.csv", ""), ("header.csv", "label,f0,f1\n")):
            spec = self.spec()
            spec["data"] = {"train": self.write(name, text), "label": "label"}
            out, err = self.espalier("train", self.job("none", spec), "--workers", 1, code=None)
            self.assertIn(name, err)
            self.assertNotIn("Traceback", out + err)

    def test_a_coordinator_that_is_not_there_ends_with_3(self):
        job = self.job("far", self.spec())
        for where in ("127.0.0.1:1", "file:" + self.write("address", "127.0.0.1:1\n")):
            for command in (["submit", job], ["list"], ["status", "job-1"], ["watch", "1"],
                            ["cancel", "1"], ["workers"]):
                _, err = self.espalier(*command, "--coordinator", where, code=3)
                self.assertIn("127.0.0.1:1 cannot be reached (connection refused). Start", err)
                self.assertNotIn("addresses", err)

    def test_check_shows_the_data_and_trains_nothing(self):
        job = self.job("checked", self.spec())
        out, _ = self.espalier("check", job)
        for words in ("12 features", "no nulls", "371 parameters", "memory", "checked.bundle"):
            self.assertIn(words, out)
        out, _ = self.espalier("check", job, "--json")
        self.assertTrue(json.loads(out.strip().splitlines()[-1]))
        self.assertFalse(os.path.exists(self.path("checked.bundle")))
        os.mkdir(self.path("checked.bundle"))
        self.write("checked.bundle/precious", "do not lose\n")
        out, err = self.espalier("check", job, code=2)
        self.assertIn("371 parameters", out)
        self.assertNotIn("passed", out)
        self.assertIn("already exists", err)

    def test_check_effective_prints_a_job_that_trains_the_same_model(self):
        job = self.job("short", self.spec())
        expected = self.result("train", job, "--workers", 1)["weights_sha256"]
        text, _ = self.espalier("check", job, "--effective")
        self.assertIn("learning_rate", text)
        whole = self.write("whole.yaml", text.replace("short.bundle", "whole.bundle"))
        result = self.result("train", whole, "--workers", 1)
        self.assertEqual(result["weights_sha256"], expected)

    def test_ctrl_c_while_a_coordinator_is_waited_for_ends_with_130(self):
        job = self.job("waits", self.spec())
        where = ["--coordinator", "127.0.0.1:1", "--timeout", "1h"]
        for command in (["submit", job], ["list"], ["workers"], ["status", "job-1"],
                        ["cancel", "job-1"], ["drain", "node-1"], ["watch", "job-1"]):
            process = self.start(*command, *where)
            wait_for("the signal's handler", lambda: catches(process.pid, signal.SIGINT))
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 130, (command, out, err))
            self.assertRegex(err, r"^error: interrupted; no coordinator was reached", command)


if __name__ == "__main__":
    unittest.main()
