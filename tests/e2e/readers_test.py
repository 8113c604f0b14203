"""Values that Espalier reads from a file, compared one by one with pyarrow and DuckDB.

A model that reproduces its features (identity.py) shows numbers, and --keep shows text.
"""
import datetime
import json
import subprocess
import sys
import unittest

import pytest

from espalier import EspalierTest
import identity

import private_python  # in tools/lib, which `espalier` puts on the path

pytestmark = pytest.mark.covers("data", "scoring")

PACKAGES = ["duckdb==1.5.6", "numpy==1.26.4", "pyarrow==23.0.1", "pytz==2026.6"]

# Reads a file with both peers and prints {reader: {column: values}}: numbers, seconds since 1970,
# texts, null.
READ = r"""
import datetime, decimal, json, sys
import duckdb, pyarrow as pa, pyarrow.csv as pc, pyarrow.json as pj, pyarrow.parquet as pq
case = json.loads(sys.argv[1])
path = case["path"]

def plain(value):
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, decimal.Decimal):
        return float(value)
    if isinstance(value, datetime.datetime):
        if value.tzinfo is None:
            value = value.replace(tzinfo=datetime.timezone.utc)
        since = value - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
        return ((since.days * 86400 + since.seconds) * 10**6 + since.microseconds) / 10**6
    if isinstance(value, datetime.date):
        return (value - datetime.date(1970, 1, 1)).days * 86400.0
    return value

def columns(names, rows):
    return {name: [plain(row[i]) for row in rows] for i, name in enumerate(names)}

def by_arrow():
    if path.endswith(".parquet"):
        table = pq.read_table(path)
        while any(pa.types.is_struct(f.type) for f in table.schema):
            table = table.flatten()
    elif path.endswith(".json"):
        table = pj.read_json(path).flatten()
    else:
        options = case.get("arrow", {})
        table = pc.read_csv(
            path, parse_options=pc.ParseOptions(**options.get("parse", {})),
            convert_options=pc.ConvertOptions(strings_can_be_null=True, quoted_strings_can_be_null=
                                              False, **options.get("convert", {})))
    for i, field in enumerate(table.schema):  # nanoseconds have no datetime
        if pa.types.is_timestamp(field.type) and field.type.unit == "ns":
            kind = pa.timestamp("us", field.type.tz)
            table = table.set_column(i, field.name, table.column(i).cast(kind, safe=False))
        if pa.types.is_uint64(field.type) or pa.types.is_int64(field.type):
            values = [None if v is None else float(v) for v in table.column(i).to_pylist()]
            table = table.set_column(i, field.name, pa.array(values, pa.float64()))
    return columns(table.column_names, list(zip(*[c.to_pylist() for c in table.columns])))

def by_duckdb():
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    if path.endswith(".parquet"):
        chosen = case.get("select", "*")
        found = connection.execute("SELECT %s FROM read_parquet('%s')" % (chosen, path))
    elif path.endswith(".json"):
        chosen = case.get("select", "*")
        found = connection.execute("SELECT %s FROM read_json('%s')" % (chosen, path))
    else:
        options = "".join(", %s" % o for o in case.get("duckdb", []))
        found = connection.execute("SELECT * FROM read_csv('%s', header=true%s)" % (path, options))
    names = [d[0] for d in found.description]
    rows = [[float(v) if isinstance(v, int) and not isinstance(v, bool) else v for v in row]
            for row in found.fetchall()]
    return columns(names, rows)

found = {}
for name, read in (("pyarrow", by_arrow), ("DuckDB", by_duckdb)):
    if name not in case.get("not", []):
        found[name] = read()
print(json.dumps(found))
"""

