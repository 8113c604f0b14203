"""Single values of columns: what the client makes of them is what the workers do."""
import datetime
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
