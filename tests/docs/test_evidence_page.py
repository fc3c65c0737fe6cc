"""The table of outcomes is that of the code."""

import re
from pathlib import Path

from antiloop.loop_detection._evidence.fingerprint import KEY_LENGTH
from antiloop.loop_detection._evidence.outcome import (
    Outcome,
    outcome,
    reads_like_refusal,
)

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "evidence.md"
TEXT = PAGE.read_text("utf-8")
TABLE = re.search(r"^\| outcome .*?\n\n", TEXT, re.MULTILINE | re.DOTALL)[0]
ROWS = [
    [cell.strip().strip("`") for cell in line.strip("|").split("|")]
    for line in TABLE.strip().splitlines()[2:]
]


def test_every_outcome_is_told():
    assert sorted(row[0] for row in ROWS) == sorted(kind.name.lower() for kind in Outcome)


def judged(example):
    """Name the outcome of an example; the words of a refusal are those of a refused call."""
    return "refused" if reads_like_refusal(example) else outcome(example).name.lower()


def test_every_example_of_an_outcome_is_one():
    told = {example: name for name, _, example in ROWS if example}
    assert told == {example: judged(example) for example in told}


def test_a_fingerprint_has_as_many_bits_as_written():
    assert f"{4 * KEY_LENGTH} bits for each comparison" in TEXT
