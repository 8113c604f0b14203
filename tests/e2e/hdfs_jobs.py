"""Common part of tests with jobs whose data, and often bundles, are on a real HDFS."""
import contextlib
import hashlib
import json
import random
import unittest

from espalier import EspalierTest, json_lines

from hadoop import Hdfs  # in tools/lib, which `espalier` puts on the path

MIB = 1 << 20
HOSTS = ["localhost", "127.0.0.2"]  # of the DataNodes
BUNDLE = [".writer.json", "README.md", "history.csv", "model.json", "weights.safetensors"]


def table(rows, seed=3):
    """Returns [(column, values)]: three features and a label that follows from them."""
    chance = random.Random(seed)
    a = [round(chance.gauss(0, 1), 5) for _ in range(rows)]
    b = [float(chance.randint(0, 9)) for _ in range(rows)]
    c = [chance.randint(0, 1000) for _ in range(rows)]
    flag = ["true" if chance.random() < 0.2 else "false" for _ in range(rows)]
    label = ["high" if x + 0.1 * y > 0.5 else "low" for x, y in zip(a, b)]
    return [("flag", flag), ("a", a), ("b", b), ("c", c), ("label", label)]


def csv_text(columns):
    lines = [",".join(name for name, _ in columns)]
    lines += [",".join(map(str, row)) for row in zip(*(values for _, values in columns))]
    return "\n".join(lines) + "\n"


def start_hdfs():
    """One HDFS for all tests. Each test has its own directory in it."""
    # A file is closed when the NameNode has received a report of its blocks. By default, its writer
    # asks again only after 400 ms.
    hdfs = Hdfs.start(block_size=MIB, hosts=HOSTS, settings={
        "dfs.client.block.write.locateFollowingBlock.initial.delay.ms": 5})
    unittest.addModuleCleanup(hdfs.stop)
    HdfsTest.hdfs = hdfs


class HdfsTest(EspalierTest):
    hdfs = None

    def setUp(self):
        super().setUp()
        self.environment.update(self.hdfs.env())
        self.home = "/" + self.id().rpartition(".")[2][5:45]
        self.hdfs.files.mkdirs(self.home)

    def put(self, name, data):
        """Writes a file in the test's directory. Returns its URI."""
        self.hdfs.put("%s/%s" % (self.home, name), data.encode() if isinstance(data, str) else data)
        return self.uri(name)

    def uri(self, name):
        return "hdfs://%s/%s" % (self.home, name)

    def spec(self, source, **changes):
        return dict({"preset": "none",
                     "data": {"train": source, "label": "label", "validation": {"column": "flag"},
                              "shard_bytes": 4096},
                     "model": {"task": "classification", "hidden": [16, 8]},
                     "train": {"batch": 100, "leaves": 16, "epochs": 2, "seed": 7}}, **changes)

    def trained(self, name, source, output=None, workers=2):
        """Returns the result of training. `output` is a name in the test's directory, None: local.
        """
        spec = self.spec(source)
        if output:
            spec["output"] = self.uri(output)
        return self.result("train", self.job(name, spec), "--workers", workers)

    def refused(self, name, spec, command="train", code=2):
        """Returns the messages about a job that does not run, on standard error and as JSON."""
        out, err = self.espalier(command, self.job(name, spec), "--json", code=code)
        failed = json_lines(out)[-1]
        self.assertEqual(failed["status"], "FAILED")
        self.assertTrue(err.startswith("error: "), err)
        return err.splitlines()[0][len("error: "):]

    @contextlib.contextmanager
    def safe_mode(self):
        self.hdfs.run_until_done("dfsadmin", "-safemode", "enter")
        try:
            yield
        finally:
            self.hdfs.run_until_done("dfsadmin", "-safemode", "leave")

    def names(self, path=""):
        return sorted(self.hdfs.files.names(self.home + path))

    def assert_bundle(self, name, result):
        """Checks that the bundle is complete and as reported, without temporary files next to it.
        """
        self.assertEqual(result["bundle"], self.uri(name))
        self.assertEqual(self.names("/" + name), BUNDLE)
        files = {n: self.hdfs.get("%s/%s/%s" % (self.home, name, n)) for n in BUNDLE}
        self.assertEqual(hashlib.sha256(files["weights.safetensors"]).hexdigest(),
                         result["weights_sha256"])
        model = json.loads(files["model.json"])
        self.assertEqual(model["weights_sha256"], result["weights_sha256"])
        self.assertEqual(len(files["history.csv"].decode().splitlines()), 1 + result["epochs"])
        self.assertTrue(files["README.md"])
        temporary = [n for n in self.names() if n.startswith(".") or "writing" in n or
                     "draft" in n or "fenced" in n]
        self.assertEqual(temporary, [])
