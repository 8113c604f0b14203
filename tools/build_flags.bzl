"""build_flags: a header with the compiler's flags as Bazel gives them, for --version."""

def _impl(ctx):
    flags = ctx.fragments.cpp.cxxopts + ctx.fragments.cpp.copts
    told = [f for f in flags if not f.startswith("-W")]
    ctx.actions.write(ctx.outputs.out, "\n".join([
        "// The flags that every file of ours is compiled with, but for those of single rooms.",
        "#pragma once",
        "",
        "namespace espalier {",
        "",
        "inline constexpr const char* kBuildFlags = \"%s\";" % " ".join(told),
        "",
        "}  // namespace espalier",
        "",
    ]))

build_flags = rule(
    _impl,
    attrs = {"out": attr.output(mandatory = True)},
    fragments = ["cpp"],
)
