"""Files that the client reads from a real HDFS: bundles, and the file with the coordinator's
address, also of a cluster on YARN. Also requests over HTTPS, which only HDFS secured by Kerberos
supports.
"""
import http.server
import os
import shutil
import ssl
import threading
import unittest
import urllib.parse
from unittest import mock

import numpy as np
import pytest

import bundles
import espalier
from daemons import Authority, Cluster, EspalierTest, SecureCluster

from hadoop import Hdfs  # in tools/lib, which `daemons` puts on the path

pytestmark = pytest.mark.covers("storage")


class ServiceCluster(SecureCluster):
    """A cluster as in YARN's containers: the coordinator may be on any host, its certificate is the
    service's, and its address is on HDFS."""

    def __init__(self, test, service, address, authority):
        self.service, self.remote = service, address
        test.environment["ESPALIER_TLS_SERVER_NAME"] = service
        super().__init__(test, 1, authority, worker_flags=["--tls-server-name", service],
                         state=test.path("state"))

    def secure(self, test, authority, hosts, operator="ann"):
        super().secure(test, authority, [self.service], operator)

    def start_coordinator(self, listen=None, binary=None):
        super().start_coordinator(listen, binary)
        with open(self.address_file, "rb") as f:
            self.test.hdfs.put(self.remote, f.read(), overwrite="true")


class HdfsTest(EspalierTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.hdfs = Hdfs.start()
        cls.addClassCleanup(cls.hdfs.stop)

    def setUp(self):
        super().setUp()
        patch = mock.patch.dict(os.environ, self.hdfs.env())
        patch.start()
        self.addCleanup(patch.stop)

    def put(self, path, local):
        with open(local, "rb") as f:
            self.hdfs.put(path, f.read())

    def test_a_bundle_on_hdfs_is_the_same_model(self):
        rng = np.random.default_rng(1)
        folder = bundles.write(self.path("bundle"), bundles.document(3, classes=["0", "1"]), {
            "layers.0.weight": rng.normal(size=(4, 3)), "layers.0.bias": rng.normal(size=4),
            "layers.1.weight": rng.normal(size=(2, 4)), "layers.1.bias": rng.normal(size=2)})
        self.hdfs.files.mkdirs("/models/a b")
        for name in os.listdir(folder):
            self.put("/models/a b/" + name, os.path.join(folder, name))
        x = rng.normal(size=(9, 3))
        expected = espalier.load(folder).predict_proba(x)
        web = "webhdfs://%s/models/a b" % self.hdfs.daemon("nn1")["http"]
        for where in ("hdfs:///models/a b", self.hdfs.uri + "/models/a b/", web):
            np.testing.assert_array_equal(espalier.load(where).predict_proba(x), expected)
        with self.assertRaisesRegex(espalier.NotFoundError, "/models/none/model.json"):
            espalier.load("hdfs:///models/none")
        with self.assertRaisesRegex(espalier.UnavailableError, "cannot be read"):
            espalier.load("webhdfs://127.0.0.1:1/models")

    def test_a_coordinators_address_is_read_there(self):
        cluster = Cluster(self, 1)
        self.put("/address", cluster.address_file)
        with espalier.connect("hdfs:///address") as client:
            self.assertEqual(client.address, cluster.address)
            self.assertEqual(len(client.workers()), 1)


    def keep(self, name, address, made):
        """Writes the files that `espalier yarn up` keeps on this machine."""
        folder = self.path(".espalier", "yarn", name)
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "coordinator"), "w") as f:
            f.write(self.hdfs.uri + address + "\n")
        for file in ("ca.crt", "tls.crt", "tls.key"):
            shutil.copy(os.path.join(made, file), folder)

    def test_a_cluster_on_yarn_is_found_by_its_name_also_after_its_coordinator_moved(self):
        os.environ["HOME"] = self.directory
        for name in [name for name in os.environ if name.startswith("ESPALIER_")]:
            del os.environ[name]
        address = "/user/%s/.espalier/yarn/mnist/address" % self.hdfs.state["user"]
        authority = Authority(self)
        self.keep("mnist", address, authority.issue("operator", "ann"))
        with self.assertRaisesRegex(espalier.UnavailableError, "no coordinator's address is in "
                                    "hdfs://.*mnist/address"):
            espalier.connect("yarn:mnist")
        cluster = ServiceCluster(self, "mnist", address, authority)
        # The client shows it nothing of the environment.
        os.environ.update(ESPALIER_TLS_CA=self.path("none"), ESPALIER_TOKEN="none")
        with espalier.connect("yarn:mnist") as client:
            self.assertEqual(client.address, cluster.address)
            rows = self.classes_csv("rows.csv", 300)
            job = client.submit(dict(self.classes_spec(rows, epochs=1), output=self.path("model")))
            self.assertEqual(job.result(timeout=60).bundle, self.path("model"))
            before = cluster.address
            cluster.kill_coordinator()
            with self.assertRaises(espalier.UnavailableError):
                client.jobs()
            self.keep("mnist", address, authority.issue("operator", "bob"))
            cluster.start_coordinator()
            self.assertNotEqual(cluster.address, before)
            self.assertEqual([j.id for j in client.jobs()], [job.id])
            self.assertEqual(client.address, cluster.address)
            cluster.wait_for_workers(1)
        with self.assertRaisesRegex(espalier.NotFoundError, "none: No such file"):
            espalier.connect("yarn:mnist", server_name="mnist")  # then the environment is used


