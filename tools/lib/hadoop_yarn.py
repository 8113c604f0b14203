"""Runs a real YARN next to the HDFS of hadoop.py: ZooKeeper, ResourceManager, NodeManagers.

    with Hdfs.start(yarn={"nodes": 2}) as hdfs:       # hdfs.env() has the configuration of both
        hadoop_yarn.kill_node(hdfs, "nm1")            # simulates the loss of a host

The daemons are named zk, rm, nm1, nm2, ... Each NodeManager is a separate host on loopback
(127.0.0.1, 127.0.0.2, ...). YARN services (the REST interface for long-running programs) are on.
set_services(hdfs, False) restarts the ResourceManager without them. YARN detects a lost node after
10 s instead of ten minutes. All other settings are YARN's defaults. With a secured
HDFS, YARN uses Kerberos, too. Containers run as the user that runs the NodeManagers. To run them as
their users, YARN needs a root program (LinuxContainerExecutor) that the jars do not contain.
"""
import os
import signal

import hadoop_daemons as daemons
import hadoop_kdc

KINDS = ("zookeeper", "resourcemanager", "nodemanager")
PREFIX = "org.apache.hadoop.yarn.server."
CLASSES = {
    "zookeeper": "org.apache.zookeeper.server.ZooKeeperServerMain",
    "resourcemanager": PREFIX + "resourcemanager.ResourceManager",
    "nodemanager": PREFIX + "nodemanager.NodeManager",
}
HEAPS = {"zookeeper": "64m", "resourcemanager": "224m", "nodemanager": "160m"}
NODE_MEMORY_MB, NODE_CORES = 3072, 8
REST_LIMIT_S = 5
QUEUES = "default"


def new_daemons(new_daemon, options):
    """Returns the daemons for the initial state of hadoop_state.py. Without YARN, returns none."""
    asked = options.get("yarn")
    if not asked:
        return []
    return [new_daemon("zk", "zookeeper"), new_daemon("rm", "resourcemanager")] + [
        new_daemon("nm%d" % (i + 1), "nodemanager", "127.0.0.%d" % (i + 1))
        for i in range(asked["nodes"])]


def ports_of(daemon):
    """Returns the number of ports of a daemon in addition to http, rpc and data."""
    return 2 if daemon["kind"] == "resourcemanager" else 0


def assign(daemon, host, more):
    """Adds addresses after hadoop_state has set http, rpc and data."""
    if daemon["kind"] == "nodemanager":
        for name in ("http", "rpc", "data"):
            daemon[name] = "%s:%s" % (daemon["host"], daemon[name].rpartition(":")[2])
    if daemon["kind"] == "resourcemanager":
        daemon["tracker"], daemon["admin"] = ["%s:%d" % (host, port) for port in more]


def yarn_site(state):
    options = state["options"]["yarn"]
    rm = state["daemons"]["rm"]
    settings = {
        "yarn.resourcemanager.hostname": rm["rpc"].partition(":")[0],
        "yarn.resourcemanager.address": rm["rpc"],
        "yarn.resourcemanager.scheduler.address": rm["data"],
        "yarn.resourcemanager.resource-tracker.address": rm["tracker"],
        "yarn.resourcemanager.admin.address": rm["admin"],
        "yarn.resourcemanager.webapp.address": rm["http"],
        "yarn.resourcemanager.bind-host": rm["rpc"].partition(":")[0],
        "yarn.resourcemanager.placement-constraints.handler": "scheduler",
        "yarn.webapp.api-service.enable": str(options["services"]).lower(),
        "yarn.nodemanager.resource.memory-mb": NODE_MEMORY_MB,
        "yarn.nodemanager.resource.cpu-vcores": NODE_CORES,
        "yarn.scheduler.maximum-allocation-mb": NODE_MEMORY_MB,
        "yarn.scheduler.minimum-allocation-mb": 64,
        "yarn.nodemanager.vmem-check-enabled": "false",
        "yarn.nodemanager.disk-health-checker.enable": "false",
        # The default would prevent containers on a machine whose disk is more than 90 % full.
        "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": 100,
        # The service master finds its classes here instead of in an uploaded archive.
        "yarn.application.classpath": ",".join([state["conf_dir"]] + jar_folders(state)),
        "yarn.service.am-resource.memory": 512,
        "yarn.service.am.java.opts": "-Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1",
        # These are seconds instead of the default minutes.
        "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": 200,
        "yarn.resourcemanager.connect.retry-interval.ms": 500,
        "yarn.client.failover-sleep-base-ms": 200,
        "yarn.am.liveness-monitor.expiry-interval-ms": 10000,
        "yarn.nm.liveness-monitor.expiry-interval-ms": 10000,
        "yarn.nodemanager.container-retry-minimum-interval-ms": 100,
        # The default is a folder in /tmp that is not removed.
        "yarn.node-attribute.fs-store.root-dir": "file://%s/data/node-attribute" % state["dir"],
    }
    if state["options"].get("kerberos"):
        settings.update(secured_site(state, settings))
    settings.update(options.get("settings") or {})
    return settings


