"""Tests clusters in the containers of a YARN with Kerberos. Part of `tools/test yarn` and
`tools/test --all`. The tests cover:

  - a service that logs in with a keytab, trains from a secured HDFS and leaves nothing behind
  - the commands of deploy/README.md, as written
  - the error for each missing or wrong input before a cluster starts

A NodeManager cannot show logs here. With Kerberos, that requires Hadoop's native library, which is
not in the jars, and containers that run as their users.
"""
import glob
import os
import re
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from espalier import wait_for  # noqa: E402
from hdfs_jobs import BUNDLE, csv_text, table  # noqa: E402
from yarn_jobs import SIZES, STEADY_LIMIT_S, YarnTest, page_blocks, start_yarn  # noqa: E402

import hadoop_conf  # noqa: E402
import hadoop_kdc  # noqa: E402

PRINCIPAL = "alice/espalier"  # of the services that alice starts
EPOCHS = 3000  # tens of seconds: the test watches the first steps by slow commands
PAGE_LIMIT_S = 600


def setUpModule():
    # On a busy machine, a master that logs in may need more than 10 s for its first steps. After
    # that time, hadoop_yarn's default settings count it as lost. No test here loses a node.
    start_yarn(nodes=2, kerberos=True,
               settings={"yarn.am.liveness-monitor.expiry-interval-ms": 120_000})
    hadoop_kdc.make_keytab(YarnTest.hdfs.state, "alice-service", PRINCIPAL)


class Kerberos(YarnTest):
    """Runs commands as alice, with a ticket. The services that alice starts have a keytab."""

    def setUp(self):
        super().setUp()
        self.environment.update(self.ticket("alice"), HADOOP_USER_NAME="nobody")
        self.home = "/user/alice" + self.home
        self.hdfs.files.mkdirs(self.home)
        self.hdfs.files.call("PUT", "SETOWNER", self.home, owner="alice")

    def nobody(self):
        """Returns an environment with neither a ticket nor a keytab."""
        return hadoop_kdc.nobody_env(self.directory)

    def ticket(self, name, *options):
        return hadoop_kdc.ticket_env(self.hdfs.state, name, self.directory, *options)

    def keytab(self, name="alice-service"):
        return hadoop_kdc.keytab(self.hdfs.state, name)

    def login(self, keytab=None, principal=PRINCIPAL):
        return ["--keytab", keytab or self.keytab(),
                "--principal", "%s@%s" % (principal, hadoop_kdc.REALM)]

    def up(self, name, workers, sizes=SIZES):
        return self.yarn("up", name, "--workers", workers, *sizes, *self.login())

    def base(self):
        return "/user/alice/.espalier"


