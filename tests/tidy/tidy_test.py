"""Checks that tools/tidy finds nothing in this tree and finds each breach that a test plants."""
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HEADER = "// A header.\n#pragma once\n"
LONG = "void Long() {\n%s}\n" % ("  Call();\n" * 69)
METHOD = HEADER + "class A {\n public:\n  int Long() const {\n%s  }\n};\n" % ("    Call();\n" * 69)


def run_tidy(root):
    done = subprocess.run([sys.executable, os.path.join(ROOT, "tools", "tidy"), "--all", "--root",
                           root], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def run_on(files):
    """Runs tidy on a tree made of these files: {path: text}."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            full = os.path.join(root, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w") as f:
                f.write(text)
        return run_tidy(root)


class TidyTest(unittest.TestCase):
    def assert_found(self, rule, path, text, line=None):
        code, out = run_on({path: text})
        self.assertEqual(code, 1, "not found: %s in %r" % (rule, text[:80]))
        where = "%s:%s" % (path, "" if line is None else "%d:" % line)
        lines = out.split("\n")
        self.assertTrue(any(l.startswith(where) and " %s: " % rule in l for l in lines), out)

    def assert_clean(self, path, text):
        code, out = run_on({path: text})
        self.assertEqual(code, 0, out)

    def test_this_tree_keeps_the_house_rules(self):
        code, out = run_tidy(ROOT)
        self.assertEqual(code, 0, "\n" + out)

    def test_pages_and_messages_have_no_words_of_a_translation(self):
        for words in ("Who trains it.", "It lacks a key.", "There is no key.", "Tell the worker.",
                      "A file of its own.", "Nothing\nelse.", "It STANDS here.", "such a key",
                      "the storage is away", "so many rows", "a key need not be"):
            self.assert_found("prose", "docs/a.md", "# A page\n\n%s\n" % words)
            self.assert_found("prose", "src/cli/a.cc", 'const char* a = "the %s";\n' %
                              words.replace("\n", " "), 1)
        self.assert_clean("docs/a.md", "It is no longer used, such as `tell who`.\n\n"
                          "```sh\necho nobody else\n```\n\nSee [a page](who.md).\n")
        self.assert_clean("src/cli/a.cc", '// Who tells it.\nint a = F("who", \'"\');\n')
        self.assert_clean("src/cli/a.cc", 'const char* a = "    a = b if c else d";\n')
        self.assert_clean("CODE_OF_CONDUCT.md", "Nobody else.\n")

    def test_words_that_sound_translated_in_python(self):
        for path in ("deploy/a/b.py", "tools/lib/a.py"):
            self.assert_found("prose", path, '"""A file.\n\nNobody reads it."""\n', 3)
            self.assert_found("prose", path, 'f(help="the table of "\n  "somebody")\n', 1)
            self.assert_found("prose", path, 'def f():\n    "The user who calls."\n', 2)
            self.assert_clean(path, '"""Sets `who` and ``a.away``.\n\n    fate: a name\n"""\n'
                              'a = {"else": 1 if "a" else 2}  # somebody\n')
        self.assert_found("prose", "tools/a", '#!/usr/bin/env python3\n"""Who calls it."""\n', 2)
        self.assert_found("prose", "deploy/a.py", 'raise ValueError("%s lacks a name" % a)\n', 1)
        self.assert_clean("tools/lib/a.py", 'a = f("if true; then exit; else exit; fi")\n')
        self.assert_clean("tests/a.py", 'a = "nobody is here"\n')

    def test_pages_have_limits(self):
        long = "a" + " a" * 60 + "\n"  # 121 characters
        self.assert_found("page", "docs/a.md", "# A page\n\n```sh\n```\n" + long, 5)
        self.assert_clean("docs/a.md", long[1:] + "```\n%s```\n| %s[a]: %s" % (long, long, long))
        for path, lines in (("README.md", 120), ("docs/decisions/0001-a.md", 25)):
            self.assert_clean(path, "a\n" * lines)
            self.assert_found("page", path, "a\n" * (lines + 1), lines + 1)
        self.assert_clean("docs/README.md", "a\n" * 121)

    def test_includes_go_down_never_up_or_sideways(self):
        self.assert_found("floors", "src/plan/a.cc", '\n#include "src/model/b.h"\n', 2)
        self.assert_found("floors", "src/plan/a.cc", '#include "src/spec/b.h"\n')
        self.assert_found("floors", "src/worker/a.cc", '#include "src/cli/b.h"\n')
        self.assert_found("floors", "src/plan/a.cc", '#include "src/nowhere/b.h"\n')
        self.assert_found("floors", "src/nowhere/a.cc", "int a;\n")
        self.assert_found("floors", "src/plan/a.cc", '#include "b.h"\n')
        self.assert_clean("src/plan/a.cc", '#include "src/base/b.h"\n#include "src/plan/c.h"\n')
        self.assert_found("floors", "src/data/text/a.cc", '#include "src/data/input/b.h"\n')
        self.assert_found("floors", "src/data/text/a.cc", '#include "src/data/b.h"\n')
        self.assert_clean("src/data/text/a.cc", '#include "src/data/table/b.h"\n')
        self.assert_found("floors", "src/cli/a.cc", '#include "src/cluster/messages.h"\n', 1)
        self.assert_clean("src/worker/a.cc", '#include "src/cluster/messages.h"\n')

    def test_units_of_a_room_form_no_cycle(self):
        units = {"src/spec/a.h": HEADER, "src/spec/c.h": HEADER,
                 "src/spec/a.cc": '#include "src/spec/a.h"\n#include "src/spec/b.h"\n',
                 "src/spec/b.h": HEADER + '#include "src/spec/c.h"\n',
                 "src/spec/d.cc": '#include "src/spec/a.h"\n'}
        self.assertEqual(run_on(units), (0, "tidy: no breaches\n"))
        back = {**units, "src/spec/c.cc": '#include "src/spec/c.h"\n#include "src/spec/a.h"\n'}
        code, out = run_on(back)
        self.assertEqual(code, 1)
        self.assertIn("src/spec/a:1: cycles: " + " includes ".join(
            "src/spec/" + unit for unit in "abca") + "\n", out)

    def test_an_outside_library_belongs_to_its_rooms(self):
        for header in ("grpcpp/grpcpp.h", "Eigen/Core", "google/protobuf/message.h", "cblas.h",
                       "boost/asio.hpp", "nlohmann/json.hpp", "CLI/CLI.hpp", "yaml-cpp/yaml.h",
                       "spdlog/spdlog.h", "openssl/evp.h", "fast_float/fast_float.h", "zmq/zmq.h"):
            self.assert_found("floors", "src/plan/a.cc", "#include <%s>\n" % header)
        self.assert_found("floors", "src/training/a.cc", '#include "proto/job.pb.h"\n')
        self.assert_clean("src/rpc/a.cc", '#include <grpcpp/grpcpp.h>\n#include "proto/a.pb.h"\n')
        self.assert_found("floors", "src/rpc/a.cc", '#include "proto/onnx/onnx.pb.h"\n')
        self.assert_found("floors", "src/scoring/a.cc", '#include "proto/onnx/onnx.pb.h"\n')
        self.assert_clean("src/scoring/onnx_graph.cc", '#include "proto/onnx/onnx.pb.h"\n')
        self.assert_clean("src/model/a.cc", "#include <Eigen/Core>\n#include <cblas.h>\n")
        self.assert_clean("src/storage/a.cc", "#include <sys/stat.h>\n#include <vector>\n")

    def test_lines_and_functions_have_limits(self):
        self.assert_clean("src/base/a.cc", "//" + "x" * 98 + "\n")
        self.assert_found("columns", "src/base/a.cc", "\n//" + "x" * 99 + "\n", 2)
        self.assert_found("columns", "tools/a", "#!/bin/bash\n#" + "x" * 100 + "\n", 2)
        self.assert_found("function", "src/base/a.cc", "namespace n {\n" + LONG + "}\n", 2)
        self.assert_found("function", "src/base/a.h", METHOD, 5)
        case = LONG.replace("void Long()", 'TEST_CASE("a {")')
        self.assert_clean("tests/a_test.cc", case)
        self.assert_found("function", "tests/a_test.cc", case.replace("Call();", "Call();\n\n"))
        self.assert_found("function", "tests/a.py", "def f():\n" + "    g()\n" * 70, 1)
        self.assert_clean("src/base/a.cc", LONG.replace("  Call();\n", "", 1))
        self.assert_clean("src/base/a.cc", "namespace n {\n" + "int a;\n" * 100 + "}\n")
        self.assert_clean("src/base/a.cc", "int a;\n" * 2000)

    def test_a_long_class_is_no_function_but_a_lambda_counts_with_its_function(self):
        body = "class A {\n" + "  int a = F({1});\n" * 100 + "};\n"
        self.assert_clean("src/base/a.cc", body)
        lambda_inside = "void F() {\n  G([] {\n%s  });\n}\n" % ("    Call();\n" * 68)
        self.assert_found("function", "src/base/a.cc", lambda_inside, 1)

    def test_clock_chance_environment_sleep_exit_and_throw_stay_in_the_shells(self):
        for call in ("std::chrono::steady_clock::now();", "srand(1);", "int a = rand();",
                     "std::random_device d;", 'getenv("HOME");', "usleep(1);", "time(nullptr);",
                     "std::this_thread::sleep_for(a);", "exit(1);", "std::abort();", "throw 1;"):
            self.assert_found("banned", "src/training/a.cc", "\n" + call + "\n", 2)
            self.assert_clean("src/cli/a.cc", call + "\n")
            self.assert_clean("src/training/a.cc", "// " + call + '\nchar s[] = "x";\n')
        self.assert_clean("src/rpc/a.cc", "auto d = std::chrono::system_clock::now();\n")
        self.assert_clean("src/base/a.cc", "OnExit(1);\nint b = step_time(3);\n")

    def test_a_mutex_is_one_that_states_what_it_guards(self):
        for words in ("std::mutex m;", "std::shared_mutex m;", "std::condition_variable c;",
                      "std::lock_guard lock(m);", "std::unique_lock lock(m);",
                      "std::recursive_mutex m;", "std::condition_variable_any c;"):
            self.assert_found("mutex", "src/worker/a.cc", "\n" + words + "\n", 2)
        self.assert_clean("src/base/mutex.h", HEADER + "std::mutex m;\n")
        self.assert_clean("src/worker/a.cc", "// std::mutex\nMutex m;\nstd::once_flag once;\n")
        self.assert_clean("tests/worker/a.cc", "std::mutex m;\n")

    def test_libm_is_banned_in_the_model(self):
        for call in ("std::exp(x)", "expf(x)", "std::tanh(x)", "pow(x, 2)", "log1p(x)",
                     "std::cos (x)", "erff(x)", "Eigen::numext::exp(x)"):
            self.assert_found("libm", "src/model/a.cc", "float y = %s;\n" % call)
        self.assert_clean("src/model/a.cc", "y = a.exp();\nz = p->log();\nExp(q); std::sqrt(r);\n")
        self.assert_clean("src/data/a.cc", "double y = std::log(x);\n")

    def test_leftovers_machine_paths_and_headers_without_pragma_once(self):
        self.assert_found("leftover", "src/base/a.cc", "// TO" + "DO: later\n")
        self.assert_found("leftover", "tools/a.bzl", "# FIX" + "ME\n")
        self.assert_found("machine", "config/a.yaml", "path: /home" + "/someone/data\n")
        self.assert_found("machine", "src/base/a.cc", 'f("/ro' + 'ot/x");\n')
        self.assert_found("once", "src/base/a.h", "// A header.\nint a;\n")
        self.assert_found("once", "src/base/a.h", "#pragma once\nint a;\n")
        self.assert_clean("src/base/a.h", HEADER)

    def test_a_room_has_its_namespace(self):
        self.assert_found("namespace", "src/data/a.cc", "namespace espalier {\n}\n")
        self.assert_found("namespace", "src/base/a.cc", "namespace espalier::base {\n}\n")
        self.assert_clean("src/data/a.cc", "namespace espalier::data {\nint a;\n}\n")
        self.assert_clean("src/base/a.cc", "namespace espalier {\nint a;\n}\n")

    def test_big_files_and_strangers_at_the_top(self):
        self.assert_found("size", "tests/golden.txt", "x\n" * 250_001)
        self.assert_found("top", "notes/a.txt", "x\n")

    def test_a_test_that_a_page_names_exists(self):
        tests = {"tests/rpc/a_test.cc": 'TEST_CASE("one is one") {}\n',
                 "tests/e2e/b_test.py": "def test_two():\n    pass\n"}
        good = '`rpc/a_test.cc` "one is one"; `e2e/b_test.py`\n"test_two"\n'
        self.assertEqual(run_on({**tests, "docs/a.md": good})[0], 0)
        for wrong in (good.replace("one is one", "one is"), good.replace("a_test", "c_test"),
                      good.replace('is one"', 'is one", "two is two"'),
                      good.replace("test_two", "test_tw")):
            code, out = run_on({**tests, "docs/a.md": wrong})
            self.assertEqual(code, 1, wrong)
            self.assertRegex(out, r"docs/a.md:[12]: docs: tests/")

    def test_each_row_of_the_threat_model_names_a_test(self):
        tests = {"tests/rpc/a_test.cc": 'TEST_CASE("one is one") {}\n'}
        good = ('# A page\n\n| cannot | test |\n|---|---|\n'
                '| call | `rpc/a_test.cc` "one is one" |\n'
                '| x |\n\n| a | b |\n|---|---|\n| c | d |\n')
        code, out = run_on({**tests, "docs/a.md": good})
        self.assertEqual(code, 1)
        self.assertIn("docs/a.md:6: docs: the row names no test", out)
        self.assertEqual(run_on({**tests, "docs/a.md": good.replace("| x |\n", "")})[0], 0)

    def test_unformatted_code(self):
        style = {".clang-format": "BasedOnStyle: Google\nColumnLimit: 100\n"}
        code, out = run_on({**style, "src/base/a.cc": "int  a;\n"})
        self.assertEqual(code, 1)
        self.assertIn("src/base/a.cc:1: format:", out)
        self.assertEqual(run_on({**style, "src/base/a.cc": "int a;\n"})[0], 0)


if __name__ == "__main__":
    unittest.main()