def secured_site(state, settings):
    """Returns the settings for Kerberos: identities of the daemons and authentication of clients.
    """
    found = {
        "hadoop.http.filter.initializers":
            "org.apache.hadoop.security.AuthenticationFilterInitializer",
        # The realm is not in /etc/krb5.conf.
        "yarn.nodemanager.env-whitelist": "JAVA_HOME,HADOOP_CONF_DIR,PATH,LANG,KRB5_CONFIG",
        "yarn.service.am.java.opts": " ".join([settings["yarn.service.am.java.opts"]] +
                                              hadoop_kdc.java_flags(state)),
    }
    for daemon in ("resourcemanager", "nodemanager"):
        found["yarn.%s.principal" % daemon] = "%s@%s" % (hadoop_kdc.YARN, hadoop_kdc.REALM)
        found["yarn.%s.keytab" % daemon] = hadoop_kdc.keytab(state, "hdfs")
    return found


SCHEDULER = {
    "yarn.scheduler.capacity.root.queues": QUEUES,
    "yarn.scheduler.capacity.root.default.capacity": 100,
    "yarn.scheduler.capacity.maximum-am-resource-percent": 0.9,
    "yarn.scheduler.capacity.node-locality-delay": -1,
}


def jar_folders(state):
    """Returns the folders of the class path, as wildcards."""
    return sorted({os.path.join(os.path.dirname(path), "*") for path in state["class_path"]
                   if path.endswith(".jar")})


def core_site(state):
    """Returns the settings that YARN adds to core-site.xml."""
    if not state["options"].get("yarn"):
        return {}
    user, found = hadoop_kdc.YARN.partition("/")[0], {}
    if state["options"].get("kerberos"):  # YARN's services act for the user that requests one
        found = {"hadoop.proxyuser.%s.%s" % (user, what): "*" for what in ("hosts", "users")}
    return {"hadoop.registry.zk.quorum": state["daemons"]["zk"]["rpc"],
            "hadoop.http.staticuser.user": state["user"], **found}


def write_conf(state, write_xml):
    """Writes the configuration files of YARN. Writes XML files with write_xml(path, settings)."""
    if not state["options"].get("yarn"):
        return
    folder = state["conf_dir"]
    write_xml(os.path.join(folder, "yarn-site.xml"), yarn_site(state))
    write_xml(os.path.join(folder, "capacity-scheduler.xml"), SCHEDULER)
    zk = state["daemons"]["zk"]
    with open(os.path.join(folder, "zoo.cfg"), "w") as f:
        host, _, port = zk["rpc"].partition(":")
        f.write("tickTime=2000\ndataDir=%s\nclientPort=%s\nclientPortAddress=%s\n"
                "admin.enableServer=false\n" %
                (os.path.join(state["dir"], "data", "zk"), port, host))


