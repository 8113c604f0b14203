"""Builds the wheel of the Python client (deploy/python) with pinned tools. The same commit gives
the same bytes."""
import os
import shutil
import subprocess
import tempfile

import private_python

ROOT = private_python.ROOT
TOOLS = ["setuptools==75.8.0", "wheel==0.45.1"]
# Facts that the client shares with the programs. tools/build writes them.
FACTS = os.path.join("build", "facts", "_facts.py")
# Other files and folders of the repository that setup.py reads.
OF_THE_TREE = [os.path.join("proto", "espalier", "v1"), FACTS]


class WheelError(Exception):
    """Error with a message for the user."""


def build(output, seconds):
    """Writes espalier-VERSION-py3-none-any.whl into `output` and returns its path. `seconds` is the
    modification time of every file, in seconds since 1970."""
    if not os.path.exists(os.path.join(ROOT, FACTS)):
        raise WheelError("%s does not exist. Run tools/build." % FACTS)
    try:
        python = private_python.ensure("wheel", TOOLS)
    except RuntimeError as error:
        raise WheelError(str(error)) from error
    with tempfile.TemporaryDirectory(prefix="espalier-wheel-") as tree:
        # Builds in a copy, because setuptools leaves its own files next to the sources.
        client = os.path.join(tree, "deploy", "python")
        for name in ("python", "spark"):
            shutil.copytree(os.path.join(ROOT, "deploy", name), os.path.join(tree, "deploy", name),
                            ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info"))
        for name in ("LICENSE", "NOTICE"):
            shutil.copy(os.path.join(ROOT, name), client)
        # The wheel records file modes.
        for folder, _, names in os.walk(os.path.join(tree, "deploy")):
            for name in names:
                os.chmod(os.path.join(folder, name), 0o644)
        for name in OF_THE_TREE:
            source, target = os.path.join(ROOT, name), os.path.join(tree, name)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            (shutil.copytree if os.path.isdir(source) else shutil.copyfile)(source, target)
        made = os.path.join(tree, "made")
        done = subprocess.run([python, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index",
                               "--no-build-isolation", "--disable-pip-version-check",
                               "--wheel-dir", made, client],
                              capture_output=True, text=True, umask=0o022,
                              env=dict(os.environ, SOURCE_DATE_EPOCH=str(seconds)))
        if done.returncode:
            raise WheelError("the Python client's wheel could not be built\n" + done.stderr +
                             done.stdout)
        name, = os.listdir(made)
        os.makedirs(output, exist_ok=True)
        shutil.copyfile(os.path.join(made, name), os.path.join(output, name + ".new"))
        os.replace(os.path.join(output, name + ".new"), os.path.join(output, name))
    return os.path.join(output, name)
