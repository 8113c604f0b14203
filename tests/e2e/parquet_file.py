"""Writes plain Parquet files (uncompressed, one page a column, no dictionaries) without a library.

An independent writer: the reader under test and the writer of the C++ tests are Arrow's both.
"""
import struct

INT64, DOUBLE, BYTE_ARRAY = 2, 5, 6


def varint(n):
    out = b""
    while n >= 0x80:
        out, n = out + bytes([n & 0x7F | 0x80]), n >> 7
    return out + bytes([n])


def zigzag(n):
    return varint((n << 1) ^ (n >> 63))


def thrift(*fields):
    """A struct in Thrift's compact protocol. A field is (id, type, value): i32 and i64 are numbers,
    binary is bytes, list is (element type, [encoded elements]), struct is encoded bytes."""
    types = {"i32": 5, "i64": 6, "binary": 8, "list": 9, "struct": 12}
    out, last = b"", 0
    for number, kind, value in fields:
        out += bytes([(number - last) << 4 | types[kind]])
        last = number
        if kind in ("i32", "i64"):
            out += zigzag(value)
        elif kind == "binary":
            out += varint(len(value)) + value
        elif kind == "list":
            element, items = value
            size = bytes([len(items) << 4 | types[element]]) if len(items) < 15 else (
                bytes([0xF0 | types[element]]) + varint(len(items)))
            out += size + b"".join(items)
        else:
            out += value
    return out + b"\0"


def plain(values):
    """(Parquet's type, the values' bytes): ints, floats or texts."""
    if isinstance(values[0], int):
        return INT64, struct.pack("<%dq" % len(values), *values)
    if isinstance(values[0], float):
        return DOUBLE, struct.pack("<%dd" % len(values), *values)
    texts = [v.encode() for v in values]
    return BYTE_ARRAY, b"".join(struct.pack("<I", len(t)) + t for t in texts)


def write(path, columns, group_rows):
    """`columns` is a list of (name, values), all of one length and without nulls."""
    rows = len(columns[0][1])
    data, groups = b"PAR1", []
    for begin in range(0, rows, group_rows):
        chunks, total = [], 0
        count = min(group_rows, rows - begin)
        for name, values in columns:
            kind, page = plain(values[begin:begin + count])
            header = thrift((1, "i32", 0), (2, "i32", len(page)), (3, "i32", len(page)),
                            (5, "struct", thrift((1, "i32", count), (2, "i32", 0), (3, "i32", 3),
                                                 (4, "i32", 3))))
            size = len(header) + len(page)
            meta = thrift((1, "i32", kind), (2, "list", ("i32", [zigzag(0)])),
                          (3, "list", ("binary", [varint(len(name)) + name.encode()])),
                          (4, "i32", 0), (5, "i64", count), (6, "i64", size), (7, "i64", size),
                          (9, "i64", len(data)))
            chunks.append(thrift((2, "i64", len(data)), (3, "struct", meta)))
            data += header + page
            total += size
        groups.append(thrift((1, "list", ("struct", chunks)), (2, "i64", total),
                             (3, "i64", count)))
    schema = [thrift((4, "binary", b"schema"), (5, "i32", len(columns)))]
    for name, values in columns:
        kind = plain(values[:1])[0]
        text = [(6, "i32", 0)] if kind == BYTE_ARRAY else []
        schema.append(thrift((1, "i32", kind), (3, "i32", 0), (4, "binary", name.encode()), *text))
    footer = thrift((1, "i32", 1), (2, "list", ("struct", schema)), (3, "i64", rows),
                    (4, "list", ("struct", groups)))
    with open(path, "wb") as f:
        f.write(data + footer + struct.pack("<I", len(footer)) + b"PAR1")
