"""Single values of columns: the client converts them as the workers do."""
import datetime
import decimal
import unittest

import numpy as np
import pandas as pd
import pytest

from espalier import _columns

pytestmark = pytest.mark.covers("data")


class ColumnsTest(unittest.TestCase):
    def test_what_the_workers_refuse_is_refused(self):
        year, categories = _columns.date_part("year"), _columns.Categories(None, 8)
        for decode, good, bad in (
                (_columns.boolean, ["1", "1.0", "+1", "1e0", "yes"],
                 ["1_0", "\u0661", "0x1", "1e"]),
                (year, ["2024-02-29T07:08+01:00", "2024-02-29T07:08+01", 0, -62135596800],
                 ["2024-02-29T07:08+01:", "2024-02-29T07:08+25:00", "2024-02-29T07:08+01:75",
                  1.7e12, -62135596801]),
                (_columns.date_part("epoch"), [1.7e9], [1.7e12]),
                (categories.code, ["x" * 256, "\u00e9" * 128], ["x" * 257, "\u00e9" * 129])):
            for value in good:
                decode(value)
            for value in bad:
                with self.subTest(value=value), self.assertRaises(ValueError):
                    decode(value)

    def test_times_of_day_and_durations_are_the_categories_that_they_are_to_the_workers(self):
        for value, text in ((datetime.time(1, 2, 4), "3724"),
                            (datetime.time(0, 0, 1, 500_000), "1.5"),
                            (datetime.timedelta(seconds=-2), "-2"),
                            (np.timedelta64(1_500, "ms"), "1.5"),
                            (pd.Timedelta(seconds=61), "61")):
            self.assertEqual(_columns.category_text(value), text)

    def test_a_number_that_looks_like_a_day_is_that_day(self):
        epoch = _columns.date_part("epoch")
        day = epoch("2024-02-29")
        for value in (20240229, 20240229.0, np.int32(20240229), "20240229", " 20240229.0 "):
            self.assertEqual(epoch(value), day, value)
        for value in (20230229, 20241301, 20240400, 18991231, 22000101, 20240229.5, 2024022):
            self.assertEqual(epoch(value), value)

    def test_a_boolean_is_found_as_a_csv_file_writes_it(self):
        categories = _columns.Categories(["False", "TRUE", "yes"], 3)
        for value, code in ((True, 1), (np.False_, 0), ("true", 1), ("TRUE", 1), ("True", -1)):
            self.assertEqual(categories.code(value), code, value)

    def test_a_truth_value_and_a_number_are_found_in_each_spelling(self):
        truths, numbers = _columns.Categories(["False", "True"], 2), \
            _columns.Categories(["1.5", "20"], 2)
        bits = _columns.Categories(["0", "1"], 2)
        for value in (True, "true", "TRUE", "t", "1", 1, "1e0", "+1",
                      "1.000000000000000000e+00"):
            self.assertEqual((truths.code(value), bits.code(value)), (1, 1), value)
        for value in (False, "f", "0", "-0", "0e0", "0.0"):
            self.assertEqual((truths.code(value), bits.code(value)), (0, 0), value)
        for value in ("01", "1e1", "-1"):
            self.assertEqual((truths.code(value), bits.code(value)), (-1, -1), value)
        for value in ("1.50", "15e-1", 1.5, decimal.Decimal("1.500")):
            self.assertEqual(numbers.code(value), 0, value)
        self.assertEqual(numbers.code("01.5"), -1)
        self.assertEqual(truths.code("yes"), -1)

    def test_a_day_is_found_with_the_time_of_midnight(self):
        days = _columns.Categories(["2024-02-28", "2024-02-29"], 2)
        for value in ("2024-02-29 00:00:00", datetime.datetime(2024, 2, 29)):
            self.assertEqual(days.code(value), 1, value)
        self.assertEqual(days.code("2024-02-29 00:00:01"), -1)

    def test_a_number_has_one_plain_decimal(self):
        for text, plain in (("12.50", "12.5"), ("1.25e1", "12.5"), ("1e-05", "0.00001"),
                            ("-0.0", "0"), ("-.50", "-0.5"), ("3.", "3"), ("01", None),
                            ("x", None), ("", None), ("1e999", None)):
            self.assertEqual(_columns.plain_decimal(text), plain, text)

    def test_dates_have_the_forms_of_the_workers(self):
        epoch = _columns.date_part("epoch")
        for text in ("2024-02-29 23:59:58 UTC", "2024-02-29 23:59:58.000 +0000",
                     "2024/02/29 23:59:58", "29.2.2024 23:59:58", "20240229T235958Z",
                     "2024-03-01T00:59:58+01:00[Europe/Paris]"):
            self.assertEqual(epoch(text), 1709251198, text)
        self.assertEqual(epoch("202402"), epoch("2024-02-01"))
        for text in ("02/03/2024", "2024-02-30", "2024-2-29", "2024-02-29 23:59:58 CET", "202413x",
                     "20240229 235958"):
            with self.subTest(text=text), self.assertRaises(ValueError):
                epoch(text)

    def test_a_format_says_how_a_date_is_written(self):
        for date_format, text, day in (("%d/%m/%Y", "29/02/2024", "2024-02-29"),
                                       ("%m/%d/%Y %I:%M %p", "02/29/2024 12:00 AM", "2024-02-29"),
                                       ("%d-%b-%y", "29-FEB-24", "2024-02-29"),
                                       ("%Y", 2024, "2024-01-01"),
                                       ("%Y-%j", "2024-60", "2024-02-29")):
            decode = _columns.date_part("epoch", date_format)
            self.assertEqual(decode(text), _columns.date_part("epoch")(day), text)
        with self.assertRaises(ValueError):
            _columns.date_part("year", "%d/%m/%Y")("2024-02-29")
        self.assertTrue(np.isnan(_columns.date_part("year", "%d/%m/%Y")("None")))

    def test_a_format_without_a_day_reads_times_of_day(self):
        for date_format, value in (("%H:%M", "13:45"), ("%T", "13:45:00"),
                                   ("%I:%M %p", "1:45 PM"), ("%H:%M", datetime.time(13, 45))):
            self.assertEqual(_columns.date_part("epoch", date_format)(value), 49_500, value)
            self.assertEqual(_columns.date_part("hour", date_format)(value), 13, value)

    def test_times_of_day_and_durations_are_seconds(self):
        for value, seconds in ((datetime.time(13, 45), 49_500),
                               (datetime.timedelta(seconds=5.5), 5.5),
                               (np.timedelta64(1_500, "ms"), 1.5)):
            self.assertEqual(_columns.Rules().number(value), seconds, value)
        self.assertTrue(np.isnan(_columns.Rules().number(np.timedelta64("NaT"))))

    def test_null_values_are_null(self):
        rules = _columns.Rules(["unknown", "-999"])
        for value in ("unknown", " unknown ", "-999", -999, -999.0, "None", "?", None):
            self.assertTrue(np.isnan(_columns.boolean(value, rules)), value)
        self.assertEqual(_columns.Categories(["", "a"], 2, rules).code("unknown"), 0)

    def test_a_whole_number_is_hashed_alike_however_it_is_held(self):
        categories = _columns.Categories(None, 1_000_000)
        for value in (17, 17.0, np.float32(17), "17.0", "17.", b"17.0", " 17 "):
            self.assertEqual(categories.code(value), _columns.murmur3(b"17") % 1_000_000, value)
        self.assertEqual(categories.code("-0.0"), categories.code("0"))
        for text in ("017.0", "17.5", "9223372036854775808.0"):
            self.assertEqual(categories.code(text),
                             _columns.murmur3(text.encode()) % 1_000_000, text)


if __name__ == "__main__":
    unittest.main()
