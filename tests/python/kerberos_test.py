"""The client and a secured HDFS: models that it reads by keytab, by ticket and by YARN's file of
tokens, and jobs that it submits with delegation tokens. Also tests the messages about each missing
part."""
import contextlib
import io
import os
import re
import subprocess
import sys
import time
import unittest
from unittest import mock

import numpy as np
import pytest

import bundles
import espalier
from daemons import Cluster, EspalierTest, SecureCluster, wait_for
from espalier import _kerberos

import hadoop_kdc  # in tools/lib, which `daemons` puts on the path
from hadoop import Hdfs

pytestmark = pytest.mark.covers("storage")

TOKEN_MARK = "AFYWxpY2U"  # Base64 of "alice", which occurs in each of her tokens
LOAD = "import espalier, sys\nespalier.load(sys.argv[1])\n"


def setUpModule():
    Secured.hdfs = Hdfs.start(kerberos=True, datanodes=1, block_size=1 << 20)
    unittest.addModuleCleanup(Secured.hdfs.stop)
    files = Secured.hdfs.files
    for folder in ("shared", "private"):
        files.mkdirs("/user/alice/" + folder)
        files.call("PUT", "SETOWNER", "/user/alice/" + folder, owner="alice")
    files.call("PUT", "SETPERMISSION", "/user/alice/shared", permission="777")


class Secured(EspalierTest):
    """Makes the test alice, by her keytab."""

    hdfs = None

    def setUp(self):
        super().setUp()
        patch = mock.patch.dict(os.environ)
        patch.start()
        self.addCleanup(patch.stop)
        for name in [name for name in os.environ if name.startswith("ESPALIER_")]:
            del os.environ[name]
        os.environ.update(self.hdfs.env("alice"), KRB5CCNAME="MEMORY:" + self.id())

    def nobody(self):
        """Returns an environment with neither ticket nor keytab."""
        return hadoop_kdc.nobody_env(self.directory)

    def ticket(self, name="alice", *options):
        return hadoop_kdc.ticket_env(self.hdfs.state, name, self.directory, *options)

    def token_file(self):
        """Writes a token of Alice's, by Hadoop."""
        path = self.path("alice.token")
        self.hdfs.run("fetchdt", "--renewer", "espalier", path,
                      env={"KRB5CCNAME": self.ticket()["KRB5CCNAME"]})
        return path


class LoadTest(Secured):
    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(1)
        self.folder = bundles.write(self.path("bundle"), bundles.document(3, classes=["0", "1"]), {
            "layers.0.weight": rng.normal(size=(4, 3)), "layers.0.bias": rng.normal(size=4),
            "layers.1.weight": rng.normal(size=(2, 4)), "layers.1.bias": rng.normal(size=2)})
        self.web = "webhdfs://%s/user/alice" % self.hdfs.daemon("nn1")["http"]
        self.https = "swebhdfs://%s/user/alice" % self.hdfs.daemon("nn1")["https"]
        self.ca = {"ESPALIER_HADOOP_CA": hadoop_kdc.ca_file(self.hdfs.state)}

    def put(self, where):
        files = self.hdfs.files
        for name in os.listdir(self.folder):
            with open(os.path.join(self.folder, name), "rb") as f:
                self.hdfs.put("/user/alice/%s/%s" % (where, name), f.read())
        files.call("PUT", "SETOWNER", "/user/alice/" + where, owner="alice")
        files.call("PUT", "SETPERMISSION", "/user/alice/" + where, permission="700")

    def test_a_model_is_the_same_by_keytab_ticket_and_token_also_over_https(self):
        self.put("private")
        x = np.random.default_rng(2).normal(size=(9, 3))
        expected = espalier.load(self.folder).predict_proba(x)
        conf_of_nobody = self.path("conf")
        os.makedirs(conf_of_nobody)
        self.write("conf/core-site.xml", "<configuration/>")
        token = dict(self.nobody(), HADOOP_TOKEN_FILE_LOCATION=self.token_file())
        for what, where, environment in (
                ("keytab", "hdfs:///user/alice", {}),
                ("nothing says that it is secured", self.web, {"HADOOP_CONF_DIR": conf_of_nobody}),
                ("https", self.https, self.ca),
                ("ticket", "hdfs:///user/alice", self.ticket()),
                ("token", "hdfs:///user/alice", token), ("token", self.web, token),
                ("token", self.https, dict(token, **self.ca))):
            with self.subTest(what, where=where), mock.patch.dict(os.environ, environment):
                model = espalier.load(where + "/private")
                np.testing.assert_array_equal(model.predict_proba(x), expected)
        with mock.patch.dict(os.environ, dict(self.hdfs.env("bob"), KRB5CCNAME="MEMORY:bob")):
            with self.assertRaisesRegex(espalier.PermissionDeniedError, "user=bob") as caught:
                espalier.load("hdfs:///user/alice/private")
            self.assertEqual(caught.exception.hint, "")  # no name would help

    def said(self, kind, words, where=None, **environment):
        with mock.patch.dict(os.environ, environment), self.assertRaisesRegex(kind, words) as c:
            espalier.load((where or "hdfs:///user/alice") + "/none")
        self.assertNotIn(TOKEN_MARK, str(c.exception))
        self.assertNotIn("delegation=", str(c.exception))

    def test_each_thing_that_is_missing_or_wrong_is_told(self):
        denied, away = espalier.PermissionDeniedError, espalier.UnavailableError
        self.said(espalier.NotFoundError, "hdfs:///user/alice/none/model.json does not exist")
        self.said(denied, r"(?s)neither a Kerberos ticket nor a keytab .*KRB5_CLIENT_KTNAME "
                  r".*no\.cache.*no\.keytab, which is missing", **self.nobody())
        empty = self.write("empty.keytab", "")
        self.said(denied, "empty.keytab is empty, or no keytab",
                  **dict(self.nobody(), KRB5_CLIENT_KTNAME="FILE:" + empty))
        self.said(denied, "the KDC knows no service .*name the server by",
                  self.web.replace("localhost", "127.0.0.1"))
        with open(os.path.join(self.hdfs.dir, "kdc", "krb5.conf")) as f:
            other = f.read()
        gone = self.write("away.conf", re.sub(r"kdc = .*", "kdc = 127.0.0.1:1", other))
        self.said(away, "no KDC answers.* krb5.conf",
                  KRB5_CONFIG=gone, KRB5CCNAME="MEMORY:away")
        self.said(espalier.FailedPreconditionError, "is not trusted: .*issuer", self.https)
        self.said(espalier.InvalidArgumentError, "HADOOP_TOKEN_FILE_LOCATION names, .*broken': .*"
                  "the file is damaged",
                  HADOOP_TOKEN_FILE_LOCATION=self.write("broken", "HDTS nothing"))
        self.said(espalier.NotFoundError, "HADOOP_TOKEN_FILE_LOCATION names, .*cannot be read",
                  HADOOP_TOKEN_FILE_LOCATION=self.path("nowhere"))

    def test_a_library_that_is_missing_is_named_with_its_package(self):
        def forget():
            _kerberos._load.cache_clear()
        forget()
        self.addCleanup(forget)
        with mock.patch.object(_kerberos, "_LIBRARY", "libgssapi_none.so.2"):
            self.said(espalier.FailedPreconditionError, r"(?s)Kerberos' library is missing: .*none"
                      ".*apt-get install libgssapi-krb5-2.*dnf install krb5-libs")

    def test_a_ticket_that_has_expired(self):
        ticket = self.ticket("alice", "-l", "1s")
        time.sleep(3)  # the KDC counts whole seconds
        self.said(espalier.PermissionDeniedError, "the Kerberos ticket has expired.* kinit",
                  **ticket)

    def test_clocks_that_differ(self):
        done = subprocess.run(["faketime", "+20 min", sys.executable, "-c", LOAD,
                               "hdfs:///user/alice/none"], capture_output=True, text=True,
                              env=dict(os.environ, **self.ticket()))
        self.assertIn("PermissionDeniedError: hdfs:///user/alice/none/model.json: ", done.stderr)
        self.assertIn("the clocks of this host", done.stderr)

    def test_a_token_that_was_cancelled(self):
        path = self.token_file()
        self.hdfs.run("fetchdt", "--cancel", path, env={"KRB5CCNAME": self.ticket()["KRB5CCNAME"]})
        self.said(espalier.PermissionDeniedError, "does not know its delegation token: .*"
                  "HADOOP_TOKEN_FILE_LOCATION names",
                  HADOOP_TOKEN_FILE_LOCATION=path, **self.nobody())


