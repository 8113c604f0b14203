"""Runs Bazel's tests for tools/test, counts their cases and records compilations."""
import gzip
import json
import os
import re
import shlex
import sys
import urllib.parse
import xml.etree.ElementTree

import test_process

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BAZEL = shlex.split(os.environ.get("BAZEL", "bazel"))
RECORDS = os.path.join(ROOT, "build", "test")
COLD_S = 60  # seconds; a part that compiles for longer is recorded as cold


def local_path(uri):
    return urllib.parse.unquote(urllib.parse.urlparse(uri).path)


def count_result(event, label, tally):
    """Counts one attempt of one test program."""
    result = event["testResult"]
    name = "%s: %s" % (label, event["id"]["testResult"]["label"])
    if not result.get("cachedLocally"):
        tally.part.tests_s[name] = float(result.get("testAttemptDurationMillis", 0)) / 1000
    xml_path = next((local_path(o["uri"]) for o in result.get("testActionOutput", [])
                     if o["name"] == "test.xml" and "uri" in o), None)
    failed, before = 0, tally.cases()
    if xml_path and os.path.exists(xml_path):
        try:
            failed = tally.count_xml(xml_path, name)
        except xml.etree.ElementTree.ParseError:
            tally.fail(name + ": wrote an unreadable test.xml")
            failed = 1
    elif result["status"] == "PASSED":
        tally.fail(name + ": passed but left no test.xml to count")
    if result["status"] == "PASSED" and tally.cases() == before:
        tally.fail(name + ": passed without a case")
    if result["status"] != "PASSED" and not failed:
        tally.fail("%s: the program ended with %s" % (name, result["status"]))


def count_events(path, label, tally):
    """Reads Bazel's build events: results of tests, targets that do not build."""
    broken = set()
    if not os.path.exists(path):
        return
    with open(path) as f:
        for line in f:
            event = json.loads(line)
            kind = event.get("id", {})
            if "testResult" in event:
                count_result(event, label, tally)
            elif "targetCompleted" in kind and "aborted" not in event:
                if not event.get("completed", {}).get("success"):
                    broken.add(kind["targetCompleted"]["label"])
            elif "aborted" in event and event["aborted"].get("reason") not in ("SKIPPED", None):
                where = (kind.get("targetCompleted") or kind.get("configuredLabel") or
                         kind.get("unconfiguredLabel") or {})
                names = [where["label"]] if "label" in where else []
                broken.update(names + kind.get("pattern", {}).get("pattern", []))
    for target in sorted(broken):
        tally.fail("%s: %s: does not build" % (label, target))


def note_compilations(path, tally):
    """Adds up the seconds of compilation by room, and of all links, in Bazel's profile."""
    try:
        with gzip.open(path, "rt") as f:
            events = json.load(f)["traceEvents"]
    except (OSError, ValueError, KeyError, EOFError):
        return  # Bazel was killed
    for event in events:
        if event.get("cat") != "action processing":
            continue
        found = re.match(r"(Compiling|Linking) (.*)", event["name"])
        if found:
            room = os.path.dirname(found[2]) if found[1] == "Compiling" else "(links)"
            tally.part.compiled_s[room] = (tally.part.compiled_s.get(room, 0) +
                                           event["dur"] / 1e6)
    tally.part.cold = sum(tally.part.compiled_s.values()) > COLD_S


def fresh_records(label):
    """Returns paths for Bazel's build events and profile. Removes the files of an earlier run."""
    os.makedirs(RECORDS, exist_ok=True)
    paths = [os.path.join(RECORDS, label.replace(" ", "-") + kind)
             for kind in (".json", ".profile.gz")]
    for path in paths:
        if os.path.exists(path):
            os.remove(path)
    return paths


def build(tally, limit_s):
    """Runs tools/build and records its time as that of the part."""
    events, profile = fresh_records("build")
    flags = "--build_event_json_file=%s --profile=%s" % (events, profile)
    if not sys.stdout.isatty():
        flags += " --noshow_progress --color=no"
    code = test_process.run(["tools/build", "--testing"], limit_s, ROOT,
                            dict(os.environ, BAZEL_BUILD_FLAGS=flags))
    count_events(events, "build", tally)
    note_compilations(profile, tally)
    if code != 0:
        tally.fail("build: tools/build " + how_it_ended(code, limit_s))


def how_it_ended(code, limit_s):
    return "timed out after %.0f min" % (limit_s / 60) if code is None else "ended with %d" % code


def run(label, command, targets, tally, limit_s, flags=()):
    """Runs bazel build or bazel test of `targets`. Returns the exit code, or None after the limit.
    """
    events, profile = fresh_records(label)
    print("bazel %s %s" % (command, " ".join(targets)), flush=True)
    words = BAZEL + [command, "--keep_going", "--build_event_json_file=" + events,
                     "--profile=" + profile]
    if command == "test":
        words.append("--test_summary=terse")
    if not sys.stdout.isatty():
        words[len(BAZEL) + 1:len(BAZEL) + 1] = ["--noshow_progress", "--color=no"]
    before = tally.failed
    code = test_process.run(words + list(flags) + ["--"] + list(targets), limit_s, ROOT)
    count_events(events, label, tally)
    note_compilations(profile, tally)
    # Code 4 means "no tests were found", a valid result for a target without tests.
    if code not in (0, 4) and tally.failed == before:
        tally.fail("%s: bazel %s %s" % (label, command, how_it_ended(code, limit_s)))
    return code
