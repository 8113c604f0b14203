"""tools/package and libraries with pending security updates, according to apt's lists."""
import contextlib
import email.utils
import hashlib
import io
import os
import shutil
import subprocess
import sys
import time
import unittest
from unittest import mock

import pytest

from espalier import ROOT, EspalierTest

import package_security  # in tools/lib, which `espalier` puts on the path
import package_tree

pytestmark = pytest.mark.covers("launcher")


class PackageUpdatesTest(EspalierTest):
    def security_archive(self, package, version, valid_s=3600):
        """Returns settings for apt, as environment. Its only archive is one of security updates,
        which has this version."""
        folder = self.path("archive")
        place = os.path.join(folder, "dists", "bookworm-security")
        os.makedirs(place + "/main/binary-amd64")
        for name in ("lists/partial", "cache/archives/partial"):
            os.makedirs(os.path.join(folder, name))
        index = "Package: %s\nVersion: %s\nArchitecture: amd64\nFilename: x.deb\nSize: 1\n" % (
            package, version)
        with open(place + "/main/binary-amd64/Packages", "w") as f:
            f.write(index)
        times = [email.utils.formatdate(time.time() + s, usegmt=True) for s in (-60, valid_s)]
        with open(place + "/Release", "w") as f:
            f.write("Suite: bookworm-security\nCodename: bookworm-security\nDate: %s\n"
                    "Valid-Until: %s\nArchitectures: amd64\nComponents: main\nSHA256:\n"
                    " %s %d main/binary-amd64/Packages\n" %
                    (*times, hashlib.sha256(index.encode()).hexdigest(), len(index)))
        with open(folder + "/sources.list", "w") as f:
            f.write("deb [trusted=yes] file:%s bookworm-security main\n" % folder)
        with open(folder + "/apt.conf", "w") as f:
            f.write('Dir::Etc::SourceList "%s/sources.list";\nDir::Etc::SourceParts "-";\n'
                    'Dir::State::Lists "%s/lists";\nDir::Cache "%s/cache";\n'
                    'APT::Sandbox::User "root";\nAcquire::Languages "none";\n'
                    'Acquire::Check-Valid-Until "false";\n' % (folder, folder, folder))
        environment = dict(os.environ, APT_CONFIG=folder + "/apt.conf")
        subprocess.run(["apt-get", "update"], env=environment, check=True, capture_output=True)
        return environment

    def test_a_pending_security_update_is_refused(self):
        environment = self.security_archive("libexpat1", "99:1-1")
        done = subprocess.run(
            [sys.executable, os.path.join(ROOT, "tools", "lib", "package.py"), "--only", "tarball",
             "--output", self.path("out")], env=environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr, r"\(libexpat1: found 2\S+, expected 99:1-1 or newer\)")
        self.assertIn("Run tools/setup --security, or", done.stderr)
        self.assertIn("--allow-outdated", done.stderr)
        self.assertEqual(os.listdir(self.path("out")), [])

    def test_package_reads_its_arguments_before_it_builds(self):
        environment = dict(os.environ, BAZEL="false")  # a build would fail with code 1
        program = os.path.join(ROOT, "tools", "package")
        shown = subprocess.run([program, "--help"], env=environment, capture_output=True, text=True)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertIn("--allow-outdated", shown.stdout)
        self.assertNotIn("--build", shown.stdout)
        wrong = subprocess.run([program, "--olny", "deb"], env=environment, capture_output=True,
                               text=True)
        self.assertEqual(wrong.returncode, 2, wrong.stderr)
        self.assertIn("unrecognized arguments: --olny", wrong.stderr)

    def warnings(self, environment, allow_outdated=False):
        """Returns the output of tools/package about libexpat1 if apt has these settings."""
        with mock.patch.dict(os.environ, environment), \
                contextlib.redirect_stderr(io.StringIO()) as said:
            package_security.check({"libexpat1": "2.5.0-1"}, allow_outdated)
        return said.getvalue()

    def test_outdated_libraries_ship_only_with_a_warning(self):
        outdated = self.security_archive("libexpat1", "2.5.0-1+deb12u1")
        self.assertRegex(self.warnings(outdated, allow_outdated=True),
                         r"^package: warning: .*\(libexpat1: found 2.5.0-1, expected .*u1 or newer")
        with self.assertRaisesRegex(package_tree.TreeError, "pending security updates"):
            self.warnings(outdated)

    def test_an_older_security_update_is_no_reason_to_refuse(self):
        self.assertEqual(self.warnings(self.security_archive("libexpat1", "2.4.9-1+deb12u9")), "")

    def test_old_or_missing_lists_of_updates_are_reported(self):
        expired = self.security_archive("libexpat1", "2.4.9-1", valid_s=-30)
        self.assertRegex(self.warnings(expired), "warning: apt's list .* expired on .* GMT")
        shutil.rmtree(self.path("archive", "lists"))
        self.assertIn("apt has no list of a security archive", self.warnings(expired))

    @unittest.skipUnless(os.geteuid() == 0, "tools/setup runs sudo for other users")
    def test_setup_updates_exactly_the_packages_that_are_behind(self):
        environment = self.security_archive("libexpat1", "99:1-1")
        os.mkdir(self.path("shim"))
        with open(self.path("shim/apt-get"), "w") as f:
            f.write('#!/bin/sh\necho "$@" >>%s\n' % self.path("asked"))
        os.chmod(self.path("shim/apt-get"), 0o755)
        environment["PATH"] = self.path("shim") + ":" + environment["PATH"]
        done = subprocess.run([os.path.join(ROOT, "tools", "setup"), "--security"],
                              env=environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("security updates are still pending: libexpat1", done.stderr)
        with open(self.path("asked")) as f:
            update, install = f.read().splitlines()
        self.assertTrue(update.endswith(" update"), update)
        self.assertRegex(install, " --only-upgrade --no-remove libexpat1$")


if __name__ == "__main__":
    sys.exit(unittest.main())
