"""Tests the tarball and the Debian package of tools/package on an old Debian. The package is
installed, upgraded, removed and purged."""
import os
import re
import shutil
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, "tests", "e2e"), os.path.join(ROOT, "tools", "lib")]

import debian_root
from espalier import EspalierTest, json_lines
from installed import package, only, ring_job

SUITE = "bullseye"  # the C library is two versions older than ours


class DebianTest(EspalierTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        manager = debian_root.unpacked(SUITE)
        cls.root = manager.__enter__()
        cls.addClassCleanup(manager.__exit__, None, None, None)
        cls.folder = package(cls)

    def inside(self, *words, code=0, uid=0):
        done = subprocess.run(debian_root.inside(self.root, words, uid), capture_output=True,
                              text=True, timeout=300, stdin=subprocess.DEVNULL,
                              env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C",
                                   "DEBIAN_FRONTEND": "noninteractive"})
        self.assertEqual(done.returncode, code, "%s\n%s%s" % (words, done.stdout, done.stderr))
        return done.stdout

    def there(self, *names):
        return os.path.lexists(os.path.join(self.root, *names))

    def assert_trains(self, program, uid):
        job = ring_job(self, self.root, uid)
        out = self.inside(program, "train", job.path, "--workers", "2", "--json", uid=uid)
        self.assertEqual(json_lines(out)[-1]["weights_sha256"], job.weights)

    def test_the_tarball_trains_the_same_weights(self):
        subprocess.run(["tar", "-xzf", only(self.folder, ".tar.gz"), "-C",
                        os.path.join(self.root, "opt")], check=True)
        top = "/opt/" + os.listdir(os.path.join(self.root, "opt"))[0]
        self.addCleanup(shutil.rmtree, self.root + top)
        self.assert_trains(top + "/bin/espalier", 0)
        self.assert_trains(top + "/bin/espalier", 54321)

    def next_version(self):
        """Builds a package with a newer version and another worker.yaml. Returns its path in the
        root."""
        tree = os.path.join(self.folder, "next")
        self.addCleanup(shutil.rmtree, tree)
        subprocess.run(["dpkg-deb", "--raw-extract", only(self.folder, ".deb"), tree], check=True)
        with open(os.path.join(tree, "DEBIAN", "control")) as f:
            control = f.read()
        changed = re.sub(r"^Version: .*$", r"\g<0>.1", control, flags=re.M)
        self.assertNotEqual(changed, control)
        with open(os.path.join(tree, "DEBIAN", "control"), "w") as f:
            f.write(changed)
        shipped = [os.path.join(folder, name) for folder, _, names in os.walk(tree)
                   for name in names if name == "worker.yaml"]
        self.assertTrue(shipped)
        for path in shipped:
            with open(path, "a") as f:
                f.write("# of the next version\n")
        subprocess.run(["dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "--build", tree,
                        os.path.join(self.root, "next.deb")], check=True,
                       stdout=subprocess.DEVNULL)
        return "/next.deb"

    def config(self, name):
        with open(os.path.join(self.root, "etc", "espalier", name)) as f:
            return f.read()

    def keep_the_configuration_over_an_upgrade(self):
        self.assertEqual(self.inside("stat", "-c", "%U:%G %a", "/etc/espalier/worker.yaml"),
                         "root:root 644\n")
        ours = self.config("worker.yaml").replace("threads: 0", "threads: 3") + "# ours\n"
        with open(os.path.join(self.root, "etc/espalier/worker.yaml"), "w") as f:
            f.write(ours)
        os.remove(os.path.join(self.root, "etc/espalier/coordinator.yaml"))
        # dpkg cannot ask a question, because `inside` provides no terminal.
        out = self.inside("dpkg", "--install", self.next_version())
        self.assertNotIn("Configuration file", out)
        self.assertRegex(self.inside("dpkg", "--status", "espalier"),
                         r"(?s)Status: install ok installed\n.*Version: \S+\.1\n")
        self.assertEqual(self.config("worker.yaml"), ours)
        self.assertIn("listen: ", self.config("coordinator.yaml"))  # restored

    def keep_a_model_over_a_purge(self):
        """Purges the package while a model exists. Leaves the package installed and the model
        removed."""
        model = "/var/lib/espalier/models/job/model.json"
        self.inside("install", "-D", "-o", "espalier", "/etc/hostname", model)
        said = self.inside("dpkg", "--purge", "espalier")
        self.assertIn("files that people made in /var/lib/espalier.", said)
        self.assertEqual(self.inside("stat", "-c", "%U", model), "espalier\n")
        self.assertFalse(self.there("etc/espalier"))
        shutil.rmtree(self.root + "/var/lib/espalier/models")
        self.inside("dpkg", "--install", "/espalier.deb")

    def test_the_package_is_installed_removed_and_purged_without_traces(self):
        shutil.copy(only(self.folder, ".deb"), os.path.join(self.root, "espalier.deb"))
        before = self.inside("find", "/etc", "/usr", "/lib", "/var/lib", "-xdev")
        self.inside("dpkg", "--install", "/espalier.deb")
        self.assertRegex(self.inside("getent", "passwd", "espalier"),
                         r"^espalier:x:\d+:\d+:Espalier:/var/lib/espalier:/usr/sbin/nologin\n")
        self.assertEqual(self.inside("stat", "-c", "%U:%G %a", "/var/lib/espalier"),
                         "espalier:espalier 750\n")
        self.assertIn("espalier", self.inside("espalier", "--version"))
        self.assert_trains("espalier", 0)
        self.keep_the_configuration_over_an_upgrade()
        self.inside("dpkg", "--remove", "espalier")
        self.assertFalse(self.there("usr/lib/espalier"))
        self.assertFalse(self.there("usr/bin/espalier"))
        self.assertTrue(self.there("etc/espalier/worker.yaml"))
        self.keep_a_model_over_a_purge()
        self.inside("dpkg", "--purge", "espalier")
        self.inside("getent", "passwd", "espalier", code=2)
        after = self.inside("find", "/etc", "/usr", "/lib", "/var/lib", "-xdev")
        # The system keeps the previous version of the lists of users, for example /etc/passwd-.
        left = set(after.split()) - set(before.split())
        self.assertEqual({n for n in left if not n.startswith("/etc/") or not n.endswith("-")},
                         set())


if __name__ == "__main__":
    unittest.main()
