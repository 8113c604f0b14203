"""The wheel: typed, small, the same bytes each time, and working with the oldest and newest
libraries that it names."""
import ast
import hashlib
import inspect
import os
import subprocess
import sys
import tempfile
import unittest
import zipfile

import pytest

import daemons

sys.path.insert(0, os.path.join(daemons.ROOT, "tools", "lib"))
import package_python  # noqa: E402
import private_python  # noqa: E402

pytestmark = pytest.mark.covers("launcher")

SPARK = os.path.join(daemons.ROOT, "deploy", "spark", "espalier", "spark")
SOURCES = os.path.join(daemons.ROOT, "deploy", "python")
# The bounds of deploy/python/pyproject.toml, if there are wheels for this Python.
OLDEST = ["grpcio==1.51.1", "numpy==1.23.2", "protobuf==4.21.12", "PyYAML==6.0.1"]
NEWEST = ["grpcio==1.85.1", "numpy==2.4.6", "protobuf==7.36.2", "PyYAML==6.0.3"]

SMOKE = """
import espalier, sys
cluster = espalier.connect(sys.argv[1])
result = cluster.submit(sys.argv[2]).result(timeout=60)
print(result.load().predict([[0.5] * 12]).shape, len(cluster.workers()))
try:
    cluster.job(77)
except espalier.NotFoundError as error:
    print(error.code)
"""


class WheelTest(daemons.EspalierTest):
    def test_the_same_tree_gives_the_same_bytes_with_all_modules_and_stubs_and_no_tests(self):
        digests = []
        for _ in range(2):
            with tempfile.TemporaryDirectory() as folder:
                wheel = package_python.build(folder, 1_700_000_000)
                with open(wheel, "rb") as f:
                    digests.append(hashlib.sha256(f.read()).hexdigest())
                with zipfile.ZipFile(wheel) as z:
                    names = set(z.namelist())
                    license_text = z.read("espalier-0.1.0.dist-info/LICENSE").decode()
                    metadata = z.read("espalier-0.1.0.dist-info/METADATA").decode()
        self.assertEqual(digests[0], digests[1])
        modules = {"espalier/" + n for n in os.listdir(os.path.join(SOURCES, "espalier"))
                   if n.endswith((".py", ".typed"))}
        modules |= {"espalier/spark/" + n for n in os.listdir(SPARK) if n.endswith(".py")}
        self.assertGreaterEqual(names, modules | {"espalier/_proto/api_pb2.pyi",
                                                  "espalier/_facts.py"})
        self.assertEqual({n.split("/")[0] for n in names},
                         {"espalier", "espalier-0.1.0.dist-info"})
        self.assertIn("Apache License", license_text)
        self.assertIn("espalier-0.1.0.dist-info/NOTICE", names)
        self.assertIn("\nLicense: Apache-2.0\n", metadata)

    def test_its_types_are_checked_strictly_as_of_python_39(self):
        done = subprocess.run([sys.executable, "-m", "mypy", "--config-file",
                               os.path.join(SOURCES, "pyproject.toml"), "--cache-dir",
                               self.path("mypy"), "-p", "espalier"],
                              capture_output=True, text=True, cwd=self.directory)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_its_sources_are_python_39(self):
        for folder in (os.path.join(SOURCES, "espalier"), SPARK):
            for name in sorted(os.listdir(folder)):
                if name.endswith(".py"):
                    with open(os.path.join(folder, name)) as f:
                        ast.parse(f.read(), name, feature_version=(3, 9))

    def test_a_model_alone_needs_no_grpc_and_no_yaml(self):
        code = ("import sys\nfor name in ('grpc', 'google', 'yaml', 'pandas', 'pyarrow'):\n"
                "    sys.modules[name] = None\nimport espalier, espalier._webhdfs\nespalier.load")
        subprocess.run([sys.executable, "-c", code], check=True)

    def test_each_public_name_has_a_docstring(self):
        import espalier
        for name in espalier.__all__:
            value = getattr(espalier, name)
            if inspect.isclass(value) or inspect.isfunction(value):
                self.assertTrue(value.__doc__, name)
            for member, thing in vars(value).items() if inspect.isclass(value) else ():
                if not member.startswith("_") and inspect.isfunction(thing):
                    self.assertTrue(thing.__doc__, "%s.%s" % (name, member))

    def test_it_works_with_the_oldest_and_with_newer_libraries(self):
        cluster = daemons.Cluster(self, 1)
        rows = self.classes_csv("rows.csv", 300)
        wheel = package_python.build(self.path("wheel"), 1_700_000_000)
        for name, packages in (("client-oldest", OLDEST), ("client-newest", NEWEST)):
            python = private_python.ensure(name, packages)
            target = self.path(name)
            with zipfile.ZipFile(wheel) as z:
                z.extractall(target)
            job = self.job(name, self.classes_spec(rows, epochs=1))
            done = subprocess.run([python, "-W", "error::DeprecationWarning:espalier", "-c", SMOKE,
                                   cluster.address, job], capture_output=True, text=True,
                                  env=dict(self.environment, PYTHONPATH=target))
            self.assertEqual(done.stdout, "(1,) 1\nNOT_FOUND\n", name + done.stderr)


if __name__ == "__main__":
    unittest.main()
