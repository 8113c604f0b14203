"""Compares the values that Espalier and Spark read from files that Spark has written."""
import datetime
import decimal
import os
import subprocess
import sys
import tempfile
import unittest

from pyspark.sql import functions as F
from pyspark.sql import types as T

import sparks

import daemons

sys.path.append(os.path.join(daemons.ROOT, "tests", "e2e"))
import identity  # noqa: E402

ESPALIER = os.path.join(daemons.ROOT, "build", "bin", "espalier")
NUMBERS = ["i8", "i16", "i32", "i64", "f32", "f64", "dec"]
TEXTS = ["word"]
ROWS = 2000


def some(row, value):
    return None if row % 7 == 3 else value


def rows():
    for i in range(ROWS):
        at = datetime.datetime(1950, 1, 1, tzinfo=datetime.timezone.utc) + datetime.timedelta(
            days=13 * i, seconds=7919 * i % 86400, milliseconds=i)
        yield tuple(some(i + k, value) for k, value in enumerate((
            i % 256 - 128, i * 31 % 65536 - 32768, (-1) ** i * i * 1048583 % 2**31, 2**53 - i,
            i / 8.0, (i - 700) / 7 * 10.0 ** (i % 300 - 150), decimal.Decimal(i * 37 - 9999) / 100,
            i % 3 == 0, at.date(), at,
            ["a", 'b,"c"', "d\\e", "say \"so\"", "\u00e9\u4e2d"][i % 5])))


class ReadersTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="espalier-spark-readers-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.spark = sparks.session(cls, **{"spark.sql.session.timeZone": "UTC"})
        fields = [("i8", T.ByteType()), ("i16", T.ShortType()), ("i32", T.IntegerType()),
                  ("i64", T.LongType()), ("f32", T.FloatType()), ("f64", T.DoubleType()),
                  ("dec", T.DecimalType(12, 2)), ("flag", T.BooleanType()), ("day", T.DateType()),
                  ("at", T.TimestampType()), ("word", T.StringType())]
        schema = T.StructType([T.StructField(name, kind) for name, kind in fields])
        cls.frame = cls.spark.createDataFrame(list(rows()), schema).coalesce(1).cache()

    def espalier(self, *arguments):
        done = subprocess.run([ESPALIER, *arguments], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def seconds(self, name):
        return F.col(name).cast("timestamp").cast("double").alias(name)

    def compare(self, name, path, frame, numbers, csv_options=None):
        """Compares Espalier's values of `path` with those of `frame`, which Spark read from it."""
        columns = [*numbers, "flag", "day", "at"]
        job = identity.job(self.folder, name, numbers, ["flag"], ["day", "at"], csv_options)
        bundle = os.path.join(self.folder, name + ".bundle")
        self.espalier("train", job)
        identity.give_back(bundle)
        out = os.path.join(self.folder, name + "-out")
        self.espalier("predict", bundle, path, "--output", out, "--on-bad-row", "fail", "--keep",
                      ",".join(TEXTS))
        chosen = frame.select(*[F.col(n).cast("double") for n in numbers],
                              F.col("flag").cast("double"), self.seconds("day"), self.seconds("at"),
                              *TEXTS).collect()
        theirs = {n: [row[n] for row in chosen] for n in columns + TEXTS}
        ours = identity.predictions(out, columns, TEXTS)
        self.assertEqual(identity.difference(ours, theirs, columns, TEXTS), "", name)

    def test_parquet(self):
        for name, options in {
                "int96": {}, "micros": {"type": "TIMESTAMP_MICROS"},
                "millis": {"type": "TIMESTAMP_MILLIS"}, "zstd": {"compression": "zstd"},
                "legacy": {"legacy": "true"}}.items():
            self.spark.conf.set("spark.sql.parquet.outputTimestampType",
                                options.get("type", "INT96"))
            self.spark.conf.set("spark.sql.parquet.writeLegacyFormat",
                                options.get("legacy", "false"))
            path = os.path.join(self.folder, name + ".parquet")
            self.frame.write.parquet(path, compression=options.get("compression", "snappy"))
            self.compare(name, path, self.spark.read.parquet(path), NUMBERS)

    def test_csv_with_the_escape_of_spark(self):
        path = os.path.join(self.folder, "spark.csv")
        self.frame.write.csv(path, header=True, timestampFormat="yyyy-MM-dd HH:mm:ss.SSS")
        read = self.spark.read.csv(path, header=True, schema=self.frame.schema,
                                   timestampFormat="yyyy-MM-dd HH:mm:ss.SSS")
        numbers = [n for n in NUMBERS if n != "f32"]  # decimal text of floats is read as doubles
        self.compare("escape", path, read, numbers, {"escape": "\\"})


if __name__ == "__main__":
    unittest.main()
