"""Makes private environments with the Python client's wheel, built from the current tree, and the
packages for its tests, with and without Spark."""
import hashlib
import os
import subprocess
import tempfile

import package_python
import private_python
from test_python import PYTEST

PACKAGES = ["cloudpickle==3.1.1", "grpcio==1.76.0", "grpcio-reflection==1.76.0", "ipython==8.18.1",
            "joblib==1.4.2", "mypy==1.11.2", "numpy==1.26.4", "pandas==2.2.3", "protobuf==6.33.0",
            "pyarrow==23.0.1", "PyYAML==6.0.3", "safetensors==0.8.0", "scikit-learn==1.6.1",
            "scipy==1.13.1", "types-PyYAML==6.0.12.20250915"]
# (wheels, packages without wheels in the registry) for Spark 3.5 and the current Spark.
SPARKS = {
    "spark": (["grpcio==1.76.0", "numpy==1.26.4", "pandas==2.2.3", "protobuf==6.33.0",
               "pyarrow==17.0.0", "PyYAML==6.0.3", "setuptools==75.8.0", "wheel==0.45.1"],
              ["pyspark==3.5.7"]),
    "spark4": (["grpcio==1.76.0", "numpy==2.4.6", "pandas==2.3.3", "protobuf==6.33.0",
                "pyarrow==23.0.1", "PyYAML==6.0.3", "setuptools==75.8.0", "wheel==0.45.1"],
               ["pyspark==4.3.0"]),
}
SECONDS = 1_000_000_000  # modification time of the wheel's files


def ensure_packages(name):
    """Returns the path of the Python of "python" or of one of SPARKS. It may not have the client
    yet. Raises RuntimeError."""
    wheels, sources = SPARKS.get(name, (PACKAGES, ()))
    return private_python.ensure(name if name in SPARKS else "client", wheels + PYTEST, sources)


def ensure(name="python"):
    """Returns the path of a Python with the client. REQUIRES: tools/build. Raises RuntimeError or
    package_python.WheelError."""
    python = ensure_packages(name)
    with tempfile.TemporaryDirectory(prefix="espalier-client-") as folder:
        wheel = package_python.build(folder, SECONDS)
        with open(wheel, "rb") as f:
            digest = hashlib.sha256(f.read()).hexdigest()
        marker = os.path.join(os.path.dirname(os.path.dirname(python)), "wheel")
        if os.path.exists(marker):
            with open(marker) as f:
                if f.read() == digest:
                    return python
            os.remove(marker)
        done = subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-input",
                               "--disable-pip-version-check", "--no-index", "--no-deps",
                               "--force-reinstall", wheel], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError("pip could not install the client's wheel\n" + done.stderr)
        with open(marker, "w") as f:
            f.write(digest)
    return python