WRITE = r"""
import datetime, decimal, json, sys
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
case = json.loads(sys.argv[1])
rows, utc = 1500, datetime.timezone.utc
decimal.getcontext().prec = 50

def some(make, null=7):
    return [None if i % null == 3 else make(i) for i in range(rows)]

moment = lambda i: datetime.datetime(1969, 12, 1) + datetime.timedelta(
    days=37 * i % 20000, seconds=7919 * i % 86400, microseconds=1000 * (i % 1000))
kinds = {
    "i8": pa.array(some(lambda i: i % 256 - 128), pa.int8()),
    "i16": pa.array(some(lambda i: i * 31 % 65536 - 32768), pa.int16()),
    "i32": pa.array(some(lambda i: (-1) ** i * (i * 1048583 % 2**31)), pa.int32()),
    "i64": pa.array(some(lambda i: (-1) ** i * (2**53 + i) if i % 2 else i), pa.int64()),
    "u8": pa.array(some(lambda i: i % 256), pa.uint8()),
    "u32": pa.array(some(lambda i: 2**32 - 1 - i), pa.uint32()),
    "u64": pa.array(some(lambda i: 2**63 + i * 2**40), pa.uint64()),
    "f32": pa.array(some(lambda i: float(np.float32(i / 7))), pa.float32()),
    "f64": pa.array(some(lambda i: (i - 700) / 7 * 10.0 ** (i % 300 - 150)), pa.float64()),
    "flag": pa.array(some(lambda i: i % 3 == 0), pa.bool_()),
    "dec9": pa.array(some(lambda i: decimal.Decimal(i * 37 - 9999).scaleb(-2)),
                     pa.decimal128(9, 2)),
    "dec38": pa.array(some(lambda i: decimal.Decimal(3**(i % 70)).scaleb(-5)),
                      pa.decimal128(38, 5)),
    "day": pa.array(some(lambda i: moment(i).date()), pa.date32()),
    "ms": pa.array(some(moment), pa.timestamp("ms")),
    "us": pa.array(some(lambda i: moment(i).replace(tzinfo=utc)), pa.timestamp("us", "UTC")),
    "ns": pa.array(some(moment), pa.timestamp("ns")),
    "early": pa.array(some(lambda i: i * 2_390_000), pa.timestamp("ns")),
    "word": pa.array(some(lambda i: ["a", "b,\"c\"", "", "  d ", "\u00e9\u4e2d"][i % 5]),
                     pa.string()),
    "many": pa.array(some(lambda i: "w%d" % (i * i % 977)), pa.string()),
}
if case.get("nested"):
    kinds = {"s": pa.StructArray.from_arrays([kinds["i32"], kinds["f64"]], ["x", "y"]),
             "word": kinds["word"]}
pq.write_table(pa.table(kinds), case["path"], row_group_size=400, **case["options"])
"""


