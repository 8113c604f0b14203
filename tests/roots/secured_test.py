"""Tests the services under a real systemd with a keytab, as in deploy/README.md, and a secured HDFS
that they use under their own principal."""
import glob
import json
import os
import re
import shutil
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, "tests", "e2e"), os.path.join(ROOT, "tools", "lib")]

import debian_root
import hadoop_kdc
import machine
from borrowed_port import BorrowedPort
from espalier import EspalierTest, json_lines, wait_for
from hadoop import Hdfs
from hdfs_jobs import BUNDLE, csv_text, table
from installed import package, only

EDITOR = "#!/bin/sh\ncat /srv/drop-in > \"$1\"\n"
LIMIT_S = 60


def page():
    """Returns (units, drop-in, command for the keytab) of the page."""
    with open(os.path.join(ROOT, "deploy", "README.md")) as f:
        _, _, section = f.read().partition("\n## A secured Hadoop\n")
    one, other, text = re.search(
        r"```ini\n# systemctl edit (\S+) \(and (\S+)\)\n(.*?)```", section, re.S).groups()
    command, = re.findall(r"`(chown [^`]*/etc/espalier/espalier\.keytab)`", section)
    return (one, other), text, command.replace("\n", " ")


class SecuredTest(EspalierTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.hdfs = Hdfs.start(kerberos=True, datanodes=1)
        cls.addClassCleanup(cls.hdfs.stop)
        manager = debian_root.unpacked(machine.SUITE, machine.INCLUDE)
        cls.root = manager.__enter__()
        cls.addClassCleanup(manager.__exit__, None, None, None)
        shutil.copy(only(package(cls), ".deb"), os.path.join(cls.root, "espalier.deb"))
        cls.machine = machine.Machine(cls.root)
        cls.addClassCleanup(cls.machine.stop)
        cls.machine.run("dpkg", "--install", "/espalier.deb")

    def put(self, path, text):
        os.makedirs(os.path.dirname(self.root + path), exist_ok=True)
        with open(self.root + path, "w") as f:
            f.write(text)

    def bring_in(self):
        """Provides what the page requires: the realm, Hadoop's configuration, the keytab, and
        connections to the servers."""
        for address in (self.hdfs.daemon("kdc1")["rpc"], self.hdfs.daemon("nn1")["http"],
                        self.hdfs.daemon("dn1")["http"]):
            port = BorrowedPort(self.machine.first, int(address.rpartition(":")[2]))
            self.addCleanup(port.stop)
        self.put("/etc/hosts", "127.0.0.1 localhost\n")
        shutil.copy(hadoop_kdc.client_env(self.hdfs.state)["KRB5_CONFIG"],
                    self.root + "/etc/krb5.conf")
        os.makedirs(self.root + "/etc/hadoop/conf")
        for path in glob.glob(os.path.join(self.hdfs.conf_dir, "*-site.xml")):
            shutil.copy(path, self.root + "/etc/hadoop/conf")
            os.chmod(self.root + "/etc/hadoop/conf/" + os.path.basename(path), 0o644)
        shutil.copy(hadoop_kdc.keytab(self.hdfs.state, "espalier"),
                    self.root + "/etc/espalier/espalier.keytab")

    def edit(self, unit):
        """Runs `systemctl edit`, which requires a terminal and an editor."""
        self.machine.run("env", "SYSTEMD_EDITOR=/srv/editor", "script", "--quiet", "--return",
                         "--command", "systemctl edit " + unit, "/dev/null")

    def submit(self, job):
        return self.machine.try_run("espalier", "submit", job, "--json")

    def attached(self):
        return "worker-" in self.machine.try_run("espalier", "workers").stdout

    def test_the_daemons_are_themselves_by_their_keytab(self):
        rows = csv_text(table(400))
        spec = {"preset": "none",
                "data": {"train": self.write("t.csv", rows), "label": "label",
                         "validation": {"column": "flag"}},
                "model": {"task": "classification", "hidden": [16, 8]},
                "train": {"batch": 100, "leaves": 16, "epochs": 2, "seed": 7}}
        local = self.result("train", self.job("local", spec), "--workers", 1)
        self.hdfs.files.mkdirs("/jobs")
        self.hdfs.put("/jobs/t.csv", rows.encode())
        self.hdfs.files.call("PUT", "SETPERMISSION", "/jobs/t.csv", permission="600")
        for path in ("/jobs", "/jobs/t.csv"):
            self.hdfs.files.call("PUT", "SETOWNER", path, owner="espalier")
        spec["data"]["train"] = "hdfs:///jobs/t.csv"
        self.put("/srv/job.yaml", json.dumps(dict(spec, name="job", output="hdfs:///jobs/model")))

        self.bring_in()
        units, drop_in, command = page()
        self.put("/srv/drop-in", drop_in)
        self.put("/srv/editor", EDITOR)
        os.chmod(self.root + "/srv/editor", 0o755)
        self.machine.run("sh", "-e", "-c", command)
        for unit in units:
            self.edit(unit)
        self.machine.run("systemctl", "restart", *units)
        wait_for("a worker", self.attached, LIMIT_S)
        done = self.submit("/srv/job.yaml")
        self.assertEqual(done.returncode, 0, done.stdout[-500:] + done.stderr)
        self.assertEqual(json_lines(done.stdout)[-1]["weights_sha256"], local["weights_sha256"])
        self.assertEqual(sorted(self.hdfs.files.names("/jobs/model")), BUNDLE)
        self.assertEqual(self.hdfs.files.status("/jobs/model")["owner"], "espalier")
        self.without_the_keytab(units)

    def without_the_keytab(self, units):
        """Checks that a job without the keytab fails with an error that says so."""
        self.machine.run("systemctl", "revert", *units)
        for unit in units:  # keeps the configuration of HDFS
            self.put("/etc/systemd/system/%s.service.d/conf.conf" % unit,
                     "[Service]\nEnvironment=HADOOP_CONF_DIR=/etc/hadoop/conf\n")
        self.machine.run("systemctl", "daemon-reload")
        self.machine.run("systemctl", "restart", *units)
        wait_for("a worker", self.attached, LIMIT_S)
        done = self.submit("/srv/job.yaml")
        self.assertNotEqual(done.returncode, 0, done.stdout)
        self.assertIn("neither a Kerberos ticket nor a keytab", done.stderr)


if __name__ == "__main__":
    unittest.main()
