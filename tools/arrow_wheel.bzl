"""@arrow: Arrow's and Parquet's C++ headers and libraries from the pinned pyarrow wheel."""

def _impl(ctx):
    home = ctx.os.environ.get("HOME", "")
    cache = ctx.os.environ.get("ARROW_WHEEL_CACHE", (home or str(ctx.path("."))) + "/.cache/arrow-wheel")
    command = ["python3", ctx.path(ctx.attr._script), ctx.attr.version, ctx.attr.sha256, cache] + ctx.attr.libs
    r = ctx.execute(command, timeout = 1800, environment = {"PIP_NO_INPUT": "1"}, quiet = True)
    if r.return_code:
        fail("arrow_wheel: %s%s" % (r.stdout, r.stderr))
    v = ctx.attr.version.split(".")
    so = v[0] + ("0" if len(v[1]) == 1 else "") + v[1]
    public = ["@//src/%s:__subpackages__" % room for room in ctx.attr.visible]
    public += ["@//tests:__subpackages__", "@//tools:__subpackages__"]
    out = [
        "package(default_visibility = %r)" % public,
        # `includes` becomes -isystem, so that the compiler reports no warnings in these headers.
        "cc_library(name = 'headers', hdrs = glob(['include/**']), includes = ['include'])",
        "filegroup(name = 'shared_libs', srcs = glob(['lib/*']), visibility = ['//visibility:public'])",
        "filegroup(name = 'licenses', srcs = glob(['*.txt']), visibility = ['//visibility:public'])",
    ]
    for l in ctx.attr.libs:
        out.append("cc_import(name = '%s_so', shared_library = 'lib/lib%s.so.%s')" % (l, l, so))
        deps = [":headers", ":%s_so" % l] + ([":arrow"] if l != "arrow" else [])
        out.append("cc_library(name = '%s', deps = %r, linkopts = %r)" % (l, deps, ctx.attr.linkopts))
    ctx.file("BUILD.bazel", "\n".join(out) + "\n")

arrow_wheel = repository_rule(
    _impl,
    environ = ["ARROW_WHEEL_CACHE", "HOME", "PATH"],
    attrs = {
        "libs": attr.string_list(default = ["arrow", "parquet"]),
        # A program finds the libraries relative to its path: bin/espalier-worker,
        # lib/libarrow.so.*.
        "linkopts": attr.string_list(default = ["-Wl,-rpath,$$ORIGIN/../lib"]),
        "sha256": attr.string(mandatory = True),
        "version": attr.string(mandatory = True),
        "visible": attr.string_list(),
        "_script": attr.label(default = "//tools:arrow_wheel.py", allow_single_file = True),
    },
)
