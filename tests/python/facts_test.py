"""The client takes shared limits, names and codes from the programs (tools/facts)."""
import ast
import os
import sys
import tempfile
import typing
import unittest
from unittest import mock

import daemons
import espalier
from espalier import _facts, errors
from espalier._proto import api_pb2, types_pb2

sys.path.insert(0, os.path.join(daemons.ROOT, "tools", "lib"))
import package_python  # noqa: E402


def imported():
    """Returns the names that modules of the client take from the facts."""
    found = set()
    for folder, _, names in os.walk(os.path.dirname(espalier.__file__)):
        for name in names:
            if not name.endswith(".py"):
                continue
            with open(os.path.join(folder, name)) as f:
                tree = ast.parse(f.read())
            found.update(alias.name for node in ast.walk(tree)
                         if isinstance(node, ast.ImportFrom) and node.module == "_facts"
                         for alias in node.names)
    return found


def is_of(value, kind):
    """Returns whether a value matches its annotation."""
    inner = typing.get_args(kind)
    if typing.get_origin(kind) is tuple:
        return isinstance(value, tuple) and all(is_of(v, inner[0]) for v in value)
    return type(value) is kind


def words(enum, prefix):
    return [name[len(prefix):] for name, number in enum.items() if number]


class FactsTest(unittest.TestCase):
    def test_the_client_uses_each_fact_and_no_other(self):
        self.assertEqual(imported(), set(_facts.__annotations__))

    def test_each_fact_is_of_its_type_and_no_list_is_empty(self):
        for name, kind in typing.get_type_hints(_facts).items():
            value = getattr(_facts, name)
            self.assertTrue(is_of(value, kind), name)
            self.assertNotIn(value, ("", ()), name)

    def test_errors_states_and_kinds_are_those_of_the_programs(self):
        self.assertEqual(set(errors._KINDS), set(_facts.ERROR_CODES))
        self.assertEqual(words(types_pb2.ErrorCode, "ERROR_CODE_"), list(_facts.ERROR_CODES))
        self.assertEqual(words(api_pb2.JobState, "JOB_STATE_"), list(espalier.JobState))
        self.assertEqual(words(api_pb2.JobKind, "JOB_KIND_"), list(espalier.JobKind))
        self.assertLessEqual({code for _, code, _, _ in _facts.KERBEROS_MEANINGS},
                             set(_facts.ERROR_CODES))

    def test_the_wheel_has_the_facts_of_the_build_and_none_is_made_without(self):
        with open(_facts.__file__, "rb") as ours, \
                open(os.path.join(daemons.ROOT, package_python.FACTS), "rb") as theirs:
            self.assertEqual(ours.read(), theirs.read())
        with tempfile.TemporaryDirectory() as folder, \
                mock.patch.object(package_python, "ROOT", folder), \
                self.assertRaisesRegex(package_python.WheelError, "Run tools/build"):
            package_python.build(folder, 0)


if __name__ == "__main__":
    unittest.main()
