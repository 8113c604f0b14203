"""cc_proto: C++ from .proto files by the distribution's protoc and gRPC plug-in."""

def _gen_impl(ctx):
    hdrs, srcs, root = [], [], ctx.bin_dir.path
    plugin = ctx.executable._plugin
    for p in ctx.files.srcs:
        stem = p.basename[:-len(".proto")]
        h = [ctx.actions.declare_file(stem + k + ".h") for k in [".pb", ".grpc.pb"]]
        c = [ctx.actions.declare_file(stem + k + ".cc") for k in [".pb", ".grpc.pb"]]
        ctx.actions.run(
            executable = ctx.executable._protoc,
            tools = [plugin],
            inputs = ctx.files.srcs,
            outputs = h + c,
            arguments = ["--proto_path=.", "--cpp_out=" + root, "--plugin=protoc-gen-grpc=" + plugin.path, "--grpc_out=" + root, p.path],
            mnemonic = "ProtocCpp",
        )
        hdrs, srcs = hdrs + h, srcs + c
    return [DefaultInfo(files = depset(hdrs + srcs)), OutputGroupInfo(hdrs = depset(hdrs), srcs = depset(srcs))]

def _tool(name):
    return attr.label(default = "@sys//:bin/" + name, executable = True, allow_single_file = True, cfg = "exec")

_gen = rule(_gen_impl, attrs = {
    "srcs": attr.label_list(allow_files = [".proto"]),
    "_protoc": _tool("protoc"),
    "_plugin": _tool("grpc_cpp_plugin"),
})

def cc_proto(name, srcs, **kwargs):
    _gen(name = name + "_gen", srcs = srcs)
    native.filegroup(name = name + "_h", srcs = [name + "_gen"], output_group = "hdrs")
    native.filegroup(name = name + "_c", srcs = [name + "_gen"], output_group = "srcs")
    native.cc_library(
        name = name,
        srcs = [name + "_c"],
        hdrs = [name + "_h"],
        copts = ["-w"],
        **kwargs
    )
