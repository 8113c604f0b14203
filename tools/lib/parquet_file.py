"""Writes plain Parquet files (one page per column, no dictionaries, no nulls) without a library.

This writer is independent: the reader under test and the writer of the C++ tests are both Arrow's.
"""
import gzip
import struct

INT32, INT64, DOUBLE, BYTE_ARRAY = 1, 2, 5, 6
UTF8, UINT_8 = 0, 11  # logical types
UNCOMPRESSED, GZIP = 0, 2


def varint(n):
    out = b""
    while n >= 0x80:
        out, n = out + bytes([n & 0x7F | 0x80]), n >> 7
    return out + bytes([n])


def zigzag(n):
    return varint((n << 1) ^ (n >> 63))


def thrift(*fields):
    """Encodes a struct in Thrift's compact protocol. A field is (id, type, value): i32 and i64 are
    numbers, binary is bytes, list is (element type, [encoded elements]), struct is encoded bytes.
    """
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


def type_of(values):
    """Returns (physical type, logical type or None) of a column."""
    if isinstance(values, (bytes, bytearray, memoryview)):
        return INT32, UINT_8
    if isinstance(values[0], int):
        return INT64, None
    if isinstance(values[0], float):
        return DOUBLE, None
    return BYTE_ARRAY, UTF8


def plain(values):
    """Encodes the values of a page."""
    kind, _ = type_of(values)
    if kind == INT32:
        page = bytearray(4 * len(values))
        page[::4] = values
        return bytes(page)
    if kind == INT64:
        return struct.pack("<%dq" % len(values), *values)
    if kind == DOUBLE:
        return struct.pack("<%dd" % len(values), *values)
    texts = [v.encode() for v in values]
    return b"".join(struct.pack("<I", len(t)) + t for t in texts)


def chunk_of(name, values, at, codec):
    """Encodes one column of a row group at offset `at`. Returns its footer entry, its stored bytes,
    and their size without compression."""
    page = plain(values)
    stored = gzip.compress(page, 1, mtime=0) if codec == GZIP else page
    header = thrift((1, "i32", 0), (2, "i32", len(page)), (3, "i32", len(stored)),
                    (5, "struct", thrift((1, "i32", len(values)), (2, "i32", 0), (3, "i32", 3),
                                         (4, "i32", 3))))
    meta = thrift((1, "i32", type_of(values)[0]), (2, "list", ("i32", [zigzag(0)])),
                  (3, "list", ("binary", [varint(len(name)) + name.encode()])),
                  (4, "i32", codec), (5, "i64", len(values)),
                  (6, "i64", len(header) + len(page)), (7, "i64", len(header) + len(stored)),
                  (9, "i64", at))
    entry = thrift((2, "i64", at), (3, "struct", meta))
    return entry, header + stored, len(header) + len(page)


def footer_of(columns, rows, groups):
    schema = [thrift((4, "binary", b"schema"), (5, "i32", len(columns)))]
    for name, values in columns:
        kind, meaning = type_of(values)
        converted = [] if meaning is None else [(6, "i32", meaning)]
        schema.append(thrift((1, "i32", kind), (3, "i32", 0), (4, "binary", name.encode()),
                             *converted))
    return thrift((1, "i32", 1), (2, "list", ("struct", schema)), (3, "i64", rows),
                  (4, "list", ("struct", groups)))


def write(path, columns, group_rows, codec=UNCOMPRESSED):
    """Writes a file. `columns` is a list of (name, values), all of one length, at least 1. Values
    are ints, floats, texts, or bytes for numbers from 0 to 255."""
    rows, groups, at = len(columns[0][1]), [], 4
    with open(path, "wb") as f:
        f.write(b"PAR1")
        for begin in range(0, rows, group_rows):
            end, size, chunks = min(begin + group_rows, rows), 0, []
            for name, values in columns:
                entry, data, plain_size = chunk_of(name, values[begin:end], at, codec)
                chunks.append(entry)
                f.write(data)
                at += len(data)
                size += plain_size
            groups.append(thrift((1, "list", ("struct", chunks)), (2, "i64", size),
                                 (3, "i64", end - begin)))
        footer = footer_of(columns, rows, groups)
        f.write(footer + struct.pack("<I", len(footer)) + b"PAR1")
