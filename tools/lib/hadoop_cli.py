"""Starts a real HDFS on this machine, and with --yarn a YARN, for experiments and tests.

The HDFS has one NameNode and two DataNodes, or with --ha two NameNodes and a JournalNode. Each is a
separate process on loopback, of a pinned version. DIR also has a configuration for clients. --yarn
adds ZooKeeper, a ResourceManager and NodeManagers. --kerberos secures them. Clients are then alice,
bob or espalier, with the keytabs in DIR/kdc.

The first start installs missing programs (Java, Maven and Kerberos, with tools/setup --hadoop). It
downloads the jars with Maven into $ESPALIER_CACHE or ~/.cache/espalier and checks them against
tools/lib/hadoop_jars.sha256.
"""
import argparse
import json
import os
import shlex
import signal
import sys
import time

import hadoop_daemons as daemons
import hadoop_kdc
from hadoop import Hdfs
from hadoop_cluster import PROGRAMS
from hadoop_jars import HadoopError
from hadoop_state import has_state

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DEFAULT_DIR = os.path.join(ROOT, "build", "hdfs")


def say(words):
    print("hadoop: " + words, flush=True)


def state_of(hdfs, daemon):
    """Returns (state for the table, whether it is as expected)."""
    if not daemons.alive(daemon):
        return "down", False
    if daemon["kind"] != "namenode":
        return "up", True
    state, found = hdfs.namenode_state(daemon["name"]), hdfs.live_datanodes(daemon["name"])
    if not state or not found:
        return "starting", False
    if found[1]:
        return "safe mode", False
    if not hdfs.state["ha"]:
        return "serving", True
    return state, state in ("active", "standby")


def print_table(hdfs):
    """Prints the table. Returns True if everything is as expected."""
    rows, well = [("NAME", "STATE", "PID", "MB", "HTTP", "RPC", "DATA")], True
    for daemon in hdfs.daemons():
        word, good = state_of(hdfs, daemon)
        well = well and good
        up = word != "down"
        rows.append((daemon["name"], word, str(daemon["pid"]) if up else "-",
                     str(daemons.memory_mb(daemon)) if up else "-", daemon.get("http") or "-",
                     daemon.get("rpc") or "-", daemon.get("data") or "-"))
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
    return well


def print_hints(hdfs):
    tool = os.path.join(ROOT, "tools", "hadoop")
    if os.getcwd() == ROOT:
        tool = os.path.relpath(tool)
    where = "" if hdfs.dir == DEFAULT_DIR else " --dir " + shlex.quote(hdfs.dir)
    user = hdfs.state["user"]
    print("\nFor programs that use it (file system %s):" % hdfs.uri)
    for name, value in hdfs.env().items():
        print("  export %s=%s" % (name, shlex.quote(value)))
    if hdfs.secured:
        print("  export ESPALIER_HADOOP_CA=%s   # for swebhdfs" % hadoop_kdc.ca_file(hdfs.state))
    print("\nWhat to try next:")
    print("  %s run%s dfs -ls /" % (tool, where))
    who = "" if hdfs.secured else "&user.name=" + user
    print("  curl %s'%s/webhdfs/v1/?op=LISTSTATUS%s'" %
          ("--negotiate -u : " if hdfs.secured else "", hdfs.active_url(), who))
    print("  %s kill%s dn1        kills a DataNode; `up` starts it again" % (tool, where))
    if hdfs.state["ha"]:
        print("  %s failover%s        makes the other NameNode active" % (tool, where))
    print("  %s stop%s            ends the HDFS and removes its data" % (tool, where))


def start(args):
    began = time.monotonic()
    hosts = args.hosts.split(",") if args.hosts else None
    hdfs = Hdfs.start(dir=args.dir, ha=args.ha, hosts=hosts,
                      datanodes=len(hosts) if hosts else args.datanodes,
                      block_size=args.block_size, settings=dict(args.set),
                      http_port=args.http_port, rpc_port=args.rpc_port,
                      throughput=args.throughput, kerberos=args.kerberos, say=say,
                      yarn={"nodes": args.nodes} if args.yarn else None)
    say("HDFS %s serves after %.1f s. Its files are in %s" %
        (hdfs.state["hadoop"], time.monotonic() - began, hdfs.dir))
    print_table(hdfs)
    print_hints(hdfs)


