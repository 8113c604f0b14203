"""Finds pending security updates of the libraries that tools/package ships, in apt's lists.

As a program, it prints the packages with a pending update, one per line, for tools/setup
--security.

tools/package stops at a known update. If apt has no list of a security archive, it only warns,
because the machine may have no network. An error would make users add --allow-outdated to each
call, which also hides known updates.
"""
import glob
import os
import re
import subprocess
import sys
import time
from email.utils import parsedate_to_datetime

import package_tree

# A version and an archive that contains it, in the output of apt-cache policy.
VERSION = re.compile(r" (?:\*\*\*|   ) (\S+)")
ARCHIVE = re.compile(r" {8,}-?\d+ \S+ (\S+) ")
SECURITY = re.compile(r"-security\b|/updates\b")  # the second one: Debian 10 and older


def apt(*words):
    """Returns the standard output of an apt command, or "" if it is missing or fails."""
    try:
        done = subprocess.run(words, capture_output=True, text=True,
                              env=dict(os.environ, LC_ALL="C"))
    except FileNotFoundError:
        return ""
    return "" if done.returncode else done.stdout


def newer(version, other):
    return subprocess.run(["dpkg", "--compare-versions", version, "gt", other]).returncode == 0


def pending(versions):
    """Returns {package: newest version in a security archive} of packages whose installed version
    is older. `versions` is {package: installed version}."""
    found, package, version = {}, None, None
    for line in apt("apt-cache", "policy", *sorted(versions)).splitlines():
        if not line.startswith(" "):
            package = line.rstrip(":")
        elif VERSION.match(line):
            version = VERSION.match(line).group(1)
        elif ARCHIVE.match(line) and SECURITY.search(ARCHIVE.match(line).group(1)):
            if newer(version, found.get(package, versions[package])):
                found[package] = version
    return found


def doubts(now):
    """Returns why apt may not have all security updates, or "" if its lists are complete and valid.
    `now` is in seconds since 1970."""
    lists = [line.split(" ", 1)[1] for line in apt(
        "apt-get", "indextargets", "--format", "$(RELEASE) $(FILENAME)",
        "Created-By: Packages").splitlines() if SECURITY.search(line.split(" ", 1)[0])]
    if not lists:
        return "apt has no list of a security archive"
    for path in lists:
        for release in glob.glob(os.path.join(os.path.dirname(path), "*Release")):
            if not path.startswith(re.sub("(In)?Release$", "", release)):
                continue
            with open(release, encoding="utf-8", errors="replace") as f:
                until = re.search(r"^Valid-Until: (.*)$", f.read(), re.M)
            if until and parsedate_to_datetime(until.group(1)).timestamp() < now:
                return "apt's list of a security archive expired on " + until.group(1)
    return ""


def check(versions, allow_outdated):
    """Rejects packages with a pending security update. With `allow_outdated`, only warns."""
    doubt = doubts(time.time())
    if doubt:
        print("package: warning: %s, so pending updates may be unknown. Run apt-get update." %
              doubt, file=sys.stderr)
    found = pending(versions)
    if not found:
        return
    names = "; ".join("%s: found %s, expected %s or newer" % (name, versions[name], found[name])
                      for name in sorted(found))
    if not allow_outdated:
        raise package_tree.TreeError(
            "libraries have pending security updates (%s). Run tools/setup --security, or ship "
            "them as they are with --allow-outdated." % names)
    print("package: warning: libraries are shipped without pending security updates (%s)" % names,
          file=sys.stderr)


def main():
    try:
        packages = package_tree.installed(package_tree.shipped(package_tree.libraries()))
    except package_tree.TreeError as error:
        sys.exit("package_security: %s" % error)
    for name in sorted(pending({p.name: p.version for p in packages.values()})):
        print(name)


if __name__ == "__main__":
    main()