class SubmitTest(Secured):
    def cluster(self, kind, daemons_are):
        """A cluster with daemons in that environment, and its client, which is alice."""
        self.environment.update(self.hdfs.env(), **daemons_are)
        cluster = kind(self, 1)
        tls = {name: value for name, value in self.environment.items()
               if name.startswith("ESPALIER_TLS")}
        with mock.patch.dict(os.environ, tls):
            client = espalier.connect(cluster.address)
        self.addCleanup(client.close)
        return cluster, client

    def result(self, client, name):
        """Returns the result of a job on HDFS, and the notes."""
        rows = self.classes_csv("rows.csv", 300)
        source, folder = "/user/alice/shared/%s.csv" % name, self.hdfs.uri + "/user/alice/shared/"
        with open(rows, "rb") as f:
            self.hdfs.put(source, f.read())
        spec = dict(self.classes_spec(self.hdfs.uri + source, epochs=1), output=folder + name)
        notes = io.StringIO()
        with contextlib.redirect_stderr(notes):
            result = client.submit(spec).result(timeout=120, progress=False)
        return result, notes.getvalue()

    def assert_owner(self, name, owner):
        status = self.hdfs.files.status("/user/alice/shared/%s/model.json" % name)
        self.assertEqual(status["owner"], owner)

    def assert_secret(self, cluster):
        for name in ["coordinator"] + list(cluster.workers):
            self.assertNotIn(TOKEN_MARK, cluster.log(name))

    def test_a_job_is_its_submitters_and_the_coordinator_renews_its_token(self):
        keytab = hadoop_kdc.keytab_env(self.hdfs.state, "espalier")
        cluster, client = self.cluster(SecureCluster, keytab)
        result, notes = self.result(client, "renewed")
        self.assertEqual(notes, "")
        self.assert_owner("renewed", "alice")
        self.assertEqual(result.load().predict([[0.5] * 12]).shape, (1,))
        self.assert_secret(cluster)

    def test_daemons_without_any_identity_need_the_token_that_nobody_renews(self):
        cluster, client = self.cluster(SecureCluster, self.nobody())
        os.environ.update(self.ticket())
        _, notes = self.result(client, "unrenewed")
        self.assertIn("delegation tokens cannot be renewed", notes)
        self.assert_owner("unrenewed", "alice")
        self.assert_secret(cluster)

    def test_without_a_ticket_the_daemons_keytab_counts(self):
        _, client = self.cluster(Cluster, hadoop_kdc.keytab_env(self.hdfs.state, "espalier"))
        os.environ.update(self.nobody())
        _, notes = self.result(client, "theirs")
        self.assertRegex(notes, "note: no delegation token of %s goes .* a keytab: " %
                         self.hdfs.uri)
        self.assertIn("neither a Kerberos ticket nor a keytab", notes)
        self.assert_owner("theirs", "espalier")


if __name__ == "__main__":
    unittest.main()
