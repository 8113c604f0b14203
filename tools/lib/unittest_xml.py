"""Runs the unittest files of a folder (*_test.py) in this Python and writes which cases passed, as
JUnit's XML, for run_tests.py to count. The XML is written at each case: when one takes longer than
TEST_LIMIT_S, this process ends with the stacks of its threads, and the case counts as failed.

usage: unittest_xml.py FOLDER XML
"""
import faulthandler
import functools
import sys
import time
import traceback
import unittest
import xml.etree.ElementTree as xml

TEST_LIMIT_S = 1200


class Result(unittest.TextTestResult):
    def __init__(self, path, *arguments, **options):
        super().__init__(*arguments, **options)
        self.path = path
        self.root = xml.Element("testsuite")

    def startTest(self, test):
        self.started = time.monotonic()
        unfinished = xml.SubElement(self.root, "testcase", name=test.id(), time=str(TEST_LIMIT_S))
        xml.SubElement(unfinished, "failure").text = "no end of the case, or of this process"
        xml.ElementTree(self.root).write(self.path)
        self.root.remove(unfinished)
        faulthandler.dump_traceback_later(TEST_LIMIT_S, exit=True)  # also when the lock is held
        super().startTest(test)

    def stopTest(self, test):
        faulthandler.cancel_dump_traceback_later()
        super().stopTest(test)

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
    kind = functools.partial(Result, path)
    result = unittest.TextTestRunner(sys.stdout, verbosity=2, resultclass=kind).run(suite)
    xml.ElementTree(result.root).write(path)
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
