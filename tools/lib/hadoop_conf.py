"""Writes the configuration files of the HDFS that tools/hadoop runs, for daemons and clients."""
import os
import xml.sax.saxutils

import hadoop_kdc
import hadoop_yarn

NAMESERVICE = "ns"
PROXY = "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider"
LOG4J = """log4j.rootLogger=INFO,A
log4j.appender.A=org.apache.log4j.ConsoleAppender
log4j.appender.A.target=System.err
log4j.appender.A.layout=org.apache.log4j.PatternLayout
log4j.appender.A.layout.ConversionPattern=%d{ISO8601} %p %c{1}: %m%n
log4j.logger.org.apache.hadoop.util.NativeCodeLoader=ERROR
"""


def core_site(state):
    user = state["user"]
    secured = hadoop_kdc.core_site(state) if state["options"].get("kerberos") else {}
    return {
        **secured,
        "fs.defaultFS": state["uri"],
        "hadoop.tmp.dir": os.path.join(state["dir"], "data", "tmp"),
        "hadoop.proxyuser.%s.hosts" % user: "*",
        "hadoop.proxyuser.%s.groups" % user: "*",
        # A DataNode that starts before its NameNode retries more often than the default of 5 s.
        "ipc.client.connect.retry.interval": 100,
        "ipc.client.connect.max.retries": 200,
        **hadoop_yarn.core_site(state),
    }


def hdfs_site(state):
    """Returns a cluster's settings, which detect dead and slow daemons in seconds instead of
    minutes."""
    settings = {
        "dfs.replication": min(2, state["options"]["datanodes"]),
        "dfs.blocksize": state["options"]["block_size"],
        "dfs.namenode.fs-limits.min-block-size": 65536,
        "dfs.namenode.safemode.extension": 0,
        "dfs.heartbeat.interval": 1,
        "dfs.namenode.heartbeat.recheck-interval": 1000,
        "dfs.namenode.stale.datanode.interval": 3000,
        "dfs.namenode.avoid.read.stale.datanode": "true",
        "dfs.namenode.avoid.write.stale.datanode": "true",
        "dfs.namenode.datanode.registration.ip-hostname-check": "false",
        "dfs.client.block.write.replace-datanode-on-failure.policy": "NEVER",
        # Hadoop's own client fails to close a file if the NameNode has not received a report of its
        # last block in time. On a busy machine, that takes longer than five attempts.
        "dfs.client.block.write.locateFollowingBlock.retries": 10,
    }
    namenodes = [d for d in state["daemons"].values() if d["kind"] == "namenode"]
    suffixes = [""]
    if state["ha"]:
        suffixes = [".%s.%s" % (NAMESERVICE, d["name"]) for d in namenodes]
        journal = next(d for d in state["daemons"].values() if d["kind"] == "journalnode")
        settings.update({
            "dfs.nameservices": NAMESERVICE,
            "dfs.ha.namenodes." + NAMESERVICE: ",".join(d["name"] for d in namenodes),
            "dfs.namenode.shared.edits.dir": "qjournal://%s/%s" % (journal["rpc"], NAMESERVICE),
            "dfs.client.failover.proxy.provider." + NAMESERVICE: PROXY,
            "dfs.ha.fencing.methods": "shell(/bin/true)",
            "dfs.ha.tail-edits.period": 1,
        })
    for daemon, suffix in zip(namenodes, suffixes):
        settings["dfs.namenode.rpc-address" + suffix] = daemon["rpc"]
        settings["dfs.namenode.http-address" + suffix] = daemon["http"]
    if state["options"].get("kerberos"):
        settings.update(hadoop_kdc.hdfs_site(state))
    settings.update(state["options"]["settings"])
    return settings


def write_xml(path, settings):
    escape = xml.sax.saxutils.escape
    with open(path, "w") as f:
        f.write('<?xml version="1.0"?>\n<configuration>\n')
        for name, value in settings.items():
            f.write("  <property><name>%s</name><value>%s</value></property>\n" %
                    (escape(name), escape(str(value))))
        f.write("</configuration>\n")


def write(state):
    folder = state["conf_dir"]
    os.makedirs(folder, exist_ok=True)
    write_xml(os.path.join(folder, "core-site.xml"), core_site(state))
    write_xml(os.path.join(folder, "hdfs-site.xml"), hdfs_site(state))
    hadoop_yarn.write_conf(state, write_xml)
    for side in ("server", "client") if state["options"].get("kerberos") else ():
        write_xml(os.path.join(folder, "ssl-%s.xml" % side), hadoop_kdc.ssl_site(state, side))
    with open(os.path.join(folder, "log4j.properties"), "w") as f:
        f.write(LOG4J)
