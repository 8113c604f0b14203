"""A real YARN with the tarball as users have it: common part of the tests of deploy/yarn."""
import os
import re
import signal
import subprocess
import tarfile
import tempfile
import unittest

from espalier import COMMAND_LIMIT_S, ROOT, json_lines, wait_for
from hdfs_jobs import HOSTS, MIB, HdfsTest

import hadoop_yarn  # in tools/lib, which `espalier` puts on the path
import python_client
from hadoop import Hdfs

PACKAGE_LIMIT_S = 600
# Settings of the containers, as small as possible, so that several fit on a small machine.
SIZES = ["--memory", "512MiB", "--coordinator-memory", "512MiB"]
STEADY_LIMIT_S = 180  # YARN on a busy machine
# The Python client, which gets only the service's name.
FOLLOW = """
import espalier, sys
limit = float(sys.argv[3])
with espalier.connect("yarn:" + sys.argv[1], timeout=limit) as cluster:
    print(cluster.address, flush=True)
    result = cluster.job(sys.argv[2]).result(timeout=2 * limit, progress=False)
    print(result.weights_sha256, cluster.address)
"""


def start_yarn(nodes, kerberos=False, settings=None):
    """HDFS and YARN for all tests of a module, and the unpacked tarball. settings: YARN's."""
    hosts = HOSTS[:1] if kerberos else HOSTS
    # A file is closed when the NameNode has received a report of its blocks. By default, its writer
    # asks again only after 400 ms.
    hdfs = Hdfs.start(block_size=MIB, hosts=hosts, datanodes=len(hosts), kerberos=kerberos,
                      yarn={"nodes": nodes, "settings": settings or {}}, settings={
        "dfs.client.block.write.locateFollowingBlock.initial.delay.ms": 5})
    unittest.addModuleCleanup(hdfs.stop)
    HdfsTest.hdfs = hdfs
    # Masters of services leave files below hadoop.tmp.dir, on HDFS, in a directory of the first
    # user. Elsewhere, it has the name of the user of the master's process.
    shared = hdfs.state["dir"] + "/data/tmp/.yarn/services"
    hdfs.files.mkdirs(shared)
    hdfs.files.call("PUT", "SETPERMISSION", shared, permission="1777")
    folder = tempfile.TemporaryDirectory(prefix="espalier-yarn-")
    unittest.addModuleCleanup(folder.cleanup)
    subprocess.run([os.path.join(ROOT, "tools", "package"), "--allow-outdated", "--only",
                    "tarball", "--output", folder.name], check=True, stdout=subprocess.DEVNULL,
                   timeout=PACKAGE_LIMIT_S)
    tarball, = [os.path.join(folder.name, name) for name in os.listdir(folder.name)]
    with tarfile.open(tarball) as tar:
        tar.extractall(folder.name)
    YarnTest.tarball, YarnTest.tree = tarball, tarball[:-len(".tar.gz")]


def page_blocks(section):
    """Returns the blocks of commands in a section of deploy/README.md, in order."""
    with open(os.path.join(ROOT, "deploy", "README.md")) as f:
        _, _, page = f.read().partition("\n## %s\n" % section)
    page, *_ = page.partition("\n## ")
    return re.findall(r"```sh\n(.*?)```", page, re.S)


