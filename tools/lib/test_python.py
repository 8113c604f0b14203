"""Runs Python tests for tools/test: pytest, several files at a time. Counts the cases."""
import os
import xml.etree.ElementTree

import private_python
import test_changes
import test_leftovers
import test_process

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RECORDS = os.path.join(ROOT, "build", "test")
NO_TESTS = 5  # pytest's exit code
PYTEST = ["execnet==2.1.2", "iniconfig==2.3.0", "packaging==25.0", "pluggy==1.6.0",
          "Pygments==2.19.2", "pytest==8.4.2", "pytest-timeout==2.4.0", "pytest-xdist==3.8.0"]


def ensure():
    """Returns the path of a Python that has only pytest. Raises RuntimeError."""
    return private_python.ensure("tests", PYTEST)


def run(label, python, folder, tally, limit_s, at_once=1, marks="not long", changed=None,
        variables=()):
    """Runs the tests below `folder` that match the expression `marks` and cover one of the places
    in `changed`. None runs all tests. The tests of one file run one by one, `at_once` files at a
    time. `variables` are pairs to add to the environment."""
    path = os.path.join(RECORDS, label + ".xml")
    os.makedirs(RECORDS, exist_ok=True)
    if os.path.exists(path):
        os.remove(path)
    command = [python, "-B", "-m", "pytest", "-c", "tests/pytest.ini", folder, "--junitxml=" + path,
               "-m", marks, "-q", "-p", "no:cacheprovider", "--durations=10",
               "--continue-on-collection-errors", "--basetemp=" + os.path.join(RECORDS, "pytest"),
               "-n", str(at_once), "--dist", "loadfile"]
    stacks = os.path.join(RECORDS, label + ".stacks")
    open(stacks, "w").close()
    if changed:
        print("only the tests that cover %s; to run all: tools/test %s" %
              (", ".join(sorted(changed)), label), flush=True)
    with test_leftovers.watched(ROOT, label, tally) as environment:
        environment.update(variables)
        environment[test_changes.STACKS] = stacks
        if changed:
            environment[test_changes.CHANGED] = " ".join(changed)
        code = test_process.run(command, limit_s, ROOT, environment)
    with open(stacks) as f:
        print(f.read(), end="", flush=True)  # stacks of tests that pytest could not interrupt
    failed = 0
    if os.path.exists(path):
        try:
            failed = tally.count_xml(path, label)
        except xml.etree.ElementTree.ParseError:
            tally.fail(label + ": wrote an unreadable report")
            failed = 1
    if changed and code == NO_TESTS:
        code = 0
    if code != 0 and not failed:
        tally.fail("%s: pytest %s" % (label, "ended with %d" % code if code is not None else
                                      "did not end within %.0f min" % (limit_s / 60)))
