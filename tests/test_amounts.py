"""Numbers and times, however they are written."""

from datetime import datetime, timedelta, timezone

import pytest

from antiloop._amounts import moment_s, number, whole_number


@pytest.mark.parametrize(
    ("value", "whole", "amount"),
    [
        (7, 7, 7.0),
        ("7", 7, 7.0),
        (1.5, 1, 1.5),
        (None, None, None),
        (True, None, None),
        ("many", None, None),
        ([], None, None),
        (float("nan"), None, None),
        (float("-inf"), None, None),
        ("1e999", None, None),
        ("9" * 5000, None, None),
    ],
)
def test_numbers_are_read_or_unknown(value, whole, amount):
    assert whole_number(value) == whole
    assert number(value) == amount


@pytest.mark.parametrize("value", [10**400, -(10**400), 1e308])
def test_what_is_too_large_to_be_added_up_is_unknown(value):
    assert whole_number(value) is number(value) is None


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("1970-01-01T00:00:01", 1.0),
        ("1970-01-01 01:00:01+01:00", 1.0),
        ("1970-01-01T00:00:01.123456789Z", 1.123456),
        (1_700_000_000.5, 1_700_000_000.5),
        ("1700000000", 1_700_000_000.0),
        (1_700_000_000_000_000_000, 1_700_000_000.0),
        (datetime(1970, 1, 1, 0, 0, 1), 1.0),
        (datetime(1970, 1, 1, 1, tzinfo=timezone(timedelta(hours=1))), 0.0),
        (datetime.min.replace(tzinfo=timezone(timedelta(hours=1))), -62135600400.0),
        ("12:99", None),
        ("yesterday", None),
        (None, None),
    ],
)
def test_times_are_seconds_whatever_the_recorder_counts(value, seconds):
    assert moment_s(value) == seconds