class ReadersTest(EspalierTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.python = private_python.ensure("readers", PACKAGES)

    def run_script(self, script, case):
        done = subprocess.run([self.python, "-c", script, json.dumps(case)], capture_output=True,
                              text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout or "null")

    def identity(self, name, numbers, flags=(), dates=(), csv_options=None):
        """Returns the bundle of a model whose answers are the columns, in this order."""
        job = identity.job(self.path(), name, numbers, flags, dates, csv_options)
        bundle = self.result("train", job)["bundle"]
        identity.give_back(bundle)
        self.columns = [*numbers, *flags, *dates]
        return bundle

    def read(self, bundle, path, texts=()):
        """Returns {column: values} by `espalier predict`."""
        keep = ["--keep", ",".join(texts)] if texts else []
        self.result("predict", bundle, path, "--output", self.path("out"), "--overwrite",
                    "--on-bad-row", "fail", *keep)
        return identity.predictions(self.path("out"), self.columns, texts)

    def compare(self, bundle, case, texts=()):
        """All readers agree on each value of each column."""
        ours, peers = self.read(bundle, case["path"], texts), self.run_script(READ, case)
        self.assertTrue(peers)
        for peer, theirs in peers.items():
            self.assertEqual(identity.difference(ours, theirs, self.columns, texts), "", peer)
        return ours

    def test_csv_as_people_write_it(self):
        head = ["a", "b", "s"]
        rows = [["1", "2.5", "x"], ["-0", "1e3", "a,b"], ["007", "1E-3", 'say "hi"'],
                ["9007199254740993", ".5", "two\nlines"], ["", "5.", ""],
                ["123456789012345678", "2.2250738585072014e-308", "\u00e9\u4e2d"],
                ["12", "1.7976931348623157e308", " blank "],
                ["3", "0.1", "NA"], ["4", "-0.30000000000000004", "#"]]
        rows += [[str(i), repr(i / 7), "w%d" % i] for i in range(3000)]

        def written(delimiter=",", end="\n", escape=None, quotes=True, decimal="."):
            lines = []
            for row in [head] + rows:
                cells = []
                for k, cell in enumerate(row):
                    if k == 1 and decimal != ".":
                        cell = cell.replace(".", decimal)
                    if not quotes:
                        cell = cell.replace("\n", " ").replace(delimiter, " ").replace('"', "'")
                    elif any(c in cell for c in (delimiter, '"', "\n")):
                        cell = '"%s"' % cell.replace('"', escape + '"' if escape else '""')
                    cells.append(cell)
                lines.append(delimiter.join(cells))
            return end.join(lines) + end

        null = ["nullstr=['']"]
        types = ["types={'a': 'DOUBLE', 'b': 'DOUBLE', 's': 'VARCHAR'}", "allow_quoted_nulls=false"]
        cases = {
            "plain": (written(), {"multiline": True}, {"newlines_in_values": True}, {}, []),
            "crlf": (written(end="\r\n").replace("two\nlines", "two lines"), {}, {}, {}, []),
            "semicolon": (written(";", decimal=","), {"delimiter": ";", "decimal": ",",
                                                      "multiline": True},
                          {"delimiter": ";", "newlines_in_values": True},
                          {"decimal_point": ","}, ["delim=';'", "decimal_separator=','"]),
            "tabs": (written("\t", quotes=False), {"delimiter": "\t", "quote": "none"},
                     {"delimiter": "\t", "quote_char": False}, {}, ["delim='\\t'", "quote=''"]),
            "escaped": (written(escape="\\"), {"escape": "\\", "multiline": True},
                        {"escape_char": "\\", "newlines_in_values": True}, {},
                        ["escape='\\'"]),
            "marked": ("\ufeff" + written(), {"multiline": True},
                       {"newlines_in_values": True}, {}, [])}
        for name, (text, ours, parse, convert, options) in cases.items():
            path = self.write(name + ".csv", text)
            case = {"path": path, "duckdb": null + types + options,
                    "arrow": {"parse": parse, "convert": dict(convert, null_values=[""])}}
            bundle = self.identity(name, ["a", "b"], csv_options=ours)
            found = self.compare(bundle, case, ["s"])
            self.assertEqual(len(found["a"]), len(rows))
            self.assertEqual(found["b"][5], sys.float_info.min)

    def test_json_lines(self):
        def record(i):
            texts = ["x", 'say "hi"', "\u00e9\u4e2d", "\U0001f600", "a\nb"]
            values = {"a": i * 37 - 900, "b": (i - 700) / 7 * 10.0 ** (i % 300 - 150),
                      "flag": i % 3 == 0, "s": texts[i % 5], "u": {"v": i / 3, "w": i},
                      "list": [i, i + 1]}
            if i % 7 == 3:
                values["a"] = None
            if i % 11 == 5:
                del values["b"]
            return json.dumps(dict(reversed(values.items())) if i % 2 else values,
                              ensure_ascii=i % 4 == 0)
        path = self.write("lines.json", "".join(record(i) + "\n" for i in range(2000)))
        select = "a, b, flag, s, u.v AS \"u.v\", u.w AS \"u.w\""
        bundle = self.identity("lines", ["a", "b", "u.v", "u.w"], ["flag"])
        found = self.compare(bundle, {"path": path, "select": select}, ["s"])
        self.assertEqual(len(found["a"]), 2000)
        self.assertEqual(found["a"][:5], [-900, -863, -826, identity.NULL, -752])

    def test_compressed_csv(self):
        rows = "".join("%d,%r\n" % (i, i / 3) for i in range(20000))
        plain = self.write("plain.csv", "a,b\n" + rows)
        bundle = self.identity("squeezed", ["a", "b"])
        expected = self.compare(bundle, {"path": plain})
        for command, end in ((["gzip", "-k"], "gz"), (["bzip2", "-k"], "bz2"),
                             (["zstd", "-q"], "zst"), (["xz", "-k"], "xz")):
            subprocess.run(command + [plain], check=True)
            path = plain + "." + end
            self.assertEqual(self.read(bundle, path), expected)
            if end in ("gz", "zst"):
                self.compare(bundle, {"path": path, "not": ["pyarrow"] if end == "zst" else []})
            subprocess.run(["rm", path], check=True)

    def test_dates_and_flags_in_csv(self):
        rows = ["2024-02-29,2024-02-29 23:59:58,true", "1969-12-31,1969-12-31 00:00:01,false",
                "1600-01-01,1999-01-01 12:00:00,true", "2199-12-31,2024-06-30 00:00:00,false"]
        day = datetime.date(1900, 1, 1)
        rows += ["%s,%s 0%d:30:00,%s" % (day + datetime.timedelta(days=97 * i),
                                         day + datetime.timedelta(days=53 * i), i % 10,
                                         "true" if i % 3 else "false") for i in range(1000)]
        path = self.write("dates.csv", "day,at,flag\n" + "\n".join(rows) + "\n")
        bundle = self.identity("dates", [], ["flag"], ["day", "at"])
        self.compare(bundle, {"path": path})
        zoned = self.write("zoned.csv", "at\n" + "".join(
            "2024-0%d-1%dT1%d:00:0%d%s\n" % (1 + i % 9, i % 10, i % 9, i % 10,
                                             ["Z", "+02:00", "-05:30", "+00:00"][i % 4])
            for i in range(400)))
        bundle = self.identity("zoned", [], [], ["at"])
        self.compare(bundle, {"path": zoned})

    def test_parquet_of_each_type_encoding_and_codec(self):
        numbers = ["i8", "i16", "i32", "i64", "u8", "u32", "u64", "f32", "f64", "dec9", "dec38"]
        dates = ["day", "ms", "us", "ns", "early"]
        bundle = self.identity("types", numbers, ["flag"], dates)
        delta = {"use_dictionary": False, "column_encoding": {
            "i32": "DELTA_BINARY_PACKED", "i64": "DELTA_BINARY_PACKED", "many": "DELTA_BYTE_ARRAY",
            "word": "DELTA_LENGTH_BYTE_ARRAY", "f64": "BYTE_STREAM_SPLIT",
            "f32": "BYTE_STREAM_SPLIT"}}
        for name, options in {
                "plain": {"compression": "none", "use_dictionary": False},
                "snappy": {"compression": "snappy"}, "gzip": {"compression": "gzip"},
                "zstd": {"compression": "zstd"}, "lz4": {"compression": "lz4"},
                "brotli": {"compression": "brotli"},
                "old": {"version": "1.0", "use_deprecated_int96_timestamps": True},
                "pages": {"data_page_version": "2.0", "data_page_size": 512},
                "delta": dict(delta, data_page_version="2.0")}.items():
            path = self.path(name + ".parquet")
            self.run_script(WRITE, {"path": path, "options": options})
            self.compare(bundle, {"path": path}, ["word", "many"])

    def test_fields_of_structs(self):
        path = self.path("nested.parquet")
        self.run_script(WRITE, {"path": path, "options": {}, "nested": True})
        bundle = self.identity("nested", ["s.x", "s.y"])
        self.compare(bundle, {"path": path, "select": 's.x AS "s.x", s.y AS "s.y", word'}, ["word"])


if __name__ == "__main__":
    unittest.main()
