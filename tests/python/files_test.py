"""Files as other programs write them: the client reads the same values as pyarrow and pandas."""
import bz2
import codecs
import csv
import gzip
import io
import json
import lzma
import random
import struct
import unittest

import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import daemons

pytestmark = pytest.mark.covers("data")

WORDS = ["Oslo", "New York, NY", 'the "old" town', "C:\\", "\\\\host\\share\\", "Köln", "東京",
         "tab\there", "#5", "a \\ b"]


def table(words=WORDS, rows=300):
    chance = random.Random(5)
    columns = {"a": [], "b": [], "town": [], "y": []}
    for _ in range(rows):
        a, b, town = chance.uniform(-9, 9), chance.randint(0, 1000), chance.choice(words)
        columns["a"].append(round(a, 3))
        columns["b"].append(b)
        columns["town"].append(town)
        columns["y"].append("yes" if a + len(town) > 8 else "no")
    return pd.DataFrame(columns)


def text_of(frame, end="\n", **options):
    out = io.StringIO()
    writer = csv.writer(out, lineterminator=end, **options)
    writer.writerow(frame.columns)
    writer.writerows(frame.itertuples(index=False))
    return out.getvalue()


def hadoop(codec, text, block=5000, chunk=1000):
    out = b""
    for at in range(0, len(text), block):
        part = text[at:at + block]
        out += struct.pack(">I", len(part))
        for begin in range(0, len(part), chunk):
            packed = pa.Codec(codec).compress(part[begin:begin + chunk], asbytes=True)
            out += struct.pack(">I", len(packed)) + packed
    return out


def by_arrow(codec, text):
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, codec) as out:
        out.write(text)
    return sink.getvalue().to_pybytes()


class TableTest(daemons.EspalierTest):
    def put(self, name, content):
        with open(self.path(name), "wb") as f:
            f.write(content if isinstance(content, bytes) else content.encode())
        return self.path(name)

    def spec(self, path, **data):
        group = {"columns": "town", "type": "categorical"}
        return {"data": dict({"train": path, "label": "y", "shard_bytes": 1024,
                              "features": {"columns": ["a", "b"], "groups": [group]}}, **data),
                "model": {"hidden": [4]}, "train": {"epochs": 2, "seed": 7}}

    def answer(self, name, path, **data):
        """Returns the weights and the texts that the model knows."""
        told = self.trained_here(name, self.spec(path, **data), 2)
        with open(self.path(name + ".bundle", "model.json"), encoding="utf-8") as f:
            fitted = json.load(f)["preprocessing"]
        texts = [f["vocabulary"] for f in fitted["features"] if f["vocabulary"]]
        return told["weights_sha256"], texts, fitted["classes"]

    def check(self, name, content, frame, **data):
        """The file gives the same as a plain file of the frame's values, also when it is scored."""
        path = self.put(name, content)
        plain = self.put("plain-of-" + name.split(".")[0] + ".csv", text_of(frame))
        want = self.answer(name + "-plain", plain)
        self.assertEqual(self.answer(name, path, **data), want, name)
        bundle = self.path(name + ".bundle")
        self.assertEqual(self.result("evaluate", bundle, path)["metrics"],
                         self.result("evaluate", self.path(name + "-plain.bundle"),
                                     plain)["metrics"])


