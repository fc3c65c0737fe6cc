"""From when on a summary counts."""

import argparse
from datetime import datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop.cli._summary.period import Period, Since, moment

NOW = datetime(2026, 3, 8, tzinfo=timezone.utc).timestamp()


def begins(text):
    return moment(Period.until(NOW, Since.read(text)).since_s)


@pytest.mark.parametrize(
    ("text", "since"),
    [
        ("7d", "2026-03-01T00:00:00Z"),
        ("24h", "2026-03-07T00:00:00Z"),
        ("2026-02-01", "2026-02-01T00:00:00Z"),
        ("2026-02-01T12:30:00Z", "2026-02-01T12:30:00Z"),
        ("2026-02-01T12:30:00+02:00", "2026-02-01T10:30:00Z"),
        ("999999d", "1970-01-01T00:00:00Z"),
        ("0001-01-01", "1970-01-01T00:00:00Z"),
    ],
)
def test_it_is_a_length_or_a_date(text, since):
    assert begins(text) == since


@pytest.mark.parametrize(
    "text", ["", "7", "0d", "-7d", "7w", "7.5d", "9999999d", "soon", "2026-13-01"]
)
def test_anything_else_is_told_with_what_is_right(text):
    with pytest.raises(argparse.ArgumentTypeError, match="like 7d, 24h or 2026-01-31"):
        Since.read(text)


@pytest.mark.parametrize("text", ["2026-03-08", "2030-01-01"])
def test_it_begins_before_now(text):
    with pytest.raises(ValueError, match=r"--since: 20.* is not in the past"):
        begins(text)


@given(st.integers(1, 9_999), st.sampled_from("dh"), st.floats(0, 2 * NOW))
def test_the_period_before_is_as_long_and_ends_where_this_one_begins(count, unit, time_s):
    period = Period.until(NOW, Since.read(f"{count}{unit}"))
    length_s = period.until_s - period.since_s
    assert period.before_s == max(0, period.since_s - length_s)
    expected = "now" if time_s >= period.since_s else "before"
    assert period.place(time_s) == (expected if time_s >= period.before_s else None)
