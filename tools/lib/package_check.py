"""Checks that a tree must pass before tools/package packs it."""
import os
import re
import subprocess

import package_tree

ORIGIN = re.compile(r"\$(ORIGIN|\{ORIGIN\})(?=/|$)")


def is_elf(path):
    with open(path, "rb") as f:
        return f.read(4) == b"\x7fELF"


def search_paths(path):
    """Returns the RUNPATH and RPATH entries of a file, where the loader searches its libraries."""
    out = subprocess.run(["readelf", "--dynamic", "--wide", path], check=True, capture_output=True,
                         text=True).stdout
    lists = re.findall(r"\((?:RUNPATH|RPATH)\)\s+Library \w+: \[(.*)\]$", out, re.M)
    return [entry for entries in lists for entry in entries.split(":")]


def stays_in(folder, entry):
    """Returns whether an entry leads into the tree, for a file in `folder`, a path from the top of
    the tree. Entries without $ORIGIN do not: they are absolute, or relative to the working
    directory."""
    origin = ORIGIN.match(entry)
    if not origin:
        return False
    target = os.path.normpath(os.path.join(folder, entry[origin.end():].lstrip("/")))
    return not os.path.isabs(target) and target.split(os.sep)[0] != os.pardir


def check_search_paths(tree):
    """Rejects a tree if a program or library looks for libraries outside of the tree."""
    for folder, _, names in sorted(os.walk(tree)):
        for name in sorted(names):
            path, inside = os.path.join(folder, name), os.path.relpath(folder, tree)
            if os.path.islink(path) or not is_elf(path):
                continue
            for entry in search_paths(path):
                if not stays_in(inside, entry):
                    raise package_tree.TreeError(
                        "%s: the RUNPATH leads out of the tree (found '%s', expected $ORIGIN and a "
                        "directory of the tree). Link it without that path." %
                        (os.path.join(inside, name), entry))