class TextFilesTest(TableTest):
    def test_backslashes_are_read_as_pyarrow_and_pandas_read_them(self):
        frame = table()
        text = text_of(frame, quoting=csv.QUOTE_NONNUMERIC, doublequote=False, escapechar="\\")
        options = pyarrow.csv.ParseOptions(escape_char="\\")
        read = pyarrow.csv.read_csv(io.BytesIO(text.encode()), parse_options=options).to_pandas()
        self.assertEqual(read["town"].tolist(), frame["town"].tolist())
        self.check("spark.csv", text, read, csv={"escape": "\\"})
        text = text_of(frame, quoting=csv.QUOTE_NONE, escapechar="\\", quotechar=None)
        options = pyarrow.csv.ParseOptions(escape_char="\\", quote_char=False)
        read = pyarrow.csv.read_csv(io.BytesIO(text.encode()), parse_options=options).to_pandas()
        self.assertEqual(read["town"].tolist(), frame["town"].tolist())
        self.check("hive.csv", text, read, csv={"escape": "\\", "quote": "none"})

    def test_backslashes_without_the_key_are_refused_by_its_name(self):
        for quoting in ({"quoting": csv.QUOTE_ALL},
                        {"quoting": csv.QUOTE_NONE, "quotechar": None}):
            path = self.put("x.csv", text_of(table(), doublequote=False, escapechar="\\",
                                             **quoting))
            _, err = self.espalier("check", self.job("x", self.spec(path)), code=None)
            self.assertIn("csv.escape", err)

    def test_blanks_comments_and_row_names_are_read_as_pandas_reads_them(self):
        frame = table(["Oslo", "New York", "Rome", ""])
        lines = ["# made by a program", "%10s %8s   %-12s %s" % tuple(frame.columns)]
        lines += ["%10.3f\t%8d   %-12s %s" % (a, b, '"%s"' % town, y)
                  for a, b, town, y in frame.itertuples(index=False)]
        text = "\n".join(lines) + "\n"
        read = pd.read_csv(io.StringIO(text), sep=r"\s+", comment="#", keep_default_na=False)
        self.assertTrue(read.equals(frame))
        keys = {"delimiter": "whitespace", "comment": "#"}
        self.check("aligned.txt", text, read, csv=keys)
        quoted = text_of(frame, quoting=csv.QUOTE_NONNUMERIC).splitlines()
        text = "\n".join(quoted[:1] + ['"%d",%s' % (i + 1, line)
                                       for i, line in enumerate(quoted[1:])]) + "\n"
        read = pd.read_csv(io.StringIO(text), keep_default_na=False)
        self.check("r.csv", text, read)
        out, _ = self.espalier("check", self.job("noted", self.spec(self.path("r.csv"))))
        self.assertIn("left out: the first field", out)

    def test_a_delimiter_at_each_lines_end_is_left_out(self):
        frame = table(["Oslo", "Rome"])
        lines = text_of(frame).splitlines()
        self.check("open.csv", ",\n".join(lines) + ",\n", frame)
        self.check("rows.csv", lines[0] + "\n" + ",\n".join(lines[1:]) + ",\n", frame)
        out, _ = self.espalier("check", self.job("noted", self.spec(self.path("rows.csv"))))
        self.assertIn("left out: the empty field", out)

    def test_utf16_and_old_line_ends_are_read(self):
        frame = table()
        for name, mark in (("utf-16-le", codecs.BOM_UTF16_LE), ("utf-16-be", codecs.BOM_UTF16_BE)):
            content = mark + text_of(frame, "\r\n", delimiter="\t").encode(name)
            read = pd.read_csv(io.BytesIO(content), sep="\t", encoding="utf-16")
            self.assertTrue(read.equals(frame))
            self.check(name + ".csv", content, read,
                       csv={"delimiter": "\t", "escape": "none"})
        content = text_of(frame, "\r")
        read = pd.read_csv(io.StringIO(content), lineterminator="\r")
        self.check("mac.csv", content, read, csv={"escape": "none"})

    def test_each_codec_gives_the_values_of_the_plain_text(self):
        frame = table(["Oslo", "Rome"])
        text = text_of(frame).encode()
        packed = {"t.csv.bz2": bz2.compress(text[:999]) + bz2.compress(text[999:]),
                  "t.csv.xz": lzma.compress(text[:999]) + lzma.compress(text[999:]),
                  "t.csv.gz": gzip.compress(text[:999]) + gzip.compress(text[999:]),
                  "t.csv.zst": by_arrow("zstd", text[:999]) + by_arrow("zstd", text[999:]),
                  "t.csv.lz4": by_arrow("lz4", text[:999]) + by_arrow("lz4", text[999:]),
                  "t.csv.snappy": hadoop("snappy", text), "h.csv.lz4": hadoop("lz4_raw", text)}
        for name, content in packed.items():
            self.check(name, content, frame)
            path = self.put("cut." + name, content[:-5])
            _, err = self.espalier("check", self.job("cut", self.spec(path)), code=2)
            self.assertIn("ends in the middle", err, name)

    def test_svmlight_text_that_counts_from_0_needs_its_key(self):
        lines = ["%d 0:%d 2:%.2f" % (i % 2, i % 7, i * 0.37 % 1) for i in range(200)]
        zero = self.put("zero.libsvm", "\n".join(lines) + "\n")
        shifted = [line.replace(" 2:", " 3:").replace(" 0:", " 1:") for line in lines]
        one = self.put("one.libsvm", "\n".join(shifted) + "\n")
        keys = {"label": 0, "features": "1..3"}
        want = self.trained_here("one", self.spec(one, **keys))
        found = self.trained_here("zero", self.spec(zero, libsvm={"zero_based": True}, **keys), 2)
        self.assertEqual(found["weights_sha256"], want["weights_sha256"])
        _, err = self.espalier("check", self.job("bare", self.spec(zero, **keys)), code=2)
        self.assertIn("libsvm.zero_based", err)


