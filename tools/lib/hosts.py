"""Simulates hosts with network namespaces. Each has an address and a cable to one switch, and both
can fail.

All hosts are in namespaces of a process that ends with this process, so nothing remains and several
runs do not interfere. Root is not required if users may make namespaces. A cut is a wrong hardware
address of the other host in the neighbor table. Frames then reach no host, and no host receives an
error. A relay in the cable (relay.py) adds delay and loss, because not every kernel supports this.
"""
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
NOBODY = "02:00:00:00:00:fe"  # a hardware address that no host has
LIMIT_S = 20


class HostsError(RuntimeError):
    pass


def own_user():
    """Returns the flags of `unshare` that give namespaces to users other than root."""
    return [] if os.geteuid() == 0 else ["--user", "--map-root-user"]


def why_not(relayed=False):
    """Returns why hosts, or relays in their cables, are impossible here. Empty if they are
    possible."""
    for name in ("ip", "unshare", "nsenter"):
        if not shutil.which(name):
            return ("the program %s is missing (Debian packages iproute2 and util-linux; "
                    "tools/setup installs them)" % name)
    done = subprocess.run(["unshare"] + own_user() + ["--net", "ip", "link", "set", "lo", "up"],
                          capture_output=True, text=True)
    if done.returncode:
        return ("cannot make network namespaces here (%s). Run as root, in a container with "
                "CAP_SYS_ADMIN and CAP_NET_ADMIN, or allow unprivileged user namespaces" %
                done.stderr.strip())
    if relayed and not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        return ("cannot open /dev/net/tun. Load the kernel module tun, and give a container the "
                "device")
    return ""


class Holder:
    """Process that keeps a network namespace until its standard input ends."""

    def __init__(self, prefix, flags):
        self.process = subprocess.Popen(prefix + ["unshare"] + flags + ["--net", "cat"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.process.stdin.write(b"there\n")
        self.process.stdin.flush()
        if self.process.stdout.readline() != b"there\n":  # it answers when the namespace exists
            raise HostsError(why_not() or "cannot make a network namespace")

    def stop(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(timeout=LIMIT_S)


class Hosts:
    """Simulated hosts. Put hosts.prefix(name) before a command to run it on a host. Numbers and
    addresses follow the order of `names`. Hosts in `relayed` have a relay in their cable."""

    def __init__(self, names, relayed=()):
        self.names = list(names)
        self.holders, self.relays = {}, {}
        reason = why_not(bool(relayed))
        if reason:
            raise HostsError(reason)
        try:
            self.switch = self.holders[""] = Holder([], own_user())
            self.ip("", "link add bridge type bridge", "link set bridge up")
            for name in self.names:
                self.holders[name] = Holder(self.user_prefix(), [])
                self.lay_cable(name, name in relayed)
        except BaseException:
            self.stop()
            raise

    def user_prefix(self):
        if os.geteuid() == 0:
            return []
        return ["nsenter", "--target", str(self.switch.process.pid), "--user",
                "--preserve-credentials"]

    def prefix(self, name):
        user = [] if os.geteuid() == 0 else ["--user", "--preserve-credentials"]
        return ["nsenter", "--target", str(self.holders[name].process.pid)] + user + ["--net"]

    def ip(self, name, *commands):
        """Runs commands of `ip` on a host, or on the switch ("")."""
        done = subprocess.run(self.prefix(name) + ["ip", "-batch", "-"], text=True,
                              input="\n".join(commands) + "\n", capture_output=True)
        if done.returncode:
            raise HostsError("ip on host '%s': %s\n%s" % (name, done.stderr, "\n".join(commands)))

    def number(self, name):
        return self.names.index(name) + 1

    def address(self, name):
        return "10.77.0.%d" % self.number(name)

    def hardware(self, name):
        return "02:00:00:00:00:%02x" % self.number(name)

    def lay_cable(self, name, relayed):
        """Makes a cable. One end is eth0 of the host, the other end is port-N of the switch."""
        port, pid = "port-%d" % self.number(name), self.holders[name].process.pid
        if relayed:
            self.relays[name] = Relay(self.prefix(""), port, "end")
            self.ip("", "link set end netns %d" % pid)
        else:
            self.ip("", "link add %s type veth peer name end netns %d" % (port, pid))
        self.ip("", "link set %s master bridge up" % port)
        self.ip(name, "link set lo up", "link set end name eth0 address %s" % self.hardware(name),
                "address add %s/24 dev eth0" % self.address(name), "link set eth0 up")

    def unplug(self, name):
        self.ip("", "link set port-%d down" % self.number(name))

    def plug_in(self, name):
        self.ip("", "link set port-%d up" % self.number(name))

    def cut_one_way(self, sender, receiver):
        """Cuts the connection from `sender` to `receiver`, so that frames no longer arrive."""
        self.ip(sender, "neighbour replace %s lladdr %s nud permanent dev eth0" %
                (self.address(receiver), NOBODY))

    def cut(self, one, other):
        self.cut_one_way(one, other)
        self.cut_one_way(other, one)

    def heal_one_way(self, sender, receiver):
        self.ip(sender, "neighbour replace %s lladdr %s nud reachable dev eth0" %
                (self.address(receiver), self.hardware(receiver)))

    def heal(self, one, other):
        self.heal_one_way(one, other)
        self.heal_one_way(other, one)

    def impair(self, name, delay_ms=0.0, loss=0.0):
        """Sets delay and loss of a relayed host's cable in both directions. Returns the frames
        (passed, lost) so far."""
        return self.relays[name].set(delay_ms, loss)

    def stop(self):
        for process in list(self.relays.values()) + list(self.holders.values()):
            process.stop()
        self.relays, self.holders = {}, {}


class Relay:
    """Process of relay.py in the switch. It passes frames between the ends of a cable."""

    def __init__(self, prefix, *ends):
        self.process = subprocess.Popen(
            prefix + [sys.executable, os.path.join(HERE, "relay.py")] + list(ends),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.set(0, 0)

    def set(self, delay_ms, loss):
        self.process.stdin.write("%g %g\n" % (delay_ms, loss))
        self.process.stdin.flush()
        answer = self.process.stdout.readline().split()
        if len(answer) != 2:
            raise HostsError("the relay of a cable ended. See its message above.")
        return int(answer[0]), int(answer[1])

    def stop(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(timeout=LIMIT_S)