class ServiceTest(Kerberos):
    def test_a_service_trains_from_the_secured_hdfs_and_leaves_nothing(self):
        rows = csv_text(table(2000))
        csv = self.put("t.csv", rows)
        self.hdfs.files.call("PUT", "SETPERMISSION", self.home + "/t.csv", permission="600")
        self.hdfs.files.call("PUT", "SETOWNER", self.home + "/t.csv", owner="alice")
        spec = dict(self.spec(self.write("t.csv", rows)))
        spec["train"] = dict(spec["train"], epochs=EPOCHS)
        local = self.result("train", self.job("local", spec), "--workers", 1)
        self.up("bits", 1)
        self.assert_secrets_are_kept("bits")
        self.yarn("scale", "bits", 2)
        job = self.submit("bits", self.long_job("far", csv, "far", EPOCHS))
        self.await_steps("bits", job, 20)
        # The replacements log in again, with the keytab alone.
        self.kill_container_of("espalier-worker")
        before = self.kill_container_of("espalier-coordinator")
        wait_for("another coordinator", lambda: set(self.processes(
            "espalier-coordinator").values()) - {before}, STEADY_LIMIT_S)
        wait_for("the answer of the coordinator", lambda: self.state("bits", job), STEADY_LIMIT_S)
        self.assertEqual(self.outcome("bits", job)["weights_sha256"], local["weights_sha256"])
        self.assertEqual(sorted(self.hdfs.files.names(self.home + "/far")), BUNDLE)
        self.assertEqual(self.hdfs.files.status(self.home + "/far/model.json")["owner"], "alice")
        self.attached("bits", 2)
        _, err = self.yarn("logs", "bits", code=3)
        self.assertIn("Hadoop's native library (libhadoop.so)", err)
        self.assert_others_are_kept_out("bits")
        self.yarn("down", "bits")
        self.await_empty()
        self.assertNotIn("bits", self.hdfs.files.names(self.base() + "/yarn"))
        self.assertFalse(os.path.exists(self.path(".espalier", "yarn", "bits")))
        self.yarn("status", "bits", code=2)

    def assert_secrets_are_kept(self, name):
        folder = "%s/yarn/%s" % (self.base(), name)
        self.assertEqual(self.hdfs.files.status(folder)["permission"], "700")
        self.assertEqual(self.hdfs.files.status(folder)["owner"], "alice")
        keytab = self.hdfs.files.status(folder + "/service.keytab")
        self.assertEqual(int(keytab["permission"], 8) & 0o077, 0)
        with open(self.keytab(), "rb") as f:
            self.assertEqual(self.hdfs.get(folder + "/service.keytab"), f.read())
        for pid in self.processes("espalier-worker") | self.processes("espalier-coordinator"):
            path = "/proc/%d/cwd/service.keytab" % pid
            self.assertEqual(os.stat(path).st_mode & 0o077, 0, path)
            with open("/proc/%d/environ" % pid) as f:
                words = f.read().split("\0")
            self.assertIn("KRB5CCNAME=MEMORY:", words)
            self.assertFalse([w for w in words if w.startswith("HADOOP_TOKEN_FILE_LOCATION")])
        # No ticket is left in the cache of this machine's user.
        self.assertFalse(os.path.exists(self.path("no.cache")))

    def assert_others_are_kept_out(self, name):
        self.environment.update(self.ticket("bob"))
        for words in (["status", name], ["scale", name, 3], ["logs", name]):
            self.yarn(*words, code=2)
        self.yarn("down", name, code=None)
        self.environment.update(self.ticket("alice"))
        self.assertEqual(self.service(name)["workers_attached"], 2)

    def test_one_command_needs_nothing_but_the_keytab(self):
        csv = self.put("t.csv", csv_text(table(400)))
        local = self.trained("local", csv)
        job = self.job("alone", self.spec(csv, output=self.uri("model")))
        self.environment.update(self.nobody())
        self.services.append("alone")
        out, err = self.yarn("run", job, "--workers", 1, *SIZES, *self.login())
        self.assertIn(local["weights_sha256"], out)
        self.assertNotIn("cannot be renewed", err)
        self.assertEqual(sorted(self.hdfs.files.names(self.home + "/model")), BUNDLE)
        self.await_empty()
        self.environment.update(self.ticket("alice"))