class ParquetFilesTest(TableTest):
    def write_parquet(self, name, columns, **options):
        pq.write_table(pa.table(columns), self.path(name), row_group_size=70, data_page_size=512,
                       **options)
        return self.path(name)

    def test_each_encoding_and_codec_of_pyarrow_is_read(self):
        frame = table(["Oslo", "Rome", "東京"])
        want = self.answer("plain", self.put("plain.csv", text_of(frame)))
        columns = {"a": frame["a"], "b": pa.array(frame["b"], pa.int64()), "town": frame["town"],
                   "y": frame["y"]}
        number = {"a": "BYTE_STREAM_SPLIT", "b": "DELTA_BINARY_PACKED", "town": "DELTA_BYTE_ARRAY",
                  "y": "DELTA_LENGTH_BYTE_ARRAY"}
        split = dict(number, b="BYTE_STREAM_SPLIT", town="PLAIN", y="PLAIN")
        kinds = [dict(), dict(use_dictionary=False)]
        kinds += [dict(use_dictionary=False, column_encoding=e) for e in (number, split)]
        codecs_of = ["none", "snappy", "gzip", "zstd", "lz4", "brotli"]
        cases = [(version, kind, codec) for version in ("1.0", "2.0")
                 for i, kind in enumerate(kinds)
                 for codec in (codecs_of if i == 0 else codecs_of[:2])]
        for i, (version, kind, codec) in enumerate(cases):
            path = self.write_parquet("t%d.parquet" % i, columns, compression=codec,
                                      data_page_version=version, **kind)
            self.assertEqual(self.answer("t%d" % i, path), want, (version, kind, codec))

    def test_columns_that_no_key_uses_may_hold_anything(self):
        frame = table(["Oslo", "Rome"])
        want = self.answer("plain", self.put("plain.csv", text_of(frame)))
        rows = len(frame)
        inner = pa.array([{"a": a, "t": [t]} for a, t in zip(frame["a"], frame["town"])])
        columns = {"m": pa.array([[("k", i)] for i in range(rows)], pa.map_(pa.string(),
                                                                            pa.int64())),
                   "s": inner, "l": pa.array([["x"]] * rows), "n": pa.nulls(rows),
                   "ll": pa.array([[[1.0]]] * rows), "b": frame["b"], "town": frame["town"],
                   "y": frame["y"]}
        path = self.write_parquet("wide.parquet", dict(columns, a=frame["a"]))
        self.assertEqual(self.answer("wide", path), want)
        path = self.write_parquet("nested.parquet", columns)
        group = {"columns": "town", "type": "categorical"}
        told = self.trained_here("nested", self.spec(path, features={
            "columns": ["s.a", "b"], "groups": [group]}))
        self.assertEqual(told["weights_sha256"], want[0])
        out, _ = self.espalier("check", self.job("auto", self.spec(path, features={
            "exclude": "n"})))
        self.assertIn("m (not one value per row)", out)

    def test_parts_without_rows_or_values_are_read_with_the_others(self):
        frame = table(["Oslo", "Rome"], 200)
        frame.loc[:99, "a"] = None
        schema = {"b": pa.int64(), "town": pa.string(), "y": pa.string()}
        parts = []
        for i, (begin, end) in enumerate(((0, 100), (100, 200))):
            part = frame.iloc[begin:end]
            columns = {name: pa.array(part[name].tolist(), kind) for name, kind in schema.items()}
            columns["a"] = pa.nulls(100) if i == 0 else pa.array(part["a"].tolist())
            parts.append(self.write_parquet("%d.parquet" % i, columns))
        self.put("2.parquet", b"")
        keys = {"features": {"nulls": {"constant": 0}, "columns": ["a", "b"], "groups": [
            {"columns": "town", "type": "categorical"}]}}
        plain = self.put("plain.csv", text_of(frame.astype(object).where(frame.notna(), "")))
        want = self.trained_here("plain", self.spec(plain, **keys))
        found = self.trained_here("parts", self.spec(parts + [self.path("2.parquet")], **keys))
        self.assertEqual(found["weights_sha256"], want["weights_sha256"])

    def test_encrypted_files_are_refused_by_name(self):
        encryption = pytest.importorskip("pyarrow.parquet.encryption")

        class Keys(encryption.KmsClient):
            def __init__(self, _config):
                super().__init__()

            def wrap_key(self, key_bytes, _name):
                return key_bytes.hex()

            def unwrap_key(self, wrapped, _name):
                return bytes.fromhex(wrapped)

        for plain_footer in (False, True):
            config = encryption.EncryptionConfiguration(
                footer_key="f", column_keys={"c": ["a"]}, plaintext_footer=plain_footer)
            factory = encryption.CryptoFactory(Keys)
            properties = factory.file_encryption_properties(encryption.KmsConnectionConfig(),
                                                            config)
            frame = table(["Oslo", "Rome"])
            with pq.ParquetWriter(self.path("e.parquet"), pa.Table.from_pandas(frame).schema,
                                  encryption_properties=properties) as writer:
                writer.write_table(pa.Table.from_pandas(frame))
            spec = self.spec(self.path("e.parquet"))
            _, err = self.espalier("check", self.job("e", spec), code=2)
            self.assertIn("is encrypted (expected a plain Parquet file)", err)


if __name__ == "__main__":
    unittest.main()
