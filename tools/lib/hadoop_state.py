"""Manages the folder of an HDFS that tools/hadoop runs. state.json in it describes the daemons.

    {"format": 1, "hadoop": version, "dir": ..., "conf_dir": ..., "user": the superuser,
     "ha": bool, "uri": fs.defaultFS, "active": name of the NameNode made active last,
     "formatted": bool, "options": as given to Hdfs.start, "java_home": ..., "class_path": [...],
     "daemons": {name: {"name", "kind", "host", "pid", "birth", "http", "rpc", "data", "log"}}}

Addresses are "ip:port". pid and birth (ticks since boot) identify a process permanently. pid is
null while the daemon is down.
"""
import contextlib
import getpass
import json
import os
import re
import shutil
import socket

import hadoop_conf
import hadoop_daemons as daemons
import hadoop_jars
import hadoop_yarn
from hadoop_jars import HadoopError

HOST = "127.0.0.1"
OURS = ["conf", "data", "kdc", "log", "lock", "state.json", "state.json.new", "tmp"]
DISK_FREE_MIN = 1 << 29  # bytes; below about 100 MB a NameNode stays in safe mode without an error


def user_name():
    return os.environ.get("HADOOP_USER_NAME") or os.environ.get("USER") or getpass.getuser()


def loopback_of(host):
    """Returns the loopback address of a DataNode's host name."""
    try:
        address = socket.gethostbyname(host)
    except OSError as e:
        raise HadoopError("a DataNode cannot have the name %r: %s" % (host, e)) from e
    if not address.startswith("127."):
        raise HadoopError("a DataNode cannot have the name %r: its address %s is not on loopback" %
                          (host, address))
    return address


def has_state(folder):
    return os.path.exists(os.path.join(folder, "state.json"))


def read_state(folder):
    path = os.path.join(folder, "state.json")
    try:
        with open(path) as f:
            state = json.load(f)
        if state["format"] == 1:
            return state
        raise ValueError("format %r, expected 1" % state["format"])
    except (OSError, ValueError, KeyError, TypeError) as e:
        raise HadoopError("cannot read %s (%s). Did another version write it?" %
                          (path, e)) from e


def check_same(state, ha, options):
    """Checks that an HDFS starts again only with the same options."""
    for name, was, is_now in ([("HA", state["ha"], ha)] +
                              [(k, state["options"].get(k), v) for k, v in options.items()]):
        if was != is_now:
            raise HadoopError("the HDFS in %s was started with %s = %s (expected %s). Stop it, or "
                              "specify another folder." % (state["dir"], name, was, is_now))


def save_state(state):
    path = os.path.join(state["dir"], "state.json")
    with open(path + ".new", "w") as f:
        json.dump(state, f, indent=2)
        f.write("\n")
    os.replace(path + ".new", path)


def make_folder(folder):
    bad = re.search(r"[^\w/.+@=~-]", folder, re.ASCII)
    if bad:  # Hadoop's lists, URIs and format strings cannot contain these characters
        raise HadoopError("cannot use the folder %r: Hadoop does not support %r in a path. Specify "
                          "another one with --dir." % (folder, bad.group()))
    try:
        os.makedirs(folder, exist_ok=True)
        names = set(os.listdir(folder))
    except OSError as e:
        raise HadoopError("cannot use the folder %s: %s" % (folder, e)) from e
    if "state.json" not in names and names - {"lock"}:
        raise HadoopError("%s has other files (%s). Specify a new or empty folder." %
                          (folder, ", ".join(sorted(names)[:3])))


def remove_folder(folder):
    for name in OURS:
        path = os.path.join(folder, name)
        if os.path.isdir(path):
            shutil.rmtree(path, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):
                os.remove(path)
    with contextlib.suppress(OSError):
        os.rmdir(folder)


def check_disk(folder):
    free = shutil.disk_usage(folder).free
    if free < DISK_FREE_MIN:
        raise HadoopError("the disk of %s has %d MB free (expected %d MB). Specify another folder "
                          "with --dir" % (folder, free >> 20, DISK_FREE_MIN >> 20))


def new_daemon(name, kind, host="localhost"):
    return {"name": name, "kind": kind, "host": host, "pid": None, "birth": None}


def new_state(folder, ha, options):
    found = [new_daemon("nn%d" % (i + 1), "namenode") for i in range(2 if ha else 1)]
    found += [new_daemon("jn1", "journalnode")] if ha else []
    found += [new_daemon("dn%d" % (i + 1), "datanode", host)
              for i, host in enumerate(options["hosts"])]
    found += hadoop_yarn.new_daemons(new_daemon, options)
    found += [new_daemon("kdc1", "kdc")] if options.get("kerberos") else []
    return {"format": 1, "hadoop": hadoop_jars.VERSION, "dir": folder,
            "conf_dir": os.path.join(folder, "conf"), "user": user_name(), "ha": ha, "uri": None,
            "active": "nn1", "formatted": False, "options": options, "java_home": None,
            "class_path": [], "daemons": {d["name"]: d for d in found}}


def assign_ports(state, attempt):
    """Assigns addresses to every daemon, with ports that are free now."""
    asked = state["options"]
    for port in (asked["http_port"], asked["rpc_port"]):
        if port and not daemons.is_free(HOST, port):
            raise HadoopError("port %d is taken by another program. Specify another port, or none "
                              "to use a free one." % port)
    count = sum(4 + hadoop_yarn.ports_of(d) for d in state["daemons"].values())
    free = iter(daemons.free_ports(HOST, count, os.getpid() + attempt))
    for daemon in state["daemons"].values():
        http, rpc, data, https = next(free), next(free), next(free), next(free)
        if daemon["name"] == "nn1":
            http, rpc = asked["http_port"] or http, asked["rpc_port"] or rpc
        address = loopback_of(daemon["host"]) if daemon["kind"] == "datanode" else HOST
        daemon.update(http="%s:%d" % (address, http), rpc="%s:%d" % (HOST, rpc))
        if asked.get("kerberos"):
            # The addresses must use localhost, because certificates and principals are for it.
            daemon.update(http="localhost:%d" % http, https="localhost:%d" % https)
        if daemon["kind"] in ("datanode",) + hadoop_yarn.KINDS:
            daemon["data"] = "%s:%d" % (HOST, data)
        hadoop_yarn.assign(daemon, HOST, [next(free) for _ in range(hadoop_yarn.ports_of(daemon))])
    first = state["daemons"]["nn1"]["rpc"]
    state["uri"] = "hdfs://" + (hadoop_conf.NAMESERVICE if state["ha"] else first)
