"""Prepares a job for a cluster: converts a path, text or a dict to YAML text with absolute paths.

The text stays as it was written, including comments and lines, so that the coordinator's errors
refer to lines of the user's own file. Only relative local paths are replaced in place.
"""

from __future__ import annotations

import datetime
import enum
import json
import os
import pathlib
import re
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple, Union

import numpy as np
import yaml

from ._columns import category_text
from ._facts import JOB_BYTES_MAX, PATH_KEYS, PATH_LIST_KEYS
from .errors import InvalidArgumentError, NotFoundError

#: A job: the path of a YAML file, YAML text (more than one line), or the same as a dict.
JobSource = Union[str, "os.PathLike[str]", Mapping[str, Any]]

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def job_text(job: JobSource, directory: Optional[str] = None) -> str:
    """Returns YAML text of the job.

    Args:
        job: see JobSource. A text of one line is a path.
        directory: base directory of relative paths in it; None: the working directory, as on any
            command line.

    Raises:
        NotFoundError: the file cannot be read.
        InvalidArgumentError: it is not YAML, or is too long.
    """
    name = "job"
    if isinstance(job, Mapping):
        text = dump(job)
    elif isinstance(job, str) and "\n" in job:
        text = job
    elif isinstance(job, (str, os.PathLike)):
        name = os.fspath(job)
        text = _read(name)
    else:
        raise InvalidArgumentError("a job is the path of a YAML file, YAML text or a dict; found "
                                   "a %s" % type(job).__name__)
    if len(text.encode("utf-8", "replace")) > JOB_BYTES_MAX:
        raise InvalidArgumentError("%s is longer than the %d MiB that a job may have" %
                                   (name, JOB_BYTES_MAX >> 20))
    return _with_absolute_paths(text, directory or os.getcwd(), name)


def _read(path: str) -> str:
    try:
        with open(path, "rb") as f:
            raw = f.read(JOB_BYTES_MAX + 1)
        return raw.decode("utf-8")
    except OSError as error:
        raise NotFoundError("cannot read the job file %s: %s" % (path, error.strerror),
                            hint="A job may also be given as a dict, or as YAML text of more "
                                 "than one line.") from error
    except UnicodeDecodeError as error:
        raise InvalidArgumentError("%s is not UTF-8 text: byte %d" % (path, error.start)) from error


def _plain(value: Any, path: str) -> Any:
    """Returns the value in YAML's own types. Paths become text, and values of NumPy and members of
    enums become Python's. Dates and times become the texts that the workers read from tables."""
    if isinstance(value, enum.Enum):
        return _plain(value.value, path)
    if isinstance(value, Mapping):
        return _plain_map(value, path)
    if isinstance(value, (list, tuple)):
        return [_plain(v, "%s[%d]" % (path, i)) for i, v in enumerate(value)]
    if isinstance(value, pathlib.PurePath):
        return str(value)
    if value is None or isinstance(value, bool):
        return value
    for kind in (int, float, str):  # YAML has no text for a subclass, such as numpy.float64
        if isinstance(value, kind):
            return kind(value)
    if isinstance(value, (datetime.date, np.datetime64)) and value == value:  # NaT is not
        return str(category_text(value))
    if isinstance(value, np.generic):
        if value.dtype.kind in "biuf":
            return float(value) if isinstance(value, np.longdouble) else value.item()
    elif hasattr(value, "dtype") and hasattr(value, "__len__"):  # an array, or a column of pandas
        return _plain(list(value) if getattr(value, "ndim", 1) else value[()], path)
    raise InvalidArgumentError("%s: found a %s, expected text, a number, a list or a dict" %
                               (path.lstrip("."), type(value).__name__))


def _plain_map(value: Mapping[Any, Any], path: str) -> Any:
    """Returns the map with texts as keys. Labels may be numbers, as in `class_weight`."""
    out: Dict[str, Any] = {}
    for key, v in value.items():
        plain = _plain(key, path)
        if not isinstance(plain, (str, bool, int, float)):
            raise InvalidArgumentError("%s: found a key of type %s, expected text or a number" %
                                       (path.lstrip(".") or "job", type(key).__name__))
        name = str(plain)
        if name in out:
            raise InvalidArgumentError("%s: found the key '%s' twice" %
                                       (path.lstrip(".") or "job", name))
        out[name] = _plain(v, "%s.%s" % (path, name))
    return out


class _Dumper(yaml.SafeDumper):
    """Quotes texts that do not begin with a letter. PyYAML leaves "08" unquoted, and the cluster
    reads it as the number 8, a column's position. Words stay unquoted, for example `auto`."""


def _text_node(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text,
                                   style=None if text[:1].isalpha() else '"')


_Dumper.add_representer(str, _text_node)


def dump(job: Mapping[str, Any]) -> str:
    """Returns a job's YAML text, with the paths that it has."""
    return str(yaml.dump(_plain(job, ""), Dumper=_Dumper, sort_keys=False, allow_unicode=True,
                         default_flow_style=None, width=1 << 20))


def _find(node: Any, keys: Tuple[str, ...]) -> Iterator[Any]:
    if not keys:
        yield node
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value == keys[0]:
                yield from _find(value, keys[1:])


def _scalars(node: Any, in_list: bool) -> Iterator[Any]:
    if isinstance(node, yaml.ScalarNode):
        yield node
    elif isinstance(node, yaml.SequenceNode) and in_list:
        for item in node.value:
            if isinstance(item, yaml.ScalarNode):
                yield item


def _path_nodes(text: str, name: str) -> Iterator[Any]:
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError) as error:
        raise InvalidArgumentError("%s is not valid YAML: %s" % (name, error)) from error
    for keys in PATH_KEYS + PATH_LIST_KEYS:
        for found in _find(root, keys):
            yield from _scalars(found, keys in PATH_LIST_KEYS)


def paths_of(text: str) -> List[str]:
    """Returns the paths that a job's YAML text names."""
    return [str(node.value) for node in _path_nodes(text, "job")]


def _with_absolute_paths(text: str, directory: str, name: str) -> str:
    edits: List[Tuple[int, int, str]] = []
    for node in _path_nodes(text, name):
        if not node.value or node.value.startswith("/") or _SCHEME.match(node.value):
            continue
        absolute = os.path.normpath(os.path.join(directory, node.value))
        if node.value.endswith("/"):
            absolute += "/"
        edits.append((node.start_mark.index, node.end_mark.index,
                      json.dumps(absolute, ensure_ascii=False)))
    for begin, end, absolute in sorted(set(edits), reverse=True):
        text = text[:begin] + absolute + text[end:]
    return text
