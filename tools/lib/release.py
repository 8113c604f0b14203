"""Checks, builds and tags a release. Called by tools/release with the root of the repository.

First, it runs all checks and reports all faults at once. Then it builds all packages twice, writes
their checksums and sets the tag. A failed release leaves no tag.
"""
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile

VERSION_FILE = "src/base/version.h"
VERSION = re.compile(r'kVersion = "([^"]*)"')
SEMVER = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?")
# Name and version of a package in a page.
PACKAGE_NAME = re.compile(r"espalier[-_](\d+\.\d+\.\d+[\w.]*?)(?:[-_](?:linux|amd64|py3)|\.dist)")
# Prefixes of files where the version is part of the program, not of a page.
CODE = ("src/", "proto/", "deploy/", "tools/", "config/")
PACKAGES = ["espalier-%s-linux-x86_64.tar.gz", "espalier_%s_amd64.deb",
            "espalier-%s-py3-none-any.whl"]
SUMS = "SHA256SUMS"


class ReleaseError(Exception):
    """Error with a fault of the release and how to fix it."""


def git(root, *words):
    done = subprocess.run(["git"] + list(words), cwd=root, capture_output=True, text=True)
    if done.returncode:
        raise ReleaseError("git %s: %s" % (" ".join(words), done.stderr.strip()))
    return done.stdout


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as f:
        return f.read()


def version_of(root):
    found = VERSION.findall(read(root, VERSION_FILE))
    if len(found) != 1 or not SEMVER.fullmatch(found[0]):
        raise ReleaseError("%s: found %s, expected one kVersion such as \"1.2.3\". Set the version "
                           "there." % (VERSION_FILE, found or "no version"))
    return found[0]


def texts(root):
    """Returns (path, text) of all tracked files that are text."""
    for path in git(root, "ls-files", "-z").split("\0"):
        full = os.path.join(root, path)
        if path and os.path.isfile(full) and not os.path.islink(full):
            with open(full, "rb") as f:
                raw = f.read()
            if b"\0" not in raw:
                yield path, raw.decode("utf-8", "replace")


def version_faults(root, version):
    """Returns the places that contain another version, or repeat this one."""
    faults = []
    for path, text in texts(root):
        for number, line in enumerate(text.split("\n"), 1):
            place = "%s:%d: " % (path, number)
            for other in PACKAGE_NAME.findall(line):
                if other != version and not path.startswith("tests/"):
                    faults.append(place + "a package of another version (found %s, expected %s). "
                                  "Name the package of this release." % (other, version))
            if path != VERSION_FILE and path.startswith(CODE) and '"%s"' % version in line:
                faults.append(place + "the version is stated a second time (found \"%s\", expected "
                              "only that of %s). Read it from there." % (version, VERSION_FILE))
    return faults


def section(changelog, title):
    """Returns the lines of the section "## [title]", or None."""
    found = re.search(r"^## \[%s\][^\n]*\n(.*?)(?=^## |\Z)" % re.escape(title), changelog,
                      re.M | re.S)
    return found and found.group(1).strip()


def changelog_faults(root, version):
    changelog = read(root, "CHANGELOG.md")
    faults = []
    if not re.search(r"^## \[%s\] - \d{4}-\d\d-\d\d$" % re.escape(version), changelog, re.M):
        faults.append("CHANGELOG.md: no section \"## [%s] - YYYY-MM-DD\". Rename \"Unreleased\"." %
                      version)
    elif not section(changelog, version):
        faults.append("CHANGELOG.md: the section of %s is empty. Name its changes." % version)
    if section(changelog, "Unreleased"):
        faults.append("CHANGELOG.md: the section \"Unreleased\" has changes (expected none). Move "
                      "them to the section of %s." % version)
    return faults


def tree_faults(root, version):
    faults = []
    changed = git(root, "status", "--porcelain").splitlines()
    if changed:
        faults.append("the working tree is not clean (found %s). Commit or remove these files." %
                      ", ".join(line[3:] for line in changed[:5]))
    tag = "v" + version
    if git(root, "tag", "--list", tag).strip():
        faults.append("the tag %s exists already. Set another version in %s." %
                      (tag, VERSION_FILE))
    return faults


def check(root):
    """Runs all checks. Returns the version. Raises ReleaseError with all faults."""
    version = version_of(root)
    faults = (tree_faults(root, version) + changelog_faults(root, version) +
              version_faults(root, version))
    if faults:
        raise ReleaseError("\nrelease: ".join(faults))
    return version


def digest(path):
    sha256 = hashlib.sha256()
    with open(path, "rb") as f:
        for block in iter(lambda: f.read(1 << 20), b""):
            sha256.update(block)
    return sha256.hexdigest()


def build(root, version, folder):
    """Builds all packages into the folder. Returns {name: SHA-256}."""
    done = subprocess.run([os.path.join(root, "tools", "package"), "--output", folder], cwd=root)
    if done.returncode:
        raise ReleaseError("tools/package ended with %d. See its message above." % done.returncode)
    names = sorted(name % version for name in PACKAGES)
    found = sorted(os.listdir(folder))
    if found != names:
        raise ReleaseError("tools/package wrote %s, expected %s." %
                           (", ".join(found) or "nothing", ", ".join(names)))
    return {name: digest(os.path.join(folder, name)) for name in names}


def build_twice(root, version, folder):
    """Builds into a new folder and into a temporary one. The bytes must be the same."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    sums = build(root, version, folder)
    with tempfile.TemporaryDirectory(prefix="espalier-release-") as second:
        again = build(root, version, second)
    differing = [name for name in sums if sums[name] != again[name]]
    if differing:
        raise ReleaseError("two builds of this commit differ in %s. Compare the files that they "
                           "hold." % ", ".join(differing))
    with open(os.path.join(folder, SUMS), "w") as f:
        f.write("".join("%s  %s\n" % (sums[name], name) for name in sorted(sums)))


def main(root, *flags):
    try:
        version = check(root)
        if "--dry-run" in flags:
            print("release: %s is ready. Without --dry-run, this builds the packages and sets the "
                  "tag v%s." % (version, version))
            return
        folder = os.path.join("build", "release", version)
        build_twice(root, version, os.path.join(os.path.abspath(root), folder))
        git(root, "tag", "--annotate", "--message", "Espalier " + version, "v" + version)
    except ReleaseError as error:
        sys.exit("release: %s" % error)
    print("release: %s/ has the packages and %s. The tag v%s is set. Publish it with\n"
          "  git push origin v%s" % (folder, SUMS, version, version))


if __name__ == "__main__":
    main(*sys.argv[1:])
