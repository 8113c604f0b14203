"""build_flags: generates a header with Bazel's compiler flags, for --version."""

def _impl(ctx):
    flags = ctx.fragments.cpp.cxxopts + ctx.fragments.cpp.copts
    told = [f for f in flags if not f.startswith("-W")]
    ctx.actions.write(ctx.outputs.out, "\n".join([
        "// Flags with which every file of Espalier is compiled. Some rooms add flags.",
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
