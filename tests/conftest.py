"""pytest's settings for all tests in Python: time limits, and which tests a change needs.

A test that exceeds its limit fails with the stacks of its threads, and the others continue. If a
test cannot be interrupted, because it hangs outside of Python, its process ends. pytest-xdist then
starts another process for the remaining tests.
"""
import faulthandler
import os
import sys
import unittest

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tools", "lib"))
import test_changes  # noqa: E402

TEST_LIMIT_S = 240  # per test, with its setup; @pytest.mark.timeout(s) sets another
HARD_LIMIT_S = 60   # more, until the process ends


@pytest.fixture(scope="module", autouse=True)
def module_cleanups():
    """Runs the functions of unittest.addModuleCleanup, which pytest does not run."""
    yield
    unittest.doModuleCleanups()


def limit_of(item):
    marker = item.get_closest_marker("timeout")
    return marker.args[0] if marker.args else marker.kwargs["timeout"]


def is_needed(item, changed):
    """Returns whether a test covers one of the changed places (tools/lib/test_changes.py). A test
    that does not say what it covers covers everything."""
    covers = item.get_closest_marker("covers")
    own = os.path.relpath(item.path, ROOT)
    if item.get_closest_marker("pages") and test_changes.PAGES.intersection(changed):
        return True
    return not covers or own in changed or any("src/" + room in changed for room in covers.args)


def pytest_collection_modifyitems(config, items):
    for item in items:
        if item.get_closest_marker("long") and "e2e" not in item.path.parts:
            raise pytest.UsageError("%s is marked long, but no part runs long tests outside "
                                    "tests/e2e. Remove the mark." % item.nodeid)
    changed = os.environ.get(test_changes.CHANGED, "").split()
    if changed:
        config.hook.pytest_deselected(items=[i for i in items if not is_needed(i, changed)])
        items[:] = [i for i in items if is_needed(i, changed)]
    for item in items:
        if not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(TEST_LIMIT_S, method="signal"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    # The stacks go to a file. pytest captures stderr, and loses it when the process exits.
    path = os.environ.get(test_changes.STACKS, os.devnull)
    with open(path, "a") as stacks:
        faulthandler.dump_traceback_later(limit_of(item) + HARD_LIMIT_S, exit=True, file=stacks)
        try:
            return (yield)
        finally:
            faulthandler.cancel_dump_traceback_later()
