"""Converts a column's values to numbers of features that are not the value itself: logarithms,
booleans, parts of dates, codes of categories. The rules are those of
src/data/features/feature_decoder.h."""

from __future__ import annotations

import datetime
import decimal
import math
import re
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence

import numpy as np

from ._facts import (CATEGORY_BYTES_MAX, DAY_NUMBER_MAX, DAY_NUMBER_MIN, FALSE_WORDS, FIRST_DAY,
                     LAST_DAY, MONTH_NUMBER_MAX, MONTH_NUMBER_MIN, NULL_WORDS, TRUE_WORDS)
from .errors import BadInputError

_CLOCK = (r"(?P<hour>\d{2}):(?P<minute>\d{2})(?::(?P<second>\d{2}))?(?:\.(?P<fraction>\d+))?")
_ZONE = (r"(?: *(?:(?:UTC|GMT|Z|(?P<sign>[+-])(?P<zone_hour>\d{2})(?::?(?P<zone_minute>\d{2}))?))"
         r"(?:\[[^\]]*\])?)?")
_DATES = tuple(re.compile(form, re.A) for form in (
    r"(?P<year>\d{4})-(?P<month>\d{2})-(?P<day>\d{2})(?:[T ]%s%s)?" % (_CLOCK, _ZONE),
    r"(?P<year>\d{4})/(?P<month>\d{1,2})/(?P<day>\d{1,2})(?:[T ]%s%s)?" % (_CLOCK, _ZONE),
    r"(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>\d{4})(?:[T ]%s%s)?" % (_CLOCK, _ZONE),
    r"(?P<year>\d{4})(?P<month>\d{2})(?P<day>\d{2})T%s%s" % (_CLOCK.replace(":(?P<min", "(?P<min")
                                                           .replace("(?::(", "(?:("), _ZONE)))
_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september",
           "october", "november", "december")
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


def _any_of(words: Sequence[str], short: bool = True) -> str:
    return "|".join("%s|%s" % (w, w[:3]) if short else w for w in words)


# Text that a directive of a date's format matches, as DateFormat of src/data/features/dates.h.
_DIRECTIVES = {
    "Y": r"(?P<year>\d{4})", "y": r"(?P<short_year>\d{2})", "m": r"(?P<month>\d{1,2})",
    "d": r"(?P<day>\d{1,2})", "j": r"(?P<yearday>\d{1,3})",
    "b": r"(?P<name>%s)\.?" % _any_of(_MONTHS), "B": r"(?P<name>%s)\.?" % _any_of(_MONTHS),
    "H": r"(?P<hour>\d{1,2})", "I": r"(?P<hour12>\d{1,2})", "M": r"(?P<minute>\d{1,2})",
    "S": r"(?P<second>\d{1,2})", "f": r"(?P<fraction>\d+)", "p": r"(?P<half>am|pm)",
    "z": r"(?:UTC|GMT|Z|(?P<sign>[+-])(?P<zone_hour>\d{2})(?::?(?P<zone_minute>\d{2}))?)",
    "Z": r"(?:UTC|GMT|Z)", "a": "(?:%s)" % _any_of(_WEEKDAYS), "A": "(?:%s)" % _any_of(_WEEKDAYS),
    "%": "%"}
_EPOCH = datetime.date(1970, 1, 1).toordinal()
_DAY = 86_400
_MIDNIGHT = " 00:00:00"
_CLOCK_TYPES = (datetime.time, datetime.timedelta, np.timedelta64)
_FIRST_MOMENT, _END_OF_MOMENTS = FIRST_DAY * _DAY, (LAST_DAY + 1) * _DAY
_NUMBER = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf|infinity)", re.A | re.I)
_DECIMAL = re.compile(r"([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?", re.A)
_EXPONENT_MAX = 400
# Truth values of one kind: the texts of true, then those of false. The first one is its name.
_TRUTHS = ((("true", "True", "TRUE", "t", "T", "1"), ("false", "False", "FALSE", "f", "F", "0")),
           (("yes", "Yes", "YES", "y", "Y"), ("no", "No", "NO", "n", "N")))
