"""From what a column holds to the number of a feature that is not that number itself: logarithms,
booleans, parts of dates, codes of categories. The rules are those of
src/data/features/feature_decoder.h."""

from __future__ import annotations

import datetime
import decimal
import math
import re
from typing import Any, Callable, Dict, List, Optional

import numpy as np

from ._facts import (CATEGORY_BYTES_MAX, DAY_NUMBER_MAX, DAY_NUMBER_MIN, FALSE_WORDS, FIRST_DAY,
                     LAST_DAY, NULL_WORDS, TRUE_WORDS)
from .errors import BadInputError

_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2}))?(?:\.(\d{1,9}))?"
                   r"(?:Z|([+-])(\d{2})(?::?(\d{2}))?)?)?", re.A)
_EPOCH = datetime.date(1970, 1, 1).toordinal()
_DAY = 86_400
_MIDNIGHT = " 00:00:00"
_FIRST_MOMENT, _END_OF_MOMENTS = FIRST_DAY * _DAY, (LAST_DAY + 1) * _DAY
_NUMBER = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf|infinity)", re.A | re.I)
_WHOLE_FLOAT = re.compile(r"(-?0|-?[1-9]\d*)\.0*", re.A)


def is_null(value: Any) -> bool:
    if isinstance(value, (float, np.floating)):
        return math.isnan(value)
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return bool(np.isnat(value))
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def murmur3(raw: bytes) -> int:
    """MurmurHash3, x86, 32 bits, seed 0."""
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
    """As text (bytes for what is not UTF-8) without spaces around it; "" for null."""
    if isinstance(value, decimal.Decimal):
        value = float(value)
    if is_null(value):
        return ""
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
    if isinstance(value, (datetime.time, datetime.timedelta, np.timedelta64)):
        value = _seconds_of(value)
    return number_text(value) if isinstance(value, (float, np.floating)) else str(value)


