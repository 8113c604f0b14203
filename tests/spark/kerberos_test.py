"""Tests the owner of a job that Spark submits with a secured HDFS: with a keytab in Spark's JVM
only, with a ticket, and with only delegation tokens, as in a YARN container."""
import os
import shutil
import unittest

import sparks
from sparks import daemons

import hadoop_kdc  # in tools/lib, which `daemons` puts on the path
import hadoop_yarn
from hadoop import Hdfs

from espalier import _hadoop_token

# Logs at DEBUG, where Py4J shows Java's answers.
FIT = """
import logging
import sys
from pyspark.ml.feature import VectorAssembler
from pyspark.sql import SparkSession
from espalier.spark import EspalierClassifier
spark = SparkSession.builder.getOrCreate()
address, work, output = sys.argv[1:]
logging.basicConfig(level=logging.DEBUG)
frame = VectorAssembler(inputCols=["a", "b"], outputCol="features").transform(
    spark.range(300).selectExpr("cast(id % 7 as double) a", "cast(id % 3 as double) b",
                                "cast(id % 7 > 3 as double) label"))
model = EspalierClassifier(coordinator=address, workDirectory=work, output=output, maxIter=1,
                           hiddenLayers=[4], verbose=False).fit(frame)
print("scored %d rows" % model.transform(frame).count())
"""
TOKEN_MARK = "YWxpY2V"  # Base64 of "alice@", part of each token that alice gets by RPC


class SparkKerberosTest(daemons.EspalierTest):
    """The daemons have a keytab of `espalier`. Spark is alice or has no identity."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.hdfs = Hdfs.start(kerberos=True, datanodes=1, block_size=1 << 20, yarn={
            "nodes": 1, "services": False, "settings": {
                "yarn.am.liveness-monitor.expiry-interval-ms": 1000 * sparks.LIMIT_S}})
        cls.addClassCleanup(cls.hdfs.stop)
        hadoop_yarn.wait_ready(cls.hdfs)
        files = cls.hdfs.files
        files.mkdirs("/user/alice/shared")
        files.call("PUT", "SETOWNER", "/user/alice/shared", owner="alice")
        files.call("PUT", "SETPERMISSION", "/user/alice/shared", permission="777")

    def setUp(self):
        super().setUp()
        self.environment.update(self.hdfs.env("espalier"))
        self.cluster = daemons.SecureCluster(self, 1)
        self.environment.update(hadoop_kdc.nobody_env(self.directory))
        self.root = self.hdfs.uri + "/user/alice/shared"

    def ticket(self):
        return hadoop_kdc.ticket_env(self.hdfs.state, "alice", self.directory)

    def fit(self, output, *options, code=0):
        """Runs the script FIT. Returns its output."""
        java = " ".join(hadoop_kdc.java_flags(self.hdfs.state))
        said = sparks.run(
            self, self.write("fit.py", FIT), self.cluster.address, self.root + "/work",
            output and "%s/%s" % (self.root, output), code=code,
            options=["--driver-java-options", java] + list(options))
        for text in [said] + [self.cluster.log(name) for name in ("coordinator", "node-1")]:
            self.assertNotIn(TOKEN_MARK, text)
        self.assertEqual(list(self.hdfs.files.names("/user/alice/shared/work")), [])
        return said

    def assert_owner(self, output, owner):
        status = self.hdfs.files.status("/user/alice/shared/%s/model.json" % output)
        self.assertEqual(status["owner"], owner)

    def test_a_job_is_of_whom_spark_has_a_keytab_though_its_python_is_nobody(self):
        said = self.fit("keytab", "--principal", "alice@" + hadoop_kdc.REALM, "--keytab",
                        hadoop_kdc.keytab(self.hdfs.state, "alice"))
        self.assertIn("scored 300 rows", said)
        self.assertNotIn("no delegation token", said)
        self.assert_owner("keytab", "alice")

    def test_in_cluster_mode_too_a_keytab_makes_the_job_its_owners(self):
        rows = self.classes_csv("rows.csv", 300)
        with open(rows, "rb") as f:
            self.hdfs.put("/user/alice/shared/rows.csv", f.read())
        job = self.job("job", dict(self.classes_spec(self.root + "/rows.csv", epochs=1),
                                   output=self.root + "/far"))
        java, = hadoop_kdc.java_flags(self.hdfs.state)
        self.environment.update(sparks.HOST, SPARK_SUBMIT_OPTS=java)
        conf = dict(sparks.yarn_conf("cluster"), **{
            "spark.driver.extraJavaOptions": java,
            **{"spark.yarn.appMasterEnv." + name: value for name, value in dict(
                hadoop_kdc.client_env(self.hdfs.state),
                **hadoop_kdc.nobody_env(self.directory)).items()}})
        address = self.cluster.address.encode()
        self.hdfs.put("/user/alice/shared/address", address)
        files = ["job.yaml"] + [shutil.copy2(self.environment.pop("ESPALIER_TLS_" + variable),
                                             self.path(name))
                                for name, variable in (("ca.crt", "CA"), ("tls.key", "KEY"),
                                                       ("tls.crt", "CERTIFICATE"))]
        for path, variable in zip(files[1:], ("CA", "KEY", "CERTIFICATE")):
            conf["spark.yarn.appMasterEnv.ESPALIER_TLS_" + variable] = os.path.basename(path)
        sparks.run(self, os.path.join(sparks.DEPLOY, "submit.py"), os.path.basename(job),
                   "--coordinator", self.root + "/address", conf=conf, master="yarn",
                   options=["--py-files", sparks.wheel(self), "--files", ",".join(files),
                            "--principal", "alice@" + hadoop_kdc.REALM,
                            "--keytab", hadoop_kdc.keytab(self.hdfs.state, "alice")])
        self.assert_owner("far", "alice")

    def test_a_job_is_of_who_has_the_ticket(self):
        self.environment.update(self.ticket())
        said = self.fit("ticket")
        self.assertIn("scored 300 rows", said)
        self.assertNotIn("no delegation token", said)
        self.assert_owner("ticket", "alice")

    def test_tokens_alone_make_no_token_which_is_told_with_what_follows(self):
        tokens = self.path("alice.token")
        self.hdfs.run("fetchdt", "--renewer", "espalier", tokens,
                      env={"KRB5CCNAME": self.ticket()["KRB5CCNAME"]})
        with open(tokens, "rb") as f:
            token, = _hadoop_token.parse(f.read())
        self.assertIn(TOKEN_MARK, token.text())
        self.environment.update(HADOOP_TOKEN_FILE_LOCATION=tokens)
        said = self.fit("theirs")
        self.assertRegex(said, "note: no delegation token of %s .*: Spark's JVM has no ticket, .*"
                         "spark-submit --principal NAME --keytab FILE" % self.hdfs.uri)
        self.assert_owner("theirs", "espalier")
        said = self.fit("", code=1)
        self.assertIn("PermissionDeniedError: output: ", said)
        self.assertIn("as Spark's own principal", said)
        os.remove(tokens)


if __name__ == "__main__":
    unittest.main()
