"""Output on a terminal: `espalier init` asks, `train` draws a learning curve."""
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
import unittest

import pytest

from espalier import COMMAND_LIMIT_S, DIE_WITH_PARENT, EspalierTest, json_lines, program

pytestmark = pytest.mark.covers("cli", "data")

ESCAPE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


class TerminalTest(EspalierTest):
    def on_terminal(self, *arguments, answers=(), columns=80, code=0, **environment):
        """Returns the output of `espalier` on a terminal. It types the answer of each (text that is
        shown, answer)."""
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        environment = dict(self.environment, TERM="xterm", **environment)
        # Ctrl-C reaches the programs of the terminal's session.
        command = DIE_WITH_PARENT + ["setsid", "--ctty", program("espalier")] + list(arguments)
        process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave,
                                   cwd=self.directory, env=environment)
        os.close(slave)
        shown, waiting = "", list(answers)
        end = time.monotonic() + COMMAND_LIMIT_S
        while time.monotonic() < end:
            if waiting and waiting[0][0] in shown:
                os.write(master, waiting.pop(0)[1].encode())
            if not select.select([master], [], [], 0.1)[0]:
                continue
            try:
                data = os.read(master, 65536)
            except OSError:  # the program has ended
                break
            shown += data.decode(errors="replace")
        if time.monotonic() >= end:
            process.kill()
        self.assertEqual(process.wait(), code, shown)
        self.assertEqual(waiting, [], shown)
        return shown.replace("\r\n", "\n")

    def table(self):
        return self.classes_csv("points.csv", 200)

    def job_here(self, **spec):
        data = {"train": self.table(), "label": "label", "validation": {"fraction": 0.2}}
        return self.job("points", dict({"data": data, "train": {"epochs": 6}}, **spec))

    def test_init_asks_until_the_answer_is_a_column(self):
        self.table()
        shown = self.on_terminal("init", "points.csv", answers=[
            ("Column to predict", "lable\n"), ("mean 'label'?", "label\n")])
        self.assertIn("points.csv: ", shown)
        self.assertIn("points.yaml: classification of 'label'", shown)
        self.assertIn("espalier train points.yaml", shown)
        self.espalier("check", "points.yaml")
        self.assertEqual(self.result("train", "points.yaml", "--workers", 1)["status"],
                         "SUCCEEDED")

    def test_enter_takes_the_likely_label_and_the_end_is_an_error(self):
        self.table()
        shown = self.on_terminal("init", "points.csv", answers=[("[label]: ", "\n")])
        self.assertIn("classification of 'label'", shown)
        shown = self.on_terminal("init", "points.csv", "--output", "other.yaml", code=2,
                                 answers=[("[label]: ", "\x04")])
        self.assertIn("without a label. Add --label COLUMN", shown)
        shown = self.on_terminal("init", "points.csv", "--output", "other.yaml", code=130,
                                 answers=[("[label]: ", "\x03")])
        self.assertFalse(os.path.exists(self.path("other.yaml")))

    def test_without_a_terminal_init_needs_the_label(self):
        self.table()
        out, err = self.espalier("init", "points.csv", "--json", code=2)
        self.assertIn("for example --label label", err)
        self.assertEqual(json_lines(out)[-1]["error"]["code"], "INVALID_ARGUMENT")
        self.assertEqual(self.result("init", "points.csv", "--label", "label"),
                         {"status": "OK", "job": "points.yaml", "label": "label"})

    def test_init_overwrites_no_file_without_force(self):
        self.table()
        self.write("points.yaml", "precious")
        init = ["init", "points.csv", "--label", "label"]
        _, err = self.espalier(*init, code=2)
        self.assertIn("'points.yaml' already exists", err)
        with open(self.path("points.yaml")) as f:
            self.assertEqual(f.read(), "precious")
        self.espalier(*init, "--force")
        with open(self.path("points.csv")) as f:
            before = f.read()
        _, err = self.espalier(*init, "--output", "points.csv", "--force", code=2)
        self.assertIn("a file of the table", err)
        with open(self.path("points.csv")) as f:
            self.assertEqual(f.read(), before)
        os.mkdir(self.path("folder"))
        self.espalier(*init, "--output", "folder", "--force", code=2)
        self.espalier(*init, "--output", "missing/job.yaml", code=2)
        self.espalier("init", "nothing.csv", "--label", "label", code=2)
        self.assertEqual(sorted(name for name in os.listdir(self.directory) if name != "tmp"),
                         ["folder", "points.csv", "points.yaml"])

    def test_init_writes_to_standard_output_for_a_dash(self):
        self.table()
        out, err = self.espalier("init", "points.csv", "--label", "label", "--output", "-")
        self.assertEqual(err.split("\n")[0].split(" (")[0], "classification of 'label'")
        self.assertFalse(os.path.exists(self.path("-")))
        self.assertFalse(os.path.exists(self.path("points.yaml")))
        self.espalier("check", self.write("piped.yaml", out))
        _, err = self.espalier("init", "points.csv", "--label", "label", "--output", "-", "--json",
                               code=2)
        self.assertIn("standard output is the job file", err)

    def test_init_takes_another_output_if_a_model_exists(self):
        self.table()
        os.mkdir(self.path("points-model"))
        self.espalier("init", "points.csv", "--label", "label")
        self.espalier("check", "points.yaml")
        with open(self.path("points.yaml")) as f:
            self.assertIn("\noutput: points-model-2 ", f.read())

    def test_train_draws_a_curve_for_the_terminal(self):
        job = self.job_here()
        shown = self.on_terminal("train", job, "--workers", "1", LC_ALL="C.UTF-8")
        self.assertIn("\x1b[36m●\x1b[0m training", shown)
        curve = ESCAPE.sub("", shown[shown.index("loss by epoch"):shown.index("\ntime ")])
        self.assertIn("└──", curve)
        result = ESCAPE.sub("", shown[shown.index("succeeded"):])
        wide = [line for line in result.split("\n")
                if len(line) > 80 and not line.startswith(("bundle", "succeeded"))]
        self.assertEqual(wide, [])
        for step in ("evaluate", "predict", "export"):
            self.assertIn("espalier %s points.bundle" % step, shown)

    def test_lines_are_wrapped_between_words_for_the_terminal_only(self):
        job = self.job_here()
        self.write("wrong.yaml", "data: {train: nothing-of-that-name.csv, label: a}\noutput: x\n")
        piped, _ = self.espalier("check", job)
        memory = re.search(r"^memory +(.*)$", piped, re.M).group(1)
        self.assertGreater(len(memory), 80)
        for columns in (60, 80):
            shown = ESCAPE.sub("", self.on_terminal("check", job, columns=columns)).split("\r")[-1]
            # The path of the output is one word, which may be longer than a line.
            self.assertEqual([line for line in shown.split("\n") if len(line) > columns and
                              line.split()[-1] != self.path("points.bundle")], [], shown)
            self.assertIn(memory, " ".join(shown.split()))
            shown = ESCAPE.sub("", self.on_terminal("check", "wrong.yaml", columns=columns, code=2))
            self.assertRegex(shown, r"^error: .*\n  \S")
        shown = self.on_terminal("list", "--coordinator", "127.0.0.1:1", "--json", code=3)
        self.assertIn('"status":"FAILED"', next(line for line in shown.split("\n")
                                                if line.startswith("{") and line.endswith("}")))
        shown = self.on_terminal("check", job, "--effective", columns=40)
        self.assertEqual(shown, self.espalier("check", job, "--effective")[0])

    def test_two_interrupts_leave_no_file_and_no_half_line(self):
        job = self.job_here(train={"epochs": 10_000_000})
        shown = self.on_terminal("train", job, "--workers", "1", code=130, answers=[
            (" loss ", "\x03"), ("Press Ctrl-C again", "\x03")])
        self.assertTrue(shown.endswith("\n"), shown[-200:])
        self.assertEqual([name for name in os.listdir(self.directory)
                          if ".writing" in name or ".draft" in name], [])

    def test_a_curve_needs_neither_colour_nor_unicode(self):
        job = self.job_here(output={"path": self.path("again"), "overwrite": True})
        for environment in ({"LC_ALL": "C"}, {"LC_ALL": "", "LC_CTYPE": "", "LANG": "de_DE"}):
            shown = self.on_terminal("train", job, "--workers", "1", columns=40, NO_COLOR="1",
                                     **environment)
            curve = shown[shown.index("loss by epoch"):shown.index("\ntime ")]
            self.assertTrue(curve.isascii(), curve)
            self.assertNotIn("\x1b", curve)
            self.assertIn("* training", curve)
        out, _ = self.espalier("train", job, "--workers", 1)
        self.assertTrue(out.isascii(), out)
        self.assertIn("loss by epoch: * training, o validation", out)

    def test_the_commands_of_a_result_work(self):
        out, _ = self.espalier("train", self.job_here(), "--workers", 1)
        commands = re.findall(r"^  (?:evaluate|predict|export) +espalier (.*)$", out, re.M)
        self.assertEqual(len(commands), 3, out)
        for command in commands:
            self.espalier(*command.split())
        for name in ("report.html", "scored", "model.onnx"):
            self.assertTrue(os.path.exists(self.path(name)), name)


if __name__ == "__main__":
    unittest.main()
