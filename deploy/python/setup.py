"""What a wheel of the client holds beside the sources here: the stubs of proto/, made by protoc
with its Python plugin for gRPC, and what the client has in common with the programs: limits, names,
codes, the version, as tools/facts prints them."""
import os
import runpy
import shutil
import subprocess
import sys
import tempfile

from setuptools import setup
from setuptools.command.build_py import build_py

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FACTS = os.path.join(TREE, "build", "facts", "_facts.py")
SPARK = os.path.join(TREE, "deploy", "spark", "espalier", "spark")  # espalier.spark
PROTOS = ["api", "types"]  # of the public service
MODULE = "proto.espalier.v1"


def version():
    if not os.path.exists(FACTS):
        sys.exit("%s does not exist. Run tools/build." % FACTS)
    return runpy.run_path(FACTS)["VERSION"]


def compile_protos(output):
    """protoc's Python for PROTOS, below `output`."""
    plugin = shutil.which("grpc_python_plugin")
    if not shutil.which("protoc") or plugin is None:
        sys.exit("the stubs of proto/ are made by protoc and grpc_python_plugin, which are not "
                 "here; on Debian: apt-get install protobuf-compiler protobuf-compiler-grpc")
    names = ["proto/espalier/v1/%s.proto" % name for name in PROTOS]
    subprocess.run(["protoc", "--proto_path=.", "--python_out=" + output, "--pyi_out=" + output,
                    "--grpc_python_out=" + output, "--plugin=protoc-gen-grpc_python=" + plugin] +
                   names, cwd=TREE, check=True)


class Build(build_py):
    def run(self):
        super().run()
        package = os.path.join(self.build_lib, "espalier")
        shutil.copytree(SPARK, os.path.join(package, "spark"), dirs_exist_ok=True,
                        ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copyfile(FACTS, os.path.join(package, "_facts.py"))
        self.put_stubs(os.path.join(package, "_proto"))

    def put_stubs(self, folder):
        """Below our own name: `proto` is a package of somebody else's."""
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "__init__.py"), "w") as f:
            f.write('"""Generated from proto/espalier/v1 when the wheel was built."""\n')
        with tempfile.TemporaryDirectory() as made:
            compile_protos(made)
            source = os.path.join(made, *MODULE.split("."))
            for name in sorted(os.listdir(source)):
                with open(os.path.join(source, name)) as f:
                    text = f.read().replace("from %s import" % MODULE,
                                            "from espalier._proto import")
                with open(os.path.join(folder, name), "w") as f:
                    f.write(text)


setup(version=version(), cmdclass={"build_py": Build})
