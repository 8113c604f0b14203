"""Bundles made by hand, in the formats of src/bundle/model_json.h and safetensors.h."""
import copy
import hashlib
import json
import os
import struct

import numpy as np

MODEL = {"task": "classification", "hidden": [4], "activation": ["relu"], "dropout": [0],
         "layer_norm": False, "residual": False, "loss": None, "label_smoothing": 0,
         "huber_delta": 1, "quantile": 0.5, "init": None, "precision": "float64",
         "target_scale": None}


def safetensors(tensors):
    """Returns the bytes of {name: array}, in that order."""
    header, data = {}, b""
    for name, array in tensors.items():
        raw = np.ascontiguousarray(array).tobytes()
        header[name] = {"dtype": {"f4": "F32", "f8": "F64"}[array.dtype.str[1:]],
                        "shape": list(array.shape), "data_offsets": [len(data),
                                                                     len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def document(inputs, model=None, classes=(), targets=(), features=None, nulls="fail"):
    """Returns model.json as a dict, except for the weights' SHA-256."""
    features = features or [{"name": "x%d" % i, "shift": 0, "factor": 1, "null_value": 0}
                            for i in range(inputs)]
    return {"format": 1, "written_by": "espalier 0.1.0",
            "spec": {"name": "made", "data": {"features": {"nulls": {"kind": nulls}}},
                     "model": dict(MODEL, **(model or {})), "train": {}},
            "schema": {"features": list(range(inputs))},
            "preprocessing": {"features": features, "targets": list(targets),
                              "classes": list(classes), "class_weights": []},
            "weights_sha256": ""}


def write(folder, doc, tensors):
    """Writes both files. `tensors`: a dict, or the bytes of the file."""
    os.makedirs(folder, exist_ok=True)
    raw = tensors if isinstance(tensors, bytes) else safetensors(tensors)
    doc = dict(copy.deepcopy(doc), weights_sha256=hashlib.sha256(raw).hexdigest())
    with open(os.path.join(folder, "weights.safetensors"), "wb") as f:
        f.write(raw)
    with open(os.path.join(folder, "model.json"), "w") as f:
        json.dump(doc, f)
    return folder
