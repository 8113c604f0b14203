"""Reads Hadoop's client configuration: core-site.xml and hdfs-site.xml of one directory. The rules,
limits and messages are those of src/storage/hadoop_config.cc: `final`, ${variables}, <xi:include>
of the same directory, <property name= value=>."""

from __future__ import annotations

import os
from typing import Dict, List, NamedTuple, Optional
from xml.parsers import expat

from ._facts import (HADOOP_ELEMENT_DEPTH_MAX, HADOOP_FILE_BYTES_MAX, HADOOP_FILES,
                     HADOOP_INCLUDE_DEPTH_MAX, HADOOP_INCLUDED_FILES_MAX, HADOOP_PROPERTIES_MAX,
                     HADOOP_VALUE_BYTES_MAX, HADOOP_VARIABLE_DEPTH_MAX)
from .errors import FailedPreconditionError

_BLANKS = " \t\r\n"


class _Value(NamedTuple):
    text: str
    final: bool


class Configuration:
    """Properties by name. The later of two values applies, unless the earlier one is final."""

    def __init__(self) -> None:
        self._values: Dict[str, _Value] = {}
        self.origin = ("no Hadoop configuration was given (set HADOOP_CONF_DIR to the directory "
                       "with core-site.xml and hdfs-site.xml)")

    @classmethod
    def read(cls, folder: str, user: str) -> Configuration:
        """Reads both files. Raises FailedPreconditionError if neither exists, or if one cannot be
        read or Hadoop would not understand it. The message contains file and line."""
        conf, found = cls(), False
        for name in HADOOP_FILES:
            path = os.path.join(folder, name)
            try:
                raw = _text_of(path)
            except FileNotFoundError:
                continue
            except (OSError, ValueError) as error:
                raise FailedPreconditionError("the Hadoop configuration (HADOOP_CONF_DIR)",
                                              causes=[_why(path, error)]) from error
            found = True
            _Document(path, folder, conf, 0, [0]).parse(raw)
        if not found:
            raise FailedPreconditionError("'%s' (HADOOP_CONF_DIR) holds neither core-site.xml nor "
                                          "hdfs-site.xml" % folder)
        if user:
            conf.set("user.name", user, True)
        conf.origin = "the Hadoop configuration in '%s'" % folder
        return conf

    def set(self, name: str, text: str, final: bool) -> None:
        old = self._values.get(name)
        if old is None or not old.final:
            self._values[name] = _Value(text, final)

    def get(self, name: str) -> str:
        """Returns the value with its variables replaced; "": it is not set. An undefined variable
        stays unchanged. Raises FailedPreconditionError if variables refer to each other in a
        circle."""
        if name not in self._values:
            return ""
        text = self._values[name].text
        begin, replaced = text.find("${"), 0
        while begin >= 0:
            end = text.find("}", begin)
            if end < 0:
                break
            variable = self._values.get(text[begin + 2:end])
            if variable is None:
                begin = text.find("${", begin + 2)
                continue
            text = text[:begin] + variable.text + text[end + 1:]
            replaced += 1
            if replaced > HADOOP_VARIABLE_DEPTH_MAX or len(text) > HADOOP_VALUE_BYTES_MAX:
                raise FailedPreconditionError(
                    "the value of '%s' in %s takes more than %d replacements of ${...}; its "
                    "variables seem to name each other" %
                    (name, self.origin, HADOOP_VARIABLE_DEPTH_MAX))
            begin = text.find("${", begin)
        return text.strip(_BLANKS)

    def get_list(self, name: str) -> List[str]:
        """Returns the words of a comma-separated list, without blanks and empty words."""
        words = (word.strip(_BLANKS) for word in self.get(name).split(","))
        return [word for word in words if word]


