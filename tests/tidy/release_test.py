"""Tests what tools/release refuses, and that two equal builds result in checksums and a tag."""
import hashlib
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
VERSION_H = 'inline constexpr const char* kVersion = "1.2.3";\n'
CHANGELOG = "# Changelog\n\n## [Unreleased]\n\n## [1.2.3] - 2026-01-02\n\n- A change.\n"
# Replaces tools/package, which takes minutes. $1 is --output.
PACKAGE = """#!/bin/sh
for name in espalier-1.2.3-linux-x86_64.tar.gz espalier_1.2.3_amd64.deb \\
    espalier-1.2.3-py3-none-any.whl; do
  echo "$name%s" > "$2/$name"
done
"""


class ReleaseTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="espalier-release-test-")
        self.addCleanup(temporary.cleanup)
        self.root = temporary.name
        self.environment = dict(os.environ, GIT_CONFIG_GLOBAL="/dev/null", TMPDIR=self.root,
                                GIT_CONFIG_SYSTEM="/dev/null")
        self.git("init", "--quiet")
        self.git("config", "user.name", "Tests")
        self.git("config", "user.email", "tests@localhost")
        self.write("src/base/version.h", VERSION_H)
        self.write("CHANGELOG.md", CHANGELOG)
        self.write(".gitignore", "build/\nespalier-release-*/\n")
        self.write("docs/install.md", "tar -xzf espalier-1.2.3-linux-x86_64.tar.gz\n")
        self.write("tools/package", PACKAGE % "")
        os.chmod(self.path("tools/package"), 0o755)
        self.commit()

    def path(self, name):
        return os.path.join(self.root, name)

    def write(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w") as f:
            f.write(text)

    def git(self, *words):
        return subprocess.run(["git"] + list(words), cwd=self.root, env=self.environment,
                              check=True, capture_output=True, text=True).stdout

    def commit(self):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "A change")

    def release(self, *flags):
        done = subprocess.run([sys.executable, os.path.join(ROOT, "tools", "lib", "release.py"),
                               self.root] + list(flags), capture_output=True, text=True,
                              env=self.environment)
        return done.returncode, done.stdout + done.stderr

    def assert_refused(self, words):
        for flags in (["--dry-run"], []):
            code, out = self.release(*flags)
            self.assertEqual(code, 1, out)
            self.assertIn(words, out)
            self.assertEqual(self.git("tag"), "")
            self.assertFalse(os.path.exists(self.path("build")))

    def test_a_release_has_checksums_and_a_tag(self):
        code, out = self.release()
        self.assertEqual(code, 0, out)
        folder = self.path("build/release/1.2.3")
        with open(os.path.join(folder, "SHA256SUMS")) as f:
            sums = dict(reversed(line.split()) for line in f)
        self.assertEqual(sorted(list(sums) + ["SHA256SUMS"]), sorted(os.listdir(folder)))
        self.assertEqual(len(sums), 3)
        for name, digest in sums.items():
            with open(os.path.join(folder, name), "rb") as f:
                self.assertEqual(hashlib.sha256(f.read()).hexdigest(), digest)
        self.assertEqual(self.git("rev-list", "-n", "1", "v1.2.3"), self.git("rev-parse", "HEAD"))
        self.assertEqual(self.git("cat-file", "-t", "v1.2.3").strip(), "tag")
        code, out = self.release("--dry-run")
        self.assertEqual(code, 1, out)
        self.assertIn("the tag v1.2.3 exists already", out)

    def test_a_dry_run_changes_nothing(self):
        code, out = self.release("--dry-run")
        self.assertEqual(code, 0, out)
        self.assertIn("1.2.3 is ready", out)
        self.assertEqual(self.git("tag"), "")
        self.assertFalse(os.path.exists(self.path("build")))

    def test_a_tree_with_changes_is_refused(self):
        self.write("new.txt", "new\n")
        self.assert_refused("the working tree is not clean (found new.txt)")

    def test_the_changelog_has_the_version_and_nothing_above(self):
        self.write("CHANGELOG.md", CHANGELOG.replace("1.2.3", "1.2.2"))
        self.commit()
        self.assert_refused('no section "## [1.2.3] - YYYY-MM-DD"')
        self.write("CHANGELOG.md", CHANGELOG.replace("- A change.\n", ""))
        self.commit()
        self.assert_refused("the section of 1.2.3 is empty")
        self.write("CHANGELOG.md", CHANGELOG.replace("[Unreleased]\n", "[Unreleased]\n\n- More.\n"))
        self.commit()
        self.assert_refused('the section "Unreleased" has changes')

    def test_the_version_is_a_version_and_stated_once(self):
        self.write("deploy/setup.py", 'VERSION = "1.2.3"\n')
        self.write("docs/python.md", "\npip install espalier-1.2.2-py3-none-any.whl\n")
        self.commit()
        self.assert_refused("deploy/setup.py:1: the version is stated a second time")
        self.assert_refused("docs/python.md:2: a package of another version (found 1.2.2, ")
        self.write("src/base/version.h", VERSION_H.replace("1.2.3", "1.2"))
        self.commit()
        self.assert_refused("expected one kVersion such as")

    def test_builds_that_differ_or_fail_leave_no_tag(self):
        for script, words in ((PACKAGE % " $2", "two builds of this commit differ in espalier"),
                              ("#!/bin/sh\nexit 3\n", "tools/package ended with 3"),
                              ("#!/bin/sh\n", "tools/package wrote nothing")):
            self.write("tools/package", script)
            self.commit()
            code, out = self.release()
            self.assertEqual(code, 1, out)
            self.assertIn(words, out)
            self.assertEqual(self.git("tag"), "")


if __name__ == "__main__":
    unittest.main()
