"""Clusters in YARN's containers: files that `espalier yarn up NAME` keeps for them on this machine,
in ~/.espalier/yarn/NAME, which other users cannot read.

    coordinator             the URI of the file on HDFS in which its coordinator writes its address
    ca.crt tls.crt tls.key  certificate of its admin, the user that started it
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from ._convert import clean
from ._facts import YARN_COORDINATOR, YARN_KEPT_DIRECTORY, YARN_NAME_BYTES_MAX
from .errors import InvalidArgumentError, NotFoundError

_NAME = re.compile(r"[a-z][a-z0-9-]*", re.ASCII)


class Kept(NamedTuple):
    service: str
    folder: str

    @property
    def coordinator(self) -> str:
        return self.at("coordinator")

    def at(self, name: str) -> str:
        return os.path.join(self.folder, name)


def kept_of(where: str) -> Kept:
    """Returns the files of "yarn:NAME".

    Raises:
        InvalidArgumentError: NAME is not a name of a service.
        NotFoundError: no cluster of that name was started here.
    """
    name = where[len(YARN_COORDINATOR):]
    if not _NAME.fullmatch(name) or len(name) > YARN_NAME_BYTES_MAX:
        raise InvalidArgumentError("found the service's name '%s', expected at most %d lower-case "
                                   "letters, digits and -, a letter first, as YARN wants it" %
                                   (clean(name[:200]), YARN_NAME_BYTES_MAX))
    kept = Kept(name, os.path.join(os.environ.get("HOME") or ".", YARN_KEPT_DIRECTORY, name))
    if not os.path.exists(kept.coordinator):
        raise NotFoundError("no service %s was started here: '%s' is missing" %
                            (name, kept.coordinator),
                            hint="Connect on the machine and as the user of `espalier yarn up %s`."
                                 % name)
    return kept
