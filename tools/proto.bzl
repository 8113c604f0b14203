"""cc_proto: generates C++ from .proto files with Debian's protoc and gRPC plug-in."""

def _gen_impl(ctx):
    hdrs, srcs, stubs, root = [], [], [], ctx.bin_dir.path
    plugin = ctx.executable._plugin
    for p in ctx.files.srcs:
        stem = p.basename[:-len(".proto")]
        h, c = [ctx.actions.declare_file(stem + ".pb.h")], [ctx.actions.declare_file(stem + ".pb.cc")]
        arguments = ["--proto_path=.", "--cpp_out=" + root]
        stub = []
        if p in ctx.files.services:
            h.append(ctx.actions.declare_file(stem + ".grpc.pb.h"))
            stub.append(ctx.actions.declare_file(stem + ".grpc.pb.cc"))
            arguments += ["--plugin=protoc-gen-grpc=" + plugin.path, "--grpc_out=" + root]
        ctx.actions.run(
            executable = ctx.executable._protoc,
            tools = [plugin],
            inputs = ctx.files.srcs,
            outputs = h + c + stub,
            arguments = arguments + [p.path],
            mnemonic = "ProtocCpp",
        )
        hdrs, srcs, stubs = hdrs + h, srcs + c, stubs + stub

    # All stubs are in one file. Each of them would read gRPC's headers, which takes longer than the
    # rest.
    if stubs:
        joined = ctx.actions.declare_file(ctx.label.name + "_stubs.cc")
        ctx.actions.run_shell(
            inputs = stubs,
            outputs = [joined],
            command = "cat %s >%s" % (" ".join([s.path for s in stubs]), joined.path),
        )
        srcs.append(joined)
    return [DefaultInfo(files = depset(hdrs + srcs)), OutputGroupInfo(hdrs = depset(hdrs), srcs = depset(srcs))]

def _tool(name):
    return attr.label(default = "@sys//:bin/" + name, executable = True, allow_single_file = True, cfg = "exec")

_gen = rule(_gen_impl, attrs = {
    "srcs": attr.label_list(allow_files = [".proto"]),
    "services": attr.label_list(allow_files = [".proto"]),
    "_protoc": _tool("protoc"),
    "_plugin": _tool("grpc_cpp_plugin"),
})

def cc_proto(name, srcs, services = [], **kwargs):
    """Declares a library of `srcs`. `services` lists the files of `srcs` that declare services."""
    _gen(name = name + "_gen", srcs = srcs, services = services)
    native.filegroup(name = name + "_h", srcs = [name + "_gen"], output_group = "hdrs")
    native.filegroup(name = name + "_c", srcs = [name + "_gen"], output_group = "srcs")
    native.cc_library(
        name = name,
        srcs = [name + "_c"],
        hdrs = [name + "_h"],
        # -O1 compiles in a third less time than -O2. Large messages go through src/rpc/frame.h.
        # The thread sanitizer does not see the writes of gRPC to these buffers. It would report a
        # false race for each byte.
        copts = ["-w", "-O1", "-fno-sanitize=thread"],
        **kwargs
    )
