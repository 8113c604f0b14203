"""Runs a Debian system with systemd as the first process, in a container of systemd-nspawn.

The system has separate namespaces and control groups, and a network with only a loopback. Nothing
remains: its mounts and processes end with one process, and stop removes its control groups.
"""
import os
import subprocess
import time

import debian_root

SUITE, INCLUDE = "bookworm", ("dbus", "systemd-sysv")
BOOT_LIMIT_S, STOP_LIMIT_S = 120, 60
CGROUPS = ["/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"]


class Machine:
    def __init__(self, root):
        """Boots the system in the folder `root`. See debian_root.unpacked."""
        debian_root.need("systemd-nspawn", "nsenter", "unshare")
        self.root = root
        self.groups = [os.path.join(base, "espalier-machine-%d" % os.getpid()) for base in CGROUPS
                       if os.path.exists(os.path.join(base, "cgroup.procs"))]
        self.log = root.rstrip("/") + ".log"
        for group in self.groups:
            os.makedirs(group, exist_ok=True)
        script = 'mount -t tmpfs tmpfs /run && exec systemd-nspawn --quiet --register=no ' \
                 '--keep-unit --private-network --directory="$0" --boot'
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                ["unshare", "--mount", "--propagation", "private", "--pid", "--fork",
                 "--mount-proc", "--kill-child", "sh", "-c", script, root],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=self.join_groups)
        try:
            self.first = self.await_first_process()
            self.await_boot()
        except BaseException:
            self.stop()
            raise

    def join_groups(self):
        for group in self.groups:
            with open(os.path.join(group, "cgroup.procs"), "w") as f:
                f.write("0")

    def told(self):
        with open(self.log, errors="replace") as f:
            return f.read()

    def wait(self, what, condition, limit_s):
        end = time.monotonic() + limit_s
        while True:
            value = condition()
            if value:
                return value
            if time.monotonic() > end or self.process.poll() is not None:
                raise debian_root.RootError("%s did not happen. Output of the machine:\n%s" %
                                            (what, self.told()))
            time.sleep(0.1)

    def await_first_process(self):
        """Waits for the systemd of the container. Returns its process id."""
        def find():
            for pid in descendants(self.process.pid):
                try:
                    with open("/proc/%d/comm" % pid) as f:
                        if f.read().strip() == "systemd":
                            return pid
                except OSError:
                    pass
            return None
        return self.wait("the start of systemd", find, BOOT_LIMIT_S)

    def await_boot(self):
        self.wait("the end of the boot", lambda: self.try_run(
            "systemctl", "is-system-running").stdout.strip() in ("running", "degraded"),
            BOOT_LIMIT_S)

    def command(self, *words):
        return ["nsenter", "--target", str(self.first), "--mount", "--uts", "--ipc", "--net",
                "--pid", "--cgroup", "--", "env", "-i", "TERM=dumb",
                "PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"] + [str(w) for w in words]

    def try_run(self, *words):
        return subprocess.run(self.command(*words), capture_output=True, text=True)

    def run(self, *words):
        """Returns the standard output of a command in the machine. Raises an error if it fails."""
        done = self.try_run(*words)
        if done.returncode:
            raise debian_root.RootError("%s ended with %d:\n%s%s" % (
                " ".join(map(str, words)), done.returncode, done.stdout, done.stderr))
        return done.stdout

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()  # also ends all processes of the container
        self.process.wait(timeout=STOP_LIMIT_S)
        end = time.monotonic() + STOP_LIMIT_S
        while not self.remove_groups() and time.monotonic() < end:
            time.sleep(0.1)
        if os.path.exists(self.log):
            os.remove(self.log)

    def remove_groups(self):
        """Removes the control groups. Returns False while a process in them has not ended."""
        for group in self.groups:
            for folder, _, _ in os.walk(group, topdown=False):
                try:
                    os.rmdir(folder)
                except OSError:
                    return False
        return True


def descendants(pid):
    found, todo = [], [pid]
    while todo:
        parent = todo.pop()
        try:
            with open("/proc/%d/task/%d/children" % (parent, parent)) as f:
                children = [int(child) for child in f.read().split()]
        except OSError:
            continue
        found += children
        todo += children
    return found
