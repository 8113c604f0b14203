"""Tests how tools/lib/thread_safety.py chooses files and arguments. Runs no compiler."""
import os
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools", "lib"))

import thread_safety


class ThreadSafetyTest(unittest.TestCase):
    def test_files_that_include_the_mutex_or_its_header_are_checked(self):
        def including(*paths):
            return "".join('#include "%s"\n' % path for path in paths)
        self.assertEqual(thread_safety.users({
            "src/base/mutex.h": "class Mutex;\n",
            "src/a/a.h": including("src/base/mutex.h"),
            "src/a/a.cc": including("src/a/a.h"),
            "src/a/b.cc": including("src/base/text.h", "src/base/mutex.h"),
            "src/a/c.h": including("src/a/a.h"),
            "src/a/c.cc": including("src/a/c.h") + '// #include "src/base/mutex.h"\n',
        }), ["src/a/a.cc", "src/a/b.cc"])

    def test_clang_gets_what_the_preprocessor_needs_and_no_flag_of_gcc(self):
        self.assertEqual(thread_safety.flags(
            ["gcc", "-Wall", "-DNDEBUG", "-D__DATE__=\"redacted\"", "--param=ggc-min-heapsize=1",
             "-iquote", ".", "-isystem", "x/include", "-march=x86-64-v3", "-std=c++20", "-MD",
             "-MF", "a.d", "-c", "a.cc", "-o", "a.o"]),
            ["-DNDEBUG", "-iquote", ".", "-isystem", "x/include", "-march=x86-64-v3",
             "-std=c++20"])


if __name__ == "__main__":
    unittest.main()