_WHOLE_FLOAT = re.compile(r"(-?0|-?[1-9]\d*)\.0*", re.A)


def is_null(value: Any) -> bool:
    if isinstance(value, (float, np.floating)):
        return math.isnan(value)
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return bool(np.isnat(value))
    if isinstance(value, decimal.Decimal):
        return value.is_nan()
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def murmur3(raw: bytes) -> int:
    """Returns MurmurHash3, x86, 32 bits, seed 0."""
    mask, hashed = 0xFFFFFFFF, 0
    whole = len(raw) & ~3

    def mix(block: int) -> int:
        block = block * 0xCC9E2D51 & mask
        return (block << 15 | block >> 17) * 0x1B873593 & mask

    for at in range(0, whole, 4):
        hashed ^= mix(int.from_bytes(raw[at:at + 4], "little"))
        hashed = ((hashed << 13 | hashed >> 19) & mask) * 5 + 0xE6546B64 & mask
    if whole < len(raw):
        hashed ^= mix(int.from_bytes(raw[whole:], "little"))
    hashed ^= len(raw)
    hashed = (hashed ^ hashed >> 16) * 0x85EBCA6B & mask
    hashed = (hashed ^ hashed >> 13) * 0xC2B2AE35 & mask
    return hashed ^ hashed >> 16


def category_text(value: Any) -> Any:
    """Returns the value as text (bytes if it is not UTF-8) without surrounding spaces; "" for null.
    """
    if is_null(value):
        return ""
    if isinstance(value, decimal.Decimal):
        return plain_decimal(str(value)) or number_text(float(value))
    if isinstance(value, bytes):
        try:
            value = value.decode("utf-8")
        except UnicodeDecodeError:
            return value.strip(b" \t\r")
    if isinstance(value, str):
        text = value.strip(" \t\r")
        return "" if text == "\\N" else text
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (datetime.date, np.datetime64)):
        return _moment_text(value)
    if isinstance(value, _CLOCK_TYPES):
        value = _seconds_of(value)
    return number_text(value) if isinstance(value, (float, np.floating)) else str(value)


