"""Reads delegation tokens as Hadoop writes them, in the files that YARN gives to containers. A
token is SECRET: its holder can act as its owner.

The formats are those of src/storage/hadoop_token.h. Every length is checked against the bytes that
remain.
"""

from __future__ import annotations

import base64
from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from ._facts import (HDFS_TOKEN_KINDS, TOKEN_FILE_BYTES_MAX, TOKEN_FILE_MAGIC,
                     TOKEN_FILE_TOKENS_MAX)
from .errors import InvalidArgumentError, NotFoundError

_MAGIC = TOKEN_FILE_MAGIC.encode("ascii")
_OF_HDFS = tuple(kind.encode("ascii") for kind in HDFS_TOKEN_KINDS)


class Token(NamedTuple):
    identifier: bytes
    password: bytes
    kind: bytes
    service: bytes  # "127.0.0.1:8020", "ha-hdfs:ns"

    def text(self) -> str:
        """Returns the token as in addresses of WebHDFS: Base64 for URLs, without padding."""
        raw = b"".join(_number_bytes(len(part)) + part for part in self)
        return base64.urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")


class _Damaged(Exception):
    pass


class _Bytes:
    """Reads bytes from the front."""

    def __init__(self, raw: bytes) -> None:
        self.raw, self.at = raw, 0

    def take(self, count: int) -> bytes:
        if not 0 <= count <= len(self.raw) - self.at:
            raise _Damaged
        self.at += count
        return self.raw[self.at - count:self.at]

    def number(self) -> int:
        """Reads WritableUtils.readVLong."""
        first = int.from_bytes(self.take(1), "big", signed=True)
        if first >= -112:
            return first
        negative = first < -120
        magnitude = int.from_bytes(self.take(-120 - first if negative else -112 - first), "big")
        return ~magnitude if negative else magnitude

    def text(self) -> bytes:
        return self.take(self.number())

    def varint(self) -> int:
        """Reads Protobuf's varint."""
        value = 0
        for i in range(10):
            byte = self.take(1)[0]
            value |= (byte & 127) << (7 * i)
            if byte < 128:
                return value
        raise _Damaged


def _number_bytes(value: int) -> bytes:
    """Writes WritableUtils.writeVLong of a number that is not negative."""
    if value <= 127:
        return bytes([value])
    size = (value.bit_length() + 7) // 8
    return bytes([(-112 - size) & 255]) + value.to_bytes(size, "big")


def _fields(message: bytes) -> Iterator[Tuple[int, bytes]]:
    """Returns the fields of a protobuf message that are bytes, and skips others."""
    source = _Bytes(message)
    while source.at < len(message):
        key = source.varint()
        if key & 7 == 0:
            source.varint()
        elif key & 7 == 2:
            yield key >> 3, source.take(source.varint())
        elif key & 7 in (1, 5):
            source.take(8 if key & 7 == 1 else 4)
        else:
            raise _Damaged


def _of_writables(source: _Bytes) -> List[Token]:
    count = source.number()
    if not 0 <= count <= TOKEN_FILE_TOKENS_MAX:
        raise _Damaged
    tokens = []
    for _ in range(count):
        source.text()  # the alias
        tokens.append(Token(source.text(), source.text(), source.text(), source.text()))
    return tokens


def _of_protobuf(source: _Bytes) -> List[Token]:
    tokens: List[Token] = []
    for number, entry in _fields(source.take(source.varint())):
        for part, value in _fields(entry) if number == 1 else ():  # other entries are secret keys
            if part == 2:
                found: Dict[int, bytes] = dict(_fields(value))
                tokens.append(Token(*(found.get(i, b"") for i in range(1, 5))))
        if len(tokens) > TOKEN_FILE_TOKENS_MAX:
            raise _Damaged
    return tokens


def parse(raw: bytes) -> List[Token]:
    """Returns the tokens in a credentials file's bytes. Raises InvalidArgumentError, without any of
    these bytes in the message."""
    source = _Bytes(raw)
    try:
        if source.take(4) != _MAGIC or len(raw) > TOKEN_FILE_BYTES_MAX:
            raise _Damaged
        version = source.take(1)[0]
        if version > 1:
            raise _Damaged
        return _of_protobuf(source) if version else _of_writables(source)
    except _Damaged:
        raise InvalidArgumentError("the file is damaged, or is not a file of "
                                   "credentials of Hadoop") from None


def token_in_file(path: str, services: Sequence[str]) -> Optional[Token]:
    """Returns the HDFS token in that file whose service is one of `services`, if there is one.

    Raises:
        NotFoundError: the file cannot be read.
        InvalidArgumentError: it is not a file of tokens.
    """
    what = "the file that HADOOP_TOKEN_FILE_LOCATION names, '%s'" % path[:1024]
    try:
        with open(path, "rb") as f:
            raw = f.read(TOKEN_FILE_BYTES_MAX + 1)
    except OSError as error:
        raise NotFoundError("%s: it cannot be read: %s" % (what, error.strerror)) from error
    try:
        tokens = parse(raw)
    except InvalidArgumentError as error:
        raise InvalidArgumentError("%s: %s" % (what, error.message)) from None
    for service in services:
        for token in tokens:
            if token.kind in _OF_HDFS and token.service == service.encode("utf-8", "replace"):
                return token
    return None