def _seconds_of(value: Any) -> float:
    """A time of day or a duration, as the number that Parquet's are to the workers."""
    if isinstance(value, datetime.time):
        value = datetime.timedelta(hours=value.hour, minutes=value.minute, seconds=value.second,
                                   microseconds=value.microsecond)
    if isinstance(value, np.timedelta64):
        return int(value / np.timedelta64(1, "ns")) / 1e9
    return float(value // datetime.timedelta(microseconds=1)) / 1e6


def _moment_text(moment: Any) -> str:
    """A date, or a moment in UTC, as the workers write those of Parquet: "2024-02-29",
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
    """A float of either precision as the workers write those of Parquet: the fewest digits that
    give it back, a whole number up to 2^53 without exponent, beyond whatever is shorter."""
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


class Categories:
    """The codes of one feature's values.

    Args:
        vocabulary: texts, that of code k at k; None: values are hashed.
        codes: how many codes there are.
    """

    def __init__(self, vocabulary: Optional[list[Any]], codes: int) -> None:
        self._hashed, self._codes = vocabulary is None, codes
        self._known: Dict[Any, int] = {t: k for k, t in enumerate(vocabulary or [])}
        self._other = len(self._known)

    def code(self, value: Any) -> int:
        """-1: none."""
        text = category_text(value)
        raw = _bytes_of(text)
        if len(raw) > CATEGORY_BYTES_MAX:
            raise ValueError("expected at most %d bytes" % CATEGORY_BYTES_MAX)
        if self._hashed:
            return murmur3(_bytes_of(_whole_text(text))) % self._codes
        codes = (self._known.get(t) for t in [text] + _other_texts(value, text))
        code = next((c for c in codes if c is not None), self._other)
        return code if code < self._codes else -1


def _bytes_of(text: Any) -> bytes:
    return text if isinstance(text, bytes) else str(text).encode()


def _whole_text(text: Any) -> Any:
    """"3" of "3.0"; of any other text the text. (ClassText of src/data/table/class_text.h)"""
    whole = _WHOLE_FLOAT.fullmatch(text) if isinstance(text, str) else None
    if whole is None or not -1 << 63 <= int(whole.group(1)) < 1 << 63:
        return text
    return "0" if whole.group(1) == "-0" else whole.group(1)


def _other_texts(value: Any, text: Any) -> List[str]:
    """What a category that is not known as `text` may be known as: "3" for "3.0", and a number,
    a day or a boolean that was read from a CSV file as people write it there."""
    if isinstance(value, (float, np.floating)) and not is_null(value):
        return [_without_exponent(value)]
    if isinstance(value, (datetime.datetime, np.datetime64)):
        return [text[:-len(_MIDNIGHT)]] if text.endswith(_MIDNIGHT) else []
    if text in ("true", "false"):
        return [text.capitalize(), text.upper()]
    return [_whole_text(text)]


def _number(value: Any) -> float:
    if is_null(value):
        return math.nan
    if isinstance(value, str):
        text = value.strip(" \t\r")
        if not text or text in NULL_WORDS:
            return math.nan
        if not _NUMBER.fullmatch(text):  # float() takes 1_000 and other nations' digits
            raise ValueError("expected a number")
        return float(text)
    if isinstance(value, (np.float16, np.float32)):
        return float(number_text(value))  # 0.1, as the workers read it
    return float(value)


def boolean(value: Any) -> float:
    if isinstance(value, str):
        word = value.strip(" \t\r")
        if word in TRUE_WORDS or word in FALSE_WORDS:
            return float(word in TRUE_WORDS)
    number = _number(value)
    if not math.isnan(number) and number not in (0.0, 1.0):
        raise ValueError("expected true, false, yes, no, 1 or 0")
    return number


def logarithm(value: Any) -> float:
    number = _number(value)
    if number <= -1:
        raise ValueError("expected a number above -1, for log1p")
    return math.log1p(number)


def _seconds_of_number(number: float) -> float:
    """20240229 is a day, of the years 1900 to 2199; any other number is seconds already."""
    if not DAY_NUMBER_MIN <= number <= DAY_NUMBER_MAX or number != int(number):
        return number
    digits = int(number)
    try:
        day = datetime.date(digits // 10_000, digits // 100 % 100, digits % 100)
    except ValueError:
        return number
    return float((day.toordinal() - _EPOCH) * _DAY)


def seconds(value: Any) -> float:
    """Since 1970, in UTC; a number is that already, or a day such as 20240229."""
    if is_null(value):
        return math.nan
    if isinstance(value, datetime.datetime):
        zone = value.tzinfo or datetime.timezone.utc
        return value.replace(tzinfo=zone).timestamp()
    if isinstance(value, datetime.date):
        return float((value.toordinal() - _EPOCH) * _DAY)
    if isinstance(value, np.datetime64):
        return float(value.astype("datetime64[us]").astype("int64")) / 1e6
    found = _DATE.fullmatch(value.strip(" \t\r")) if isinstance(value, str) else None
    if found is None:
        try:
            return _seconds_of_number(_number(value))
        except ValueError:
            raise ValueError("expected a date like 2024-02-29 or 20240229, or seconds since "
                             "1970") from None
    year, month, day = (int(g) for g in found.groups()[:3])
    clock = [int(g or 0) for g in found.groups()[3:6]]
    if clock[0] > 23 or clock[1] > 59 or clock[2] > 60:
        raise ValueError("expected a time of the day")
    when = (datetime.date(year, month, day).toordinal() - _EPOCH) * _DAY
    fraction = float("0." + found.group(7)) if found.group(7) else 0.0
    sign = {"+": -1, "-": 1}.get(found.group(8) or "", 0)
    if int(found.group(9) or 0) > 23 or int(found.group(10) or 0) > 59:
        raise ValueError("expected an offset of hours and minutes")
    offset = sign * (int(found.group(9) or 0) * 3600 + int(found.group(10) or 0) * 60)
    return when + clock[0] * 3600 + clock[1] * 60 + clock[2] + fraction + offset


def _part(name: str) -> Callable[[float], float]:
    def of(moment: float) -> float:
        days, second = divmod(math.floor(moment), _DAY)
        date = datetime.date.fromordinal(days + _EPOCH)
        return float({"year": date.year, "month": date.month, "day": date.day,
                      "weekday": date.weekday(), "yearday": date.timetuple().tm_yday,
                      "hour": second // 3600, "minute": second // 60 % 60,
                      "second": second % 60}[name])
    return (lambda moment: moment) if name == "epoch" else of


def date_part(name: str) -> Callable[[Any], float]:
    """From a value to that part of its date."""
    of = _part(name)

    def decode(value: Any) -> float:
        moment = seconds(value)
        if math.isnan(moment):
            return moment
        if not _FIRST_MOMENT <= moment < _END_OF_MOMENTS:
            raise ValueError("expected a date of the years 1 to 9999, or seconds since 1970")
        return of(moment)
    return decode


def decode_all(decode: Callable[[Any], Any], values: Any, column: str, first_row: int,
               out: Any) -> None:
    """out[i] = decode(values[i]), each different value once."""
    known: Dict[Any, Any] = {}
    for i, value in enumerate(values):
        try:
            key = (type(value), value)  # True is not 1
            if key not in known:
                known[key] = decode(value)
            out[i] = known[key]
        except (TypeError, ValueError, OverflowError) as error:
            raise BadInputError("row %d (counted from 0): '%s': found %.80r: %s" %
                                (first_row + i, column, value, error)) from error
