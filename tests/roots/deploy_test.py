"""The commands of deploy/README.md, as written, on fresh Debians with systemd, an old one too."""
import os
import re
import shutil
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, "tests", "e2e"), os.path.join(ROOT, "tools", "lib")]

import debian_root
import machine
from espalier import EspalierTest, wait_for
from installed import package, only, ring_job

OUTPUT = "/var/lib/espalier/models/job"
HEAD = "127.0.1.1"  # its name leads there, as on any Debian


def commands():
    """The blocks of commands of the page, in order."""
    with open(os.path.join(ROOT, "deploy", "README.md")) as f:
        return re.findall(r"```sh\n(.*?)```", f.read(), re.S)


class DeployTest(EspalierTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = package(cls)

    def start_machine(self, suite):
        manager = debian_root.unpacked(suite, machine.INCLUDE)
        self.root = manager.__enter__()
        self.addCleanup(manager.__exit__, None, None, None)
        for name, text in (("hosts", "127.0.0.1 localhost\n%s head\n" % HEAD),
                           ("hostname", "head\n")):
            with open(os.path.join(self.root, "etc", name), "w") as f:
                f.write(text)
        for ending in (".deb", ".tar.gz"):
            shutil.copy(only(self.folder, ending), os.path.join(self.root, "root"))
        self.machine = machine.Machine(self.root)
        self.addCleanup(self.machine.stop)

    def follow_the_page(self, install, suite):
        self.start_machine(suite)
        debian, other, head, worker, submit, *_ = commands()  # then those of YARN
        for block in [{"deb": debian, "tarball": other}[install], head, worker]:
            self.machine.run("sh", "-e", "-c", "cd /root\n" + block)
        wait_for("a worker", lambda: "worker-1" in self.machine.try_run(
            "espalier", "workers", "--coordinator", "head:7700").stdout, 60)
        job = ring_job(self, self.root, output=OUTPUT)
        shutil.copy(self.root + job.path, os.path.join(self.root, "root", "job.yaml"))
        out = self.machine.run("sh", "-e", "-c", "cd /root\n" + submit.replace(
            "job.yaml", "job.yaml --json"))
        self.assertIn(job.weights, out.splitlines()[-1])
        self.assertTrue(os.path.exists(self.root + OUTPUT + "/model.json"))

    def test_from_the_debian_package_to_a_model(self):
        self.follow_the_page("deb", machine.SUITE)

    def test_from_the_tarball_to_a_model(self):
        self.follow_the_page("tarball", "bullseye")  # systemd 247


if __name__ == "__main__":
    unittest.main()