class YarnTest(HdfsTest):
    tarball = tree = None

    def setUp(self):
        super().setUp()
        self.environment["HOME"] = self.directory
        self.addCleanup(self.end_services)
        self.services = []

    def end_services(self):
        for name in self.services:
            self.yarn("down", name, code=None)

    def start_yarn_command(self, *words, **options):
        """Starts deploy/yarn/espalier-yarn of the unpacked tarball."""
        script = os.path.join(self.tree, "deploy", "yarn", "espalier-yarn")
        options = dict({"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}, **options)
        process = subprocess.Popen([script] + [str(w) for w in words], text=True,
                                   cwd=self.directory, env=self.environment, **options)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        if words[0] in ("up", "run") and "--name" not in words:
            self.services.append(words[1])
        return process

    def yarn(self, *words, code=0):
        """Runs it to its end. Returns (standard output, standard error)."""
        process = self.start_yarn_command(*words)
        try:
            out, err = process.communicate(timeout=2 * COMMAND_LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            self.fail("espalier-yarn %s did not end\n%s%s" % (" ".join(map(str, words)), out, err))
        if code is not None:
            self.assertEqual(process.returncode, code,
                             "espalier-yarn %s\n%s%s" % (" ".join(map(str, words)), out, err))
        return out, err

    def service(self, name):
        out, _ = self.yarn("status", name, "--json")
        return json_lines(out)[-1]

    def up(self, name, workers, sizes=SIZES):
        self.yarn("up", name, "--workers", workers, *sizes)

    def on(self, name, command, *words, code=0):
        """Runs a command of `espalier` on the cluster. Returns its last JSON object."""
        return self.result(command, *words, "--coordinator", "yarn:" + name, code=code)

    def submit(self, name, job):
        self.espalier("submit", job, "--detach", "--coordinator", "yarn:" + name)
        return self.on(name, "list")["jobs"][-1]["job"]

    def state(self, name, job):
        """Returns the job, or None while no coordinator answers."""
        out, _ = self.espalier("status", job, "--json", "--coordinator", "yarn:" + name, code=None)
        found = json_lines(out)[-1]
        return found if "state" in found else None

    def step(self, name, job):
        found = self.state(name, job)
        if found and found["state"] in ("SUCCEEDED", "FAILED", "CANCELLED"):
            self.fail("%s: %s" % (job, found))
        return found["progress"]["step"] if found and found["state"] == "TRAINING" else 0

    def await_steps(self, name, job, more=50):
        """Waits until the job has trained this many steps from now."""
        begin = wait_for("a step", lambda: self.step(name, job), STEADY_LIMIT_S)
        wait_for("%d more steps" % more, lambda: self.step(name, job) >= begin + more,
                 STEADY_LIMIT_S)

    def outcome(self, name, job):
        """Waits for a job. Returns its result."""
        out, _ = self.espalier("watch", job, "--json", "--coordinator", "yarn:" + name)
        return json_lines(out)[-1]

    def follow_by_python(self, name, job):
        """Returns (a running Python client that follows a job, the address where it found the
        coordinator)."""
        process = subprocess.Popen(
            [python_client.ensure(), "-c", FOLLOW, name, job, str(STEADY_LIMIT_S)], text=True,
            cwd=self.directory, env=self.environment, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT)
        self.addCleanup(process.communicate)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        return process, process.stdout.readline().strip()

    def followed_by_python(self, process):
        """Returns [the weights' name, the coordinator's address at the end]."""
        return process.stdout.read().split()

    def attached(self, name, count):
        wait_for("%d workers" % count,
                 lambda: self.service(name)["workers_attached"] == count, STEADY_LIMIT_S)

    def processes(self, program):
        return hadoop_yarn.processes(self.hdfs, program)

    def kill_container_of(self, program):
        """Kills a container's program. Returns the container."""
        pid, container = sorted(self.processes(program).items())[0]
        os.kill(pid, signal.SIGKILL)
        return container

    def node_of(self, container):
        """Returns the name of the NodeManager that a container runs on."""
        for daemon in self.hdfs.daemons("nodemanager"):
            if container in hadoop_yarn.containers(self.hdfs, daemon["name"]).values():
                return daemon["name"]
        raise AssertionError("no node runs " + container)

    def await_empty(self):
        """Waits until no container is left."""
        wait_for("all containers to end", lambda: not hadoop_yarn.containers(self.hdfs),
                 STEADY_LIMIT_S)

    def long_job(self, name, source, output, epochs):
        """Returns a job of seconds to minutes, with many small steps."""
        spec = self.spec(source, output=self.uri(output))
        spec["train"] = dict(spec["train"], epochs=epochs)
        return self.job(name, spec)
