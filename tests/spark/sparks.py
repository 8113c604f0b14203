"""Provides PySpark sessions on loopback and runs scripts with spark-submit."""
import os
import shutil
import subprocess
import sys

import pyspark
from pyspark.sql import SparkSession

# At the end of the path, because some tests there have the same names as tests here.
sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "python"))
import daemons  # noqa: E402

import package_python  # noqa: E402  in tools/lib, which `daemons` puts on the path

SUBMIT = os.path.join(os.path.dirname(pyspark.__file__), "bin", "spark-submit")
DEPLOY = os.path.join(daemons.ROOT, "deploy", "spark")
LIMIT_S = 600  # a JVM starts slowly on a busy machine
# Makes JVMs start fast rather than run fast.
os.environ["JDK_JAVA_OPTIONS"] = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"
CONF = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR", "spark.driver.memory": "512m",
        "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2"}
JARS = os.path.join(os.path.dirname(pyspark.__file__), "jars")
HOST = {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}


def session(test, master="local[2]", **conf):
    """Returns a session that is stopped at the end of that test class."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(master).appName("espalier")
    for key, value in dict(CONF, **conf).items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    test.addClassCleanup(spark.stop)
    return spark


def yarn_conf(mode):
    """Returns the settings of applications on a YARN of this machine."""
    out = {"spark.yarn.jars": "local:%s/*" % JARS, "spark.executor.memory": "512m",
           "spark.driver.memory": "512m", "spark.yarn.am.memory": "512m",
           "spark.ui.enabled": "false", "spark.log.level": "WARN",
           "spark.submit.deployMode": mode, "spark.yarn.maxAppAttempts": "1",
           "spark.yarn.am.waitTime": "600s", "spark.yarn.submit.file.replication": "1",
           "spark.yarn.report.interval": "500ms"}
    for name, value in HOST.items():
        out["spark.yarn.appMasterEnv." + name] = out["spark.executorEnv." + name] = value
    home = os.path.join(daemons.ROOT, "build")
    out["spark.yarn.appMasterEnv.ESPALIER_HOME"] = out["spark.executorEnv.ESPALIER_HOME"] = home
    if mode == "client":
        out.update({"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"})
    return out


def wheel(test):
    """Returns the path of the Python client as an archive for --py-files."""
    made = package_python.build(test.path("wheel"), 1_700_000_000)
    shutil.copyfile(made, test.path("espalier.zip"))
    return test.path("espalier.zip")


def start(test, script, *arguments, master="local[2]", options=(), conf=CONF):
    """Starts spark-submit with a script, in a new session, so that a signal reaches all of its
    processes. A process that still runs at the end of the test is killed."""
    command = [SUBMIT, "--master", master]
    command += [word for pair in conf.items() for word in ("--conf", "%s=%s" % pair)]
    command += list(options) + [script] + [str(a) for a in arguments]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=test.directory,
        stdin=subprocess.DEVNULL, start_new_session=True,
        env=dict(test.environment, PYSPARK_PYTHON=sys.executable))

    def end():
        if process.poll() is None:
            process.kill()
        process.communicate()
    test.addCleanup(end)
    return process


def run(test, script, *arguments, code=0, **options):
    """Runs spark-submit to its end and returns its output. spark-submit merges both streams of a
    script anyway."""
    return finish(test, start(test, script, *arguments, **options), code)


def finish(test, process, code=0):
    try:
        out, _ = process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        out, _ = process.communicate()
        test.fail("spark-submit did not end within %d s\n%s" % (LIMIT_S, out))
    test.assertEqual(process.returncode, code, out)
    return out


def await_training(test, process, client, jobs=1):
    """Waits until the program has submitted `jobs` jobs and one of them trains."""
    def trains():
        if process.poll() is not None:
            test.fail("spark-submit has ended with %d\n%s" %
                      (process.returncode, process.stdout.read()))
        states = [j.state for j in client.jobs()]
        return len(states) >= jobs and "TRAINING" in states
    daemons.wait_for("the training of a job", trains, LIMIT_S)


# Environment variables that differ between test processes that run at once.
OWNER = ("PYTEST_XDIST_WORKER", "TMPDIR")


def processes(word):
    """Returns the ids of processes with that word on their command lines. Leaves out those of other
    test processes: a process has the environment of the test that started it."""
    own = {"%s=%s" % (name, os.environ[name]) for name in OWNER if name in os.environ}
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid) as f:
                if word not in f.read() or not daemons.is_alive(int(pid)):
                    continue
            with open("/proc/%s/environ" % pid) as f:
                if own <= set(f.read().split("\0")):
                    found.append(int(pid))
        except OSError:
            continue
    return found