class PageTest(YarnTest):
    """Runs the commands of the page in one shell, as ann, with a password and no keytab."""

    def setUp(self):
        super().setUp()
        hadoop_kdc.kadmin(self.hdfs.state, "addprinc -pw secret ann")
        self.addCleanup(hadoop_kdc.kadmin, self.hdfs.state, "delprinc -force ann")
        self.addCleanup(hadoop_kdc.kadmin, self.hdfs.state, "delprinc -force ann/yarn")
        self.environment.update(hadoop_kdc.client_env(self.hdfs.state), HADOOP_USER_NAME="nobody",
                                KRB5CCNAME="FILE:" + self.path("ann.cache"))
        self.home = "/user/ann" + self.home
        self.hdfs.files.mkdirs(self.home)
        for path in ("/user/ann", self.home):
            self.hdfs.files.call("PUT", "SETOWNER", path, owner="ann")

    def test_from_a_new_principal_to_a_model(self):
        rows = csv_text(table(400))
        local = self.result("train", self.job("local", self.spec(self.write("t.csv", rows))),
                            "--workers", 1)
        self.job("job", self.spec(self.put("t.csv", rows), output=self.uri("model")))
        script, = page_blocks("YARN with Kerberos")
        # Replaces what differs in this small cluster: the sizes, the name of the realm, and kadmin,
        # because the KDC of this machine runs no kadmin server.
        for words, here in (("--workers 4", " ".join(["--workers 4"] + SIZES)),
                            ("EXAMPLE.COM", hadoop_kdc.REALM),
                            ("kadmin -q", hadoop_kdc.find("kadmin.local") + " -q")):
            self.assertIn(words, script)
            script = script.replace(words, here)
        path = os.path.join(self.tree, "bin") + ":" + self.environment["PATH"]
        profile = hadoop_kdc.kdc_env(self.hdfs.state)["KRB5_KDC_PROFILE"]
        self.services.append("mnist")
        done = subprocess.run(["sh", "-e", "-c", script], cwd=self.directory, text=True,
                              env=dict(self.environment, PATH=path, KRB5_KDC_PROFILE=profile),
                              timeout=PAGE_LIMIT_S, input="secret\n", capture_output=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(local["weights_sha256"], done.stdout)
        self.assertIn("mnist has ended", done.stdout)
        self.assertEqual(sorted(self.hdfs.files.names(self.home + "/model")), BUNDLE)
        self.assertEqual(self.hdfs.files.status(self.home + "/model")["owner"], "ann")
        self.assertNotIn("mnist", self.hdfs.files.names("/user/ann/.espalier/yarn"))
        self.await_empty()


class RefusalsTest(Kerberos):
    def refused(self, *words, code=2, command=("up", "bad")):
        _, err = self.yarn(*command, *words, code=code)
        self.assertEqual(err.count("error: "), 1, err)
        self.assertNotIn("bad", self.hdfs.files.names(self.base() + "/yarn")
                         if ".espalier" in self.hdfs.files.names("/user/alice") else [])
        return err

    def test_what_a_service_needs_is_said_before_anybody_is_asked(self):
        self.assertIn("this YARN has Kerberos (hadoop.security.authentication", self.refused())
        self.assertIn("--keytab: found without --principal",
                      self.refused("--keytab", self.keytab()))
        self.assertIn("found 'alice@%s', expected NAME/HOST@REALM: YARN takes no principal without"
                      % hadoop_kdc.REALM, self.refused(*self.login(principal="alice")))
        self.assertIn("--keytab: cannot read", self.refused(*self.login(self.path("none"))))
        self.assertIn("expected a keytab, as ktutil",
                      self.refused(*self.login(self.write("text", "keys\n"))))
        self.assertIn("which holds %s@%s" % (PRINCIPAL, hadoop_kdc.REALM),
                      self.refused(*self.login(principal="alice/other")))

    def test_a_keytab_that_everybody_may_read_is_a_note(self):
        with open(self.keytab(), "rb") as f:
            copy = self.write("open.keytab", "")
            with open(copy, "wb") as out:
                out.write(f.read())
        os.chmod(copy, 0o644)
        err = self.refused(*self.login(copy), "--tarball", self.path("none"))
        self.assertRegex(err, "note: --keytab: .* is a secret .* may read .*`chmod 600 ")
        self.assertIn("cannot look up", err)

    def test_keys_that_the_kdc_no_longer_has(self):
        state = self.hdfs.state
        old = hadoop_kdc.make_keytab(state, "old-service", "alice/old")
        hadoop_kdc.kadmin(state, "cpw -randkey alice/old")
        self.assertIn("the keys of the keytab are not",
                      self.refused(*self.login(old, "alice/old"), code=None))
        hadoop_kdc.kadmin(state, "delprinc -force alice/old")
        self.assertIn("the KDC does not know the principal",
                      self.refused(*self.login(old, "alice/old"), code=None))

    def test_tickets_and_hosts_are_told_apart_in_words(self):
        def said(**environment):
            self.environment.update(environment)
            _, err = self.yarn("status", "nobody", code=None)
            return err
        self.assertIn("Service nobody not found", said())
        self.assertIn("neither a Kerberos ticket nor a keytab", said(**self.nobody()))
        expired = self.ticket("alice", "-l", "1s")
        time.sleep(3)  # the KDC counts whole seconds
        self.assertIn("the Kerberos ticket has expired", said(**expired))
        port = self.hdfs.daemon("rm")["http"].partition(":")[2]
        err = said(**self.ticket("alice"), **self.changed(
            "yarn-site.xml", {"yarn.resourcemanager.webapp.address": "127.0.0.9:" + port}))
        self.assertIn("the ResourceManager http://127.0.0.9:" + port, err)
        self.assertIn("the KDC knows no service", err)
        err = said(**self.changed("core-site.xml", {"hadoop.security.authentication": "simple"}))
        self.assertIn("asks for Kerberos, but the Hadoop", err)

    def test_no_keytab_goes_to_a_cluster_without_kerberos(self):
        self.environment.update(self.changed("core-site.xml",
                                             {"hadoop.security.authentication": "simple"}))
        self.assertIn("--keytab: hadoop.security.authentication is not",
                      self.refused(*self.login()))

    def changed(self, name, settings):
        """Returns an environment whose configuration is the cluster's with changed settings in the
        file `name`."""
        folder = self.path("conf")
        os.makedirs(folder, exist_ok=True)
        for path in glob.glob(os.path.join(self.hdfs.conf_dir, "*-site.xml")):
            with open(path) as f:
                found = dict(re.findall("<name>(.*)</name><value>(.*)</value>", f.read()))
            site = os.path.basename(path)
            hadoop_conf.write_xml(os.path.join(folder, site),
                                  dict(found, **(settings if site == name else {})))
        return {"HADOOP_CONF_DIR": folder}


if __name__ == "__main__":
    unittest.main()
