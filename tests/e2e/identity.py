"""Models that reproduce their features, to show which numbers were read from a file.

The model is linear, has unit weights and computes in float64, so `espalier predict` writes each
number as it was read. Numbers below the smallest normal double become 0.
"""
import csv
import glob
import hashlib
import json
import os
import struct

NULL = -54321.0  # in place of a null number


def job(folder, name, numbers, flags=(), dates=(), csv_options=None):
    """Writes a job with as many targets t0, t1, ... as columns, and a table for it."""
    columns = [*numbers, *flags, *dates]
    targets = ["t%d" % i for i in range(len(columns))]
    value = {**{c: "%d" for c in numbers}, **{c: "true" for c in flags},
             **{c: "2024-01-%02d" for c in dates}}
    delimiter = (csv_options or {}).get("delimiter", ",")
    lines = [columns + targets]
    for row in range(1, 4):
        cells = [value[c] % row if "%" in value[c] else value[c] for c in columns]
        lines.append(cells + [str(row * (i + 1)) for i in range(len(targets))])
    table = os.path.join(folder, name + "-made.csv")
    with open(table, "w") as f:
        f.write("".join(delimiter.join(cells) + "\n" for cells in lines))
    groups = [{"columns": list(flags), "type": "boolean"}] if flags else []
    if dates:
        groups.append({"columns": list(dates), "type": "date", "parts": ["epoch"]})
    features = {"scale": "none", "nulls": {"constant": NULL}, "groups": groups}
    if numbers:
        features["columns"] = list(numbers)
    data = {"train": table, "label": targets, "features": features}
    if csv_options:
        data["csv"] = csv_options
    path = os.path.join(folder, name + ".yaml")
    with open(path, "w") as f:
        json.dump({"name": name, "preset": "none", "data": data, "train": {"epochs": 1},
                   "model": {"task": "regression", "hidden": [], "precision": "float64"},
                   "output": os.path.join(folder, name + ".bundle")}, f)
    return path


def give_back(bundle):
    """Replaces the weights of the bundle of this job."""
    with open(os.path.join(bundle, "model.json")) as f:
        document = json.load(f)
    count = len(document["preprocessing"]["targets"])
    header = json.dumps({
        "layers.0.weight": {"dtype": "F64", "shape": [count, count],
                            "data_offsets": [0, 8 * count * count]},
        "layers.0.bias": {"dtype": "F64", "shape": [count],
                          "data_offsets": [8 * count * count, 8 * count * (count + 1)]}})
    header += " " * (-len(header) % 64)
    unit = [float(r == c) for r in range(count) for c in range(count)] + [0.0] * count
    raw = struct.pack("<Q", len(header)) + header.encode()
    raw += struct.pack("<%dd" % len(unit), *unit)
    with open(os.path.join(bundle, "weights.safetensors"), "wb") as f:
        f.write(raw)
    document["weights_sha256"] = hashlib.sha256(raw).hexdigest()
    for target in document["preprocessing"]["targets"]:
        target.update(shift=0, factor=1)
    with open(os.path.join(bundle, "model.json"), "w") as f:
        json.dump(document, f)


def predictions(directory, columns, texts=()):
    """Returns {column: values} that `espalier predict --keep TEXTS` has written."""
    rows = []
    for part in sorted(glob.glob(directory + "/part-*.csv")):
        with open(part, newline="") as f:
            rows += list(csv.DictReader(f))
    found = {c: [float(row["prediction_t%d" % i]) for row in rows] for i, c in enumerate(columns)}
    return {**found, **{name: [row[name] for row in rows] for name in texts}}


def difference(ours, theirs, columns, texts=()):
    """Returns a description of the first value on which two tables differ; empty: none. `theirs`:
    null is None."""
    for column in [*columns, *texts]:
        null = "" if column in texts else NULL
        expected = [null if v is None else v for v in theirs[column]]
        if len(ours[column]) != len(expected):
            return "%s: %d rows, expected %d" % (column, len(ours[column]), len(expected))
        for row, (a, b) in enumerate(zip(ours[column], expected)):
            if a != b:
                return "%s, row %d: found %r, expected %r" % (column, row, a, b)
    return ""
