"""Makes a class data archive for Hadoop's daemons, with which they start in half the time.

The archive is made once for a Java and the jars. An HDFS with two NameNodes runs for a moment, and
its JVMs list the classes that they load. Then a JVM writes these classes, parsed and verified, into
one file that the other JVMs map. A Java that cannot use the file (for example after an update)
starts without it.
"""
import glob
import hashlib
import os
import subprocess
import tempfile

import hadoop_jars
from hadoop_jars import HadoopError

MAKE_LIMIT_S = 300


def archive_path(home, folder):
    """Returns the path of the archive. It contains a key, because an archive is valid only for the
    exact Java and jars, at the same paths."""
    with open(os.path.join(home, "release")) as f:
        parts = [home, f.read(), folder, hadoop_jars.ready_mark()]
    mark = hashlib.sha256("\0".join(parts).encode())
    return os.path.join(folder, "classes-%s.jsa" % mark.hexdigest()[:16])


def note_classes(kind, java, work):
    """Runs an HDFS with JVMs that write class lists. Returns the classes in order, each once."""
    home, class_path = java
    # %p is the process id, so that each JVM writes its own list.
    flags = ["-XX:DumpLoadedClassList=" + os.path.join(work, "%p.classes")]
    hdfs = kind.start(dir=os.path.join(work, "hdfs"), ha=True, java=(home, class_path, flags))
    try:
        hdfs.put("/tmp/some", b"some")
        hdfs.get("/tmp/some")
        hdfs.files.blocks("/tmp/some")
    finally:
        hdfs.stop(keep=True)  # without SIGKILL, because a killed JVM may leave half a list
    classes = {}
    for path in sorted(glob.glob(os.path.join(work, "*.classes"))):
        with open(path) as f:
            classes.update(dict.fromkeys(line for line in f if not line.startswith("#")))
    return classes


def make(path, java, kind):
    home, class_path = java
    with tempfile.TemporaryDirectory(dir=os.path.dirname(path)) as work:
        names = os.path.join(work, "names")
        with open(names, "w") as f:
            f.writelines(note_classes(kind, java, work))
        made = os.path.join(work, "made.jsa")
        # Java archives only classes of jars. The class path of the daemons also has folders.
        jars = [entry for entry in class_path if entry.endswith(".jar")]
        done = subprocess.run(
            [os.path.join(home, "bin", "java"), "-Xshare:dump", "-XX:+UseSerialGC",
             "-XX:SharedClassListFile=" + names, "-XX:SharedArchiveFile=" + made,
             "-cp", ":".join(jars)], stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=MAKE_LIMIT_S)
        if done.returncode or not os.path.exists(made):
            said = (done.stdout + done.stderr).strip().splitlines() or ["nothing"]
            raise HadoopError("Java could not archive Hadoop's classes: " + said[-1])
        for old in glob.glob(os.path.join(os.path.dirname(path), "classes-*.jsa")):
            os.remove(old)
        os.replace(made, path)


def prepare(say, kind):
    """Returns (home of Java, class path, flags) for daemons. `kind` is the class of an HDFS."""
    home, class_path = hadoop_jars.prepare(say)
    folder = hadoop_jars.cache_folder()
    path = archive_path(home, folder)
    if not os.path.exists(path):
        with hadoop_jars.locked(folder):
            if not os.path.exists(path):
                say("archiving Hadoop's classes for quicker starts, once")
                try:
                    make(path, (home, class_path), kind)
                except (HadoopError, OSError, subprocess.SubprocessError) as e:
                    say("continuing without the archive: %s" % e)
                    return home, class_path, []
    return home, class_path, ["-XX:SharedArchiveFile=" + path, "-Xshare:auto"]
