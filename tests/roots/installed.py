"""Provides the packages and a small job for the tests on Debian systems."""
import collections
import json
import os
import shutil
import subprocess
import tempfile

from espalier import ROOT

PACKAGE_LIMIT_S = 1200
Job = collections.namedtuple("Job", "path weights output")


def package(test_class):
    """Returns a directory with the tarball and the Debian package. It is removed after the tests of
    the class."""
    folder = tempfile.mkdtemp(prefix="espalier-packages-")
    test_class.addClassCleanup(shutil.rmtree, folder)
    subprocess.run([os.path.join(ROOT, "tools", "package"), "--allow-outdated", "--output",
                    folder], check=True, stdout=subprocess.DEVNULL, timeout=PACKAGE_LIMIT_S)
    return folder


def only(folder, ending):
    names = [name for name in os.listdir(folder) if name.endswith(ending)]
    assert len(names) == 1, names
    return os.path.join(folder, names[0])


def ring_job(test, root, uid=0, output="/srv/job/bundle", **train):
    """Returns a job in /srv/job of that root, and the weights that the regular build trains."""
    spec = test.classes_spec(test.classes_csv("rows.csv", 1500), **train)
    weights = test.result("train", test.job("plain", dict(spec, output={
        "path": test.path("plain"), "overwrite": True})), "--workers", 1)["weights_sha256"]
    folder = os.path.join(root, "srv", "job")
    os.makedirs(folder, exist_ok=True)
    shutil.copy(spec["data"]["train"], folder)
    spec["data"]["train"] = "/srv/job/rows.csv"
    with open(os.path.join(folder, "job.yaml"), "w") as f:
        json.dump(dict(spec, name="job", output={"path": output, "overwrite": True},
                       workers={"min": 1, "max": 4}), f)
    for path in [folder] + [os.path.join(folder, name) for name in os.listdir(folder)]:
        if not os.path.isdir(path) or path == folder:
            os.chown(path, uid, uid)
            os.chmod(path, 0o755)
    shutil.rmtree(os.path.join(folder, "bundle"), ignore_errors=True)
    return Job("/srv/job/job.yaml", weights, output)
