"""Runs a real HDFS on this machine: a NameNode, or two with a JournalNode (HA), and DataNodes.

    with Hdfs.start(datanodes=2) as hdfs:      # in a new folder, removed at the end
        hdfs.put("/data/a.csv", b"1,2\\n")
        subprocess.run(["espalier", ...], env=dict(os.environ, **hdfs.env()))
        hdfs.kill_datanode(1)

Every daemon is a separate process, listens on loopback and outlives the program that started it.
Hdfs.attach(dir) finds it again. The daemons are named nn1, nn2, jn1, dn1, dn2, ... DIR/state.json
has the complete state (hadoop_state.py). tools/hadoop provides the same from a shell.
"""
import json
import os
import shutil
import signal
import tempfile

import hadoop_cds
import hadoop_conf
import hadoop_daemons as daemons
import hadoop_jars
import hadoop_kdc
import hadoop_state
import hadoop_yarn
from hadoop_cluster import ADMIN_LIMIT_S, READY_LIMIT_S, Cluster, run_limited
from hadoop_jars import HadoopError
from hadoop_webhdfs import WebHdfs

START_ATTEMPTS = 3  # if another program takes a free port before a daemon does
JMX_LIMIT_S = 5  # limits the wait for a paused NameNode


def quiet(_words):
    """Ignores messages."""