class _Document:
    """One document that Expat parses, with the documents that it includes."""

    def __init__(self, file: str, folder: str, conf: Configuration, depth: int,
                 included: List[int]) -> None:
        self._file, self._folder, self._conf = file, folder, conf
        self._include_depth, self._included = depth, included
        self._depth = self._properties = 0
        self._open: Dict[str, str] = {}  # of the open property: name, value, final
        self._target: Optional[str] = None  # member that receives characters
        parser = self._parser = expat.ParserCreate()
        parser.buffer_text, parser.buffer_size = True, 1 << 20
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.StartDoctypeDeclHandler = self._doctype

    def parse(self, raw: bytes) -> None:
        try:
            self._parser.Parse(raw, True)
        except expat.ExpatError as error:
            raise self._wrong("it is not well-formed XML: " +
                              expat.ErrorString(error.code)) from None
        except (ValueError, LookupError) as error:  # an encoding that Python does not know
            raise self._wrong("it is not well-formed XML: %s" % error) from None

    def _wrong(self, why: str) -> FailedPreconditionError:
        return FailedPreconditionError("'%s' line %d: %s" %
                                       (self._file, self._parser.CurrentLineNumber, why))

    def _doctype(self, *_: object) -> None:
        raise self._wrong("a DOCTYPE is not allowed here. Remove it")

    def _characters(self, text: str) -> None:
        if self._target is not None:
            self._open[self._target] += text

    def _start(self, name: str, attributes: Dict[str, str]) -> None:
        self._depth += 1
        if self._depth > HADOOP_ELEMENT_DEPTH_MAX:
            raise self._wrong("elements are nested too deeply")
        if self._depth == 1 and name != "configuration":
            raise self._wrong("the outermost element is <%s> (expected <configuration>)" %
                              name[:80])
        if name == "property":
            self._open = {key: attributes[key] for key in ("name", "value", "final")
                          if key in attributes}
        self._target = name if name in ("name", "value", "final") else None
        if self._target is not None:
            self._open[name] = ""
        if name in ("xi:include", "include"):
            self._include(attributes.get("href", ""))

    def _end(self, name: str) -> None:
        self._depth -= 1
        self._target = None
        if name != "property":
            return
        key = self._open.get("name", "").strip(_BLANKS)
        if not key:
            raise self._wrong("a property has no name")
        self._properties += 1
        if self._properties > HADOOP_PROPERTIES_MAX:
            raise self._wrong("more than %d properties" % HADOOP_PROPERTIES_MAX)
        if "value" in self._open:
            self._conf.set(key, self._open["value"].strip(_BLANKS),
                           self._open.get("final", "").strip(_BLANKS) == "true")

    def _include(self, href: str) -> None:
        if not href or href[0] == "." or any(letter in href for letter in "/\\:"):
            raise self._wrong("it includes '%s'; only files of the same directory, by their name, "
                              "are included" % href[:80])
        self._included[0] += 1
        if self._include_depth >= HADOOP_INCLUDE_DEPTH_MAX or \
                self._included[0] > HADOOP_INCLUDED_FILES_MAX:
            raise self._wrong("'%s' is included too deeply or in a circle" % href[:80])
        try:
            raw = _text_of(os.path.join(self._folder, href))
        except (OSError, ValueError) as error:
            raise FailedPreconditionError(
                self._wrong("it includes '%s'" % href[:80]).message,
                causes=[_why(os.path.join(self._folder, href), error)]) from error
        _Document(href, self._folder, self._conf, self._include_depth + 1,
                  self._included).parse(raw)


def _text_of(path: str) -> bytes:
    """Raises OSError, and ValueError for a file that is too long."""
    with open(path, "rb") as f:
        raw = f.read(HADOOP_FILE_BYTES_MAX + 1)
    if len(raw) > HADOOP_FILE_BYTES_MAX:
        raise ValueError("it has more than %d bytes" % HADOOP_FILE_BYTES_MAX)
    return raw


def _why(path: str, error: Exception) -> str:
    return "cannot read '%s': %s" % (path, getattr(error, "strerror", None) or error)
