"""Makes the tree in the tarball and the Debian package.

  bin/             a launcher for each program (src/launcher)
  libexec/         the programs
  lib/             all their libraries, including the C library and its loader, so that programs
                   use no library of the machine
  config/, deploy/, docs/, proto/, completions/, README.md, LICENSES
                   files that the pages link to
  man/             man pages of the programs (man_pages)
  sbom.spdx.json   list of the libraries (package_sbom)
"""
import collections
import gzip
import os
import re
import shutil
import subprocess
import tarfile

import completion

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAMS = ["espalier", "espalier-coordinator", "espalier-worker"]
Package = collections.namedtuple("Package", "architecture name version source source_version")
LOADER = "ld-linux-x86-64.so.2"
# Libraries of which the programs contain only headers or archives.
COMPILED_IN = ["libabsl-dev", "libboost1.74-dev", "libcli11-dev", "libeigen3-dev",
               "libfast-float-dev", "libspdlog-dev", "nlohmann-json3-dev"]
# Archives of the compiler in the static launcher.
ARCHIVES = ["libc.a", "libgcc.a", "libstdc++.a"]
# Files for reading, for running with Spark, and for making clients, with the paths of the source
# tree. The pages of docs/ and their pictures are added, without the folders for engineers.
DOCUMENTS = ["README.md", "CHANGELOG.md", "LICENSE", "NOTICE", "SECURITY.md", "deploy/README.md",
             "deploy/python/README.md", "deploy/spark/README.md", "deploy/spark/submit.py",
             "proto/espalier/v1/api.proto", "proto/espalier/v1/types.proto"]
EXAMPLES = "deploy/spark/examples"
COMMON_LICENSES = "/usr/share/common-licenses"


class TreeError(Exception):
    """Error with a file that cannot be packed and the reason."""


def libraries():
    """Returns {name: path} of all libraries that the programs in build/bin load, directly or not.
    """
    found = {}
    for name in PROGRAMS:
        program = os.path.join(ROOT, "build", "bin", name)
        if not os.path.exists(program):
            raise TreeError("%s does not exist. Run tools/build." % program)
        out = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
        for line in out.splitlines():
            words = line.split()
            if "not found" in line:
                raise TreeError("%s requires %s, which is missing. Run tools/setup." %
                                (program, words[0]))
            if "=>" in words:
                found[words[0]] = words[2]
            elif words[0].startswith("/"):
                found[os.path.basename(words[0])] = words[0]
    if LOADER not in found:
        raise TreeError("the programs do not use the loader %s. Expected x86-64 Linux." % LOADER)
    return found


def copy(source, target, mode=0o644):
    os.makedirs(os.path.dirname(target), exist_ok=True)
    shutil.copyfile(source, target)
    os.chmod(target, mode)


def put_programs(tree, launcher):
    for name in PROGRAMS:
        copy(launcher, os.path.join(tree, "bin", name), 0o755)
        copy(os.path.join(ROOT, "build", "bin", name), os.path.join(tree, "libexec", name), 0o755)
    for folder in ("bin", "libexec"):
        for name in PROGRAMS:
            subprocess.run(["strip", "--strip-all", os.path.join(tree, folder, name)], check=True)


def put_libraries(tree, found):
    for name, path in found.items():
        target = os.path.join(tree, "lib", name)
        copy(os.path.realpath(path), target, 0o755 if name == LOADER else 0o644)
        if os.path.realpath(path).startswith(ROOT + os.sep):
            subprocess.run(["strip", "--strip-unneeded", target], check=True)


