"""Lays the keys of a Param `job` over the job file of an estimator."""

from __future__ import annotations

from typing import Any, Dict, Mapping

from .errors import InvalidArgumentError

_CHOICES = ("train.optimizer",)  # keys whose value is one word with its settings


def refuse_keys(more: Mapping[str, Any], own: Mapping[str, str]) -> None:
    """Raises InvalidArgumentError if `more`, the keys of a Param `job`, has a key of `own`. `own`
    maps each key that an estimator sets itself to what specifies it."""
    for key, instead in own.items():
        section, _, inner = key.rpartition(".")
        within = more.get(section, {}) if section else more
        if not isinstance(within, Mapping):
            raise InvalidArgumentError("job: expected a map in '%s'" % section)
        if inner in within:
            raise InvalidArgumentError("job: found '%s', which `job` cannot set: %s" %
                                       (key, instead))


def laid_over(below: Mapping[str, Any], above: Mapping[str, Any], path: str = "") -> Dict[str, Any]:
    """Returns the keys of both job files. Those of `above` replace those of `below`. A choice of
    another word replaces the earlier word and its settings."""
    out = dict(below)
    for key, value in above.items():
        where, old = "%s%s" % (path, key), out.get(key)
        both = isinstance(value, Mapping) and isinstance(old, Mapping) and not (
            where in _CHOICES and set(value) != set(old))
        out[key] = laid_over(out[key], value, where + ".") if both else value
    return out