def arguments(cluster, daemon):
    """Returns the arguments of a YARN daemon."""
    if daemon["kind"] == "zookeeper":
        return [os.path.join(cluster.conf_dir, "zoo.cfg")]
    if daemon["kind"] == "resourcemanager":
        return []
    data = cluster.data(daemon["name"])
    own = {"yarn.nodemanager.hostname": daemon["host"],
           "yarn.nodemanager.bind-host": daemon["host"],
           "yarn.nodemanager.address": daemon["rpc"],
           "yarn.nodemanager.localizer.address": daemon["data"],
           "yarn.nodemanager.webapp.address": daemon["http"],
           "yarn.nodemanager.local-dirs": data / "local",
           "yarn.nodemanager.log-dirs": data / "log"}
    if cluster.secured:
        own["hadoop.http.authentication.kerberos.principal"] = "HTTP/%s@%s" % (daemon["host"],
                                                                               hadoop_kdc.REALM)
    return [word for pair in own.items() for word in ("-D", "%s=%s" % pair)]


def environment(cluster, daemon):
    """Returns additional environment of a daemon. A NodeManager passes HADOOP_CONF_DIR to
    containers, which have it on their class path."""
    if daemon["kind"] != "nodemanager":
        return {}
    found = {"HADOOP_CONF_DIR": ":".join([cluster.conf_dir] + jar_folders(cluster.state))}
    return dict(found, **hadoop_kdc.client_env(cluster.state)) if cluster.secured else found


def rest(cluster, path):
    """Returns the answer of the ResourceManager's REST interface, or None."""
    url = "http://%s%s" % (cluster.daemon("rm")["http"], path)
    if cluster.secured:
        return hadoop_kdc.fetch_json(cluster.state, url, REST_LIMIT_S)
    return daemons.fetch_json(url, REST_LIMIT_S)


def active_nodes(cluster):
    found = rest(cluster, "/ws/v1/cluster/metrics")
    return found["clusterMetrics"]["activeNodes"] if found and "clusterMetrics" in found else 0


def wait_ready(cluster):
    """Waits until the ResourceManager knows every NodeManager that runs."""
    wanted = sum(map(daemons.alive, cluster.daemons("nodemanager")))
    cluster.wait("YARN", lambda: active_nodes(cluster) >= wanted,
                 lambda: ": %d of %d nodes" % (active_nodes(cluster), wanted))


def set_services(cluster, on):
    """Restarts the ResourceManager with YARN's services on or off."""
    cluster.state["options"]["yarn"]["services"] = on
    cluster.write_conf()
    cluster.kill("rm", signal.SIGTERM)
    cluster.up("rm")
    wait_ready(cluster)


def containers(cluster, node=None):
    """Returns {process id: container id} of processes in containers, of one node or all nodes."""
    found = {}
    for daemon in cluster.daemons("nodemanager"):
        if node not in (None, daemon["name"]):
            continue
        place = os.path.join(str(cluster.data(daemon["name"])), "local") + os.sep
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                cwd = os.readlink("/proc/%s/cwd" % entry)
            except OSError:
                continue
            parts = [p for p in cwd.split(os.sep) if p.startswith("container_")]
            if cwd.startswith(place) and parts:
                found[int(entry)] = parts[0].partition(" ")[0]
    return found


def processes(cluster, program):
    """Returns {process id: container id} of a program that runs in containers."""
    def runs(pid):
        try:
            with open("/proc/%d/cmdline" % pid) as f:  # the loader of the tarball comes first
                return program in map(os.path.basename, f.read().split("\0")[:8])
        except OSError:
            return False
    return {pid: container for pid, container in containers(cluster).items() if runs(pid)}


def end_containers(cluster, node=None):
    """Kills processes in containers of one node or all nodes, because YARN may no longer do it."""
    for pid in containers(cluster, node):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def kill_node(cluster, name):
    """Simulates a lost host. Kills the NodeManager first, so that it cannot report the loss."""
    cluster.kill(name)
    end_containers(cluster, name)
