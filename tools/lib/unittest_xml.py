"""Runs the unittest files of a folder (*_test.py) in this Python and writes which cases passed, as
JUnit's XML, for run_tests.py to count.

usage: unittest_xml.py FOLDER XML
"""
import sys
import time
import traceback
import unittest
import xml.etree.ElementTree as xml


class Result(unittest.TextTestResult):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.root = xml.Element("testsuite")

    def startTest(self, test):
        self.started = time.monotonic()
        super().startTest(test)

    def note(self, test, kind=None, err=None):
        """The case, once; a failure in it or in what cleans up after it makes it fail. err: the
        exception, as sys.exc_info() has it."""
        name = test.id()
        case = next((c for c in self.root if c.get("name") == name), None)
        if case is None:
            case = xml.SubElement(self.root, "testcase", name=name)
        case.set("time", "%.3f" % (time.monotonic() - getattr(self, "started", time.monotonic())))
        if kind and case.find(kind) is None:
            why = "".join(traceback.format_exception(*err)) if err else ""
            # XML has no place for most control characters.
            xml.SubElement(case, kind).text = "".join(
                c if c.isprintable() or c == "\n" else "?" for c in why)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.note(test)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.note(test, "skipped")

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        self.note(test)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.note(test, "failure", err)

    def addError(self, test, err):
        super().addError(test, err)
        self.note(test, "error", err)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err:
            self.note(test, "failure", err)

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.note(test, "failure")


def main():
    folder, path = sys.argv[1:]
    suite = unittest.TestLoader().discover(folder, pattern="*_test.py", top_level_dir=folder)
    result = unittest.TextTestRunner(sys.stdout, verbosity=2, resultclass=Result).run(suite)
    xml.ElementTree(result.root).write(path)
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
