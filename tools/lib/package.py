"""Builds the programs, and packs them as a tarball and a Debian package. Also builds the wheel of
the Python client.

espalier-VERSION-linux-x86_64.tar.gz unpacks anywhere. It contains all libraries, the C library and
the loader, so it requires only a kernel. espalier_VERSION_amd64.deb installs the same tree in
/usr/lib/espalier, with units, user, configuration and completion.
espalier-VERSION-py3-none-any.whl is the Python client (deploy/python).

The same commit gives the same bytes. Times of files are that of the commit, or SOURCE_DATE_EPOCH.
"""
import argparse
import os
import runpy
import shlex
import subprocess
import sys
import tempfile

import man_pages
import package_check
import package_deb
import package_python
import package_sbom
import package_security
import package_tree

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class PackageError(Exception):
    """An error and how to fix it, for a person."""


def version():
    facts = os.path.join(ROOT, package_python.FACTS)
    if not os.path.exists(facts):
        raise PackageError("%s does not exist. Run tools/build." % facts)
    return runpy.run_path(facts)["VERSION"]


def commit_time():
    """Returns the modification time of every file, in seconds since 1970."""
    if os.environ.get("SOURCE_DATE_EPOCH"):
        return int(os.environ["SOURCE_DATE_EPOCH"])
    done = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True,
                          text=True)
    if done.returncode:
        raise PackageError("cannot read the time of the commit (%s). Set SOURCE_DATE_EPOCH to "
                           "seconds since 1970." % done.stderr.strip())
    return int(done.stdout)


def build_launcher():
    """Builds the launcher, which only packages need. Returns its path and that of Arrow's files."""
    bazel = shlex.split(os.environ.get("BAZEL", "bazel"))
    subprocess.run(bazel + ["build", "//src/launcher"], cwd=ROOT, check=True)
    found = subprocess.run(bazel + ["info", "bazel-bin", "output_base"], cwd=ROOT, check=True,
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    places = dict(line.split(": ", 1) for line in found.splitlines())
    return (os.path.join(places["bazel-bin"], "src", "launcher", "launcher"),
            os.path.join(places["output_base"], "external", "arrow"))


def describe_sizes(tree, package):
    """Prints the sizes of the largest files."""
    sizes = []
    for folder, _, names in os.walk(tree):
        for name in names:
            path = os.path.join(folder, name)
            sizes.append((os.path.getsize(path), os.path.relpath(path, tree)))
    sizes.sort(reverse=True)
    total = sum(size for size, _ in sizes)
    print("package: %s: %.1f MB, unpacked %.1f MB" %
          (os.path.relpath(package, ROOT), os.path.getsize(package) / 1e6, total / 1e6))
    for size, name in sizes[:8]:
        print("  %6.1f MB  %s" % (size / 1e6, name))
    print("  %6.1f MB  %d other files" % (sum(s for s, _ in sizes[8:]) / 1e6, len(sizes[8:])))


def make_trees(args, seconds):
    """Makes the tarball and the Debian package, with the same content."""
    name = "espalier-%s-linux-x86_64" % version()
    launcher, arrow = build_launcher()
    found = package_tree.libraries()
    packages = package_tree.shipped(found)
    package_security.check({p.name: p.version for p in package_tree.installed(packages).values()},
                           args.allow_outdated)
    with tempfile.TemporaryDirectory(prefix="espalier-package-") as folder:
        tree = os.path.join(folder, name)
        package_tree.make(tree, launcher, arrow, found, packages)
        package_sbom.put(tree, packages, version(), seconds)
        man_pages.put(os.path.join(tree, "man"), package_tree.programs(), version(), seconds)
        package_check.check_search_paths(tree)
        if args.only != "deb":
            tarball = os.path.join(args.output, name + ".tar.gz")
            package_tree.write_tarball(tree, tarball, seconds)
            describe_sizes(tree, tarball)
        if args.only != "tarball":
            deb = os.path.join(args.output, "espalier_%s_amd64.deb" % version())
            package_deb.make(tree, deb, version(), seconds)
            describe_sizes(tree, deb)


def main():
    parser = argparse.ArgumentParser(prog="tools/package", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", default=os.path.join(ROOT, "build", "package"),
                        help="output folder (default: build/package)")
    parser.add_argument("--only", choices=["tarball", "deb", "wheel"],
                        help="make only this package")
    parser.add_argument("--allow-outdated", action="store_true",
                        help="ship libraries that have a pending security update, with a warning")
    parser.add_argument("--build", action="store_true", help=argparse.SUPPRESS)  # tools/package
    args = parser.parse_args()
    try:
        if args.build:
            subprocess.run([os.path.join(ROOT, "tools", "build")], check=True)
        seconds = commit_time()
        os.makedirs(args.output, exist_ok=True)
        if args.only != "wheel":
            make_trees(args, seconds)
        if args.only in (None, "wheel"):
            wheel = package_python.build(args.output, seconds)
            print("package: %s: %.1f kB" % (os.path.relpath(wheel, ROOT),
                                            os.path.getsize(wheel) / 1e3))
    except (PackageError, package_python.WheelError, package_tree.TreeError) as error:
        sys.exit("package: %s" % error)
    except subprocess.CalledProcessError as error:
        sys.exit("package: %s ended with %d. See its message above." %
                 (shlex.join(map(str, error.cmd)), error.returncode))


if __name__ == "__main__":
    main()
