"""Finds changes since the tests last passed on this machine.

A place is a room of src/ ("src/data"), a Python test file, or another file or folder at the top. A
part runs again only if one of its places has changed since it passed. If only rooms have changed,
only the Python test files that cover them run (see tests/conftest.py).
"""
import hashlib
import json
import os
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Record that all checkouts on this machine share.
PASSED = os.path.join(os.path.expanduser("~"), ".cache", "espalier-test", "passed.json")
# Environment variables that tests/conftest.py reads: the changed places that tests must cover, and
# the file for the stacks of tests that time out.
CHANGED = "ESPALIER_TEST_CHANGED"
STACKS = "ESPALIER_TEST_STACKS"
# Inputs of a build that Git does not track.
UNTRACKED = {"tools/system_packages.stamp", ".bazelrc.local"}
# Places with pages. A change in one needs only the tests marked `pages`.
PAGES = {"README.md", "CHANGELOG.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "SECURITY.md",
         "docs", "mkdocs.yml"}
# Rooms that all other rooms use. A change in one needs all tests.
FOUNDATION = {"src/base", "src/plan", "src/spec"}


def place_of(path):
    names = path.split("/")
    if names[0] == "src" and len(names) > 2:
        return "/".join(names[:2])
    return path if path.endswith("_test.py") else names[0]


def snapshot():
    """Returns {path: checksum} of all files that Git does not ignore, or None without Git."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            cwd=ROOT, capture_output=True)
    if listed.returncode:
        return None
    sums = {}
    for path in set(listed.stdout.decode().split("\0")) | UNTRACKED:
        full = os.path.join(ROOT, path)
        if path and os.path.isfile(full):
            with open(full, "rb") as f:
                sums[path] = "%s %s" % (os.access(full, os.X_OK),
                                        hashlib.sha256(f.read()).hexdigest())
    return sums


def places(files, inputs):
    """Returns {place: checksum} of the files of a snapshot below the prefixes `inputs`. () selects
    all files."""
    if files is None:
        return None
    sums = {}
    for path in sorted(files):
        if path.startswith(inputs or ""):
            sums.setdefault(place_of(path), hashlib.sha256()).update(
                ("%s %s\n" % (path, files[path])).encode())
    return {place: checksum.hexdigest()[:16] for place, checksum in sums.items()}


def changed(before, now):
    return {place for place in set(before) | set(now) if before.get(place) != now.get(place)}


def can_be_chosen(place):
    """Returns whether a change in this place needs only the tests that cover it."""
    return (place.endswith("_test.py") or place in PAGES or
            place.startswith("src/") and place not in FOUNDATION)


def passed():
    """Returns {part: places with which it last passed}."""
    try:
        with open(PASSED) as f:
            kept = json.load(f)
    except (OSError, ValueError):
        return {}
    return {name: value for name, value in kept.items() if isinstance(value, dict)}


def note_passed(names, now):
    os.makedirs(os.path.dirname(PASSED), exist_ok=True)
    new = "%s.%d" % (PASSED, os.getpid())
    with open(new, "w") as f:
        json.dump(dict(passed(), **{name: now for name in names}), f, indent=1, sort_keys=True)
    os.replace(new, PASSED)