class HttpsTest(EspalierTest):
    """Serves a NameNode's answers over TLS: a redirection, then the file."""

    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(1)
        folder = self.folder = bundles.write(
            self.path("bundle"), bundles.document(3, classes=["0", "1"]), {
                "layers.0.weight": rng.normal(size=(4, 3)), "layers.0.bias": rng.normal(size=4),
                "layers.1.weight": rng.normal(size=(2, 4)), "layers.1.bias": rng.normal(size=2)})
        pem = Authority(self).issue("coordinator", "namenode", ["localhost"])
        self.authority = os.path.join(pem, "ca.crt")
        self.sends_to = "https"
        test = self

        class NameNode(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                url = urllib.parse.urlsplit(self.path)
                name = os.path.basename(url.path)
                if url.path.startswith("/webhdfs/v1/models/m/"):
                    self.send_response(307)
                    self.send_header("Location", "%s://localhost:%d/data/%s" %
                                     (test.sends_to, test.port, name))
                    self.end_headers()
                    return
                with open(os.path.join(folder, name), "rb") as f:
                    raw = f.read()
                self.send_response(200)
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, *_):
                pass
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), NameNode)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(os.path.join(pem, "tls.crt"), os.path.join(pem, "tls.key"))
        server.socket = context.wrap_socket(server.socket, server_side=True)
        self.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)

    def load(self, authority, host="localhost"):
        with mock.patch.dict(os.environ, {"ESPALIER_HADOOP_CA": authority, "HADOOP_CONF_DIR": ""}):
            return espalier.load("swebhdfs://%s:%d/models/m" % (host, self.port))

    def test_a_bundle_is_read_from_who_has_the_authoritys_certificate_alone(self):
        x = np.random.default_rng(2).normal(size=(9, 3))
        np.testing.assert_array_equal(self.load(self.authority).predict_proba(x),
                                      espalier.load(self.folder).predict_proba(x))
        for authority, host, words in (
                ("", "localhost", "the certificate is not trusted"),
                (self.authority, "127.0.0.1", "not trusted: .*127.0.0.1"),
                (self.path("none"), "localhost", "ESPALIER_HADOOP_CA names .*none, which cannot")):
            with self.assertRaisesRegex(espalier.FailedPreconditionError, words):
                self.load(authority, host)
        self.sends_to = "http"
        with self.assertRaisesRegex(espalier.FailedPreconditionError, "which is not HTTPS"):
            self.load(self.authority)


if __name__ == "__main__":
    unittest.main()
