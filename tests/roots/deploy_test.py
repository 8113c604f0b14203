"""Runs the commands of deploy/README.md, as written, on a fresh current and a fresh old Debian with
systemd."""
import json
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
import machine
from espalier import EspalierTest, wait_for
from installed import package, only, ring_job

OUTPUT = "/var/lib/espalier/models/job"
HEAD = "127.0.1.1"  # address that Debian assigns to the host's name
ADDRESS = "10.98.76.54"  # address that other hosts use
CONFIGURE = "/usr/lib/espalier/deploy/systemd/configure"


def commands():
    """Returns the command blocks of the page, in order."""
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

    def sh(self, block):
        return self.machine.run("sh", "-e", "-c", "cd /root\n" + block)

    def follow_the_page(self, install, suite):
        self.start_machine(suite)
        debian, other, certificates, head, worker, submit, *_ = commands()  # the rest is for YARN
        for block in [{"deb": debian, "tarball": other}[install], certificates, head, worker]:
            self.sh(block)
        self.ann, = re.findall(r"^export .*\n", submit, re.M)
        wait_for("a worker", lambda: "node-1" in self.workers(), 60)
        job = ring_job(self, self.root, output=OUTPUT)
        shutil.copy(self.root + job.path, os.path.join(self.root, "root", "job.yaml"))
        out = self.sh(submit.replace("job.yaml", "job.yaml --json"))
        self.assertIn(job.weights, out.splitlines()[-1])
        self.assertTrue(os.path.exists(self.root + OUTPUT + "/model.json"))
        self.assert_others_reach_it()

    def workers(self, *flags):
        return self.machine.try_run("sh", "-c", "cd /root\n%sespalier workers --coordinator "
                                    "head:7700 %s" % (self.ann, " ".join(flags))).stdout

    def assert_others_reach_it(self):
        """Checks that the ports are reachable at an address other than that of the host's name."""
        worker, = json.loads(self.workers("--json"))["workers"]
        self.assertRegex(worker["address"], r"^head:\d+$")
        subprocess.run(["nsenter", "--target", str(self.machine.first), "--net", "ip", "address",
                        "add", ADDRESS + "/32", "dev", "lo"], check=True)
        for port in ("7700", worker["address"].split(":")[1]):
            self.machine.run("bash", "-c", "exec 3<>/dev/tcp/%s/%s" % (ADDRESS, port))

    def test_from_the_debian_package_to_a_model(self):
        self.follow_the_page("deb", machine.SUITE)
        self.take_the_certificate_back()
        self.use_a_wrong_one()

    def take_the_certificate_back(self):
        self.sh("espalier certs revoke espalier-ca/worker-node-1/tls.crt\n"
                "cp espalier-ca/trust.pem /etc/espalier/coordinator/ca.crt.new\n"
                "mv /etc/espalier/coordinator/ca.crt.new /etc/espalier/coordinator/ca.crt\n")
        wait_for("the leave of the worker", lambda: "node-1" not in self.workers(), 60)
        self.assert_stays_out()
        # Follows the page's steps for a new certificate. The old directory is refused, because its
        # ca.crt is from before the revocation.
        done = self.configure("coordinator espalier-ca/coordinator-head")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("would admit certificates", done.stderr)
        self.assertIn("nothing was changed", done.stderr)
        self.assert_stays_out()
        self.sh("espalier certs issue coordinator head --host head --output espalier-ca/renewed\n" +
                CONFIGURE + " coordinator espalier-ca/renewed\n")
        wait_for("the coordinator", lambda: '"workers"' in self.workers("--json"), 60)
        self.assert_stays_out()

    def assert_stays_out(self):
        self.assertIn("was revoked", self.machine.try_run(
            "sh", "-c", "cd /root\n%s" % self.ann.replace("operator-ann", "worker-node-1") +
            "espalier list --coordinator head:7700").stderr)

    def configure(self, words):
        return self.machine.try_run("sh", "-c", "cd /root\n%s %s" % (CONFIGURE, words))

    def use_a_wrong_one(self):
        # The trust on the worker's host is from before the revocation.
        self.sh("espalier certs issue reader bob\n" + CONFIGURE +
                " worker espalier-ca/reader-bob head:7700")
        self.assert_not_started_again("the role worker is needed")
        # A worker with another authority rejects the coordinator's certificate.
        self.sh("espalier certs init --directory other-ca\n"
                "espalier certs issue worker node-1 --directory other-ca\n"
                "rm /etc/espalier/worker/*\n" + CONFIGURE +
                " worker other-ca/worker-node-1 head:7700")
        self.assert_not_started_again("the coordinator's certificate")

    def assert_not_started_again(self, why):
        def state(what):
            return self.machine.run("systemctl", "show", "--value", "-p", what,
                                    "espalier-worker").strip()
        wait_for("the refusal", lambda: state("ActiveState") == "failed", 60)
        self.assertEqual((state("NRestarts"), state("ExecMainStatus")), ("0", "77"))
        self.assertIn(why, self.machine.run(
            "journalctl", "--no-pager", "-u", "espalier-worker"))

    def test_wrong_words_are_refused_before_anything_is_changed(self):
        self.start_machine(machine.SUITE)
        self.sh(commands()[0])
        for words, said in (("", "CERTIFICATES: a directory"), ("worker /nowhere", "CERTIFICATES"),
                            ("coordinator /nowhere", "ca.crt is missing in '/nowhere'"),
                            ("worker /nowhere head", "such as head:7700"),
                            ("worker --insecure 'head:7700|x'", "expected host:port"),
                            ("worker --insecure head:x", "expected a port number after the last"),
                            ("worker --insecure ::1:7700", "[address]:port")):
            done = self.configure(words)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(said, done.stderr)
        self.assertEqual(self.machine.run("grep", "-c", "^coordinator: 127.0.0.1:7700$",
                                          "/etc/espalier/worker.yaml"), "1\n")
        self.attach_without_certificates()
        self.go_back_from_certificates()
        self.refuse_what_stands_on_several_lines()

    def attach_without_certificates(self):
        self.sh(CONFIGURE + " coordinator --insecure\n" + CONFIGURE +
                " worker --insecure head:7700\n")
        wait_for("a worker", lambda: re.search(r"worker-\d", self.machine.try_run(
            "espalier", "workers", "--coordinator", "head:7700").stdout), 60)

    def go_back_from_certificates(self):
        """Installs certificates, changes only the worker's coordinator, and goes back to
        connections without TLS."""
        self.sh("espalier certs init && espalier certs issue coordinator head --host head\n"
                "espalier certs issue worker node-1\n" + CONFIGURE +
                " coordinator espalier-ca/coordinator-head\n" + CONFIGURE +
                " worker espalier-ca/worker-node-1 head:7700\n")
        # Changes only the coordinator. YAML would read this address as a list.
        self.sh(CONFIGURE + " worker /etc/espalier/worker '[::1]:7700'\n")
        self.assertEqual(self.sh("systemctl is-active espalier-worker"), "active\n")
        wait_for("the new address in the status", lambda: "looks for [::1]:7700" in
                 self.machine.try_run("systemctl", "status", "espalier-worker").stdout, 60)
        self.attach_without_certificates()

    def refuse_what_stands_on_several_lines(self):
        self.sh("sed -i 's|^tls: .*|tls:\\n  ca: x|' /etc/espalier/worker.yaml")
        before = self.sh("cat /etc/espalier/worker.yaml")
        done = self.configure("worker --insecure head:7700")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("'tls' continues on the next line", done.stderr)
        self.assertEqual(self.sh("cat /etc/espalier/worker.yaml"), before)

    def test_from_the_tarball_to_a_model(self):
        self.follow_the_page("tarball", "bullseye")  # systemd 247


if __name__ == "__main__":
    unittest.main()
