"""Lists the parts of tools/test with their tests, time budgets and dependencies."""
import dataclasses
import glob
import os

import test_changes

# Rooms whose tests run under the address and undefined-behavior sanitizers in every run. They do
# not link gRPC, which is not built for sanitizers. With --all, `thorough` also has the other rooms.
PURE = ["base", "bundle", "cluster", "collective", "config", "data", "member", "plan", "scoring",
        "security", "spec", "storage", "yarn"]
# Rooms whose tests run as shipped in every run: rooms with gRPC, and rooms that compute.
SHIPPED = ["cli", "coordinator", "fuzz_targets", "model", "rpc", "sim", "training", "worker"]
# Rooms with threads.
THREADED = ["base", "cli", "collective", "coordinator", "data", "model", "rpc", "scoring",
            "security", "sim", "storage", "training", "worker"]


def paths(pattern):
    return sorted(glob.glob(pattern, root_dir=test_changes.ROOT))


# Prefixes of the files that results depend on. Tests run the commands of the pages.
BUILD = ("tools/", "WORKSPACE", "BUILD", ".bazel")
CPP = BUILD + ("src/", "proto/", "config/", "deploy/BUILD", "deploy/yarn/", "tests/BUILD") + tuple(
    os.path.dirname(path) + "/" for path in paths("tests/*/BUILD"))
# With the files that end-to-end tests share.
PROGRAMS = BUILD + ("src/", "proto/", "config/", "deploy/", "README.md", "tests/conftest.py",
                    "tests/pytest.ini", "tests/coordinator/BUILD",
                    "tests/coordinator/mortal_main.cc", "tests/storage/BUILD",
                    "tests/storage/hdfs_probe.cc", "tests/worker/BUILD",
                    "tests/worker/telltale_main.cc") + tuple(
    path for path in paths("tests/e2e/*") if not path.endswith("_test.py"))
E2E = PROGRAMS + ("tests/e2e/",)
PAGES = tuple(sorted(test_changes.PAGES))
CLIENT = PROGRAMS + ("tests/python/", "tests/model/torch_golden.json")
SPARK = CLIENT + ("tests/spark/",)
STORAGE = BUILD + ("src/base/", "src/storage/", "tests/storage/", "tests/testing/")


@dataclasses.dataclass(frozen=True)
class Part:
    name: str
    what: str         # text for --help
    budget_s: int     # wall time on an idle machine with two cores; more gives a warning
    usual: bool       # whether it runs without --all
    inputs: tuple = ()  # prefixes of the files that its result depends on; () means all
    covers: tuple = ()  # parts whose tests it includes; --all omits them


PARTS = [
    Part("tidy", "style and layering rules", 30, True),
    Part("build", "the programs, as shipped", 360, True),
    Part("shipped", "Catch2 tests as shipped: rooms that compute or have gRPC", 240, True, CPP),
    Part("asan", "Catch2 tests under the address and undefined-behavior sanitizers: rooms without "
         "gRPC", 330, True, CPP),
    Part("hdfs", "the C++ storage room on HDFS: plain, with two NameNodes, secured", 60, True,
         STORAGE),
    Part("e2e", "end-to-end tests of the real programs", 330, True, E2E + PAGES),
    Part("python", "the Python client with its wheel", 120, True, CLIENT + PAGES),
    Part("spark-smoke", "one Spark application that submits", 60, True, SPARK),
    Part("thorough", "Catch2 tests under both sanitizers with all checks: all rooms", 1200, False,
         CPP, ("asan",)),
    Part("tsan", "Catch2 tests under the thread sanitizer: rooms with threads", 1200, False, CPP),
    Part("alone", "each C++ file that the build compiles after another, compiled by itself; what "
         "mutexes guard, by clang", 720, False, CPP),
    Part("e2e-long", "end-to-end tests marked long", 900, False, E2E + PAGES),
    Part("e2e-asan", "attacks on daemons with both sanitizers", 900, False, E2E),
    Part("spark", "Spark as a submitter: PySpark 3.5", 1200, False, SPARK + ("docs/spark.md",),
         ("spark-smoke",)),
    Part("spark4", "Spark as a submitter: PySpark 4", 1200, False, SPARK + ("docs/spark.md",)),
    Part("yarn", "clusters in YARN containers that lose nodes, grow and shrink", 1500, False,
         CLIENT + ("tests/yarn/",)),
    Part("roots", "the packages on other Debian systems, with and without systemd; a worker that "
         "the kernel ends; as root", 900, False, PROGRAMS + ("tests/roots/",)),
    Part("fuzz", "more hostile input under the address sanitizer; the fuzz targets, each for a "
         "minute with coverage feedback", 2100, False, CPP),
    Part("long", "Catch2 tests as shipped: all rooms, property tests and the simulation with many "
         "more seeds; builds all targets", 1800, False, CPP, ("shipped",)),
]


def named(name):
    """Returns the part with that name, or a part without a budget, for example for single files."""
    return next((part for part in PARTS if part.name == name), Part(name, "", 0, True))
