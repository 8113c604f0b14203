"""Writes a compilation database (compile_commands.json) for editors, clangd and clang-tidy. Files
that Bazel compiles in chunks (tools/chunks.bzl) get an entry each. Called by
tools/compile-commands.
"""
import json
import os
import shlex
import subprocess
import sys
import xml.etree.ElementTree

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BAZEL = shlex.split(os.environ.get("BAZEL", "bazel"))
TARGETS = "//src/... + //tests/... + //tools/..."


def bazel(*words):
    done = subprocess.run(BAZEL + list(words), cwd=ROOT, stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.DEVNULL)
    if done.returncode:
        raise RuntimeError("bazel %s ended with %d. Run it to see why." %
                           (" ".join(words), done.returncode))
    return done.stdout


def path_of(label):
    """Converts //src/base:text.cc to src/base/text.cc."""
    return label.lstrip("/").replace(":", "/")


def chunks():
    """Returns {path of a chunk below bazel-out/*/bin: paths of its files}."""
    rules = xml.etree.ElementTree.fromstring(
        bazel("query", "filter('_chunk_', kind(genrule, %s))" % TARGETS, "--output=xml"))
    return {path_of(rule.find("./list[@name='outs']/output").get("value")):
            [path_of(label.get("value")) for label in rule.find("./list[@name='srcs']")]
            for rule in rules.iter("rule")}


def entries():
    """Returns the entries of the database, sorted by file."""
    chunk_files = chunks()
    # Bazel's execution directory is unsuitable, because its links depend on the last command.
    external = os.path.join(bazel("info", "output_base").strip(), "external")
    # aquery omits targets with the tag "manual" unless it gets their labels.
    labels = bazel("query", "kind('cc_.* rule', %s)" % TARGETS).split()
    graph = json.loads(bazel("aquery", "mnemonic('CppCompile', set(%s))" % " ".join(labels),
                             "--output=jsonproto"))
    found = {}
    for action in graph["actions"]:
        arguments = [external + a[len("external"):] if a.startswith("external/") else a
                     for a in action["arguments"]]
        source = arguments[arguments.index("-c") + 1]
        made = source.split("/bin/", 1)[-1]
        for path in chunk_files.get(made, [source]):
            if os.path.exists(os.path.join(ROOT, path)):
                found[path] = {"directory": ROOT, "file": os.path.join(ROOT, path),
                               "arguments": [path if a == source else a for a in arguments]}
    return [found[path] for path in sorted(found)]


def main():
    try:
        database = entries()
    except RuntimeError as error:
        sys.exit("compile-commands: %s" % error)
    with open(os.path.join(ROOT, "compile_commands.json"), "w") as f:
        json.dump(database, f, indent=1)
        f.write("\n")
    print("compile-commands: compile_commands.json has %d files" % len(database))


if __name__ == "__main__":
    main()
