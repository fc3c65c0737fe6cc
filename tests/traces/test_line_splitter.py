"""Lines out of bytes: each once, however these come, and blank ones for next to nothing."""

import io
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop.traces._files.line_splitter import LineSplitter
from antiloop.traces._files.source import open_lines
from antiloop.traces._live.growing_file import GrowingFile

LIMIT = 6
TEXT = st.lists(st.sampled_from([b"a", b"bc", b" ", b"\t", b"\r", b"\n", b"\n\n", b"\0"])).map(
    b"".join
)


def expected(data):
    for number, line in enumerate(data.split(b"\n"), 1):
        if len(line) >= LIMIT:
            yield number, None
        elif line.strip(b" \t\r"):
            yield number, line.rstrip(b" \t\r")


@given(st.lists(TEXT))
def test_lines_do_not_depend_on_the_parts_in_which_they_come(parts):
    splitter = LineSplitter(LIMIT)
    found = [line for part in parts for line in splitter.take(part)]
    assert splitter.number == b"".join(parts).count(b"\n")
    assert [*found, *splitter.end()] == list(expected(b"".join(parts)))


def test_a_line_that_is_too_long_is_told_once_and_at_once():
    splitter = LineSplitter(LIMIT)
    assert list(splitter.take(b"12345")) == []
    assert list(splitter.take(b"6")) == [(1, None)]
    assert list(splitter.take(b"7" * 99)) == []
    assert list(splitter.take(b"\nx\n")) == [(2, b"x")]


def of_file(path):
    with open_lines(str(path)) as (_, lines):
        return list(lines)


def of_stdin(path):
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(path.read_bytes())))
    with open_lines("-") as (_, lines):
        return list(lines)


def of_growing(path):
    growing = GrowingFile(str(path))
    found = list(growing.new_lines())
    growing.close()
    return found


@pytest.mark.parametrize(
    ("read", "encoding"),
    [(of_file, "utf-8"), (of_stdin, "utf-8"), (of_growing, "utf-8"), (of_file, "utf-16")],
)
def test_a_million_blank_lines_cost_next_to_nothing(read, encoding, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdin", sys.stdin)
    path = tmp_path / "f"
    path.write_bytes(("\n" * 1_000_000 + "x\n").encode(encoding))
    calls = 0

    def count(frame, kind, argument):
        nonlocal calls
        calls += 1

    sys.setprofile(count)
    try:
        found = read(path)
    finally:
        sys.setprofile(None)
    assert found == [(1_000_001, "x")]
    assert calls < 10_000
