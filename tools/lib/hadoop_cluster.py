"""Base of clusters of Hadoop daemons that run in one folder: JVMs, logs, waiting."""
import os
import pathlib
import signal
import subprocess
import time

import hadoop_daemons as daemons
import hadoop_kdc
import hadoop_state
from hadoop_jars import HadoopError

READY_LIMIT_S = 120
ADMIN_LIMIT_S = 120
POLL_S = 0.03

CLASSES = {
    "namenode": "org.apache.hadoop.hdfs.server.namenode.NameNode",
    "datanode": "org.apache.hadoop.hdfs.server.datanode.DataNode",
    "journalnode": "org.apache.hadoop.hdfs.qjournal.server.JournalNode",
}
PROGRAMS = {
    "dfs": "org.apache.hadoop.fs.FsShell",
    "dfsadmin": "org.apache.hadoop.hdfs.tools.DFSAdmin",
    "haadmin": "org.apache.hadoop.hdfs.tools.DFSHAAdmin",
    "fetchdt": "org.apache.hadoop.hdfs.tools.DelegationTokenFetcher",
}
HEAPS = {"namenode": "192m", "datanode": "128m", "journalnode": "96m"}
PROGRAM_HEAP = "96m"
JVM = ["-XX:+UseSerialGC", "-Xss512k", "-XX:-UsePerfData", "-Djava.net.preferIPv4Stack=true",
       "--add-opens=java.base/java.lang=ALL-UNNAMED", "--add-opens=java.base/java.util=ALL-UNNAMED"]
# Halves the start time of a daemon, at the cost of slower code later.
QUICK_START = ["-XX:TieredStopAtLevel=1"]


def run_limited(command, env, limit_s, **how):
    try:
        return subprocess.run(command, env=env, stdin=subprocess.DEVNULL, timeout=limit_s, **how)
    except subprocess.TimeoutExpired:
        main_class = next(word for word in command if word.startswith("org."))
        raise HadoopError("%s did not end within %d s. Is the machine overloaded?" %
                          (main_class, limit_s)) from None


class Cluster:
    """Daemons in one folder. `java` is the result of hadoop_jars.prepare, or None if no daemon will
    be started."""

    def __init__(self, state, java=None):
        self.state = state
        if java:
            state["java_home"], state["class_path"], state["jvm_flags"] = java

    @property
    def dir(self):
        return self.state["dir"]

    @property
    def conf_dir(self):
        """Path of a HADOOP_CONF_DIR for its clients."""
        return self.state["conf_dir"]

    def env(self):
        """Returns the environment for its clients."""
        return {"HADOOP_CONF_DIR": self.conf_dir, "HADOOP_USER_NAME": self.state["user"]}

    def daemon(self, name):
        if name not in self.state["daemons"]:
            raise HadoopError("unknown daemon %r. The daemons are %s" %
                              (name, ", ".join(self.state["daemons"])))
        return self.state["daemons"][name]

    def daemons(self, kind=None):
        return [d for d in self.state["daemons"].values() if kind in (None, d["kind"])]

    def alive(self, name):
        return daemons.alive(self.daemon(name))

    def save(self):
        hadoop_state.save_state(self.state)

    # ---- Stop and start of single daemons

    def kill(self, name, number=signal.SIGKILL):
        """Ends one daemon, by default with SIGKILL, as a failing machine does."""
        daemons.end([self.daemon(name)], number)
        self.save()

    def up(self, name):
        """Starts one daemon again, with its addresses and data. Does not wait for it."""
        if not self.alive(name):
            self.spawn(self.daemon(name))
            self.save()

    def pause(self, name):
        """Freezes a daemon. Its connections stay, and it does not answer."""
        if not daemons.freeze(self.daemon(name)):
            raise HadoopError("%s does not run" % name)

    def resume(self, name):
        if not daemons.send(self.daemon(name), signal.SIGCONT):
            raise HadoopError("%s does not run" % name)

    def run(self, program, *args, env=None, capture=True, limit_s=ADMIN_LIMIT_S):
        """Runs one of Hadoop's own programs: dfs, dfsadmin, haadmin or fetchdt."""
        if self.state["options"].get("kerberos"):
            hadoop_kdc.kinit_admin(self.state)
        return run_limited(self.java(PROGRAMS[program], PROGRAM_HEAP, list(args)),
                           dict(self.java_env(), **(env or {})), limit_s, capture_output=capture,
                           text=True)

    def run_until_done(self, program, *args):
        """Repeats a command that a daemon refuses while it starts."""
        deadline = time.monotonic() + READY_LIMIT_S
        while True:
            done = self.run(program, *args)
            if done.returncode == 0:
                return
            if time.monotonic() > deadline:
                said = (done.stdout + done.stderr).strip().splitlines() or ["nothing"]
                raise HadoopError("%s %s failed: %s" % (program, " ".join(args), said[-1]))

    # ---- For subclasses

    def data(self, name):
        return pathlib.Path(self.dir, "data", name)

    def log(self, name):
        return os.path.join(self.dir, "log", name + ".log")

    def java_env(self):
        env = {k: v for k, v in os.environ.items() if not k.startswith("HADOOP_")}
        path = self.state["class_path"] + [self.conf_dir]
        found = dict(env, CLASSPATH=":".join(path), JAVA_HOME=self.state["java_home"], **self.env())
        if self.state["options"].get("kerberos"):
            found.update(hadoop_kdc.admin_env(self.state))
        return found

    def java(self, main_class, heap, args):
        # Jetty unpacks its pages into the temporary folder. They stay there if it is killed.
        flags = self.state["jvm_flags"] + JVM + [
            "-Djava.io.tmpdir=" + os.path.join(self.dir, "tmp")]
        flags += [] if self.state["options"]["throughput"] else QUICK_START
        if self.state["options"].get("kerberos"):
            flags += hadoop_kdc.java_flags(self.state)
        log4j = pathlib.Path(self.conf_dir, "log4j.properties").as_uri()
        return ([os.path.join(self.state["java_home"], "bin", "java"), "-Xmx" + heap] + flags +
                ["-Dlog4j.configuration=" + log4j, main_class] + args)

    def settings(self, daemon):
        """Returns settings of this daemon only. The daemons share the configuration files."""
        raise NotImplementedError

    def command(self, daemon):
        args = [word for pair in self.settings(daemon).items() for word in ("-D", "%s=%s" % pair)]
        return self.java(CLASSES[daemon["kind"]], HEAPS[daemon["kind"]], args)

    def spawn(self, daemon):
        if daemon["kind"] == "kdc":
            command, env = hadoop_kdc.command(), hadoop_kdc.kdc_env(self.state)
        else:
            command, env = self.command(daemon), self.java_env()
        daemons.spawn(daemon, command, env, self.log(daemon["name"]))

    def wait(self, what, done, why=lambda: "", limit_s=READY_LIMIT_S):
        """Waits until done() is true. Raises HadoopError with the reason if a daemon ends
        meanwhile."""
        running = [d for d in self.daemons() if d["pid"]]
        deadline = time.monotonic() + limit_s
        while not done():
            for daemon in running:
                if not daemons.alive(daemon):
                    raise HadoopError("%s ended: %s" %
                                      (daemon["name"], daemons.why_ended(daemon)))
            if time.monotonic() > deadline:
                raise HadoopError("%s is not ready after %d s%s" % (what, limit_s, why()))
            time.sleep(POLL_S)