def owners(paths):
    """Returns {path: Debian package of the library}."""
    # dpkg lists some libraries in /lib, from before /lib became a link to /usr/lib.
    names = {path: [os.path.realpath(path), re.sub("^/usr", "", os.path.realpath(path))]
             for path in paths}
    out = subprocess.run(["dpkg-query", "--search"] + sum(names.values(), []),
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    known = {}
    for line in out.splitlines():
        package, path = line.split(": ", 1)
        known[path] = package.split(":")[0]
    found = {path: next((known[n] for n in names[path] if n in known), None) for path in paths}
    for path, package in found.items():
        if package is None:
            raise TreeError("%s does not belong to a Debian package, so its license is unknown" %
                            path)
    return found


def shipped(found):
    """Returns {package: shipped parts}. Parts are names of libraries, and "compiled in"."""
    packages = {}
    debian = {path: name for name, path in found.items()
              if not os.path.realpath(path).startswith(ROOT + os.sep)}
    for path, package in owners(list(debian)).items():
        packages.setdefault(package, []).append(debian[path])
    archives = [subprocess.run(["gcc", "-print-file-name=" + name], check=True,
                               capture_output=True, text=True).stdout.strip()
                for name in ARCHIVES]
    for package in sorted(set(COMPILED_IN) | set(owners(archives).values())):
        packages.setdefault(package, []).append("compiled in")
    return {package: sorted(names) for package, names in sorted(packages.items())}


def installed(packages):
    """Returns {name: Package} from dpkg."""
    out = subprocess.run(["dpkg-query", "--show", "--showformat", "${Architecture} ${Package} "
                          "${Version} ${source:Package} ${source:Version}\\n"] + list(packages),
                         check=True, capture_output=True, text=True).stdout
    rows = [line.split() for line in out.splitlines()]
    return {row[1]: Package(*row) for row in rows if row[0] in ("amd64", "all")}


def copyright_of(package):
    path = "/usr/share/doc/%s/copyright" % package
    if not os.path.exists(path):
        raise TreeError("%s, the license of shipped software, is missing. Install %s again with "
                        "its documentation" % (path, package))
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read()


def licenses(packages, arrow):
    """Returns the text of LICENSES: shipped software with its authors, terms and source. For
    `packages`, see shipped."""
    parts = ["Espalier is shipped with these libraries of Debian, and with Apache Arrow. The\n"
             "source of each library is the Debian source package of the version named here.\n"
             "`apt-get source NAME=VERSION` and Debian's archive of all versions have it.\n"]
    texts = {package: copyright_of(package) for package in packages}
    known = installed(packages)
    for package, text in texts.items():
        parts.append("%s\n%s: %s\nsource: %s=%s\n\n%s" %
                     ("=" * 78, package, ", ".join(packages[package]), known[package].source,
                      known[package].source_version, text))
    for name in ("LICENSE.txt", "NOTICE.txt"):
        with open(os.path.join(arrow, name), encoding="utf-8", errors="replace") as f:
            parts.append("%s\nApache Arrow: %s\n\n%s" % ("=" * 78, name, f.read()))
    named = set(re.findall(COMMON_LICENSES + r"/([\w.+-]*\w)", "".join(texts.values())))
    for name in sorted(named):
        path = os.path.join(COMMON_LICENSES, name)
        if os.path.isfile(path):
            with open(path, encoding="utf-8", errors="replace") as f:
                parts.append("%s\n%s\n\n%s" % ("=" * 78, path, f.read()))
    return "\n".join(parts)


def put_text(tree, name, text):
    path = os.path.join(tree, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(path, 0o644)


def service_config(name, settings):
    """Returns config/NAME.yaml with the settings for the systemd units."""
    with open(os.path.join(ROOT, "config", name + ".yaml")) as f:
        text = f.read()
    for old, new in settings:
        if text.count("\n%s\n" % old) != 1:
            raise TreeError("config/%s.yaml: the line '%s', which the service changes, does not "
                            "appear exactly once" % (name, old))
        text = text.replace("\n%s\n" % old, "\n%s\n" % new)
    return text


def programs():
    return [os.path.join(ROOT, "build", "bin", name) for name in PROGRAMS]


def put_texts(tree):
    for top in ("config", os.path.join("config", "examples"), os.path.join("deploy", "systemd"),
                os.path.join("deploy", "yarn")):
        for name in sorted(os.listdir(os.path.join(ROOT, top))):
            if name.endswith((".yaml", ".service", ".sysusers", ".json")):
                copy(os.path.join(ROOT, top, name), os.path.join(tree, top, name))
    for script in ("systemd/configure", "systemd/install", "yarn/container", "yarn/espalier-yarn"):
        copy(os.path.join(ROOT, "deploy", script), os.path.join(tree, "deploy", script), 0o755)
    examples = [name for name in sorted(os.listdir(os.path.join(ROOT, EXAMPLES)))
                if name.endswith(".py")]
    pages = [os.path.join(top, name) for top in ("docs", os.path.join("docs", "examples"))
             for name in sorted(os.listdir(os.path.join(ROOT, top)))
             if name.endswith((".md", ".svg"))]
    for name in DOCUMENTS + pages + [os.path.join(EXAMPLES, name) for name in examples]:
        copy(os.path.join(ROOT, name), os.path.join(tree, name))
    put_text(tree, "deploy/systemd/coordinator.yaml", service_config("coordinator", [
        ('state_directory: ""', "state_directory: /var/lib/espalier/coordinator")]))
    put_text(tree, "deploy/systemd/worker.yaml", service_config("worker", [
        ('spill_directory: ""', "spill_directory: /var/cache/espalier/worker")]))
    put_text(tree, "completions/espalier.bash", completion.bash(programs()))
    put_text(tree, "completions/_espalier", completion.zsh(programs()))
    put_text(tree, "completions/espalier.fish", completion.fish(programs()))


def make(tree, launcher, arrow, found, packages):
    """Makes the tree. `launcher` is the static program, and `arrow` is the folder with Arrow's
    license. For `found` and `packages`, see libraries and shipped."""
    os.makedirs(tree)
    put_programs(tree, launcher)
    put_libraries(tree, found)
    put_texts(tree)
    put_text(tree, "LICENSES", licenses(packages, arrow))
    for folder, _, _ in os.walk(tree):
        os.chmod(folder, 0o755)


def write_tarball(tree, path, seconds):
    """Packs the tree with sorted files, without owners, with the same time for all files. The same
    tree gives the same bytes."""
    def plain(info):
        info.uid = info.gid = 0
        info.uname = info.gname = ""
        info.mtime = seconds
        return info
    with open(path + ".new", "wb") as raw, \
            gzip.GzipFile("", "wb", 6, raw, mtime=seconds) as zipped, \
            tarfile.open(fileobj=zipped, mode="w", format=tarfile.GNU_FORMAT) as tar:
        tar.add(tree, os.path.basename(tree), filter=plain)  # sorts by name
    os.replace(path + ".new", path)
