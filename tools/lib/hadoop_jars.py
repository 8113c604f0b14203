"""Finds the Java and the jars that tools/hadoop runs. Downloads the jars once with Maven and checks
them.

The jars are those of Apache Hadoop with all dependencies. Maven resolves them with the user's
configuration, for example a mirror in ~/.m2/settings.xml. hadoop_jars.sha256 next to this file
lists each jar by name and hash, and only these jars get onto a class path. They are kept in a cache
folder: $ESPALIER_CACHE, otherwise $XDG_CACHE_HOME/espalier, otherwise ~/.cache/espalier.
"""
import contextlib
import fcntl
import glob
import hashlib
import os
import re
import shutil
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
VERSION = "3.4.2"
LIST = os.path.join(HERE, "hadoop_jars.sha256")
ARTIFACTS = ["hadoop-common", "hadoop-hdfs", "hadoop-hdfs-client",
             "hadoop-yarn-server-resourcemanager", "hadoop-yarn-server-nodemanager",
             "hadoop-yarn-server-timelineservice", "hadoop-yarn-client",
             "hadoop-yarn-services-core", "hadoop-yarn-services-api"]
COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
# Hadoop 3.4 runs on these versions. Later ones do not have the parts of the security manager that
# it uses.
JAVA_MIN, JAVA_MAX = 11, 17
FETCH_LIMIT_S = 15 * 60
INSTALL_LIMIT_S = 30 * 60
# The jars do not contain the pages of the web interface. The daemons only require these folders.
WEB_FOLDERS = ["hdfs", "datanode", "journal", "secondary"]


class HadoopError(Exception):
    """An error and how to fix it, for a person."""


def cache_folder():
    base = os.environ.get("ESPALIER_CACHE")
    if not base:
        home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        base = os.path.join(home, "espalier")
    return os.path.join(os.path.abspath(base), "hadoop-" + VERSION)


@contextlib.contextmanager
def locked(folder):
    """Lets one process at a time fill the cache. The others then find it filled."""
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "lock"), "w") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        yield


def java_version(home):
    """Returns the major version of the Java at `home`, or None."""
    if not os.access(os.path.join(home, "bin", "java"), os.X_OK):
        return None
    try:
        with open(os.path.join(home, "release")) as f:
            found = re.search(r'^JAVA_VERSION="(?:1\.)?(\d+)', f.read(), re.M)
    except OSError:
        return None
    return int(found.group(1)) if found else None


def java_homes():
    """Yields possible homes of Java: the user's setting, then the path, then Debian's folders."""
    named = [os.environ["JAVA_HOME"]] if os.environ.get("JAVA_HOME") else []
    java = shutil.which("java")
    found = [os.path.dirname(os.path.dirname(os.path.realpath(java)))] if java else []
    return named + found + sorted(glob.glob("/usr/lib/jvm/*"), reverse=True)


def find_java():
    for home in java_homes():
        version = java_version(home)
        if version and JAVA_MIN <= version <= JAVA_MAX:
            return home
    return None


def install(missing, say):
    """Runs tools/setup to install Java and Maven. Raises HadoopError if that fails."""
    say("%s missing. Installing it with tools/setup --hadoop" % missing)
    done = subprocess.run([os.path.join(ROOT, "tools", "setup"), "--hadoop"], capture_output=True,
                          text=True, timeout=INSTALL_LIMIT_S)
    if done.returncode:
        raise HadoopError("%s missing and tools/setup --hadoop could not install it:\n%s" %
                          (missing, (done.stdout + done.stderr).strip()))


def java_home(say):
    """Returns the home of a Java that Hadoop runs on. Installs one if it is missing."""
    home = find_java()
    if not home:
        install("a Java %d to %d is" % (JAVA_MIN, JAVA_MAX), say)
        home = find_java()
    if not home:
        seen = ", ".join("%s (%s)" % (h, java_version(h)) for h in java_homes()) or "none"
        raise HadoopError("Java is missing (found %s, expected version %d to %d). Install "
                          "openjdk-17-jre-headless or set JAVA_HOME." % (seen, JAVA_MIN, JAVA_MAX))
    return home


def sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as f:
        for block in iter(lambda: f.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def wanted_jars():
    """Returns {file name: SHA-256} of the listed jars."""
    with open(LIST) as f:
        return {name: digest for digest, name in (line.split() for line in f)}


def check_jars(folder, wanted):
    """Raises HadoopError unless `folder` contains exactly the required jars."""
    found = set(os.listdir(folder))
    for name in sorted(set(wanted) | found):
        if name not in wanted:
            raise HadoopError("Maven fetched %s, which %s does not list" % (name, LIST))
        if name not in found:
            raise HadoopError("Maven did not fetch %s, which %s lists" % (name, LIST))
        digest = sha256(os.path.join(folder, name))
        if digest != wanted[name]:
            raise HadoopError("%s is not the expected file (found SHA-256 %s, expected %s). Remove "
                              "it from Maven's repository (~/.m2/repository) and try again." %
                              (name, digest, wanted[name]))


def pom():
    entries = "".join("<dependency><groupId>org.apache.hadoop</groupId><artifactId>%s</artifactId>"
                      "<version>%s</version></dependency>" % (name, VERSION) for name in ARTIFACTS)
    return ("<project><modelVersion>4.0.0</modelVersion><groupId>espalier</groupId>"
            "<artifactId>hadoop</artifactId><version>1</version><packaging>pom</packaging>"
            "<dependencies>%s</dependencies></project>\n" % entries)


def run_maven(folder, home, jars):
    maven = shutil.which("mvn")
    with open(os.path.join(folder, "pom.xml"), "w") as f:
        f.write(pom())
    command = [maven, "--quiet", "--batch-mode", "--file", os.path.join(folder, "pom.xml"), COPY,
               "-DincludeScope=runtime", "-DoutputDirectory=" + jars]
    by_hand = ("Without a network, put the files listed in %s into %s" %
               (LIST, os.path.join(cache_folder(), "jars")))
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=FETCH_LIMIT_S,
                              env=dict(os.environ, JAVA_HOME=home), stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        raise HadoopError("Maven did not fetch Hadoop's jars within %d minutes. Is the network "
                          "available? %s" % (FETCH_LIMIT_S // 60, by_hand)) from None
    if done.returncode:
        said = (done.stdout + done.stderr).strip().splitlines() or ["nothing"]
        lines = ([line for line in said if "ERROR" in line] or said)[:3]
        raise HadoopError("Maven could not fetch Hadoop's jars. Is its repository reachable (see "
                          "proxy and mirror in ~/.m2/settings.xml)? %s. Output of Maven:\n%s" %
                          (by_hand, "\n".join(lines)))


def fetch(folder, home, wanted, say):
    """Fills folder/jars by a rename of the complete, checked folder."""
    jars = os.path.join(folder, "jars")
    if os.path.isdir(jars):  # put there manually, or from an older list
        with contextlib.suppress(HadoopError):
            return check_jars(jars, wanted)
        shutil.rmtree(jars)
    if not shutil.which("mvn"):
        install("Maven is", say)
    if not shutil.which("mvn"):
        raise HadoopError("Maven (mvn) is still missing after tools/setup --hadoop")
    say("fetching Hadoop %s with Maven, %d jars, once" % (VERSION, len(wanted)))
    with tempfile.TemporaryDirectory(dir=folder) as work:
        fetched = os.path.join(work, "jars")
        run_maven(work, home, fetched)
        check_jars(fetched, wanted)
        os.rename(fetched, jars)


def ready_mark():
    return sha256(LIST) + "\n"


def is_ready(folder):
    try:
        with open(os.path.join(folder, "ready")) as f:
            return f.read() == ready_mark()
    except OSError:
        return False


def prepare(say):
    """Returns (home of Java, class path) for the daemons. Installs and downloads missing parts."""
    home, folder, wanted = java_home(say), cache_folder(), wanted_jars()
    try:
        if not is_ready(folder):
            with locked(folder):
                if not is_ready(folder):
                    fetch(folder, home, wanted, say)
                    for name in WEB_FOLDERS:
                        os.makedirs(os.path.join(folder, "web", "webapps", name), exist_ok=True)
                    with open(os.path.join(folder, "ready"), "w") as f:
                        f.write(ready_mark())
    except OSError as e:
        raise HadoopError("cannot fill the cache folder %s: %s. Set ESPALIER_CACHE to use another "
                          "place" % (folder, e)) from e
    jars = [os.path.join(folder, "jars", name) for name in sorted(wanted)]
    return home, jars + [os.path.join(folder, "web")]
