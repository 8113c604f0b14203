"""Tests Spark on a real YARN in client and cluster mode, with data on its HDFS."""
import os
import re
import shutil
import unittest
import urllib.request

import sparks
from sparks import daemons

import espalier

import hadoop_yarn  # in tools/lib, which `daemons` puts on the path
from hadoop import Hdfs

SUBMIT = os.path.join(sparks.DEPLOY, "submit.py")


class YarnTest(daemons.EspalierTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # An application master registers only after its driver has made a session.
        cls.hdfs = Hdfs.start(yarn={"nodes": 2, "settings": {
            "yarn.am.liveness-monitor.expiry-interval-ms": 1000 * sparks.LIMIT_S}})
        cls.addClassCleanup(cls.hdfs.stop)
        hadoop_yarn.wait_ready(cls.hdfs)
        cls.hdfs.files.mkdirs("/shared", permission="777")

    def setUp(self):
        super().setUp()
        self.environment.update(self.hdfs.env())
        self.environment.update(sparks.HOST)
        self.rows = self.classes_csv("rows.csv", 500)
        with open(self.rows, "rb") as f:
            self.hdfs.put("/shared/%s.csv" % self.id(), f.read())

    def spec(self, name, **train):
        return dict(self.classes_spec("%s/shared/%s.csv" % (self.hdfs.uri, self.id()), **train),
                    name=name, output="%s/shared/%s-%s" % (self.hdfs.uri, self.id(), name))

    def cluster_mode(self, job, *arguments):
        return dict(script=SUBMIT, arguments=(os.path.basename(job),) + arguments,
                    conf=sparks.yarn_conf("cluster"), master="yarn",
                    options=["--py-files", sparks.wheel(self), "--files", job])

    def run_in(self, mode, code=0):
        return sparks.run(self, mode["script"], *mode["arguments"], code=code, conf=mode["conf"],
                          master=mode["master"], options=mode["options"])

    def test_client_mode_fits_embeds_and_scores_in_executors(self):
        cluster = daemons.Cluster(self, 2)
        said = sparks.run(
            self, os.path.join(sparks.DEPLOY, "examples", "fit_on_parquet.py"),
            self.hdfs.uri + "/shared/sales", self.hdfs.uri + "/shared/work",
            "--coordinator", cluster.address, "--rows", 4000, "--epochs", 3,
            conf=dict(sparks.yarn_conf("client"), **{"spark.executor.instances": "1"}),
            master="yarn")
        ours, sparks_own = re.findall(r"rmse.* = (\d\.\d+)", said)
        self.assertEqual(ours, sparks_own)
        self.assertEqual(list(self.hdfs.files.names("/shared/work")), [])

    def test_cluster_mode_fits_in_a_driver_on_the_cluster(self):
        cluster = daemons.Cluster(self, 2)
        script = os.path.join(sparks.DEPLOY, "examples", "fit_on_parquet.py")
        sparks.run(self, script, self.hdfs.uri + "/shared/far", self.hdfs.uri + "/shared/work",
                   "--coordinator", cluster.address, "--rows", 2000, "--epochs", 2,
                   conf=sparks.yarn_conf("cluster"), master="yarn",
                   options=["--py-files", sparks.wheel(self)])
        with espalier.connect(cluster.address) as client:
            self.assertEqual([j.state for j in client.jobs()], ["SUCCEEDED"])
        self.assertEqual(list(self.hdfs.files.names("/shared/work")), [])

    def test_cluster_mode_ends_as_the_job_does(self):
        cluster = daemons.Cluster(self, 1)
        self.hdfs.put("/shared/address", cluster.address.encode())
        where = ("--coordinator", self.hdfs.uri + "/shared/address")
        self.run_in(self.cluster_mode(self.job("good", self.spec("good")), *where))
        with espalier.connect(cluster.address) as client:
            self.assertEqual([j.state for j in client.jobs()], ["SUCCEEDED"])
        job = self.job("bad", dict(self.spec("bad"), model={"task": "guessing"}))
        said = self.run_in(self.cluster_mode(job, *where), code=1)
        self.assertIn("status 2", said)

    def sent_along(self, word):
        """Returns --files and --conf of the README's block that contains that word."""
        with open(os.path.join(sparks.DEPLOY, "README.md")) as f:
            block, = [b for b in re.findall(r"(?s)```sh\n(.*?)```", f.read()) if word in b]
        return (re.search(r"--files (\S+)", block)[1],
                dict(re.findall(r"--conf (\S+?)=(\S+)", block)))

    def test_what_the_readme_sends_along_opens_a_secured_cluster(self):
        words = "ann-knows-this-word"
        tokens = self.path("tokens")
        for path, text in ((tokens, "operator ann %s\n" % words),
                           (self.path("ann.token"), words + "\n")):
            with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as f:
                f.write(text)
        cluster = daemons.SecureCluster(self, 1, coordinator_flags=["--tokens", tokens])
        for name, variable in (("ca.crt", "CA"), ("tls.crt", "CERTIFICATE"), ("tls.key", "KEY")):
            shutil.copy2(self.environment.pop("ESPALIER_TLS_" + variable), self.path(name))
        self.hdfs.put("/shared/secured", cluster.address.encode())
        for name, word in (("certificate", "ESPALIER_TLS_KEY"), ("token", "ESPALIER_TOKEN_FILE=")):
            files, settings = self.sent_along(word)
            os.rename(self.job(name, self.spec(name)), self.path("job.yaml"))
            mode = self.cluster_mode("job.yaml", "--coordinator",
                                     self.hdfs.uri + "/shared/secured")
            mode["options"][-1] = files
            mode["conf"].update(settings)
            self.run_in(mode)
        with espalier.connect(cluster.address, ca=self.path("ca.crt"), cert=self.path("tls.crt"),
                              key=self.path("tls.key")) as client:
            self.assertEqual([j.state for j in client.jobs()], ["SUCCEEDED", "SUCCEEDED"])

    def test_a_killed_application_cancels_its_job(self):
        cluster = daemons.Cluster(self, 1)
        mode = self.cluster_mode(self.job("long", self.spec("long", epochs=10 ** 7)),
                                 "--coordinator", cluster.address)
        process = sparks.start(self, mode["script"], *mode["arguments"], conf=mode["conf"],
                               master=mode["master"], options=mode["options"])
        with espalier.connect(cluster.address) as client:
            sparks.await_training(self, process, client)
            running = hadoop_yarn.rest(self.hdfs, "/ws/v1/cluster/apps?states=RUNNING")
            app, = running["apps"]["app"]
            self.kill(app["id"])
            daemons.wait_for("the end of the job",
                             lambda: client.jobs()[0].state == "CANCELLED", 60)
        sparks.finish(self, process, 1)

    def kill(self, app):
        request = urllib.request.Request(
            "http://%s/ws/v1/cluster/apps/%s/state?user.name=%s" % (
                self.hdfs.daemon("rm")["http"], app, self.hdfs.state["user"]),
            data=b'{"state": "KILLED"}', method="PUT",
            headers={"Content-Type": "application/json"})
        urllib.request.urlopen(request, timeout=60).close()

    def test_workers_in_executors_train_on_what_spark_knows_of_hdfs(self):
        local = self.job("local", self.spec("local"))
        expected = self.result("train", local, "--workers", 1)["weights_sha256"]
        mode = self.cluster_mode(self.job("far", self.spec("far")), "--workers", "2",
                                 "--start-timeout", str(sparks.LIMIT_S))
        self.run_in(mode)
        os.environ.update(self.hdfs.env())
        for name in self.hdfs.env():
            self.addCleanup(os.environ.pop, name, None)
        self.assertEqual(espalier.load(self.spec("far")["output"]).weights_sha256, expected)
        daemons.wait_for("the end of the containers",
                         lambda: not hadoop_yarn.containers(self.hdfs), 60)


if __name__ == "__main__":
    unittest.main()