class Hdfs(Cluster):
    def __init__(self, state, java=None):
        super().__init__(state, java)
        self.files = WebHdfs(self.active_url, state["user"])
        if self.secured:
            self.files = WebHdfs(self.active_url, None, token=hadoop_kdc.Tokens(state).current)

    # ---- Start, attach, stop

    @classmethod
    def start(cls, dir=None, ha=False, datanodes=2, block_size=128 << 20, hosts=None, http_port=0,
              rpc_port=0, settings=None, throughput=False, yarn=None, kerberos=False, say=quiet,
              java=None):
        """Starts an HDFS and waits until it serves. If one runs already, only missing daemons
        start.

        dir: folder for all files, or None for a temporary folder. An HDFS of an earlier start in
        that folder starts again with its data and addresses.
        hosts: names of the DataNodes that clients are sent to (localhost, 127.0.0.2, ...). With
        different names, replicas are on different hosts.
        http_port, rpc_port: ports of nn1; 0 selects free ports.
        settings: additional settings of hdfs-site.xml.
        throughput: whether JVMs compile fully, for measurements.
        yarn: {"nodes": 2} and additional "settings" of yarn-site.xml, for a YARN (hadoop_yarn.py).
        kerberos: whether HDFS and YARN are secured, with a separate KDC, HTTP and HTTPS
        (hadoop_kdc.py).
        java: Java to run, or None for the archive of hadoop_cds.
        """
        options = {"datanodes": datanodes, "block_size": block_size, "settings": settings or {},
                   "hosts": hosts or ["localhost"] * datanodes, "throughput": throughput,
                   "http_port": http_port, "rpc_port": rpc_port, "kerberos": kerberos,
                   "yarn": dict({"services": True}, **yarn) if yarn else None}
        if kerberos:
            hadoop_kdc.check(ha, options["hosts"], say)
        if len(options["hosts"]) != datanodes or datanodes < 1:
            raise HadoopError("expected at least one DataNode and a host name for each (found %d "
                              "DataNodes, %d names)" % (datanodes, len(options["hosts"])))
        java = java or hadoop_cds.prepare(say, cls)
        folder = os.path.abspath(dir or tempfile.mkdtemp(prefix="hdfs-"))
        try:
            hadoop_state.make_folder(folder)
            with hadoop_jars.locked(folder):
                if hadoop_state.has_state(folder):
                    state = hadoop_state.read_state(folder)
                    hadoop_state.check_same(state, ha, options)
                else:
                    state = hadoop_state.new_state(folder, ha, options)
                hdfs = cls(state, java)
                hdfs._launch()
                return hdfs
        except BaseException:
            if dir is None:
                shutil.rmtree(folder, ignore_errors=True)
            raise

    @classmethod
    def attach(cls, dir):
        """Returns the HDFS that was started in a folder, running or not."""
        folder = os.path.abspath(dir)
        if not hadoop_state.has_state(folder):
            raise HadoopError("no HDFS was started in %s: state.json is missing" % folder)
        return cls(hadoop_state.read_state(folder))

    def stop(self, keep=False):
        """Ends every daemon. Removes the folder, unless `keep` is true."""
        daemons.end(self.daemons(), signal.SIGTERM if keep else signal.SIGKILL)
        hadoop_yarn.end_containers(self)
        if keep:
            self.save()
        else:
            hadoop_state.remove_folder(self.dir)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    # ---- Properties

    @property
    def uri(self):
        """Value of fs.defaultFS: hdfs://host:port, with HA hdfs://ns."""
        return self.state["uri"]

    @property
    def urls(self):
        """Addresses http://host:port of the NameNodes."""
        return ["http://" + d["http"] for d in self.daemons("namenode")]

    @property
    def secured(self):
        return bool(self.state["options"].get("kerberos"))

    def env(self, name="alice"):
        """Returns the environment for clients. For a secured HDFS, the client is a principal with
        its keytab."""
        found = super().env()
        if self.secured:
            found.update(hadoop_kdc.keytab_env(self.state, name), HADOOP_USER_NAME=name)
        return found

    def put(self, path, data, **params):
        self.files.put(path, data, **params)

    def get(self, path, **params):
        return self.files.get(path, **params)

    def bean(self, daemon, name):
        """Returns a JMX bean of a NameNode or DataNode, or None while it does not answer."""
        service = "DataNode" if daemon["kind"] == "datanode" else "NameNode"
        url = "http://%s/jmx?qry=Hadoop:service=%s,name=%s" % (daemon["http"], service, name)
        answer = (hadoop_kdc.fetch_json(self.state, url, JMX_LIMIT_S) if self.secured
                  else daemons.fetch_json(url, JMX_LIMIT_S))
        return answer["beans"][0] if answer and answer.get("beans") else None

    def namenode_state(self, name):
        """Returns "active", "standby", ... or "" while it does not answer."""
        return (self.bean(self.daemon(name), "NameNodeStatus") or {}).get("State", "")

    def active_namenode(self):
        """Returns the name of the active NameNode."""
        names = [d["name"] for d in self.daemons("namenode")]
        if self.state["ha"]:
            names = [name for name in names if self.namenode_state(name) == "active"]
        if not names:
            raise HadoopError("no NameNode is active")
        return names[0]

    def active_url(self):
        return "http://" + self.daemon(self.active_namenode())["http"]

    def live_datanodes(self, name):
        """Returns (number of DataNodes that a NameNode can write to, reason for safe mode or "").

        Returns None while the NameNode does not answer.
        """
        info = self.bean(self.daemon(name), "NameNodeInfo")
        if info is None:
            return None
        nodes = json.loads(info.get("LiveNodes") or "{}").values()
        return sum(1 for node in nodes if node.get("capacity")), info.get("Safemode") or ""

    # ---- Faults. Cluster has kill, up, pause and resume of any daemon by name.

    def kill_datanode(self, i):
        self.kill("dn%d" % i)

    def start_datanode(self, i, wait=True):
        """Starts a DataNode again, and waits until it has reported its blocks to every running
        NameNode."""
        name = "dn%d" % i
        self.up(name)
        if wait:
            self.wait(name, lambda: self._has_reported(self.daemon(name)))

    def stop_namenode(self, i=1):
        self.kill("nn%d" % i, signal.SIGTERM)

    def kill_namenode(self, i=1):
        self.kill("nn%d" % i)

    def start_namenode(self, i=1):
        self.up("nn%d" % i)

    def restart_namenode(self, i=1, wait=True):
        """Kills and starts a NameNode. With HA, it comes back as a standby."""
        name = "nn%d" % i
        self.kill(name)
        self.up(name)
        if wait and self.state["ha"]:
            self._wait_decided(name)
        elif wait:
            self.wait_ready()

    def failover(self):
        """Makes the other NameNode the active one, even if the active one is dead. Returns the name
        of the new active NameNode."""
        if not self.state["ha"]:
            raise HadoopError("this HDFS has one NameNode. Start it with HA to fail over.")
        old = self.state["active"]
        new = next(d["name"] for d in self.daemons("namenode") if d["name"] != old)
        if not self.alive(new):
            raise HadoopError("%s cannot become active: it does not run" % new)
        self.run_until_done("haadmin", "-failover", old, new)
        self._set_active(new)
        return new

    def wait_ready(self, limit_s=READY_LIMIT_S):
        """Waits until safe mode has ended and every running DataNode can be written to."""
        def ready():
            wanted = sum(map(daemons.alive, self.daemons("datanode")))
            found = self.live_datanodes(self.state["active"])
            return found and found[0] >= wanted and not found[1]
        self.wait("HDFS", ready, self._why_not_ready, limit_s)

    # ---- Internal

    def command(self, daemon):
        if daemon["kind"] not in hadoop_yarn.KINDS:
            return super().command(daemon)
        kind = daemon["kind"]
        return self.java(hadoop_yarn.CLASSES[kind], hadoop_yarn.HEAPS[kind],
                         hadoop_yarn.arguments(self, daemon))

    def spawn(self, daemon):
        if daemon["kind"] not in hadoop_yarn.KINDS:
            return super().spawn(daemon)
        env = dict(self.java_env(), **hadoop_yarn.environment(self, daemon))
        daemons.spawn(daemon, self.command(daemon), env, self.log(daemon["name"]))

    def settings(self, daemon):
        data = self.data(daemon["name"])
        if daemon["kind"] == "namenode":
            own = {"dfs.ha.namenode.id": daemon["name"]} if self.state["ha"] else {}
            return dict(own, **{"dfs.namenode.name.dir": data.as_uri()})
        if daemon["kind"] == "kdc":
            return {}
        if daemon["kind"] == "journalnode":
            return {"dfs.journalnode.rpc-address": daemon["rpc"],
                    "dfs.journalnode.http-address": daemon["http"],
                    "dfs.journalnode.edits.dir": data}
        return {"dfs.datanode.data.dir": data.as_uri(), "dfs.datanode.hostname": daemon["host"],
                "dfs.datanode.address": daemon["data"], "dfs.datanode.http.address": daemon["http"],
                "dfs.datanode.ipc.address": daemon["rpc"],
                **({"dfs.datanode.https.address": daemon["https"]} if self.secured else {})}

    def _wait_decided(self, name):
        self.wait(name, lambda: self.namenode_state(name) in ("active", "standby"))

    def _has_reported(self, datanode):
        info = self.bean(datanode, "DataNodeInfo") or {}
        actors = json.loads(info.get("BPServiceActorInfo") or "[]")
        told = [a for a in actors if a["ActorState"] == "RUNNING"]
        return len(told) >= sum(map(daemons.alive, self.daemons("namenode")))

    def _set_active(self, name):
        self.state["active"] = name
        self.save()

    def _launch(self):
        """Starts the daemons that do not run. Uses other ports if another program took them first.
        """
        if any(map(daemons.alive, self.daemons())):
            return self._bring_up()
        hadoop_state.check_disk(self.dir)
        asked = self.state["options"]["http_port"] or self.state["options"]["rpc_port"]
        for attempt in range(START_ATTEMPTS):
            if not self.state["formatted"]:
                hadoop_state.assign_ports(self.state, attempt)
            try:
                return self._bring_up()
            except BaseException as e:
                daemons.end(self.daemons(), signal.SIGKILL)
                hadoop_yarn.end_containers(self)
                self.save()
                if not isinstance(e, HadoopError):
                    raise
                last = asked or self.state["formatted"] or attempt + 1 == START_ATTEMPTS
                if last or daemons.TAKEN not in str(e):
                    raise HadoopError("%s. The logs are in %s" %
                                      (e, os.path.join(self.dir, "log"))) from e

    def write_conf(self):
        """Writes the configuration files again, from the state."""
        hadoop_conf.write(self.state)

    def _bring_up(self):
        fresh = not self.state["formatted"]
        if fresh:
            shutil.rmtree(os.path.join(self.dir, "data"), ignore_errors=True)
        for folder in ("data", "log", "tmp"):
            os.makedirs(os.path.join(self.dir, folder), exist_ok=True)
        if self.secured:
            self._start_kdc(fresh)
        self.write_conf()
        # These keep two cores busy while the NameNode, which they wait for, is formatted.
        self._spawn_missing("journalnode" if self.state["ha"] else "datanode")
        if fresh:
            self._format()
        self._spawn_missing("journalnode", "namenode", "datanode", *hadoop_yarn.KINDS)
        if self.state["ha"]:
            self._make_active()
        self.wait_ready()
        if fresh:
            self._make_folders()
            self.state["formatted"] = True
        if self.state["options"].get("yarn"):
            hadoop_yarn.wait_ready(self)
        self.save()

    def _start_kdc(self, fresh):
        """Starts the KDC before all other daemons, because they need a ticket."""
        if fresh:
            hadoop_kdc.make_realm(self.state)
        self._spawn_missing("kdc")
        self.wait("the KDC", lambda: hadoop_kdc.listens(self.state))

    def _spawn_missing(self, *kinds):
        for kind in kinds:
            for daemon in self.daemons(kind):
                if not daemons.alive(daemon):
                    self.spawn(daemon)
        self.save()

    def _format(self):
        """Makes the empty file system. A second NameNode starts with a copy of the first one."""
        first, *others = self.daemons("namenode")
        command = self.command(first) + ["-format", "-nonInteractive", "-force"]
        with open(self.log("format"), "wb") as out:
            done = run_limited(command, self.java_env(), ADMIN_LIMIT_S, stdout=out, stderr=out)
        if done.returncode:
            daemon = {"log": self.log("format"), "log_from": 0}
            raise HadoopError("formatting the NameNode failed: " + daemons.why_ended(daemon))
        for other in others:
            shutil.copytree(self.data(first["name"]), self.data(other["name"]))

    def _make_active(self):
        """Makes one NameNode active, because both start as standby."""
        wanted = self.state["active"]
        self._wait_decided(wanted)
        if all(self.namenode_state(d["name"]) != "active" for d in self.daemons("namenode")):
            self.run_until_done("haadmin", "-transitionToActive", wanted)

    def _make_folders(self):
        """Makes the usual directories of a cluster: /tmp for all users, a home for the user."""
        self.files.mkdirs("/tmp", "1777")
        for user in hadoop_kdc.PEOPLE if self.secured else [self.state["user"]]:
            self.files.mkdirs("/user/" + user)
            if self.secured:
                self.files.call("PUT", "SETOWNER", "/user/" + user, owner=user)

    def _why_not_ready(self):
        found = self.live_datanodes(self.state["active"])
        if not found:
            return ": %s does not answer" % self.state["active"]
        return ": %d DataNodes; %s" % (found[0], found[1] or "safe mode is off")
