"""The programs of tools/build have the protections that docs/engineering/architecture.md lists.
Reads the files with readelf. package_test.py covers the RUNPATHs in a package."""
import re
import subprocess
import unittest

import pytest

from espalier import program

pytestmark = pytest.mark.covers("cli", "coordinator", "worker")

PROGRAMS = ("espalier", "espalier-coordinator", "espalier-worker")
# Objects of the C library and the compiler at the start of each program.
START_FILES = ("Scrt1.o", "crti.o", "crtbeginS.o", "crtendS.o", "crtn.o")
# -D_GLIBCXX_ASSERTIONS also shows in an imported symbol. The other flags change the code.
FLAGS = ("-D_GLIBCXX_ASSERTIONS", "-D_FORTIFY_SOURCE=3", "-fstack-protector-strong",
         "-fstack-clash-protection", "-fcf-protection")
ENDBR64 = b"\xf3\x0f\x1e\xfa"  # target of an indirect jump
PROBE = b"\x48\x83\x0c\x24\x00"  # orq $0, (%rsp): touches each page of a large stack frame
JUMP_TARGETS_MIN, PROBES_MIN = 1000, 10


def readelf(path, *options):
    return subprocess.run(["readelf", "-W"] + list(options) + [path], check=True,
                          capture_output=True, text=True).stdout


def imports(path):
    """Returns the names of the functions that a program takes from libraries."""
    rows = (line.split() for line in readelf(path, "--dyn-syms").splitlines())
    return {row[7].split("@")[0] for row in rows if len(row) > 7 and row[6] == "UND"}


def control_flow_marks(path):
    """Returns the protections of control flow that a file's property note declares."""
    found = re.search(r"x86 feature: ([A-Z, ]+)", readelf(path, "--notes"))
    return set(re.findall("[A-Z]+", found.group(1))) if found else set()


def content(path):
    with open(path, "rb") as f:
        return f.read()


class HardeningTest(unittest.TestCase):
    def for_each_program(self, check):
        for name in PROGRAMS:
            with self.subTest(name):
                check(program(name))

    def test_addresses_are_random_and_relocations_read_only(self):
        def check(path):
            self.assertRegex(readelf(path, "--file-header"), r"Type: +DYN")
            dynamic = readelf(path, "--dynamic")
            self.assertRegex(dynamic, r"\(FLAGS_1\) +Flags:.* PIE\b")
            self.assertRegex(dynamic, r"\(FLAGS\) +.*\bBIND_NOW\b")
            self.assertNotIn("(TEXTREL)", dynamic)
            self.assertIn(" GNU_RELRO ", readelf(path, "--program-headers"))
        self.for_each_program(check)

    def test_no_memory_is_both_writable_and_executable(self):
        def check(path):
            rows = re.findall(r"^ +([A-Z_]+) +(?:0x\w+ +){5}([R ][W ][E ])",
                              readelf(path, "--program-headers"), re.M)
            self.assertIn(("GNU_STACK", "RW "), rows)
            self.assertFalse([row for row in rows if "WE" in row[1]], rows)
        self.for_each_program(check)

    def test_stack_buffers_and_containers_are_checked(self):
        def check(path):
            names = imports(path)
            self.assertIn("__stack_chk_fail", names)
            self.assertLess({"__memcpy_chk", "__snprintf_chk"}, names)
            self.assertTrue([name for name in names if "__glibcxx_assert_fail" in name])
            self.assertGreater(content(path).count(PROBE), PROBES_MIN)
        self.for_each_program(check)

    def test_the_version_names_the_flags(self):
        def check(path):
            text = subprocess.run([path, "--version"], check=True, capture_output=True,
                                  text=True).stdout
            flags = re.search(r"(?m)^built by: (.*)$", text).group(1).split()
            self.assertLessEqual(set(FLAGS), set(flags))
            self.assertFalse([flag for flag in flags if flag.startswith("-fno-stack")])
            # The last setting of the macro decides.
            self.assertEqual([flag for flag in flags if "FORTIFY" in flag][-1], FLAGS[1])
        self.for_each_program(check)

    def test_jump_targets_are_marked(self):
        # The linker drops the property note if an object has none. Debian 12's C library has none
        # in its start files.
        marks = [control_flow_marks(subprocess.run(
            ["gcc", "-print-file-name=" + name], check=True, capture_output=True,
            text=True).stdout.strip()) for name in START_FILES]

        def check(path):
            self.assertGreater(content(path).count(ENDBR64), JUMP_TARGETS_MIN)
            self.assertEqual(control_flow_marks(path), set.intersection(*marks))
        self.for_each_program(check)

    def test_libraries_come_from_the_tree_or_the_system(self):
        def check(path):
            found = re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", readelf(path, "--dynamic"))
            self.assertEqual(found, ["$ORIGIN/../lib"])
        self.for_each_program(check)


if __name__ == "__main__":
    unittest.main()
