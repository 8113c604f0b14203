"""Training on Parquet files, and the libraries that it needs."""
import os
import random
import re
import subprocess
import unittest

import pytest

from espalier import EspalierTest, program

import parquet_file  # in tools/lib, which `espalier` puts on the path

pytestmark = pytest.mark.covers("data")

# Libraries that gRPC loads. None of them may bind to a symbol of Arrow's or Parquet's libraries,
# which contain a separate libcrypto.
FOREIGN = re.compile(r"binding file \S*/(libssl|libcrypto|libgrpc|libgpr|libabsl|libprotobuf)"
                     r"\S* \[0\] to \S*/(libparquet|libarrow)\S* \[0\]: .*")


class ParquetTest(EspalierTest):
    def tables(self, rows):
        """Writes the same table as CSV and as Parquet, three row groups. Returns their paths."""
        chance = random.Random(4)
        columns = {"flag": [], "a": [], "b": [], "c": [], "label": []}
        for _ in range(rows):
            a, b, c = chance.gauss(0, 1), float(chance.randint(0, 9)), chance.randint(0, 1000)
            columns["flag"].append("true" if chance.random() < 0.2 else "false")
            columns["a"].append(round(a, 6))
            columns["b"].append(b)
            columns["c"].append(c)
            columns["label"].append("high" if a + 0.1 * b > 0.5 else "low")
        lines = [",".join(columns)] + [",".join(map(str, row)) for row in zip(*columns.values())]
        csv = self.write("t.csv", "\n".join(lines) + "\n")
        parquet_file.write(self.path("t.parquet"), list(columns.items()), rows // 3 + 1)
        return csv, self.path("t.parquet")

    def spec(self, path, **data):
        return {"data": dict({"train": path, "label": "label", "validation": {"column": "flag"},
                              "shard_bytes": 4096}, **data),
                "model": {"task": "classification", "hidden": [16, 8]},
                "train": {"batch": 100, "leaves": 16, "epochs": 3, "seed": 7}}

    def test_csv_and_parquet_of_one_table_give_the_same_weights_on_any_number_of_workers(self):
        csv, parquet = self.tables(900)
        expected = self.result("train", self.job("csv", self.spec(csv)), "--workers", 1)
        for workers in (1, 3):
            job = self.job("parquet-%d" % workers, self.spec(parquet))
            result = self.result("train", job, "--workers", workers)
            self.assertEqual(result["weights_sha256"], expected["weights_sha256"])
            self.assertEqual(result["metrics"], expected["metrics"])

    def test_a_directory_of_part_files_is_trained_from_as_it_lies(self):
        _, parquet = self.tables(600)
        os.mkdir(self.path("table.parquet"))
        for part in ("part-00000.snappy.parquet", "part-00001.snappy.parquet"):
            with open(parquet, "rb") as source, open(self.path("table.parquet", part), "wb") as f:
                f.write(source.read())
        self.write("table.parquet/_SUCCESS", "")
        job = self.job("parts", self.spec(self.path("table.parquet"), validation={"fraction": 0.2},
                                          features={"columns": ["a", "b", "c"]}))
        result = self.result("train", job, "--workers", 2)
        self.assertEqual(result["status"], "SUCCEEDED")

    def test_a_damaged_file_ends_the_job_by_name(self):
        _, parquet = self.tables(300)
        with open(parquet, "r+b") as f:
            f.truncate(os.path.getsize(parquet) // 2)
        _, err = self.espalier("train", self.job("cut", self.spec(parquet)), "--workers", 1,
                               code=None)
        self.assertRegex(err, "t.parquet' .*not a whole Parquet file: it ends in")
        self.assertIn("copy the file again", err)

    def test_no_symbol_of_grpc_or_openssl_binds_to_arrow_or_parquet(self):
        for name in ("espalier", "espalier-coordinator", "espalier-worker"):
            log = self.path("bindings-" + name)
            environment = dict(self.environment, LD_DEBUG="bindings", LD_DEBUG_OUTPUT=log,
                               LD_BIND_NOW="1")
            done = subprocess.run([program(name), "--help"], env=environment, capture_output=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            text = ""
            for file in os.listdir(self.directory):
                if file.startswith("bindings-" + name + "."):
                    with open(self.path(file)) as f:
                        text += f.read()
            self.assertIn("libparquet.so", text)
            self.assertIn("libssl.so", text)
            self.assertEqual([m.group(0) for m in FOREIGN.finditer(text)], [])


if __name__ == "__main__":
    unittest.main()
