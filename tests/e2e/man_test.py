"""The man pages: one per command, generated from --help, without warnings of troff."""
import os
import re
import subprocess
import unittest

import pytest

from espalier import BIN, EspalierTest

import man_pages  # in tools/lib, which `espalier` puts on the path

pytestmark = [pytest.mark.covers("cli", "config"), pytest.mark.pages]

PROGRAMS = [os.path.join(BIN, name) for name in
            ("espalier", "espalier-coordinator", "espalier-worker")]
SECONDS = 1_700_000_000  # 2023-11-14


class ManTest(EspalierTest):
    def setUp(self):
        super().setUp()
        man_pages.put(self.path("man"), PROGRAMS, "1.2.3", SECONDS)

    def shown(self, page):
        """Returns the text that a person sees, and the warnings of troff."""
        done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", self.path("man", page)],
                              capture_output=True, text=True, timeout=60,
                              env=dict(self.environment, MANWIDTH="80", LC_ALL="C.UTF-8"))
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout, done.stderr

    def test_each_command_has_a_page_without_warnings(self):
        paths = sorted(os.path.relpath(os.path.join(folder, name), self.path("man"))
                       for folder, _, names in os.walk(self.path("man")) for name in names)
        for name in ("man1/espalier.1", "man1/espalier-init.1", "man1/espalier-certs-issue.1",
                     "man8/espalier-coordinator.8", "man8/espalier-worker.8"):
            self.assertIn(name, paths)
        for path in paths:
            text, warnings = self.shown(path)
            warnings = [line for line in warnings.splitlines() if "can't break line" not in line]
            self.assertEqual(warnings, [], path)
            self.assertIn("NAME\n", text)
            self.assertIn("2023-11-14", text)
            for number, name in re.findall(r"(espalier[\w-]*)\((\d)\)", text):
                self.assertIn("man%s/%s.%s" % (name, number, name), paths, path)

    def test_a_page_has_the_options_and_examples_of_help(self):
        text, _ = self.shown("man1/espalier-init.1")
        self.assertRegex(text, r"SYNOPSIS\n +espalier init \[OPTIONS\] TABLE\n")
        self.assertRegex(text, r"\n +TABLE +Training rows: ")
        self.assertRegex(text, r"\n +--label TEXT\n +Column to predict\n")
        self.assertRegex(text, r"\n +-h, --help\n +Print this help")
        text, _ = self.shown("man1/espalier-train.1")
        self.assertRegex(text, r"\n +--workers N +Number of worker processes, 1 to 64 |"
                               r"\n +--workers N\n +Number of worker processes, 1 to 64 ")
        self.assertRegex(text, r"EXAMPLES\n +espalier train job\.yaml\n")
        text, _ = self.shown("man8/espalier-worker.8")
        self.assertRegex(text, r"SYNOPSIS\n +espalier-worker \[OPTIONS\]\n")
        text, _ = self.shown("man1/espalier.1")
        self.assertRegex(text, r"EXIT STATUS\n +0 +success\n +1 ")

    def test_text_is_never_a_request_of_troff(self):
        text = man_pages.page("tool", "A tool\nUsage: tool [OPTIONS]\n\nOptions:\n"
                              "  --path TEXT                 .so /etc/passwd\n\n"
                              "'quoted' and \\fBnot bold\n", [], "1", 0)
        self.assertIn("\n\\&.so /etc/passwd\n", text)
        self.assertIn("\n\\&'quoted' and \\efBnot bold\n", text)


if __name__ == "__main__":
    unittest.main()
