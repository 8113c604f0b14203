"""Gets a pinned pyarrow wheel and unpacks the requested C++ libraries and the headers from it.

usage: arrow_wheel.py VERSION SHA256 CACHE_DIR LIB...

Writes include/, lib/ and the licences below the current directory. It first looks for
CACHE_DIR/SHA256.whl, so that only the first run needs the network. You can also put the wheel
there by hand. Called by Bazel (tools/arrow_wheel.bzl).
"""
import glob
import hashlib
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile

SHT_DYNSYM = 11
STB_LOCAL = 0
STV_HIDDEN = 2
# Symbols that stay visible: those of Arrow, Parquet, std and the linker.
KEEP = re.compile(rb"arrow|parquet|^_Z[A-Z]*N?K?S[tabsiod]|^__(bss_start|gmon_start__)|"
                  rb"^_(init|fini|end|edata)$")


def sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as f:
        for block in iter(lambda: f.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def fetch(version, sha, cache):
    kept = os.path.join(cache, sha + ".whl")
    if os.path.exists(kept) and sha256(kept) == sha:
        return kept
    os.makedirs(cache, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        wanted = os.path.join(folder, "wanted.txt")
        with open(wanted, "w") as f:
            f.write("pyarrow==%s --hash=sha256:%s\n" % (version, sha))
        done = subprocess.run(
            [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check",
             "--no-deps", "--require-hashes", "--only-binary=:all:", "--implementation", "cp",
             "--python-version", "311", "--abi", "cp311", "--platform", "manylinux_2_28_x86_64",
             "--dest", folder, "-r", wanted])
        wheels = glob.glob(os.path.join(folder, "*.whl"))
        if done.returncode or len(wheels) != 1:
            sys.exit("pip could not fetch pyarrow %s. Without a network, put that wheel at %s" %
                     (version, kept))
        if sha256(wheels[0]) != sha:
            sys.exit("wrong sha256 of " + wheels[0])
        os.replace(wheels[0], kept)
    return kept


def localize(path):
    """Hides every exported symbol that does not belong to Arrow, Parquet or std.

    libparquet exports its own static libcrypto (about 5,000 C functions without a version). If they
    stayed visible, they would replace those of the system's libssl and libcrypto, which gRPC uses.
    """
    with open(path, "rb") as f:
        data = bytearray(f.read())
    if data[:6] != b"\x7fELF\x02\x01":
        sys.exit("%s is not a 64-bit little-endian ELF file" % path)
    table, = struct.unpack_from("<Q", data, 0x28)
    size, count = struct.unpack_from("<HH", data, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, table + i * size) for i in range(count)]
    symbols = next(s for s in sections if s[1] == SHT_DYNSYM)
    names, hidden = sections[symbols[6]][4], 0
    for at in range(symbols[4], symbols[4] + symbols[5], symbols[9]):
        name, info, other, section = struct.unpack_from("<IBBH", data, at)
        if section == 0 or info >> 4 == STB_LOCAL:  # undefined, or local
            continue
        begin = names + name
        if not KEEP.search(data[begin:data.index(0, begin)]):
            data[at + 5] = (other & ~3) | STV_HIDDEN
            hidden += 1
    with open(path, "wb") as f:
        f.write(data)
    return hidden


def place_of(name, libs, so):
    """Returns the destination of a file of the wheel, or None if it is not needed."""
    if name.startswith("pyarrow/include/") and not name.endswith("/"):
        return None if "/arrow/python/" in name else name[len("pyarrow/"):]
    if name in ["pyarrow/lib%s.so.%s" % (lib, so) for lib in libs]:
        return "lib/" + os.path.basename(name)
    if re.match(r"[^/]*\.dist-info/(licenses/)?(LICENSE|NOTICE)\.txt$", name):
        return os.path.basename(name)
    return None


def main():
    version, sha, cache, libs = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
    so = "%s%02d" % (version.split(".")[0], int(version.split(".")[1]))  # 23.0.1 -> 2300
    for folder in ("include", "lib"):
        shutil.rmtree(folder, ignore_errors=True)
    os.makedirs("lib")
    with zipfile.ZipFile(fetch(version, sha, cache)) as wheel:
        for name in wheel.namelist():
            out = place_of(name, libs, so)
            if out is None:
                continue
            os.makedirs(os.path.dirname(out) or ".", exist_ok=True)
            with wheel.open(name) as source, open(out, "wb") as target:
                shutil.copyfileobj(source, target)
            if out.startswith("lib/"):
                print("%s: %d foreign symbols hidden" % (out, localize(out)))
    for lib in libs:
        if not os.path.exists("lib/lib%s.so.%s" % (lib, so)):
            sys.exit("the wheel has no lib%s.so.%s" % (lib, so))


main()