def _seconds_of(value: Any) -> float:
    """Returns a time of day or a duration as the number that the workers read from Parquet."""
    if isinstance(value, datetime.time):
        value = datetime.timedelta(hours=value.hour, minutes=value.minute, seconds=value.second,
                                   microseconds=value.microsecond)
    if isinstance(value, np.timedelta64):
        return int(value / np.timedelta64(1, "ns")) / 1e9
    return float(value // datetime.timedelta(microseconds=1)) / 1e6


def _moment_text(moment: Any) -> str:
    """Returns a date, or a moment in UTC, as the workers write those of Parquet: "2024-02-29",
    "2024-02-29 23:59:58.5"."""
    if isinstance(moment, np.datetime64):
        unit = np.datetime_data(moment.dtype)[0]
        if unit in ("h", "m"):
            moment = moment.astype("datetime64[s]")
        text = str(moment.astype("datetime64[D]") if unit in ("Y", "M", "W") else moment)
    else:
        if isinstance(moment, datetime.datetime) and moment.tzinfo is not None:
            moment = moment.astimezone(datetime.timezone.utc).replace(tzinfo=None)
        text = str(moment.isoformat())
    text = text.replace("T", " ")
    return text.rstrip("0").rstrip(".") if "." in text else text


def number_text(number: Any) -> str:
    """Returns a float of either precision as the workers write those of Parquet: the fewest digits
    that restore the value. A whole number up to 2^53 has no exponent. Larger ones use the shorter
    form."""
    if isinstance(number, np.float16):
        number = np.float32(number)
    if abs(number) <= 1 << 53 and number == int(number):
        return str(int(number))
    plain = _without_exponent(number)
    short = np.format_float_scientific(number, trim="-")
    return plain if len(plain) <= len(short) else short


def _without_exponent(number: Any) -> str:
    if math.isinf(number) or number != int(number):
        return np.format_float_positional(number, trim="-")
    return str(int(number))


def plain_decimal(text: Any) -> Optional[str]:
    """Returns the one decimal spelling of a number; None for other texts and for leading zeros.
    (PlainDecimal of src/data/table/class_text.h)"""
    found = _DECIMAL.fullmatch(text) if isinstance(text, str) else None
    if found is None or not (found.group(2) or found.group(3)):
        return None
    whole, fraction = found.group(2), found.group(3) or ""
    exponent = int(found.group(4) or 0)
    if len(text) > _EXPONENT_MAX or abs(exponent) > _EXPONENT_MAX or \
            len(whole) > 1 and whole[0] == "0":
        return None
    digits, point = whole + fraction, len(whole) + exponent
    digits = "0" * -point + digits if point < 0 else digits.ljust(point, "0")
    point = max(point, 0)
    before, after = digits[:point].lstrip("0") or "0", digits[point:].rstrip("0")
    sign = "-" if found.group(1) == "-" and (before != "0" or after) else ""
    return sign + before + ("." + after if after else "")


def _truth(text: Any, kind: Any) -> Optional[str]:
    """Returns the name of the truth value. A number has that of its plain form: "1e0" is 1."""
    texts = (text, plain_decimal(text))
    return next((words[0] for words in kind if any(t in words for t in texts)), None)


class Rules:
    """Defines which values are null by a job's null_values (ValueRules of
    src/data/table/value_rules.h)."""

    def __init__(self, null_values: Iterable[Any] = ()) -> None:
        self.texts = frozenset(n.strip(b" \t\r" if isinstance(n, bytes) else " \t\r")
                               for n in null_values)
        self.numbers = tuple(float(n) for n in self.texts
                             if isinstance(n, str) and _NUMBER.fullmatch(n))

    def text(self, value: Any) -> Any:
        """Converts as category_text does."""
        text = category_text(value)
        return "" if text in self.texts else text

    def number(self, value: Any) -> float:
        if isinstance(value, str) and value.strip(" \t\r") in self.texts:
            return math.nan
        number = number_of(value)
        return math.nan if number in self.numbers else number


_NO_RULES = Rules()


class Categories:
    """Codes of one feature's values.

    Args:
        vocabulary: texts; the text of code k is at k; None: values are hashed.
        codes: number of codes.
    """

    def __init__(self, vocabulary: Optional[list[Any]], codes: int,
                 rules: Rules = _NO_RULES) -> None:
        self._hashed, self._codes, self._rules = vocabulary is None, codes, rules
        self._known: Dict[Any, int] = {t: k for k, t in enumerate(vocabulary or [])}
        self._other = len(self._known)
        texts = [t for t in self._known if t != ""]
        self._truths = next((kind for kind in _TRUTHS
                             if texts and all(_truth(t, kind) for t in texts)), None)
        self._spelled: Dict[str, int] = {}  # by the common form of all spellings; -1: several codes
        for text, code in self._known.items():
            spelling = self._spelling(text)
            if spelling is not None:
                self._spelled[spelling] = -1 if spelling in self._spelled else code

    def _spelling(self, text: Any) -> Optional[str]:
        for kind in _TRUTHS if self._truths else ():
            name = _truth(text, kind)
            if name is not None:
                return name
        return plain_decimal(text)

    def code(self, value: Any) -> int:
        """Returns the code; -1: none."""
        text = self._rules.text(value)
        raw = _bytes_of(text)
        if len(raw) > CATEGORY_BYTES_MAX:
            raise ValueError("expected at most %d bytes" % CATEGORY_BYTES_MAX)
        if self._hashed:
            return murmur3(_bytes_of(_whole_text(text))) % self._codes
        codes = (self._known.get(t) for t in [text] + _other_texts(value, text))
        code = next((c for c in codes if c is not None), None)
        if code is None:
            spelling = self._spelling(text) if self._spelled else None
            code = self._spelled.get(spelling or "", -1)
            code = self._other if code < 0 else code
        return code if code < self._codes else -1


def _bytes_of(text: Any) -> bytes:
    return text if isinstance(text, bytes) else str(text).encode()


def _whole_text(text: Any) -> Any:
    """Returns "3" for "3.0", and any other text unchanged. (ClassText of
    src/data/table/class_text.h)"""
    whole = _WHOLE_FLOAT.fullmatch(text) if isinstance(text, str) else None
    if whole is None or not -1 << 63 <= int(whole.group(1)) < 1 << 63:
        return text
    return "0" if whole.group(1) == "-0" else whole.group(1)


def _other_texts(value: Any, text: Any) -> List[str]:
    """Returns other spellings under which a category that is not known as `text` may be known: "3"
    for "3.0". For a number, a day or a boolean, the spelling that people use in CSV files."""
    if isinstance(value, (float, np.floating)) and not is_null(value):
        return [_without_exponent(value)]
    if isinstance(value, (datetime.datetime, np.datetime64)):
        return [text[:-len(_MIDNIGHT)]] if text.endswith(_MIDNIGHT) else []
    if text in ("true", "false"):  # also when other words are among the values
        return [text.capitalize(), text.upper()]
    midnight = isinstance(text, str) and text.endswith(_MIDNIGHT)
    return [text[:-len(_MIDNIGHT)] if midnight else _whole_text(text)]


def number_of(value: Any) -> float:
    """Returns the number of a value or a text; NaN for null. Raises ValueError for other texts."""
    if is_null(value):
        return math.nan
    if isinstance(value, str):
        text = value.strip(" \t\r")
        if not text or text in NULL_WORDS:
            return math.nan
        if not _NUMBER.fullmatch(text):  # float() also accepts 1_000 and non-ASCII digits
            raise ValueError("expected a number")
        return float(text)
    if isinstance(value, (np.float16, np.float32)):
        return float(number_text(value))  # 0.1, as the workers read it
    if isinstance(value, _CLOCK_TYPES):
        return _seconds_of(value)
    return float(value)


def boolean(value: Any, rules: Rules = _NO_RULES) -> float:
    if isinstance(value, str):
        word = value.strip(" \t\r")
        if word in TRUE_WORDS or word in FALSE_WORDS:
            return float(word in TRUE_WORDS)
    number = rules.number(value)
    if not math.isnan(number) and number not in (0.0, 1.0):
        raise ValueError("expected true, false, yes, no, 1 or 0")
    return number


def logarithm(value: Any, rules: Rules = _NO_RULES) -> float:
    number = rules.number(value)
    if number <= -1:
        raise ValueError("expected a number above -1, for log1p")
    return math.log1p(number)


def _seconds_of_number(number: float) -> float:
    """Converts 20240229 as a day and 202402 as a month, of the years 1900 to 2199. Any other number
    is already in seconds."""
    if number != math.floor(number):
        return number
    digits = int(number)
    if MONTH_NUMBER_MIN <= number <= MONTH_NUMBER_MAX:
        digits = digits * 100 + 1
    elif not DAY_NUMBER_MIN <= number <= DAY_NUMBER_MAX:
        return number
    try:
        day = datetime.date(digits // 10_000, digits // 100 % 100, digits % 100)
    except ValueError:
        return number
    return float((day.toordinal() - _EPOCH) * _DAY)


def format_pattern(text: str) -> Any:
    """Returns the pattern that matches texts written by a date_format."""
    text, pattern, at = text.replace("%F", "%Y-%m-%d").replace("%T", "%H:%M:%S"), "", 0
    while at < len(text):
        if text[at] == "%" and at + 1 < len(text):
            pattern += _DIRECTIVES[text[at + 1]]
            at += 1
        else:
            pattern += " +" if text[at] == " " else re.escape(text[at])
        at += 1
    return re.compile(pattern, re.A | re.I)


def _moment(parts: Dict[str, Optional[str]]) -> float:
    """Returns seconds since 1970. Raises ValueError for a date or time that does not exist."""
    def number(name: str, default: int = 0) -> int:
        return int(parts.get(name) or default)

    year = number("year", 1970)
    if parts.get("short_year"):
        year = number("short_year") + (2000 if number("short_year") < 69 else 1900)
    name = (parts.get("name") or "")[:3].lower()
    month = next(i for i, m in enumerate(_MONTHS, 1) if m.startswith(name)) if name else \
        number("month", 1)
    day = datetime.date(year, month, number("day", 1))
    if parts.get("yearday"):
        day = datetime.date(year, 1, 1) + datetime.timedelta(days=number("yearday") - 1)
    hour = number("hour")
    if parts.get("hour12"):
        hour = number("hour12") % 12 + (12 if (parts.get("half") or "").lower() == "pm" else 0) \
            if parts.get("half") else number("hour12")
    minute, second = number("minute"), number("second")
    fraction = float("0." + (parts.get("fraction") or "0")[:9])
    sign = {"+": -1, "-": 1}.get(parts.get("sign") or "", 0)
    if day.year != year or hour > 23 or minute > 59 or second > 60 or \
            not 1 <= number("hour12", 1) <= 12 or number("zone_hour") > 23 or \
            number("zone_minute") > 59:
        raise ValueError("expected a day of the calendar and a time of the day")
    offset = sign * (number("zone_hour") * 3600 + number("zone_minute") * 60)
    whole = (day.toordinal() - _EPOCH) * _DAY + hour * 3600 + minute * 60 + second
    return whole + fraction + offset


def seconds(value: Any, pattern: Any = None, rules: Rules = _NO_RULES) -> float:
    """Returns seconds since 1970, in UTC. A number is already in seconds, or is a day such as
    20240229. `pattern`: pattern of a date_format, which texts and numbers must match."""
    if is_null(value):
        return math.nan
    if isinstance(value, datetime.datetime):
        zone = value.tzinfo or datetime.timezone.utc
        return value.replace(tzinfo=zone).timestamp()
    if isinstance(value, datetime.date):
        return float((value.toordinal() - _EPOCH) * _DAY)
    if isinstance(value, np.datetime64):
        return float(value.astype("datetime64[us]").astype("int64")) / 1e6
    if isinstance(value, datetime.time):
        return _seconds_of(value)
    text = category_text(value) if pattern is not None else value
    forms = _DATES if pattern is None else (pattern,)
    for form in forms if isinstance(text, str) else ():
        found = form.fullmatch(text.strip(" \t\r"))
        if found is not None:
            return _moment(found.groupdict())
    try:
        number = rules.number(value)
        if pattern is not None and not math.isnan(number):
            raise ValueError
        return _seconds_of_number(number) if not math.isnan(number) else number
    except ValueError:
        raise ValueError("expected a date like 2024-02-29 or 20240229, or seconds since 1970"
                         if pattern is None else "expected a date as date_format says") from None


def _part(name: str) -> Callable[[float], float]:
    def of(moment: float) -> float:
        days, second = divmod(math.floor(moment), _DAY)
        date = datetime.date.fromordinal(days + _EPOCH)
        return float({"year": date.year, "month": date.month, "day": date.day,
                      "weekday": date.weekday(), "yearday": date.timetuple().tm_yday,
                      "hour": second // 3600, "minute": second // 60 % 60,
                      "second": second % 60}[name])
    return (lambda moment: moment) if name == "epoch" else of


def date_part(name: str, date_format: str = "",
              rules: Rules = _NO_RULES) -> Callable[[Any], float]:
    """Returns the function that maps a value to that part of its date."""
    of = _part(name)
    pattern = format_pattern(date_format) if date_format not in ("", "auto") else None

    def decode(value: Any) -> float:
        moment = seconds(value, pattern, rules)
        if math.isnan(moment):
            return moment
        if not _FIRST_MOMENT <= moment < _END_OF_MOMENTS:
            raise ValueError("expected a date of the years 1 to 9999, or seconds since 1970")
        return of(moment)
    return decode


def decode_all(decode: Callable[[Any], Any], values: Any, column: str, first_row: int,
               out: Any) -> None:
    """Computes out[i] = decode(values[i]), and decodes each distinct value once."""
    known: Dict[Any, Any] = {}
    for i, value in enumerate(values):
        try:
            key = (type(value), value)  # True differs from 1
            if key not in known:
                known[key] = decode(value)
            out[i] = known[key]
        except (TypeError, ValueError, OverflowError) as error:
            raise BadInputError("row %d (counted from 0): '%s': found %.80r: %s" %
                                (first_row + i, column, value, error)) from error
