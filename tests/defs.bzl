"""espalier_test: a Catch2 test program whose cases tools/test counts one by one."""

def espalier_test(name, srcs, deps = [], **kwargs):
    native.cc_test(
        name = name,
        srcs = srcs,
        deps = deps + ["//tests/testing:main", "@sys//:catch2"],
        **kwargs
    )
