"""Makes cc_library targets for Debian's libraries with pkg-config."""

def _pkg_config(ctx, *args):
    r = ctx.execute(["pkg-config"] + list(args))
    if r.return_code:
        fail("pkg-config %s: %s (run tools/setup)" % (" ".join(args), r.stderr))
    return [f for f in r.stdout.strip().split(" ") if f]

def _visibility(ctx, name):
    rooms = ctx.attr.visible.get(name)
    if rooms == None:
        return ["//visibility:public"]
    return ["@//src/%s:__subpackages__" % room for room in rooms] + ["@//tests:__subpackages__", "@//tools:__subpackages__"]

def _impl(ctx):
    # tools/setup rewrites the stamp when a package changes. A macro with its hash applies to
    # everything that depends on these libraries, and Bazel builds that again. Bazel ignores headers
    # in the compiler's default directories, so declaring them as inputs would have no effect.
    versions = "ESPALIER_SYSTEM_PACKAGES=%s" % str(hash(ctx.read(ctx.path(ctx.attr.stamp)))).replace("-", "1")
    out = []
    for name, pc in ctx.attr.pkgs.items():
        cflags, raw, inc = _pkg_config(ctx, "--cflags", pc), _pkg_config(ctx, "--libs", pc), []
        libs = [f for i, f in enumerate(raw) if not (f.startswith("-l") and f in raw[i + 1:])]  # keep the last -lx
        for d in [f[2:].rstrip("/") for f in cflags if f.startswith("-I")]:
            if d.endswith("linux-gnu"):  # a default directory of the compiler
                continue
            link = "include/%s_%d" % (name, len(inc))
            ctx.symlink(d, link)
            inc.append(link)
        if libs:  # Bazel links with --no-as-needed; undo that for these
            libs = ["-Wl,--push-state,--as-needed"] + libs + ["-Wl,--pop-state"]
        out.append("cc_library(name = %r, hdrs = glob(%r), includes = %r, defines = %r, linkopts = %r, visibility = %r)" % (
            name,
            [i + "/**" for i in inc],
            inc,
            [f[2:] for f in cflags if f.startswith("-D")] + [versions],
            libs,
            _visibility(ctx, name),
        ))
    for name, opts in ctx.attr.plain.items():
        out.append("cc_library(name = %r, defines = %r, linkopts = %r, visibility = %r)" % (
            name,
            [versions],
            opts,
            _visibility(ctx, name),
        ))
    for t in ctx.attr.tools:
        ctx.symlink(ctx.which(t), "bin/" + t)
    out.append("exports_files(%r)" % ["bin/" + t for t in ctx.attr.tools])
    ctx.file("BUILD.bazel", "\n".join(out) + "\n")

system_libs = repository_rule(
    _impl,
    local = True,
    configure = True,
    environ = ["PKG_CONFIG_PATH", "PATH"],
    attrs = {
        "pkgs": attr.string_dict(),
        "plain": attr.string_list_dict(),
        "stamp": attr.label(allow_single_file = True),
        "tools": attr.string_list(),
        "visible": attr.string_list_dict(),
    },
)
