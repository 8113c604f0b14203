"""Counts the cases and failures of a test run, and the time of each part and program."""
import dataclasses
import time
import xml.etree.ElementTree

WHY_LINES = 12  # lines of a failed case's output that are repeated at the end


@dataclasses.dataclass
class Part:
    """Part of a run, for the report and the record."""
    name: str
    wall_s: float = 0
    cpu_s: float = 0      # busy time of all cores, including other processes
    cases: int = 0
    skipped: int = 0
    whole: bool = True    # False if only some of its tests ran, or none
    cold: bool = False    # whether it compiled for a while (test_bazel.COLD_S)
    compiled_s: dict = dataclasses.field(default_factory=dict)  # room -> seconds of compilation
    tests_s: dict = dataclasses.field(default_factory=dict)     # test -> seconds


def busy_s():
    """Returns the busy seconds of all cores of this machine since boot."""
    with open("/proc/stat") as f:
        user, nice, system, _idle, _wait, irq, softirq = map(int, f.readline().split()[1:8])
    return (user + nice + system + irq + softirq) / 100


class Tally:
    def __init__(self):
        self.passed, self.failed, self.skipped = 0, 0, 0
        self.failures = []  # "part: target: case"
        self.parts = []
        self.part = None    # the running part

    def cases(self):
        return self.passed + self.failed + self.skipped

    def begin(self, name):
        self.part = Part(name)
        self.parts.append(self.part)
        self.began = time.monotonic(), busy_s(), self.cases(), self.skipped
        print("\n== %s" % name, flush=True)

    def end(self):
        wall, busy, cases, skipped = self.began
        self.part.wall_s, self.part.cpu_s = time.monotonic() - wall, busy_s() - busy
        self.part.cases = self.cases() - cases
        self.part.skipped = self.skipped - skipped
        print("== %s: %d cases in %.0f s" % (self.part.name, self.part.cases, self.part.wall_s),
              flush=True)

    def fail(self, name, why=""):
        """Counts a failed case. The report at the end repeats the last lines of `why`, its output.
        """
        self.failed += 1
        lines = [line for line in why.splitlines() if line.strip()]
        self.failures.append("\n    ".join([name] + lines[-WHY_LINES:]))

    def count_xml(self, path, label):
        """Adds the cases of a file in JUnit's format. Returns how many of them failed."""
        failed = 0
        for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
            group = case.get("classname")
            name = "%s: %s" % (label, (group + "." if group else "") + case.get("name"))
            if case.get("time"):
                self.part.tests_s[name] = float(case.get("time"))
            bad = [e for e in case if e.tag in ("failure", "error")]
            if bad:
                failed += 1
                self.fail(name, "\n".join((e.get("message") or "") + "\n" + (e.text or "")
                                          for e in bad))
            elif case.find("skipped") is not None:
                self.skipped += 1
            else:
                self.passed += 1
        return failed
