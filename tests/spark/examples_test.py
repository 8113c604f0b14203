"""Runs the scripts of deploy/spark/examples, and the fits of docs/spark.md, with spark-submit, as a
user does."""
import os
import re
import subprocess
import unittest

import pyspark
import sparks
from sparks import daemons

import espalier

import mnist  # in tools/lib, which `daemons` puts on the path
from hadoop import Hdfs

EXAMPLES = os.path.join(sparks.DEPLOY, "examples")
MULTICLASS = os.path.join(os.path.dirname(pyspark.__file__), "data", "mllib",
                          "sample_multiclass_classification_data.txt")
SPARKS_OWN = os.path.join(os.path.dirname(pyspark.__file__), "examples", "src", "main", "python",
                          "ml", "multilayer_perceptron_classification.py")
PAGE = os.path.join(daemons.ROOT, "docs", "spark.md")
READ = """from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
frame = train = spark.read.format("libsvm").load(%r)
"""
SHOW = "print('page', model.transform(frame).select('prediction', 'probability').count())\n"


class ExamplesTest(daemons.EspalierTest):
    def example(self, name, *arguments):
        return sparks.run(self, os.path.join(EXAMPLES, name), *arguments, master="local[3]")

    def test_digits_through_a_pipeline_that_is_saved_to_and_read_from_hdfs(self):
        subprocess.run([os.path.join(daemons.ROOT, "tools", "setup"), "--npm"], check=True,
                       stdout=subprocess.DEVNULL)
        mnist.main(os.path.join(daemons.ROOT, "build"))
        with Hdfs.start() as hdfs:
            self.environment.update(hdfs.env())
            for name in ("train", "test"):
                with open(os.path.join(daemons.ROOT, "build", "mnist", name, "part-00000.csv"),
                          "rb") as f:
                    hdfs.put("/digits/%s.csv" % name, f.read())
            hdfs.files.mkdirs("/tmp", permission="777")
            cluster = daemons.Cluster(self, 2)
            said = self.example(
                "mnist_pipeline.py", hdfs.uri + "/digits/train.csv", hdfs.uri + "/digits/test.csv",
                hdfs.uri + "/tmp/work", hdfs.uri + "/tmp/model", "--coordinator", cluster.address,
                "--epochs", 2)
            accuracy, f1 = (float(x) for x in re.findall(r"test \w+ = (\S+)", said))
            self.assertGreater(accuracy, 0.9)
            self.assertAlmostEqual(f1, accuracy, delta=0.02)
            self.assertEqual(sorted(hdfs.files.names("/tmp/model")), ["metadata", "stages"])
            self.assertEqual(list(hdfs.files.names("/tmp/work")), [])

    def test_sparks_perceptron_with_another_import(self):
        """Compares our example with Spark's own, in which this test changes the import."""
        cluster = daemons.Cluster(self, 1)
        self.environment.update(ESPALIER_COORDINATOR=cluster.address,
                                ESPALIER_WORK_DIRECTORY=self.path("work"))
        with open(SPARKS_OWN) as f:
            text = f.read()
        theirs = "from pyspark.ml.classification import MultilayerPerceptronClassifier"
        data = "data/mllib/sample_multiclass_classification_data.txt"
        self.assertEqual((text.count(theirs), text.count(data)), (1, 1))
        script = self.write("theirs.py", text.replace(
            theirs, "from espalier.spark import MultilayerPerceptronClassifier").replace(
            data, MULTICLASS))
        said = [sparks.run(self, script, master="local[3]"),
                self.example("multilayer_perceptron_classifier.py", MULTICLASS)]
        ours = [float(re.findall(r"Test set accuracy = (\S+)", s)[0]) for s in said]
        self.assertEqual(ours[0], ours[1])
        self.assertGreater(ours[0], 0.85)
        self.assertEqual(os.listdir(self.path("work")), [])

    def test_the_fits_of_the_page(self):
        cluster = daemons.Cluster(self, 1)
        work = self.path("work")
        self.environment.update(ESPALIER_COORDINATOR=cluster.address, ESPALIER_WORK_DIRECTORY=work)
        with open(PAGE) as f:
            fit, perceptron, *_ = re.findall(r"```python\n(.*?)```", f.read(), re.S)
        for words, here in (("head:7700", cluster.address), ("hdfs:///tmp/espalier", work)):
            self.assertIn(words, fit)
            fit = fit.replace(words, here)
        script = self.write("page.py", READ % MULTICLASS + fit + SHOW + perceptron + SHOW)
        said = sparks.run(self, script)
        self.assertEqual(said.count("page 150"), 2, said)
        with espalier.connect(cluster.address) as client:
            self.assertEqual([job.state for job in client.jobs()], ["SUCCEEDED"] * 2)

    def test_parquet_with_a_validation_column_weights_and_embeddings(self):
        cluster = daemons.Cluster(self, 1)
        said = self.example("fit_on_parquet.py", self.path("sales"), self.path("work"),
                            "--coordinator", cluster.address, "--rows", 8000, "--epochs", 5)
        ours, sparks_own = re.findall(r"rmse.* = (\S+)", said)
        self.assertEqual(ours, sparks_own)
        self.assertLess(float(ours), 0.2)  # sales have a standard deviation of 0.6
        self.assertRegex(said, r"(?m)^epoch 5(/5)?  loss \S+ rmse ")

    def test_workers_in_executors(self):
        self.environment["ESPALIER_HOME"] = os.path.join(daemons.ROOT, "build")
        rows = self.classes_csv("rows.csv", 600)
        said = self.example("launch.py", self.job("there", self.classes_spec(rows)))
        self.assertIn("weights %s\n" % espalier.load(self.path("there.bundle")).weights_sha256,
                      said)
        self.assertIn("\nvalidation loss ", said)
        houses = {"data": {"train": self.houses_csv("houses.csv", 300), "label": "price",
                           "features": {"nulls": "mean"}},
                  "model": {"task": "regression", "hidden": [4]}, "train": {"epochs": 1}}
        said = self.example("launch.py", self.job("houses", houses))
        self.assertRegex(said, r"\ntrain +loss .* rmse ")
        self.assertNotIn("validation", said, "the job has no validation rows")
        self.assertEqual(sparks.processes("espalier-spark-"), [])


if __name__ == "__main__":
    unittest.main()
