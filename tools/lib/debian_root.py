"""Makes small Debian systems in folders, for tests of installations on other machines.

debootstrap makes them from the package mirror of this machine's apt. They are kept as archives in
the cache folder of the user (see cache_folder). Requires root.
"""
import contextlib
import fcntl
import os
import shutil
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FETCH_LIMIT_S = 30 * 60


class RootError(Exception):
    """An error and how to fix it, for a person."""


def cache_folder():
    base = os.environ.get("ESPALIER_CACHE")
    if not base:
        home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        base = os.path.join(home, "espalier")
    return os.path.join(os.path.abspath(base), "debian")


def need(*programs):
    """Installs missing programs of debootstrap and systemd-nspawn. Raises RootError."""
    if os.geteuid() != 0:
        raise RootError("making and starting a Debian system requires root")
    if all(shutil.which(program) for program in programs):
        return
    done = subprocess.run([os.path.join(ROOT, "tools", "setup"), "--roots"])
    if done.returncode or not all(shutil.which(program) for program in programs):
        raise RootError("tools/setup --roots could not install %s" % ", ".join(programs))


def mirror():
    """Returns the address of the mirror that apt uses on this machine."""
    with open("/etc/os-release") as f:
        release = dict(line.strip().split("=", 1) for line in f if "=" in line)
    suite = release.get("VERSION_CODENAME", "").strip('"')
    out = subprocess.run(["apt-get", "indextargets", "--format", "$(RELEASE) $(REPO_URI)",
                          "Created-By: Packages"], check=True, capture_output=True, text=True)
    for line in out.stdout.splitlines():
        name, uri = line.split(" ", 1)
        if name == suite:
            return uri
    raise RootError("apt has no mirror for Debian's suite '%s'" % suite)


def archive(suite, include=()):
    """Returns the path of a tar archive of that system. Makes it if it is not in the cache."""
    need("debootstrap")
    folder = cache_folder()
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "-".join([suite] + sorted(include)) + ".tar")
    with open(os.path.join(folder, "lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(path):
            print("fetching Debian %s into %s" % (suite, folder), flush=True)
            with tempfile.TemporaryDirectory(prefix="espalier-debian-", dir=folder) as new:
                make(os.path.join(new, "root"), suite, include)
                subprocess.run(["tar", "--one-file-system", "--numeric-owner", "-cf", path + ".new",
                                "-C", os.path.join(new, "root"), "."], check=True)
            os.replace(path + ".new", path)
    return path


def make(folder, suite, include):
    command = ["debootstrap", "--variant=minbase"]
    if include:
        command.append("--include=" + ",".join(include))
    done = subprocess.run(command + [suite, folder, mirror()], capture_output=True, text=True,
                          timeout=FETCH_LIMIT_S)
    if done.returncode:
        raise RootError("debootstrap of %s ended with %d:\n%s" %
                        (suite, done.returncode, done.stdout[-2000:] + done.stderr[-2000:]))
    for name in os.listdir(os.path.join(folder, "var/cache/apt/archives")):
        if name.endswith(".deb"):
            os.remove(os.path.join(folder, "var/cache/apt/archives", name))


@contextlib.contextmanager
def unpacked(suite, include=()):
    """Provides a folder with a fresh copy of the system, and removes it at the end."""
    with tempfile.TemporaryDirectory(prefix="espalier-root-") as folder:
        root = os.path.join(folder, "root")
        os.mkdir(root)
        os.chmod(folder, 0o755)  # other users of the system must be able to enter
        subprocess.run(["tar", "--numeric-owner", "-xf", archive(suite, include), "-C", root],
                       check=True)
        yield root


def inside(root, command, uid=0):
    """Returns the command that runs `command` in the root, in a mount namespace with its own /proc
    and /dev. Nothing outlives the command. Only root can use a uid other than 0."""
    user_flag = "--userspec=%d:%d" % (uid, uid) if uid else ""
    script = ('mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && '
              'exec chroot %s "$0" "$@"' % user_flag)
    for name in ("proc", "dev"):
        os.makedirs(os.path.join(root, name), exist_ok=True)
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    return (["unshare"] + user + ["--mount", "--propagation", "private", "--pid", "--fork",
                                  "--kill-child", "sh", "-c", script, root] + list(command))
