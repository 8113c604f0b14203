"""Prints the public interface of proto/ as text: one line for each method, field and enumerator,
with its number and type. tests/python/api_test.py compares the lines with those of the last release
in tests/python/api.txt.

  public espalier.v1.Espalier
  rpc espalier.v1.Espalier.Watch(espalier.v1.WatchRequest) returns (stream espalier.v1.JobUpdate)
  field espalier.v1.JobUpdate.history 2 repeated espalier.v1.HistoryRow
  enum espalier.v1.JobState.JOB_STATE_QUEUED 1

usage, in a Python with protobuf: api_snapshot.py

Adds new lines to tests/python/api.txt. If an existing line is missing or changed, it writes nothing
and reports the line, because `v1` never breaks. Breaking changes go into a separate package
(proto/espalier/v2, with a separate snapshot), and `v1` stays as long as it is served. You may
manually remove lines that were never released from api.txt.
"""
import os
import subprocess
import sys
import tempfile

from google.protobuf import descriptor_pb2

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Files of the public service.
FILES = ["proto/espalier/v1/api.proto", "proto/espalier/v1/types.proto"]
SNAPSHOT = os.path.join(ROOT, "tests", "python", "api.txt")
TYPES = descriptor_pb2.FieldDescriptorProto


def type_of(field):
    """Returns the type of a field, for example "optional int64" or "string"."""
    name = field.type_name[1:] or TYPES.Type.Name(field.type)[len("TYPE_"):].lower()
    if field.label == TYPES.LABEL_REPEATED:
        return "repeated " + name
    return "optional " + name if field.proto3_optional else name


def lines_of_message(message, scope):
    name = "%s.%s" % (scope, message.name)
    lines = ["message " + name]
    for field in message.field:
        lines.append("field %s.%s %d %s" % (name, field.name, field.number, type_of(field)))
    for inner in message.nested_type:
        lines += lines_of_message(inner, name)
    for enum in message.enum_type:
        lines += lines_of_enum(enum, name)
    return lines


def lines_of_enum(enum, scope):
    return ["enum %s.%s.%s %d" % (scope, enum.name, v.name, v.number) for v in enum.value]


def lines_of_service(service, scope):
    name = "%s.%s" % (scope, service.name)
    lines = ["public " + name]
    for m in service.method:
        lines.append("rpc %s.%s(%s%s) returns (%s%s)" % (
            name, m.name, "stream " * m.client_streaming, m.input_type[1:],
            "stream " * m.server_streaming, m.output_type[1:]))
    return lines


def file_set(root=ROOT):
    """Returns the FileDescriptorSet of FILES, with comments."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "set")
        subprocess.run(["protoc", "--proto_path=.", "--include_source_info",
                        "--descriptor_set_out=" + out] + FILES, cwd=root, check=True)
        with open(out, "rb") as f:
            return descriptor_pb2.FileDescriptorSet.FromString(f.read())


def snapshot(files):
    """Returns the lines, sorted."""
    lines = []
    for f in files.file:
        for service in f.service:
            lines += lines_of_service(service, f.package)
        for message in f.message_type:
            lines += lines_of_message(message, f.package)
        for enum in f.enum_type:
            lines += lines_of_enum(enum, f.package)
    return sorted(lines)


def undocumented(files):
    """Returns the names of methods, fields and enumerators without a comment above or next to them.
    """
    found = []
    for f in files.file:
        told = {tuple(location.path) for location in f.source_code_info.location
                if (location.leading_comments + location.trailing_comments).strip()}
        found += ["%s.%s" % (s.name, m.name) for i, s in enumerate(f.service)
                  for j, m in enumerate(s.method) if (6, i, 2, j) not in told]
        found += ["%s.%s" % (m.name, field.name) for i, m in enumerate(f.message_type)
                  for j, field in enumerate(m.field) if (4, i, 2, j) not in told]
        found += ["%s.%s" % (e.name, v.name) for i, e in enumerate(f.enum_type)
                  for j, v in enumerate(e.value) if (5, i, 2, j) not in told]
    return found


def breaks(before, now):
    """Returns what a client of `before` would miss: lines that are gone or have changed. If a
    number is used again, its old line is gone. New lines are harmless."""
    return sorted(set(before) - set(now))


def write(path, files):
    """Replaces the snapshot at `path` with that of `files`. Returns the lines that this would
    break, and in that case leaves the file unchanged."""
    now = snapshot(files)
    try:
        with open(path) as f:
            broken = breaks(f.read().splitlines(), now)
    except FileNotFoundError:
        broken = []
    if not broken:
        with open(path + ".new", "w") as f:
            f.write("\n".join(now) + "\n")
        os.replace(path + ".new", path)
    return broken


def main(path=SNAPSHOT):
    broken = write(path, file_set())
    if broken:
        sys.exit("api_snapshot: %s is unchanged. Clients of the last release would miss\n  %s\n"
                 "Keep numbers, names and types, and add new ones. Breaking changes go into a "
                 "separate package, proto/espalier/v2." % (path, "\n  ".join(broken)))


if __name__ == "__main__":
    main()
