"""espalier_library and espalier_test: cc_library and a Catch2 test program that compile their files
in chunks.

Reading headers and instantiating templates takes half of the time of a compilation, and the next
file of the room needs them again. Therefore, `per_chunk` neighbouring .cc files are joined to one
generated file, with a #line directive before each. Messages, assertions and debuggers name the
real files. One change recompiles a whole chunk, so a chunk compiles in less than ten seconds.

Rules for the files of a room:
- A name in an unnamed namespace is unique in its room. A name that two files use is declared in a
  header. This rule does not apply to test files (*_test.cc). Each one in a chunk gets its own
  namespace, so test files do not define names that a header declares.
- A file includes what it uses. The chunk can hide a missing include, so `tools/test alone` compiles
  each file by itself, except for the first of a chunk.
"""

# Flags for rooms that handle jobs, messages and files, not rows and weights. -O1 compiles 20 %
# faster than -O2.
CONTROL = ["-O1"]

# Flags for rooms that compute: -O3 vectorises the plain loops over rows and weights. Sanitizer builds
# omit it, because there compiling takes longer than running.
COMPUTING = select({
    "//tools:sanitized": [],
    "//tools:thorough": [],
    "//conditions:default": ["-O3"],
})

# Flags for the test code itself. Sanitizer builds do not optimize it, because optimizing takes
# twice as long. Except for `tools/test thorough`, they also omit the undefined-behavior checks that
# the address sanitizer mostly covers.
_TEST_COPTS = select({
    "//tools:sanitized": ["-O0", "-fno-sanitize=null,alignment,vptr,object-size"],
    "//tools:thorough": ["-O0"],
    "//conditions:default": ["-O1"],
})

# Namespace of each test file: "namespace espalier {" becomes "namespace espalier::in_FILE {".
_OWN_NAMESPACE = "sed -E 's/^namespace (espalier[a-z_:]*) [{]$$/namespace \\1::in_'$$(basename $$f .cc)' {/' $$f"

def _chunks(name, srcs, per_chunk, **kwargs):
    """Generates the chunks. Returns the labels to compile. Files other than .cc are unchanged."""
    files = [f for f in srcs if f.endswith(".cc")]
    rest = [f for f in srcs if not f.endswith(".cc")]
    chunks = []
    for first in range(0, len(files), per_chunk):
        joined = files[first:first + per_chunk]
        if len(joined) == 1:
            chunks.append(joined[0])
            continue
        chunk = "%s_chunk_%d" % (name, first // per_chunk)
        native.genrule(
            name = chunk,
            srcs = joined,
            outs = [chunk + ".cc"],
            cmd = "for f in $(SRCS); do echo \"#line 1 \\\"$$f\\\"\"; case $$f in *_test.cc) " +
                  _OWN_NAMESPACE + ";; *) cat $$f;; esac; done >$@",
            **kwargs
        )
        chunks.append(chunk + ".cc")
    return chunks + rest

def espalier_library(name, srcs, per_chunk = 4, testonly = False, **kwargs):
    native.cc_library(
        name = name,
        srcs = _chunks(name, srcs, per_chunk, testonly = testonly),
        testonly = testonly,
        **kwargs
    )

def espalier_test(name, srcs, deps = [], per_chunk = 4, **kwargs):
    """Declares a Catch2 test program. tools/test counts its cases one by one."""
    native.cc_test(
        name = name,
        srcs = _chunks(name, srcs, per_chunk, testonly = True),
        copts = _TEST_COPTS,
        deps = deps + ["//tests/testing:main", "@sys//:catch2"],
        **kwargs
    )