def stop(args):
    if not has_state(args.dir):
        return say("nothing to stop: no HDFS was started in %s" % args.dir)
    hdfs = Hdfs.attach(args.dir)
    hdfs.stop(keep=args.keep)
    say("stopped. The data %s" % ("are kept in " + hdfs.dir if args.keep else "are removed"))


def status(args):
    hdfs = Hdfs.attach(args.dir)
    if args.json:
        print(json.dumps(hdfs.state, indent=2))
        return 0
    return 0 if print_table(hdfs) else 1


def kill(args):
    Hdfs.attach(args.dir).kill(args.name)
    say("%s is killed" % args.name)


def up(args):
    Hdfs.attach(args.dir).up(args.name)
    say("%s is started" % args.name)


def failover(args):
    say("%s is active now" % Hdfs.attach(args.dir).failover())


def run(args):
    return Hdfs.attach(args.dir).run(args.program, *args.args, capture=False,
                                     limit_s=None).returncode


def port(text):
    value = int(text)
    if not 0 <= value <= 65535:
        raise argparse.ArgumentTypeError("%s is not a port" % text)
    return value


def size(text):
    """Parses bytes, also as 64k, 128m, 1g."""
    unit = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}.get(text[-1:].lower(), 1)
    value = int(text if unit == 1 else text[:-1]) * unit
    if value < 65536 or value % 512:
        raise argparse.ArgumentTypeError("expected 64k or more, in multiples of 512 bytes")
    return value


def setting(text):
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError("%r is not NAME=VALUE" % text)
    return name, value


def make_parser():
    parser = argparse.ArgumentParser(prog="tools/hadoop", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def command(function, words):
        made = commands.add_parser(function.__name__, help=words, description=words)
        made.set_defaults(function=function)
        made.add_argument("--dir", default=DEFAULT_DIR, type=os.path.abspath,
                          help="folder for configuration, data and logs (default: build/hdfs)")
        return made

    made = command(start, "start the HDFS and wait until it serves; safe to repeat")
    made.add_argument("--ha", action="store_true", help="run two NameNodes and a JournalNode")
    made.add_argument("--datanodes", type=int, default=2, metavar="N",
                      help="number of DataNodes (default: 2)")
    made.add_argument("--hosts", metavar="A,B", help="host name of each DataNode, such as "
                      "127.0.0.2 (default: localhost)")
    made.add_argument("--block-size", type=size, default=128 << 20, metavar="BYTES",
                      help="block size of new files, also as 64k, 1m (default: 128m)")
    made.add_argument("--http-port", type=port, default=0, metavar="PORT",
                      help="WebHDFS port of the first NameNode (default: a free port)")
    made.add_argument("--rpc-port", type=port, default=0, metavar="PORT",
                      help="RPC port of the first NameNode (default: a free port)")
    made.add_argument("--yarn", action="store_true", help="also run a YARN")
    made.add_argument("--nodes", type=int, default=2, metavar="N",
                      help="number of NodeManagers (default: 2)")
    made.add_argument("--kerberos", action="store_true",
                      help="run a KDC and secure the daemons, with HTTP and HTTPS (swebhdfs)")
    made.add_argument("--set", action="append", default=[], type=setting, metavar="NAME=VALUE",
                      help="property of hdfs-site.xml; may be repeated")
    made.add_argument("--throughput", action="store_true",
                      help="let Java compile fully: starts slower, runs faster")
    made = command(stop, "end the daemons and remove their data")
    made.add_argument("--keep", action="store_true",
                      help="keep the data; `start` uses them again")
    made = command(status, "show the daemons; exit code 0 if all of them serve")
    made.add_argument("--json", action="store_true", help="print DIR/state.json")
    command(kill, "kill one daemon, as a failing machine does").add_argument("name")
    command(up, "start one daemon again").add_argument("name")
    command(failover, "make the other NameNode the active one (with --ha)")
    made = command(run, "run one of Hadoop's own programs on the HDFS")
    made.add_argument("program", choices=sorted(PROGRAMS))
    made.add_argument("args", nargs=argparse.REMAINDER)
    return parser


def main():
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `tools/hadoop status | head` ends quietly
    args = make_parser().parse_args()
    try:
        return args.function(args) or 0
    except HadoopError as e:
        print("hadoop: %s" % e, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("hadoop: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
